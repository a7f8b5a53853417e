"""Kernels as real exports name them: the demangled, short and mangled form of each, with a plausible launch shape."""

from __future__ import annotations

from critpath.sim.instructions import Kernel

__all__ = [
    "ADAM",
    "ALL_GATHER",
    "ALL_REDUCE",
    "ATTENTION_BACKWARD",
    "ATTENTION_FORWARD",
    "COPY_KERNEL",
    "ELEMENTWISE_ADD",
    "EMBEDDING",
    "GELU",
    "GEMM_BIAS",
    "GEMM_CUTLASS",
    "GEMM_NVJET",
    "GEMM_WGRAD",
    "GRAD_NORM",
    "LAYER_NORM",
    "LAYER_NORM_BACKWARD",
    "LOSS",
    "LOSS_BACKWARD",
    "REDUCE_SCATTER",
    "SEND_RECV",
    "SOFTMAX",
]


def _plain(name: str, **shape: object) -> Kernel:
    """A kernel whose three names are one: assembly kernels of libraries carry no C++ signature."""
    return Kernel(name, name, name, **shape)  # type: ignore[arg-type]


def _collective(operation: str) -> Kernel:
    """An NCCL kernel; its name says the operation but not what is moved."""
    short = f"ncclDevKernel_{operation}"
    return Kernel(
        demangled=f"{short}(ncclDevKernelArgsStorage<(unsigned long)4096>)",
        short=short,
        mangled=f"_Z{len(short)}{short}24ncclDevKernelArgsStorageILm4096EE",
        communication="nccl",
        grid=(24, 1, 1),
        block=(544, 1, 1),
        registers=96,
        static_shared_bytes=21_568,
        dynamic_shared_bytes=82_240,
    )


ALL_REDUCE = _collective("AllReduce_Sum_bf16_RING_LL")
ALL_GATHER = _collective("AllGather_RING_LL")
REDUCE_SCATTER = _collective("ReduceScatter_Sum_bf16_RING_LL")
SEND_RECV = _collective("SendRecv")

GEMM_NVJET = _plain(
    "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN", grid=(2, 66, 1), block=(384, 1, 1), registers=168,
    dynamic_shared_bytes=213_196,
)  # fmt: skip
GEMM_BIAS = _plain(
    "nvjet_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT", grid=(1, 132, 1), block=(384, 1, 1), registers=168,
    dynamic_shared_bytes=221_388,
)  # fmt: skip
GEMM_WGRAD = _plain(
    "nvjet_tst_320x128_64x3_1x2_h_bz_coopB_NTT", grid=(2, 66, 1), block=(384, 1, 1), registers=168,
    dynamic_shared_bytes=221_500,
)  # fmt: skip
GEMM_CUTLASS = Kernel(
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_64x4_tn_align8>(T1::Params)",
    "Kernel2",
    "_ZN7cutlass7Kernel2I61cutlass_80_tensorop_bf16_s16816gemm_bf16_128x128_64x4_tn_align8EEvNT_6ParamsE",
    grid=(96, 10, 1),
    block=(128, 1, 1),
    registers=230,
    dynamic_shared_bytes=131_072,
)
_FLASH = "(int)128, (int)128, (int)64, (int)4, (bool)0, (bool)0, cutlass::bfloat16_t"
ATTENTION_FORWARD = Kernel(
    f"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<{_FLASH}>, (bool)0, (bool)1>(flash::Flash_fwd_params)",
    "flash_fwd_kernel",
    "_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi128ELi128ELi64ELi4ELb0ELb0EN7cutlass10bfloat16_tEE"
    "Lb0ELb1EEEvNS_16Flash_fwd_paramsE",
    grid=(64, 4, 16),
    block=(128, 1, 1),
    registers=255,
    dynamic_shared_bytes=65_536,
)
ATTENTION_BACKWARD = Kernel(
    f"void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<{_FLASH}>, (bool)0, (bool)1>"
    "(flash::Flash_bwd_params)",
    "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel",
    "_ZN5flash44flash_bwd_dq_dk_dv_loop_seqk_parallel_kernelI23Flash_bwd_kernel_traitsILi128ELi128ELi64ELi4ELb0ELb0E"
    "N7cutlass10bfloat16_tEELb0ELb1EEEvNS_16Flash_bwd_paramsE",
    grid=(32, 4, 16),
    block=(256, 1, 1),
    registers=255,
    dynamic_shared_bytes=147_456,
)
ELEMENTWISE_ADD = Kernel(
    "void at::native::vectorized_elementwise_kernel<(int)4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "std::array<char *, (unsigned long)3>>(int, T2, T3)",
    "vectorized_elementwise_kernel",
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIN3c108BFloat16EEESt5arrayIPcLm3EEEEviT0_T1_",
    grid=(46_800, 1, 1),
    block=(128, 1, 1),
    registers=32,
)
GELU = Kernel(
    "void at::native::vectorized_elementwise_kernel<(int)4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase &, "
    "at::native::GeluType)::[lambda() (instance 1)]::operator ()() const::[lambda() (instance 4)]::operator ()() "
    "const::[lambda(c10::BFloat16) (instance 1)], std::array<char *, (unsigned long)2>>(int, T2, T3)",
    "vectorized_elementwise_kernel",
    "_ZN2at6native29vectorized_elementwise_kernelILi4EZZZNS0_18GeluCUDAKernelImplERNS_18TensorIteratorBaseENS0_8GeluTypeE"
    "ENKUlvE_clEvENKUlvE2_clEvEUlN3c108BFloat16EE_St5arrayIPcLm2EEEEviT0_T1_",
    grid=(31_200, 1, 1),
    block=(128, 1, 1),
    registers=28,
)
LAYER_NORM = Kernel(
    "void at::native::<unnamed>::vectorized_layer_norm_kernel<c10::BFloat16, float, (bool)0>(int, T2, const T1 *, "
    "const T1 *, const T1 *, T2 *, T2 *, T1 *)",
    "vectorized_layer_norm_kernel",
    "_ZN2at6native53_GLOBAL__N__21739cd4_20_layer_norm_kernel_cu_9c5ada8a28vectorized_layer_norm_kernelI"
    "N3c108BFloat16EfLb0EEEviT0_PKT_S8_S8_PS5_S9_PS6_",
    grid=(15_600, 1, 1),
    block=(32, 4, 1),
    registers=39,
    dynamic_shared_bytes=24,
)
LAYER_NORM_BACKWARD = Kernel(
    "void at::native::<unnamed>::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float, (bool)0>(const T1 *, "
    "const T1 *, const T2 *, const T2 *, const T1 *, T1 *, int)",
    "layer_norm_grad_input_kernel_vectorized",
    "_ZN2at6native53_GLOBAL__N__21739cd4_20_layer_norm_kernel_cu_9c5ada8a39layer_norm_grad_input_kernel_vectorizedI"
    "N3c108BFloat16EfLb0EEEvPKT_S7_PKT0_SA_S7_PS5_i",
    grid=(15_600, 1, 1),
    block=(128, 1, 1),
    registers=40,
    dynamic_shared_bytes=256,
)
EMBEDDING = Kernel(
    "void at::native::<unnamed>::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, (int)2, (int)2, (int)-2, "
    "(bool)1>(at::cuda::detail::TensorInfo<T1, T3>, at::cuda::detail::TensorInfo<const T1, T3>, "
    "at::cuda::detail::TensorInfo<const T2, T3>, int, int, T3, T3, long)",
    "indexSelectLargeIndex",
    "_ZN2at6native49_GLOBAL__N__5ed0a3b1_11_Indexing_cu_89862edb21indexSelectLargeIndexIN3c108BFloat16EljLi2ELi2ELin2ELb1EEEv",
    grid=(1_056, 1, 1),
    block=(128, 1, 1),
    registers=40,
)
SOFTMAX = Kernel(
    "void at::native::<unnamed>::cunn_SoftMaxForwardSmem<(int)4, float, float, float, "
    "at::native::<unnamed>::LogSoftMaxForwardEpilogue, long>(T4 *, const T2 *, T6)",
    "cunn_SoftMaxForwardSmem",
    "_ZN2at6native43_GLOBAL__N__b6de9c8c_10_SoftMax_cu_9f978f6323cunn_SoftMaxForwardSmemILi4EfffNS1_25LogSoftMaxForward"
    "EpilogueElEEvPT2_PKT0_T4_",
    grid=(2_048, 1, 1),
    block=(1_024, 1, 1),
    registers=28,
    dynamic_shared_bytes=40_128,
)
LOSS = Kernel(
    "void at::native::<unnamed>::nll_loss_forward_reduce_cuda_kernel_2d<float, float, long>(T1 *, T1 *, const T1 *, "
    "const T3 *, const T1 *, bool, long, long, long, long)",
    "nll_loss_forward_reduce_cuda_kernel_2d",
    "_ZN2at6native39_GLOBAL__N__5cd812b1_7_Loss_cu_5b0651e138nll_loss_forward_reduce_cuda_kernel_2dIfflEEvPT_S4_PKS3_"
    "PKT1_S6_bllll",
    grid=(1, 1, 1),
    block=(32, 1, 1),
    registers=34,
    static_shared_bytes=256,
)
LOSS_BACKWARD = Kernel(
    "void at::native::<unnamed>::nll_loss_backward_reduce_cuda_kernel_2d<float, long>(T1 *, const T1 *, const T2 *, "
    "const T1 *, const T1 *, bool, int, int, long, long)",
    "nll_loss_backward_reduce_cuda_kernel_2d",
    "_ZN2at6native39_GLOBAL__N__5cd812b1_7_Loss_cu_5b0651e139nll_loss_backward_reduce_cuda_kernel_2dIflEEvPT_PKS3_PKT0_"
    "S8_S8_biill",
    grid=(1, 1, 1),
    block=(32, 1, 1),
    registers=33,
)
COPY_KERNEL = Kernel(
    "void at::native::elementwise_kernel<(int)128, (int)4, void at::native::gpu_kernel_impl_nocast<"
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]::operator ()() const::"
    "[lambda() (instance 12)]::operator ()() const::[lambda(c10::BFloat16) (instance 1)]>(at::TensorIteratorBase &, "
    "const T1 &)::[lambda(int) (instance 1)]>(int, T3)",
    "elementwise_kernel",
    "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastIZZZNS0_23direct_copy_kernel_cudaERNS_18"
    "TensorIteratorBaseEENKUlvE1_clEvENKUlvE10_clEvEUlN3c108BFloat16EE_EEvS4_RKT_EUliE_EEviT1_",
    grid=(93_600, 1, 1),
    block=(128, 1, 1),
    registers=18,
)
_FOREACH = "at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::"
ADAM = Kernel(
    f"void {_FOREACH}FusedOptimizerTensorListMetadata<(int)4>, at::native::<unnamed>::FusedAdamMathFunctor<float, "
    "(int)4, (at::native::ADAM_MODE)1, (bool)0>, const float *, double, double, double, double, double, bool, "
    "const float *, const float *>(T1, T2, T3...)",
    "multi_tensor_apply_kernel",
    "_ZN2at6native57_GLOBAL__N__e658eeb9_22_fused_adamw_impl_cu_86b9896c25multi_tensor_apply_kernelINS1_32FusedOptimizer"
    "TensorListMetadataILi4EEENS1_20FusedAdamMathFunctorIfLi4ELNS0_9ADAM_MODEE1ELb0EEEJPKfdddddbS7_S7_EEEvT_T0_DpT1_",
    grid=(320, 1, 1),
    block=(512, 1, 1),
    registers=64,
)
GRAD_NORM = Kernel(
    f"void {_FOREACH}TensorListMetadata<(int)1>, at::native::<unnamed>::LpNormFunctor<float, (at::native::NormType)1, "
    "float, (int)1, (int)1, (int)0>, float *, int>(T1, T2, T3...)",
    "multi_tensor_apply_kernel",
    "_ZN2at6native57_GLOBAL__N__e658eeb9_22_ForeachReduceOp_cu_86b9896c25multi_tensor_apply_kernelINS1_18TensorListMetadata"
    "ILi1EEENS1_13LpNormFunctorIfLNS0_8NormTypeE1EfLi1ELi1ELi0EEEJPfiEEEvT_T0_DpT1_",
    grid=(320, 1, 1),
    block=(512, 1, 1),
    registers=30,
)
