"""Write what is generated from the code: the JSON Schemas and the reference pages.

python scripts/generate.py            # write
python scripts/generate.py --check    # write nothing; exit 1 and name each file that has drifted
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from critpath.guards import Guard, guards
from critpath.guards.glossary import glossary_text
from critpath.model.doctor import doctor_schema
from critpath.model.report.schema import Key, report_keys, report_schema
from critpath.pipeline.analyze import analyze
from critpath.render.text import text as report_text
from critpath.sim import simulate

ROOT = Path(__file__).resolve().parent.parent


def generated() -> dict[str, str]:
    """The text of every generated file, by its path in the repository."""
    return {
        "schema/report-v1.schema.json": json.dumps(report_schema(), indent=1, ensure_ascii=False) + "\n",
        "schema/doctor-v1.schema.json": json.dumps(doctor_schema(), indent=1, ensure_ascii=False) + "\n",
        "docs/glossary.md": _note("src/critpath/data/glossary.md") + glossary_text(),
        "docs/guards.md": "\n".join(_guards_page()) + "\n",
        "docs/report-keys.md": "\n".join(_keys_page()) + "\n",
        "README.md": _with_demo(_read(ROOT / "README.md") or ""),
    }


def drifted() -> list[str]:
    """Paths of generated files that are missing or differ from what the code says."""
    return [path for path, text in generated().items() if _read(ROOT / path) != text]


def main() -> int:
    """Write the files, or with `--check` compare them; the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file has drifted")
    if parser.parse_args().check:
        stale = drifted()
        for path in stale:
            print(f"{path}: differs from the code it is generated from; run `make schema`", file=sys.stderr)
        return 1 if stale else 0
    for path, text in generated().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8", newline="\n")
    return 0


def _read(path: Path) -> str | None:
    return path.read_bytes().decode("utf-8") if path.is_file() else None


def _note(source: str) -> str:
    return f"<!-- Generated from {source} by scripts/generate.py. -->\n\n"


def _with_demo(readme: str) -> str:
    """The README with what `critpath demo` prints now, between its two marks."""
    if "<!-- demo -->" not in readme:
        return readme
    with tempfile.TemporaryDirectory() as folder:
        printed = report_text(analyze(simulate("data_parallel", Path(folder), ranks=4).exports))
    before, begin, rest = readme.partition("<!-- demo -->\n")
    _, end, after = rest.partition("<!-- /demo -->")
    return f"{before}{begin}```text\n{printed}```\n{end}{after}"


def _guards_page() -> Iterator[str]:
    yield _note("src/critpath/guards").rstrip("\n")
    yield "\n# The guards\n"
    yield "Each guard is a way in which traces are misread, and what keeps a report from it. A report has one row for"
    yield "each: `held`, `limited` with the effect, or `not-applicable` with the reason.\n"
    yield "| id | rule |"
    yield "|---|---|"
    yield from (f"| [{guard.id}](#{guard.id.lower()}) | {guard.title} |" for guard in guards())
    for guard in guards():
        yield from _guard(guard)


def _guard(guard: Guard) -> Iterator[str]:
    yield f'\n<a id="{guard.id.lower()}"></a>\n'
    yield f"## {guard.id}: {guard.title.rstrip('.')}"
    for name, text in guard.sections.items():
        yield f"\n**{name}.** {text}"
    places = ", ".join(f"`{anchor}`" for anchor in guard.anchors) or "not analysed yet"
    yield f"\nSince {guard.since}. Code: {places}."


def _keys_page() -> Iterator[str]:
    yield _note("src/critpath/model/report").rstrip("\n")
    yield "\n# The keys of report.json\n"
    yield "`[]` stands for any index, `{}` for any key of a map. Where null is possible, the last column says what it"
    yield "means; `unavailable` means that an entry of that list says why. Words are those of the"
    yield "[glossary](glossary.md).\n"
    yield "| key | type | unit | meaning | null |"
    yield "|---|---|---|---|---|"
    yield from (_row(key) for key in report_keys())


def _row(key: Key) -> str:
    types = ", ".join(kind for kind in key.types if kind != "null").replace("|", "\\|")
    null = (key.null_means or "`unavailable`") if "null" in key.types else ""
    meaning = " ".join(key.meaning.split()).replace("|", "\\|")
    return f"| `{key.path}` | {types} | {key.unit} | {meaning} | {null} |"


if __name__ == "__main__":
    sys.exit(main())
