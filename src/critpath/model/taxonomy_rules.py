"""Rules of the kernel-name taxonomy: what one says, and how a file of them is read.

A file of rules is TOML with one `[[rule]]` after the other; `docs/method/taxonomy.md` explains each key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass

from critpath.base.errors import OptionError

__all__ = [
    "BACKENDS",
    "COLLECTIVES",
    "COMMUNICATION_FAMILIES",
    "COMPONENTS",
    "FAMILIES",
    "FUSED_FAMILY",
    "Rule",
    "read_rules",
]

COMMUNICATION_FAMILIES = frozenset({"nccl", "comm_kernel_non_nccl", "dispatcher_transport", "dispatcher_control"})
"""Families whose kernels are the communication and dispatcher taxonomy."""

FUSED_FAMILY = "fused_compute_comm"
"""The family of kernels that compute and communicate: compute busy, listed as fused."""

FAMILIES = COMMUNICATION_FAMILIES | {
    FUSED_FAMILY,
    "attention",
    "copy_like",
    "elementwise_or_fused",
    "embedding",
    "gemm",
    "memset_like",
    "moe_routing",
    "normalization",
    "optimizer",
    "other",
    "quantize",
    "random",
    "reduction",
    "softmax_loss",
    "ssm_conv",
}

BACKENDS = frozenset(
    {
        "nccl",
        "hybrid_ep",
        "deepep",
        "nvshmem",
        "te_userbuffers",
        "symm_mem",
        "custom_allreduce",
        "mscclpp",
        "copy_engine",
        "fused",
        "other",
    }
)

COMPONENTS = frozenset({"collective", "transport_sync", "control", "fused"})

_DEFAULTS = {
    "nccl": ("nccl", "collective"),
    "comm_kernel_non_nccl": ("other", "collective"),
    "dispatcher_transport": ("other", "transport_sync"),
    "dispatcher_control": ("other", "control"),
    FUSED_FAMILY: ("fused", "fused"),
}

_SPELLINGS = {
    "all_reduce": ("allreduce", "ar", "rdxn", "crossdevicereduce"),
    "all_gather": ("allgather", "allgatherv", "ag", "fcollect"),
    "reduce_scatter": ("reducescatter", "reducescatterv", "rs"),
    "all_to_all": ("alltoall", "alltoallv", "alltoallpivot", "alltoallvdynamic", "all2all", "a2a", "a2av"),
    "broadcast": ("bcast",),
    "reduce": (),
    "gather": (),
    "scatter": (),
    "send_recv": ("sendrecv", "send", "recv", "put", "get", "push", "pull", "p2p"),
    "barrier": ("sync", "wait", "signal"),
    "dispatch": (),
    "combine": (),
}

COLLECTIVES = frozenset(_SPELLINGS)

_COLLECTIVE_OF = {word.replace("_", ""): name for name, words in _SPELLINGS.items() for word in (name, *words)}

_KEYS = frozenset(
    {"id", "pattern", "family", "backend", "component", "collective", "source", "note", "examples", "not_examples"}
)

# `(a+)+` and `([a-z]+_?)*`: a repeated group of one repeated atom is how a pattern comes to take forever on a foreign
# name. `(?:\w+::)*` is fine, since its `::` can't be read in two ways.
_ATOM = r"(?:\[[^\]]+\]|\\?[^\s\\()])"
_NESTED_REPEAT = re.compile(rf"\((?:\?:|\?P<\w+>)?{_ATOM}[+*]\??(?:{_ATOM}\?)?\)(?:[+*]|\{{\d*,\d*\}})")


@dataclass(frozen=True, slots=True)
class Rule:
    """What one rule says of the names that its pattern matches from their first character.

    Attributes:
        id: unique name, as reports print it.
        pattern: regular expression over a normalised name. A group named `collective` reads it from the name.
        family: one of `FAMILIES`.
        backend: one of `BACKENDS`; None for local compute.
        component: one of `COMPONENTS`; None for local compute.
        collective: one of `COLLECTIVES`, or None where the name doesn't say.
        file: the file of rules it stands in.
        source: where the fact comes from.
        examples: names that this rule must decide.
        not_examples: names that it must leave to others.
    """

    id: str
    pattern: str
    family: str
    backend: str | None
    component: str | None
    collective: str | None
    file: str
    source: str
    examples: tuple[str, ...]
    not_examples: tuple[str, ...]

    def collective_in(self, normalised: str) -> str | None:
        """The collective that a name matched by this rule stands for."""
        if "(?P<collective>" not in self.pattern:
            return self.collective
        found = re.match(self.pattern, normalised, re.DOTALL)
        word = found["collective"] if found else None
        return _COLLECTIVE_OF.get(word.replace("_", "").lower(), self.collective) if word else self.collective


def read_rules(text: str, *, file: str) -> tuple[Rule, ...]:
    """The rules of one file, in its order.

    Raises:
        OptionError: the text is no TOML, or a rule of it can't be what was meant.
    """
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _fault(f"no valid TOML: {error}", file, "Mend that line; patterns go in 'single quotes'.") from None
    for key in content.keys() - {"rule", "about"}:
        raise OptionError.unknown(key, {"rule", "about"}, kind="table", where=file)
    rows = content.get("rule", [])
    if not isinstance(rows, list) or not rows:
        raise _fault("no [[rule]] in the file", file, "Write at least one [[rule]] with id, pattern and family.")
    rules = tuple(_rule(row, f"{file}, rule {number}", file) for number, row in enumerate(rows, 1))
    refuse_duplicates(rules)
    return rules


def refuse_duplicates(rules: Iterable[Rule]) -> None:
    """Raises OptionError when two rules share an id: a report that cites one must mean one."""
    seen: dict[str, Rule] = {}
    for rule in rules:
        if first := seen.get(rule.id):
            raise _fault(f"rule id {rule.id!r} is already used in {first.file}", rule.file, "Give it another id.")
        seen[rule.id] = rule


def _rule(row: object, where: str, file: str) -> Rule:
    if not isinstance(row, dict):
        raise _fault("a rule must be a table", where, "Write [[rule]], with two brackets on each side.")
    for key in row.keys() - _KEYS:
        raise OptionError.unknown(key, _KEYS, kind="key", where=where)
    where = f"{where} ({row['id']})" if isinstance(row.get("id"), str) else where
    family = _word(row, "family", FAMILIES, where)
    pattern = _text(row, "pattern", where)
    refuse_bad_pattern(pattern, where)
    backend, component = _defaults(row, family, where)
    return Rule(
        id=_text(row, "id", where),
        pattern=pattern,
        family=family,
        backend=backend,
        component=component,
        collective=_word(row, "collective", COLLECTIVES, where) if "collective" in row else None,
        file=file,
        source=_text(row, "source", where) if "source" in row else "",
        examples=_texts(row, "examples", where),
        not_examples=_texts(row, "not_examples", where),
    )


def refuse_bad_pattern(pattern: str, where: str) -> None:
    """Raises OptionError for a pattern that is no regular expression, or could take forever on a foreign name."""
    try:
        compiled = re.compile(f"(?:{pattern})", re.DOTALL)
    except re.error as error:
        raise _fault(f"pattern {pattern!r} is no regular expression: {error}", where, "Mend the pattern.") from None
    if _NESTED_REPEAT.search(pattern):
        remedy = "Repeat the group or what is in it, not both: `[a-z_]+` instead of `([a-z]+_?)+`."
        raise _fault(f"pattern {pattern!r} repeats a repetition", where, remedy)
    if compiled.match("") is not None:
        raise _fault(f"pattern {pattern!r} matches every name", where, "Say what a name must begin with.")


def _defaults(row: dict[str, object], family: str, where: str) -> tuple[str | None, str | None]:
    """Backend and component of a rule: what its family implies, unless the rule says it."""
    local = family not in _DEFAULTS
    backend, component = (None, None) if local else _DEFAULTS[family]
    given_backend = _word(row, "backend", BACKENDS, where) if "backend" in row else backend
    given_component = _word(row, "component", COMPONENTS, where) if "component" in row else component
    if local and (given_backend or given_component or "collective" in row):
        remedy = f"Remove backend, component and collective, or choose a family of {', '.join(sorted(_DEFAULTS))}."
        raise _fault(f"family {family!r} is local compute and has no backend", where, remedy)
    if (family == FUSED_FAMILY) != (given_component == "fused"):
        raise _fault(
            f"component {given_component!r} doesn't go with family {family!r}",
            where,
            f"Component fused and family {FUSED_FAMILY} belong together.",
        )
    return given_backend, given_component


def _word(row: dict[str, object], key: str, known: frozenset[str], where: str) -> str:
    word = _text(row, key, where)
    if word not in known:
        raise OptionError.unknown(word, known, kind=key, where=where)
    return word


def _text(row: dict[str, object], key: str, where: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value:
        what = f"key {key!r} is missing" if value is None else f"key {key!r} must be a text"
        raise _fault(what, where, f"Write {key} = '…'.")
    return value


def _texts(row: dict[str, object], key: str, where: str) -> tuple[str, ...]:
    value = row.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _fault(f"key {key!r} must be a list of texts", where, f"Write {key} = ['…', '…'].")
    return tuple(value)


def _fault(what: str, where: str, remedy: str) -> OptionError:
    return OptionError(what, where=where, meaning="Nothing was analysed.", remedy=remedy)
