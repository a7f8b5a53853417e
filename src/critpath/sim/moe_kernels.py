"""The kernels of expert-parallel dispatchers as real exports name them, and the expert's own."""

from __future__ import annotations

from dataclasses import dataclass

from critpath.sim.instructions import Kernel

__all__ = ["DEEP_EP", "EXPERT_DOWN", "EXPERT_UP", "HYBRID_EP", "ROUTER", "Dispatcher"]


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """What a backend launches around the experts of a layer.

    `pack`, `notify` and `unpack` move no tokens between ranks; `notify` waits for every rank. The token permutation
    behind a combine belongs to another library, whatever the dispatcher is.
    """

    backend: str
    pack: Kernel
    notify: Kernel
    dispatch: Kernel
    notify_combine: Kernel
    combine: Kernel
    unpack: Kernel


def _control(demangled: str, backend: str, grid: int = 16) -> Kernel:
    """A small kernel whose short name is the last part of its demangled one."""
    name = demangled.removeprefix("void ").partition("<")[0].partition("(")[0]
    short = name.rpartition("::")[2]
    mangled = f"_Z{len(short)}{short}v"
    return Kernel(demangled, short, mangled, backend, grid=(grid, 1, 1), block=(512, 1, 1), registers=40)


HYBRID_EP = Dispatcher(
    backend="hybrid_ep",
    pack=_control("permute_preprocessing_kernel", "hybrid_ep", 132),
    notify=_control("hybrid_ep::device_sync_kernel<8>", "hybrid_ep", 1),
    dispatch=_control("hybrid_ep::dispatch_kernel", "hybrid_ep", 32),
    notify_combine=_control("hybrid_ep::device_sync_kernel<8>", "hybrid_ep", 1),
    combine=_control("hybrid_ep::combine_kernel", "hybrid_ep", 32),
    unpack=_control("_unpermute_bwd_with_merging_probs_kernel", "other", 132),
)
_INTEGERS = ", ".join(["int"] * 7)
DEEP_EP = Dispatcher(
    backend="deepep",
    pack=_control(
        "void deep_ep::layout::get_dispatch_layout<(int)256, (int)4, (int)8>"
        "(const long *, int *, int *, int *, bool *, int, int, int, int)",
        "deepep",
    ),
    notify=_control("deep_ep::legacy::internode::notify_dispatch", "deepep", 1),
    dispatch=_control(
        "void deep_ep::intranode::dispatch<(int)4, (int)768, (int)8192>(int4 *, float *, int *, long *, float *, "
        "int *, int *, const int4 *, const float *, const long *, const float *, const bool *, const int *, "
        f"{_INTEGERS}, void **, int, int, int)",
        "deepep",
        20,
    ),
    notify_combine=_control(
        "void deep_ep::intranode::cached_notify_combine<(int)8>(void **, int *, int, int, int, int", "deepep", 1
    ),
    combine=_control("deep_ep::legacy::internode::combine", "deepep", 20),
    unpack=_control("grouped_gemm::moe_recover_topK_kernel", "other", 132),
)
ROUTER = Kernel(
    "void at::native::<unnamed>::gatherTopK<float, unsigned int, (int)2, (bool)0>(TensorInfo<const T1, T2>, T2, bool)",
    "gatherTopK",
    "_ZN2at6native44_GLOBAL__N__d3db1b42_13_TensorTopK_cu_8f2a1c9810gatherTopKIfjLi2ELb0EEEv",
    grid=(4_096, 1, 1),
    block=(256, 1, 1),
    registers=32,
)


def _grouped(tile: str) -> Kernel:
    name = f"nvjet_tst_{tile}_h_bz_coopA_TNN"
    return Kernel(name, name, name, grid=(2, 66, 1), block=(384, 1, 1), registers=168, dynamic_shared_bytes=221_388)


EXPERT_UP, EXPERT_DOWN = _grouped("256x152_64x4_2x1"), _grouped("128x256_64x4_1x2")
