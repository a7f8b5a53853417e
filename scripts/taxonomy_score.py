"""Score of the bundled kernel-name rules on a table of labelled names.

    python scripts/taxonomy_score.py [TABLE.tsv]

The table has the columns name, family, collective, source, seen, confidence, note; `alt=a|b` in a note lists further
families that are right, and the same after `alt collective=`.
"""

from __future__ import annotations

import csv
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from critpath.model.taxonomy import Classification, Taxonomy
from critpath.model.taxonomy_rules import COMMUNICATION_FAMILIES, FUSED_FAMILY

DEFAULT_TABLE = Path(__file__).parents[2] / "shared" / "reference" / "kernel-names.tsv"

COLLECTIVES = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reducescatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "sendrecv": "send_recv",
}

_ALT = re.compile(r"\balt=([\w|]+)")
_ALT_COLLECTIVE = re.compile(r"\balt collective=(\w+)")


@dataclass(frozen=True, slots=True)
class Labelled:
    """One row of the table."""

    name: str
    families: tuple[str, ...]
    collectives: tuple[str | None, ...]
    confidence: str

    def is_right(self, answer: Classification) -> bool:
        """Whether the family is the label or a listed alternative."""
        return answer.family in self.families

    def side_is_right(self, answer: Classification) -> bool:
        """Whether communication, fused and local work are told apart as the label or an alternative does."""
        return side(answer.family) in {side(family) for family in self.families}


def side(family: str) -> str:
    """Communication, fused or local."""
    if family in COMMUNICATION_FAMILIES:
        return "communication"
    return "fused" if family == FUSED_FAMILY else "local"


def labelled_names(table: Path) -> list[Labelled]:
    """Rows of the table, in its order."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [_labelled(row) for row in rows]


def _labelled(row: dict[str, str]) -> Labelled:
    alternatives = _ALT.search(row["note"])
    families = (row["family"], *(alternatives[1].split("|") if alternatives else ()))
    words = [row["collective"], *_ALT_COLLECTIVE.findall(row["note"])]
    collectives = tuple(None if word == "-" else COLLECTIVES.get(word, word) for word in words)
    return Labelled(row["name"], families, collectives, row["confidence"])


def report(rows: Iterable[Labelled], taxonomy: Taxonomy) -> str:
    """The score by family, of communication against local work, and each confusion."""
    answers = [(row, taxonomy.classify(row.name)) for row in rows]
    counts = Counter(row.families[0] for row, _ in answers)
    right = Counter(row.families[0] for row, answer in answers if row.is_right(answer))
    lines = [f"{'family':24}{'n':>6}{'right':>7}{'accuracy':>10}"]
    lines += [f"{f:24}{n:>6}{right[f]:>7}{right[f] / n:>10.1%}" for f, n in sorted(counts.items())]
    total = len(answers)
    sides = sum(row.side_is_right(answer) for row, answer in answers)
    shared = [(row, a) for row, a in answers if side(row.families[0]) == "communication" and row.side_is_right(a)]
    same = sum(a.collective in row.collectives for row, a in shared)
    lines += [
        f"{'all':24}{total:>6}{sum(right.values()):>7}{sum(right.values()) / total:>10.1%}",
        "",
        f"communication, fused and local told apart: {sides} of {total} ({sides / total:.2%})",
        f"collective right on communication: {same} of {len(shared)} ({same / max(1, len(shared)):.1%})",
        "",
        "Confusions (label -> answer, rule, name):",
    ]
    lines += [
        f"  {row.families[0]} -> {a.family} [{a.rule or 'no rule'}] {row.name[:150]}"
        for row, a in answers
        if not row.is_right(a)
    ]
    return "\n".join(lines)


def main() -> int:
    """Prints the report; 2 when there is no table."""
    table = Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_TABLE
    if not table.is_file():
        print(f"{table}: no such file\nNothing was scored.\nGive the table of labelled names as an argument.")
        return 2
    print(report(labelled_names(table), Taxonomy.bundled()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
