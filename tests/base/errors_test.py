from __future__ import annotations

import copy
import pickle

import pytest

from critpath.base.errors import CritpathError, InputError, OptionError, SelectionError

KINDS = [CritpathError, InputError, OptionError, SelectionError]


def fault(kind: type[CritpathError]) -> CritpathError:
    return kind(
        "table CUPTI_ACTIVITY_KIND_KERNEL is absent",
        where="node2_r17.sqlite",
        meaning="No device work can be told for this rank.",
        remedy="Recapture with --trace=cuda,nvtx.",
    )


def did_you_mean(word: str, *known: str) -> str:
    return OptionError.unknown(word, known, kind="format", where="--format").remedy


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_has_its_four_parts_in_order(kind: type[CritpathError]) -> None:
    assert str(fault(kind)) == (
        "node2_r17.sqlite: table CUPTI_ACTIVITY_KIND_KERNEL is absent\n"
        "No device work can be told for this rank.\n"
        "Recapture with --trace=cuda,nvtx."
    )


@pytest.mark.parametrize("missing", ["where", "meaning", "remedy"])
def test_no_part_can_be_left_out(missing: str) -> None:
    parts = {"where": "a", "meaning": "b", "remedy": "c"}
    del parts[missing]
    with pytest.raises(TypeError, match=missing):
        InputError("what", **parts)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_every_kind_is_caught_as_a_critpath_error(kind: type[CritpathError]) -> None:
    with pytest.raises(CritpathError):
        raise fault(kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_comes_back_whole_from_a_worker(kind: type[CritpathError], protocol: int) -> None:
    error = fault(kind)
    error.add_note("rank 17")
    back = pickle.loads(pickle.dumps(error, protocol))  # noqa: S301
    assert type(back) is kind
    assert (back.what, back.where, back.meaning, back.remedy) == (error.what, error.where, error.meaning, error.remedy)
    assert str(back) == str(error)
    assert back.args == error.args
    assert back.__notes__ == ["rank 17"]


def test_a_copied_error_is_the_same_error() -> None:
    assert str(copy.deepcopy(fault(InputError))) == str(fault(InputError))


def test_an_unknown_word_is_told_in_four_parts() -> None:
    error = OptionError.unknown("jsn", ["text", "json"], kind="format", where="--format")
    assert type(error) is OptionError
    assert str(error) == "--format: unknown format 'jsn'\nNothing was analysed.\nDid you mean json?"


@pytest.mark.parametrize(
    ("word", "known", "remedy"),
    [
        ("htm", ["html", "json", "text"], "Did you mean html?"),
        # nearest first
        ("kernals", ["kernel", "kernels", "memory"], "Did you mean kernels or kernel?"),
        # nothing near: all of them, in order
        ("zzz", ["text", "html", "json"], "Known: html, json, text."),
        # letter case makes no distance, and the known spelling is the one shown
        ("NCCL", ["nccl", "mpi"], "Did you mean nccl?"),
        ("hybridep", ["HybridEP", "DeepEP"], "Did you mean HybridEP?"),
        ("p07", ["P07", "p07x"], "Did you mean P07 or p07x?"),
        # at most three
        ("rank0", ["rank1", "rank2", "rank3", "rank4"], "Did you mean rank4 or rank3 or rank2?"),
        ("", ["a", "b"], "Known: a, b."),
        ("a", [], "There is no format to choose from."),
    ],
)
def test_the_remedy_names_what_was_meant(word: str, known: list[str], remedy: str) -> None:
    assert did_you_mean(word, *known) == remedy


def test_a_word_with_control_characters_stays_on_one_line() -> None:
    error = OptionError.unknown("a\nb\x1b[31m", ["text"], kind="format", where="--format")
    assert error.what == r"unknown format 'a\nb\x1b[31m'"


def test_known_names_may_come_from_an_iterator_and_in_two_cases() -> None:
    assert did_you_mean("ab", *iter(["AB", "Ab"])) == "Did you mean AB or Ab?"
    assert OptionError.unknown("b", iter(["a", "b1"]), kind="k", where="w").remedy == "Did you mean b1?"
