"""Each spelling matches its examples and none of its counter-examples, and the order of spellings decides rightly."""

import pytest

from critpath.rank.anchors.spellings import ELIGIBLE, Spelling, Spellings

SPELLINGS = Spellings.bundled()
FRAMEWORKS = ["Megatron-LM", "NeMo", "PyTorch profiler", "Lightning", "Hugging Face Trainer", "JAX/XLA", "DeepSpeed"]


def _cases(kind: str) -> list[tuple[Spelling, str]]:
    return [(entry, text) for entry in SPELLINGS.entries for text in getattr(entry, kind)]


@pytest.mark.parametrize(("entry", "text"), _cases("examples"), ids=lambda x: getattr(x, "id", x))
def test_example_has_the_role_of_its_spelling(entry: Spelling, text: str) -> None:
    assert entry.matches(text)
    assert SPELLINGS.role(text) == entry.role


@pytest.mark.parametrize(("entry", "text"), _cases("not_examples"), ids=lambda x: getattr(x, "id", x))
def test_counter_example_is_not_matched(entry: Spelling, text: str) -> None:
    assert not entry.matches(text)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_framework_has_two_spellings_of_a_step(framework: str) -> None:
    spelled = {t for e in SPELLINGS.entries if e.framework == framework and e.role == "step" for t in e.examples}
    assert len(spelled) >= 2


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("iteration 12", "step"),
        ("step_3", "step"),
        ("global_step=7", "step"),
        ("train_step", "step"),
        ("ProfilerStep#12, op_id = 7", "step"),
        ("ProfilerStep#12, seq = 4, op_id = 7", "step"),
        ("Warm-up Step 3", "warm-up"),
        ("Optimizer.step#AdamW.step", "part"),
        ("sample_0", "part"),
        ("resample_0", "part"),
        ("epoch 3", "whole"),
        ("training", "whole"),
        ("dataloader step", "part"),
        ("lr_scheduler.step", "part"),
        ("microbatch 3", "part"),
        ("validation step 3", "evaluation"),
        ("eval_step", "evaluation"),
        ("aten::linear, op_id = 12", "operator"),
        ("ncclAllReduce", "operator"),
        ("forge the ring", "unknown"),
        ("", "unknown"),
    ],
)
def test_role_of_text(text: str, role: str) -> None:
    assert SPELLINGS.role(text) == role


def test_evaluation_ranks_below_everything_else() -> None:
    assert ELIGIBLE[0] == "step"
    assert ELIGIBLE[-1] == "evaluation"


@pytest.mark.parametrize("text", ["step " * 5_000, "(" * 10_000, "a_" * 4_000 + "step", "train" * 3_000])
def test_foreign_text_of_any_length_is_read_quickly(text: str) -> None:
    assert SPELLINGS.role(text) in {*ELIGIBLE, "part", "whole", "operator"}


@pytest.mark.parametrize("name", SPELLINGS.backward.examples)
def test_backward_kernel_is_known(name: str) -> None:
    assert SPELLINGS.is_backward(name)


@pytest.mark.parametrize("name", SPELLINGS.backward.not_examples)
def test_other_kernel_is_not_taken_for_a_backward_one(name: str) -> None:
    assert not SPELLINGS.is_backward(name)
