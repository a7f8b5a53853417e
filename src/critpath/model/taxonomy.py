"""What a kernel is, told by its name: communication, dispatcher, fused, or a family of local compute.

    taxonomy = Taxonomy.bundled()
    taxonomy.classify("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(…)").backend      # "nccl"
    taxonomy.classify("triton_poi_fused_add_all_reduce_4").is_communication       # False

A name is evidence, not proof (P20): a name that no rule knows is `other`, local compute, with rule None, and reports
list it when it matters. The rules are the TOML files of `data/taxonomy`, in the order of `index.toml`; the first rule
that matches decides. How names are read and rules are written: docs/method/taxonomy.md.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from critpath.model.taxonomy_names import normalise
from critpath.model.taxonomy_rules import COMMUNICATION_FAMILIES, FUSED_FAMILY, Rule, read_rules, refuse_duplicates

__all__ = ["Classification", "Explanation", "RuleFile", "Taxonomy", "normalise"]


@dataclass(frozen=True, slots=True)
class Classification:
    """What the name of a kernel says, and the rule that says so.

    Attributes:
        family: one of the families of `taxonomy_rules.FAMILIES`; `other` where nothing is known.
        backend: who communicates (`nccl`, `deepep`, …); None for local compute.
        component: `collective`, `transport_sync`, `control` or `fused`; None for local compute.
        collective: what it does, where the name tells: `all_reduce`, `send_recv`, `dispatch`, …
        rule: id of the rule that decided; None where none did.
    """

    family: str
    backend: str | None
    component: str | None
    collective: str | None
    rule: str | None

    @property
    def is_communication(self) -> bool:
        """Whether it is in the communication and dispatcher taxonomy; never network time (P06)."""
        return self.family in COMMUNICATION_FAMILIES

    @property
    def is_fused(self) -> bool:
        """Whether it computes and communicates: it is compute busy, and listed as fused."""
        return self.family == FUSED_FAMILY

    @property
    def is_compute(self) -> bool:
        """Whether it counts as compute busy: everything outside the communication taxonomy."""
        return not self.is_communication


@dataclass(frozen=True, slots=True)
class RuleFile:
    """A file of rules that is loaded, and the SHA-256 of its text."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a name is classified as it is.

    Attributes:
        name: the fullest of the names that were asked for.
        normalised: what the rules saw of it.
        classification: the answer.
        rule: the rule that decided, with its file and source; None where none did.
    """

    name: str
    normalised: str
    classification: Classification
    rule: Rule | None


_UNKNOWN = Classification(family="other", backend=None, component=None, collective=None, rule=None)


class Taxonomy:
    """Ordered rules over kernel names; classifies a distinct name once.

    Args:
        rules: in order of precedence.
        files: what they were read from.
    """

    def __init__(self, rules: Sequence[Rule], files: Sequence[RuleFile]) -> None:
        refuse_duplicates(rules)
        self.rules = tuple(rules)
        self.files = tuple(files)
        self._blocks = tuple(_blocks(self.rules))
        self._known: dict[tuple[str | None, str | None, str | None], Classification] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.rules, self.files))

    @classmethod
    @functools.cache
    def bundled(cls) -> Taxonomy:
        """The rules that come with critpath."""
        rules, files = _bundled()
        return cls(rules, files)

    @classmethod
    def layered(cls, text: str, *, name: str) -> Taxonomy:
        """The bundled rules below those of a user's file, which therefore win.

        Args:
            text: content of the user's TOML file.
            name: its name, for reports and errors.

        Raises:
            OptionError: a rule can't be what was meant.
        """
        rules, files = _bundled()
        return cls((*read_rules(text, file=name), *rules), (_file(name, text), *files))

    @property
    def sha256(self) -> str:
        """One hash of all loaded files: equal hashes classify equally."""
        return hashlib.sha256("".join(f.sha256 for f in self.files).encode()).hexdigest()

    def classify(
        self, full_name: str | None, short_name: str | None = None, mangled_name: str | None = None
    ) -> Classification:
        """What a kernel is, by the fullest of its names.

        A short name has lost its namespace and arguments, a mangled one its types. One is asked only where the
        full name is missing or no more than the short one: a bare name is weak evidence (P20), and must not answer
        for a full name that no rule knows.
        """
        key = (full_name, short_name, mangled_name)
        answer = self._known.get(key)
        if answer is None:
            answer = self._known[key] = self._answer(_fullest(full_name, short_name, mangled_name))[0]
        return answer

    def explain(
        self, full_name: str | None, short_name: str | None = None, mangled_name: str | None = None
    ) -> Explanation:
        """The classification together with the text that was matched and the rule that matched it."""
        answer, rule, normalised = self._answer(_fullest(full_name, short_name, mangled_name))
        return Explanation(_fullest(full_name, short_name, mangled_name), normalised, answer, rule)

    def _answer(self, name: str) -> tuple[Classification, Rule | None, str]:
        normalised = normalise(name)
        rule = self._rule_for(normalised)
        if rule is None:
            return _UNKNOWN, None, normalised
        collective = rule.collective_in(normalised)
        return Classification(rule.family, rule.backend, rule.component, collective, rule.id), rule, normalised

    def _rule_for(self, normalised: str) -> Rule | None:
        for pattern, rules in self._blocks:
            found = pattern.match(normalised)
            if found:
                return rules[found.lastgroup or ""] if "" not in rules else rules[""]
        return None


def _fullest(full: str | None, short: str | None, mangled: str | None) -> str:
    """The name that says most."""
    if full and full != short:
        return full
    return mangled or full or short or ""


def _blocks(rules: Sequence[Rule]) -> list[tuple[re.Pattern[str], dict[str, Rule]]]:
    """Rules joined into one alternation, which the regex engine tries in order, far faster than one by one.

    A rule with groups of its own (a user's) would shift the others' numbers, so it stands alone.
    """
    blocks: list[tuple[re.Pattern[str], dict[str, Rule]]] = []
    run: dict[str, Rule] = {}

    def close() -> None:
        if run:
            joined = "|".join(f"(?P<{name}>{_without_groups(rule.pattern)})" for name, rule in run.items())
            blocks.append((re.compile(joined, re.DOTALL), dict(run)))
            run.clear()

    for number, rule in enumerate(rules):
        alone = re.compile(_without_groups(rule.pattern), re.DOTALL)
        if alone.groups:
            close()
            blocks.append((alone, {"": rule}))
        else:
            run[f"r{number}"] = rule
    close()
    return blocks


def _without_groups(pattern: str) -> str:
    return pattern.replace("(?P<collective>", "(?:")


@functools.cache
def _bundled() -> tuple[tuple[Rule, ...], tuple[RuleFile, ...]]:
    folder = resources.files("critpath.data") / "taxonomy"
    index = (folder / "index.toml").read_text(encoding="utf-8")
    rules: list[Rule] = []
    files = [_file("index.toml", index)]
    for row in tomllib.loads(index)["file"]:
        text = (folder / row["name"]).read_text(encoding="utf-8")
        rules.extend(read_rules(text, file=row["name"]))
        files.append(_file(row["name"], text))
    return tuple(rules), tuple(files)


def _file(name: str, text: str) -> RuleFile:
    return RuleFile(name, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest())
