"""Kernel names: what the bundled rules say of them, and how rules are read (P05, P06, P20)."""

import importlib.util
import pickle
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from critpath.base.errors import OptionError
from critpath.model.taxonomy import Taxonomy, normalise
from critpath.model.taxonomy_rules import BACKENDS, COMMUNICATION_FAMILIES, COMPONENTS, FAMILIES, FUSED_FAMILY, Rule

REPOSITORY = Path(__file__).parents[2]
LABELS = REPOSITORY.parent / "shared" / "reference" / "kernel-names.tsv"


@pytest.fixture(scope="module")
def taxonomy() -> Taxonomy:
    return Taxonomy.bundled()


def _side(family: str) -> str:
    if family in COMMUNICATION_FAMILIES:
        return "communication"
    return "fused" if family == FUSED_FAMILY else "local"


# --- the rules themselves -------------------------------------------------------------------------------------------

RULES = Taxonomy.bundled().rules


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_decides_its_examples_and_leaves_its_counter_examples(rule: Rule, taxonomy: Taxonomy) -> None:
    assert rule.source
    assert rule.examples
    assert rule.not_examples
    assert {name: taxonomy.classify(name).rule for name in rule.examples} == dict.fromkeys(rule.examples, rule.id)
    assert [name for name in rule.not_examples if taxonomy.classify(name).rule == rule.id] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_gives_backend_and_component_to_communication_only(rule: Rule) -> None:
    if _side(rule.family) == "local":
        assert (rule.backend, rule.component, rule.collective) == (None, None, None)
        assert "(?P<collective>" not in rule.pattern
    else:
        assert rule.backend in BACKENDS
        assert rule.component in COMPONENTS
        assert (rule.component == "fused") == (rule.family == FUSED_FAMILY) == (rule.backend == "fused")
        assert (rule.backend == "nccl") == (rule.family == "nccl")


def test_every_backend_with_kernels_has_a_rule() -> None:
    assert {rule.backend for rule in RULES if rule.backend} == BACKENDS - {"copy_engine"}


def test_files_are_named_with_their_hash(taxonomy: Taxonomy) -> None:
    assert [file.name for file in taxonomy.files][:3] == ["index.toml", "generated.toml", "lookalikes.toml"]
    assert all(len(file.sha256) == 64 for file in taxonomy.files)
    assert len(taxonomy.sha256) == 64
    folder = REPOSITORY / "src" / "critpath" / "data" / "taxonomy"
    assert {file.name for file in taxonomy.files} == {path.name for path in folder.glob("*.toml")}


# --- one spelling ---------------------------------------------------------------------------------------------------

SPELLINGS = [
    ("void a::f<(int)8>(T1 *, const T2 *)", "a::f<8>(T1*, T2*)"),
    ("void a::f<8>(int*, float const*)", "a::f<8>(int*, float*)"),
    ("void a::f<(bool)1, (unsigned long)4096>(int)", "a::f<1, 4096>(int)"),
    ("void a::f<true, 4096ul>(int)", "a::f<1, 4096>(int)"),
    ("void a::f<(cub::BlockLoadAlgorithm)3>(int)", "a::f<3>(int)"),
    ("void at::native::<unnamed>::f<float>(int)", "at::native::f<float>(int)"),
    ("void at::native::(anonymous namespace)::f<float>(int)", "at::native::f<float>(int)"),
    ("_ZN2at6native53_GLOBAL__N__21739cd4_20_layer_norm_kernel_cu_9c5ada8a1fIffLb0EEEviT0_", "at::native::f<0>(…)"),
    ("void f<g(int)::[lambda(int) (instance 1)]>(int)", "f<g(int)::{lambda}>(int)"),
    ("void f<g(int)::{lambda(int)#1}>(int)", "f<g(int)::{lambda}>(int)"),
    ("void f<g()::operator ()() const::[lambda() (instance 2)]>(int)", "f<g()::operator()()::{lambda}>(int)"),
    ("void f<a::B<int> >(int)", "f<a::B<int>>(int)"),
    ("void f<a::B<int>>(int)", "f<a::B<int>>(int)"),
    ("std::enable_if<!T7, void>::type internal::gemvx::kernel<int>(int)", "internal::gemvx::kernel<int>(int)"),
    ("void a::B<int>::kernel<3>(float) const", "a::B::kernel<int, 3>(float)"),
    ("void cub::CUB_200600_500_NS::DeviceReduceKernel<int>(int)", "cub::DeviceReduceKernel<int>(int)"),
    ("void deep_ep::internode_ll::dispatch<(bool)1, (int)61...", "deep_ep::internode_ll::dispatch<1, 61>"),
    ("_Z40ncclDevKernel_AllReduce_Sum_bf16_TREE_LLP11ncclDevComm", "ncclDevKernel_AllReduce_Sum_bf16_TREE_LL(…)"),
    ("_ZN7deep_ep9intranode15notify_dispatchILi8EEEvPKiPiS2_", "deep_ep::intranode::notify_dispatch<8>(…)"),
    ("_ZN1a1fIN1b4KindELS2_3EEEvv", "a::f<b, Kind, 3>(…)"),
    ("gemm_kernel.kd", "gemm_kernel"),
    ("plain_kernel", "plain_kernel"),
    ("Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"),
    ("", ""),
]


@pytest.mark.parametrize(("name", "expected"), SPELLINGS)
def test_one_spelling_for_what_demanglers_write_differently(name: str, expected: str) -> None:
    assert normalise(name) == expected


SAME_KERNEL = [
    (
        "void deep_ep::intranode::cached_notify_combine<(int)8>(void **, int *, int, int, int, int)",
        "void deep_ep::intranode::cached_notify_combine<8>(void**, int*, int, int, int, int)",
        "_ZN7deep_ep9intranode21cached_notify_combineILi8EEEvPPvPiiiii",
    ),
    (
        "void at::native::<unnamed>::vectorized_layer_norm_kernel<float, float, (bool)0>(int, T2)",
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>(int, float)",
        "_ZN2at6native53_GLOBAL__N__21739cd4_20_layer_norm_kernel_cu_9c5ada8a28vectorized_layer_norm_kernelIffLb0EEEviT0_",
    ),
    (
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)"
        "::[lambda() (instance 3)]::operator ()() const::[lambda(long) (instance 1)]>(int)",
        "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)"
        "::{lambda()#3}::operator()() const::{lambda(long)#1}>(int)",
        "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18TensorIteratorBaseEENKUlvE1_"
        "clEvENKUlvE2_clEvEUllE_St5arrayIPcLm2EEEEviT_",
    ),
]


@pytest.mark.parametrize("spellings", SAME_KERNEL)
def test_nsys_kineto_and_mangled_names_of_a_kernel_get_one_answer(spellings: tuple[str], taxonomy: Taxonomy) -> None:
    answers = {taxonomy.classify(name) for name in spellings}
    assert len(answers) == 1
    assert answers.pop().rule is not None


# --- traps: each is computed with a naive search for words, and the search is wrong ----------------------------------

COMMUNICATION_WORDS = ("nccl", "all_reduce", "allreduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")
DISPATCHER_WORDS = ("dispatch", "combine", "permute")


def _naive(name: str) -> bool:
    """What a search for words takes for communication."""
    return any(word in name.lower() for word in COMMUNICATION_WORDS + DISPATCHER_WORDS)


LOCAL_BUT_LOOKS_LIKE_COMMUNICATION = [
    "triton_poi_fused_add_all_reduce_4",
    "triton_red_fused_all_gather_into_tensor_mean_3",
    "triton_poi_fused_reduce_scatter_tensor_wait_tensor_9",
    "triton_poi_fused_all_to_all_single_2",
    "loop_all_reduce_fusion_2",
    "void cub::DispatchReduceByKey<int*, int*>(int)",
    "void cutlass::device_kernel<flash::FlashAttnFwdCombine<int>>(int)",
    "void flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<(int)128>>(Flash_fwd_params)",
    "kernel_gqa_fwd_batch_decode_combine_kv",
    "void transformer_engine::dispatch::fp8::kernel::cast_fp8_gated_kernel<int>(int)",
    "transformer_engine::dispatch::common::kernel::reduce_dbias_kernel",
    "mul_broadcast_2d_kernel",
    "_mhc_expand_combine_fwd",
    "flashinfer::trtllm_allreduce::reduce_fusion::rms_norm_kernel",
    "fbgemm_gpu::permute_2D_sparse_data_kernel",
    "void my::permute_kernel<float>(float*)",
    "nvshmemi_init_array_kernel_broadcast_table",
]


@pytest.mark.parametrize("name", LOCAL_BUT_LOOKS_LIKE_COMMUNICATION)
def test_p20_words_of_communication_in_a_local_kernel(name: str, taxonomy: Taxonomy) -> None:
    assert _naive(name)
    answer = taxonomy.classify(name)
    assert answer.is_compute
    assert not answer.is_communication
    assert (answer.backend, answer.component, answer.collective) == (None, None, None)


COMMUNICATION_WITHOUT_ITS_WORDS = [
    ("kuserbuffers_pushrecv(int, int, int, int, int, int *, int *, int4 *, int)", "te_userbuffers", "send_recv"),
    ("void vllm::cross_device_reduce_2stage<half, 4>(vllm::RankData*)", "custom_allreduce", "all_reduce"),
    ("hybrid_ep::device_sync_kernel<8>", "hybrid_ep", "barrier"),
    ("void deep_ep::internode_ll::clean_low_latency_buffer<512>(int*, int, int*, int)", "deepep", None),
    ("void dpsk::ep::internode::cached_notify<false>(int, int)", "deepep", None),
    ("rdxn_on_stream_kernel", "nvshmem", "all_reduce"),
    ("fcollect_on_stream_kernel", "nvshmem", "all_gather"),
    ("void mscclpp::executionKernel<__half, mscclpp::LL16Packet>(int)", "mscclpp", None),
    ("userbuffers_fp16_sum_inplace_gpu_rr_rs_oop", "te_userbuffers", "reduce_scatter"),
]


@pytest.mark.parametrize(("name", "backend", "collective"), COMMUNICATION_WITHOUT_ITS_WORDS)
def test_p05_communication_whose_name_has_none_of_its_words(
    name: str, backend: str, collective: str | None, taxonomy: Taxonomy
) -> None:
    assert not _naive(name)
    answer = taxonomy.classify(name)
    assert answer.is_communication
    assert (answer.backend, answer.collective) == (backend, collective)


def test_p05_nccl_is_a_small_part_of_a_dispatcher_job(taxonomy: Taxonomy) -> None:
    step = [
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "void deep_ep::intranode::dispatch<4, 768, 8192>(int4*)",
        "void hybrid_ep::combine_kernel<8>(int)",
        "hybrid_ep::device_sync_kernel<8>",
        "alltoall_on_stream_kernel",
    ]
    nccl_only = [name for name in step if "nccl" in name]
    ours = [name for name in step if taxonomy.classify(name).is_communication]
    assert len(nccl_only) == 1
    assert ours == step
    assert [taxonomy.classify(name).backend for name in step] == ["nccl", "deepep", "hybrid_ep", "hybrid_ep", "nvshmem"]


DISPATCH_STEP = [
    ("void deep_ep::intranode::dispatch<4, 768, 8192>(int4*)", "dispatcher_transport", "transport_sync"),
    ("void deep_ep::intranode::notify_dispatch<8>(int const*)", "dispatcher_control", "control"),
    ("deep_ep::layout::get_dispatch_layout", "dispatcher_control", "control"),
    ("void deep_ep::intranode::barrier<8>(int**, int)", "dispatcher_control", "transport_sync"),
    ("hybrid_ep::device_sync_kernel<8>", "dispatcher_control", "transport_sync"),
    ("_permute_kernel", "dispatcher_control", "control"),
]


def test_p06_dispatch_in_a_name_is_not_transport(taxonomy: Taxonomy) -> None:
    for name, family, component in DISPATCH_STEP:
        answer = taxonomy.classify(name)
        assert (answer.family, answer.component) == (family, component), name
    naive = {name for name, _, _ in DISPATCH_STEP if "dispatch" in name}
    transport = {name for name, family, _ in DISPATCH_STEP if family == "dispatcher_transport"}
    assert naive > transport


def test_p20_fused_kernels_count_as_compute_and_stay_fused(taxonomy: Taxonomy) -> None:
    # A search for words finds the first and books all of it as communication; it never sees the second.
    names = ["flashinfer::trtllm_allreduce::reduce_fusion::one_shot_all_reduce_norm_kernel"]
    names += ["void deep_gemm::sm100_fp8_fp4_mega_moe_impl<128>(int)"]
    assert [_naive(name) for name in names] == [True, False]
    for name in names:
        answer = taxonomy.classify(name)
        assert (answer.is_fused, answer.is_compute, answer.is_communication) == (True, True, False)
        assert (answer.backend, answer.component) == ("fused", "fused")


def test_a_name_with_gemm_in_it_is_not_a_gemm(taxonomy: Taxonomy) -> None:
    names = {
        "void fbgemm_gpu::permute_2D_data_kernel<true, int, long, float>(int)": "embedding",
        "grouped_gemm::moe_permute_topK_kernel": "dispatcher_control",
        "void deep_gemm::sm100_mqa_logits<(bool)0, (unsigned int)32>(int)": "attention",
        "sm80_xmma_dgrad_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc": "other",
    }
    assert all("gemm" in name for name in names)
    assert {name: taxonomy.classify(name).family for name in names} == names


def test_a_collective_is_read_from_the_first_word_not_from_a_phase(taxonomy: Taxonomy) -> None:
    names = {
        "ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_f32": "all_reduce",
        "ncclSymkDevKernel_ReduceScatter_RailA2A_LsaLDMC_avg_f8e4m3": "reduce_scatter",
        "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)": None,
        "kittens::py::global_kernel<matmul_reduce_scatter_barrier::config, int>": "barrier",
    }
    assert {name: taxonomy.classify(name).collective for name in names} == names


# --- names that were never looked at ---------------------------------------------------------------------------------

UNSEEN = [
    ("nccl", "ncclDevKernel_AllGather_NVLS_SIMPLE(ncclDevKernelArgsStorage<(unsigned long)4096>)"),
    ("nccl", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"),
    ("nccl", "ncclSymDevKernel_AllReduce_AGxLL_R_sum_bf16(ncclSymDevArgs)"),
    ("nccl", "mscclKernel_Sum_half_LL_false(ncclDevComm*, mscclAlgo*, mscclWork*)"),
    ("comm_kernel_non_nccl", "void broadcast_on_stream_kernel<float>(int, float*)"),
    ("dispatcher_transport", "void deep_ep::internode_ll::combine<true, 7168, 9>(void*, void*, int*)"),
    ("dispatcher_transport", "_ZN4dpsk2ep9internode8dispatchILb0ELi8ELb0ELi8EEEvP4int4"),
    ("dispatcher_control", "void hybrid_ep::scan<256, 32, 128, 8, 4>(bool const*, hybrid_ep::tmp_state_t*)"),
    ("dispatcher_transport", "void mori::moe::EpCombineIntraNodeKernel<hip_bfloat16>(int)"),
    ("dispatcher_transport", "void tensorrt_llm::kernels::moe_comm::moeA2ACombineKernel<__nv_bfloat16>(int)"),
    ("comm_kernel_non_nccl", "void userbuffers_fp16_sum_inplace_gpu_mc_ag<8>(int)"),
    ("comm_kernel_non_nccl", "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(int)"),
    ("comm_kernel_non_nccl", "void quickreduce::allreduce_prototype_twoshot<__half>(int)"),
    ("comm_kernel_non_nccl", "void turbomind::comm::AllgatherKernel(int)"),
    ("fused_compute_comm", "void tensorrt_llm::kernels::ar_fusion::allreduce_fusion_kernel_twoshot_sync<int>(int)"),
    ("gemm", "nvjet_qqtst_128x256_128x6_2x1_v_bz_coopB_TNT"),
    ("gemm", "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN"),
    ("gemm", "void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm<int>>(int)"),
    ("gemm", "void kgemm_4bit_inference_naive<__nv_bfloat16, 128, 16>(int)"),
    ("attention", "void flashinfer::BatchPrefillWithPagedKVCacheKernel<int>(int)"),
    ("attention", "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_3_64x64x128_kernel0_0"),
    ("attention", "void ck_tile::kentry<1, ck_tile::FmhaFwdKernel<int>>(int)"),
    ("normalization", "_rms_norm_backward_kernel"),
    ("normalization", "void cuApplyRMSNorm<float>(int)"),
    ("optimizer", "void kOptimizerStatic8bit2StateBlockwise<float, 0, 256, 1>(int)"),
    ("quantize", "void vllm::dynamic_per_token_scaled_fp8_quant_kernel<float>(int)"),
    ("softmax_loss", "_cross_entropy_forward"),
    ("elementwise_or_fused", "_geglu_tanh_backward_kernel"),
    ("ssm_conv", "chunk_gla_fwd_kernel_o"),
    ("ssm_conv", "void selective_scan_bwd_kernel<Selective_Scan_bwd_kernel_traits<64>>(int)"),
    ("moe_routing", "void ck_tile::kentry<1, ck_tile::MoeSortingKernel<int>>(int)"),
    ("embedding", "void fbgemm_gpu::split_embedding_nobag_codegen_forward_unweighted_kernel<float>(int)"),
    ("copy_like", "void at::native::split_with_sizes_copy_out_contiguous_no_cast_kernel<int>(int)"),
    ("reduction", "void cub::DeviceReduceSingleTileKernel<cub::DeviceReducePolicy<float>>(int)"),
    ("other", "void foo::bar<int>(int*)"),
]


@pytest.mark.parametrize(("family", "name"), UNSEEN)
def test_unseen_variant_of_a_known_library(family: str, name: str, taxonomy: Taxonomy) -> None:
    assert taxonomy.classify(name).family == family


@pytest.mark.parametrize("name", ["dispatch", "combine", "kernel", "cleanup_kernel", "scan", "notify", "barrier", ""])
def test_a_bare_word_is_no_evidence_of_communication(name: str, taxonomy: Taxonomy) -> None:
    answer = taxonomy.classify(name)
    assert (answer.family, answer.rule) == ("other", None)
    assert answer.is_compute


def test_a_short_name_answers_only_where_there_is_no_full_name(taxonomy: Taxonomy) -> None:
    assert taxonomy.classify(None, "ncclDevKernel_SendRecv").backend == "nccl"
    assert taxonomy.classify("dispatch", "dispatch", "_ZN7deep_ep9intranode8dispatchILi4EEEvv").backend == "deepep"
    assert taxonomy.classify("producer_kernel").is_communication
    assert not taxonomy.classify("producer_kernel(float const*, float*)", "producer_kernel").is_communication
    assert not taxonomy.classify(None, "producer_kernel", "_Z15producer_kernelPKfPf").is_communication
    assert taxonomy.classify(None, None, None).family == "other"


# --- the labelled table ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def score() -> ModuleType:
    spec = importlib.util.spec_from_file_location("taxonomy_score", REPOSITORY / "scripts" / "taxonomy_score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_score_on_the_labelled_table(score: ModuleType, taxonomy: Taxonomy) -> None:
    if not LABELS.is_file():
        pytest.skip("the table of labelled kernel names is not beside this repository")
    answers = [(row, taxonomy.classify(row.name)) for row in score.labelled_names(LABELS)]
    assert len(answers) > 800
    assert sum(row.is_right(answer) for row, answer in answers) / len(answers) >= 0.96
    assert sum(row.side_is_right(answer) for row, answer in answers) / len(answers) >= 0.99
    assert score.report([row for row, _ in answers], taxonomy).startswith("family")


def test_score_reads_alternatives_of_the_note(score: ModuleType, taxonomy: Taxonomy, tmp_path: Path) -> None:
    table = tmp_path / "names.tsv"
    head = "name\tfamily\tcollective\tsource\tseen\tconfidence\tnote\n"
    rows = "ampere_sgemm_32x128_nn\tother\t-\ts\ttrace\thigh\talt=gemm|reduction\n"
    rows += "ncclDevKernel_SendRecv\tgemm\tsendrecv\ts\ttrace\thigh\t\n"
    table.write_text(head + rows, encoding="utf-8")
    first, second = score.labelled_names(table)
    assert first.is_right(taxonomy.classify(first.name))
    assert not second.is_right(taxonomy.classify(second.name))
    assert not second.side_is_right(taxonomy.classify(second.name))


# --- a user's rules --------------------------------------------------------------------------------------------------

USER_RULES = """
[[rule]]
id = "acme.exchange"
pattern = 'acme::(exchange)_(\\w+)_\\1'
family = "comm_kernel_non_nccl"
backend = "custom_allreduce"
collective = "all_reduce"

[[rule]]
id = "acme.not-a-collective"
pattern = 'all_reduce_kernel'
family = "elementwise_or_fused"
"""


def test_a_users_rules_come_first(taxonomy: Taxonomy) -> None:
    layered = Taxonomy.layered(USER_RULES, name="acme.toml")
    assert layered.classify("void acme::exchange_x_exchange<4>(int)").rule == "acme.exchange"
    assert taxonomy.classify("all_reduce_kernel").is_communication
    assert layered.classify("all_reduce_kernel").family == "elementwise_or_fused"
    assert layered.classify("ncclDevKernel_SendRecv") == taxonomy.classify("ncclDevKernel_SendRecv")
    assert layered.files[0].name == "acme.toml"
    assert layered.files[1:] == taxonomy.files
    assert layered.sha256 != taxonomy.sha256


def test_a_taxonomy_travels_to_another_process() -> None:
    layered = pickle.loads(pickle.dumps(Taxonomy.layered(USER_RULES, name="acme.toml")))  # noqa: S301
    assert layered.classify("all_reduce_kernel").rule == "acme.not-a-collective"


def test_explain_names_the_rule_its_file_and_what_was_matched(taxonomy: Taxonomy) -> None:
    told = taxonomy.explain("void hybrid_ep::device_sync_kernel<(int)8>(unsigned int *)")
    assert told.normalised == "hybrid_ep::device_sync_kernel<8>(unsigned int*)"
    assert told.rule is not None
    assert (told.rule.id, told.rule.file) == ("hybrid_ep.rank-wait", "hybrid_ep.toml")
    assert told.classification.rule == told.rule.id
    assert taxonomy.explain("no_such_thing").rule is None


def _rule(**keys: str) -> str:
    given = {"id": "'x'", "pattern": "'x'", "family": "'gemm'"} | keys
    return "[[rule]]\n" + "\n".join(f"{key} = {value}" for key, value in given.items() if value)


BAD_RULES = [
    (_rule(family="'gem'"), "unknown family 'gem'", "Did you mean gemm?"),
    (_rule(family="'nccl'", backend="'deep_ep'"), "unknown backend 'deep_ep'", "Did you mean deepep"),
    (_rule(family="'nccl'", component="'colective'"), "unknown component 'colective'", "collective"),
    (_rule(family="'nccl'", collective="'allreduce'"), "unknown collective 'allreduce'", "all_reduce"),
    (_rule(patern="'x'"), "unknown key 'patern'", "Did you mean pattern?"),
    (_rule(pattern=""), "key 'pattern' is missing", "Write pattern = '…'."),
    (_rule(id="3"), "key 'id' must be a text", "Write id = '…'."),
    (_rule(pattern="'(x'"), "pattern '(x' is no regular expression: missing ), unterminated", "Mend the pattern."),
    (_rule(pattern="'(?i)x'"), "is no regular expression", "Mend the pattern."),
    (_rule(pattern="'(a+)+b'"), "repeats a repetition", "Repeat the group or what is in it"),
    (_rule(pattern="'.*'"), "matches every name", "Say what a name must begin with."),
    (_rule(backend="'nccl'"), "is local compute and has no backend", "Remove backend"),
    (_rule(family="'fused_compute_comm'", component="'control'"), "doesn't go with family", "belong together"),
    (_rule(examples="'x'"), "key 'examples' must be a list of texts", "Write examples = ['…', '…']."),
    (_rule() + "\n" + _rule(), "rule id 'x' is already used in mine.toml", "Give it another id."),
    (_rule(id="'nccl.kernel'"), "rule id 'nccl.kernel' is already used in mine.toml", "Give it another id."),
    ("[[rules]]", "unknown table 'rules'", "Did you mean rule?"),
    ("rule = 3", "no [[rule]] in the file", "Write at least one [[rule]]"),
    ("rule = [3]", "a rule must be a table", "Write [[rule]]"),
    ("", "no [[rule]] in the file", "Write at least one [[rule]]"),
    ("[[rule", "no valid TOML", "Mend that line"),
]


@pytest.mark.parametrize(("text", "what", "remedy"), BAD_RULES)
def test_a_rule_that_cant_be_meant_stops_with_what_where_meaning_and_remedy(text: str, what: str, remedy: str) -> None:
    with pytest.raises(OptionError) as caught:
        Taxonomy.layered(text, name="mine.toml")
    error = caught.value
    assert what in error.what
    assert remedy in error.remedy
    assert "mine.toml" in error.where or "mine.toml" in error.what
    assert error.meaning == "Nothing was analysed."


# --- foreign text ----------------------------------------------------------------------------------------------------

HOSTILE = [
    "a" * 100_000,
    "a_" * 50_000,
    "a::" * 33_000,
    "<" * 100_000,
    "(" * 100_000,
    "[lambda(" * 12_000,
    "(unsigned " * 10_000,
    "all_reduce_" * 9_000,
    "gemm_" * 20_000,
    "cudnn_" * 17_000,
    "moe_" * 25_000,
    "_ZN" + "1a" * 50_000,
    "_ZN" + "N" * 100_000,
    "_Z99999999999999999999" + "a" * 1_000,
    "\x00\x1b\n" * 33_000,
    "\ud800\udfff" * 50_000,
    "é" * 100_000,
]


@pytest.fixture
def no_hang() -> Iterator[None]:
    """Ends a test that a runaway pattern would keep busy for ever."""
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.alarm(20)
    yield
    signal.alarm(0)


@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name[:12]))
def test_a_very_long_name_is_read_to_its_end(name: str, taxonomy: Taxonomy) -> None:
    assert taxonomy.classify(name).family in FAMILIES


def test_control_characters_and_invalid_text_are_no_part_of_a_name(taxonomy: Taxonomy) -> None:
    assert taxonomy.classify("\x00ncclDevKernel_SendRecv\n").backend == "nccl"
    assert taxonomy.classify("ncclDevKernel_SendRecv(\udc80\udcff)").backend == "nccl"
    assert taxonomy.classify("\udc80").family == "other"
