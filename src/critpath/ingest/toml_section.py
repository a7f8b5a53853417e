"""Tables of a TOML file that people write by hand: typed reads, and faults told with the line they are in."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from critpath.base.errors import OptionError
from critpath.ingest.label import label

__all__ = ["TomlFile", "TomlSection", "read_toml"]

_HEADER = re.compile(r"\s*(\[{1,2})\s*([^\[\]]+?)\s*\]{1,2}\s*(?:#.*)?")
_KEY = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([\w-]+))\s*[=.]""")


@dataclass(frozen=True, slots=True)
class TomlSection:
    """One table.

    Attributes:
        file: the file it stands in.
        name: its name; empty for what stands before the first header.
        values: what it holds.
        nth: which table of an array of tables it is; None for a table of its own.
    """

    file: TomlFile
    name: str
    values: Mapping[str, object]
    nth: int | None = None

    def place(self, key: str | None = None) -> str:
        """Where a key, or the table itself, stands, for messages."""
        line = self.file.line_of(self.name, self.nth or 0, key)
        header = f"[{self.name}]" if self.nth is None else f"[[{self.name}]]"
        within = f"{header if self.name else ''} {key or ''}".strip()
        return ", ".join(part for part in (label(self.file.path), f"line {line}" if line else "", within) if part)

    def refuse_unknown(self, known: Iterable[str]) -> None:
        """Refuse keys that nothing would read.

        Raises:
            OptionError: a key isn't among the known ones.
        """
        names = set(known)
        for key in self.values:
            if key not in names:
                kind = f"key of [{self.name}]" if self.name else "section"
                raise OptionError.unknown(key, names, kind=kind, where=self.place(key))

    def integer(self, key: str, *, least: int = 1) -> int | None:
        """A whole number, None where the key is absent.

        Raises:
            OptionError: the value is none, or smaller than `least`.
        """
        value = self.values.get(key)
        if value is None:
            return None
        # TOML's true is no number, though Python's is.
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 2**63:
            raise self.wrong(key, f"a whole number of at least {least}", f"{key} = {max(least, 1)}")
        return value

    def text(self, key: str) -> str | None:
        """A text that isn't empty, None where the key is absent.

        Raises:
            OptionError: the value is none.
        """
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, "a text", f'{key} = "…"')
        return value

    def path(self, key: str) -> Path | None:
        """A path relative to the file's folder, None where the key is absent.

        Raises:
            OptionError: the value is no text.
        """
        value = self.text(key)
        return None if value is None else self.file.path.parent / value

    def texts(self, key: str) -> dict[str, str]:
        """A table of texts, empty where the key is absent.

        Raises:
            OptionError: the value is none.
        """
        value = self.values.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise self.wrong(key, "a table of texts", f'{key} = {{name = "…"}}')
        return dict(value)

    def wrong(self, key: str, form: str, example: str) -> OptionError:
        """The fault of a value that has not the form it should have."""
        value = self.values[key]
        return OptionError(
            f"{key} must be {form}, not {value!r}",
            where=self.place(key),
            meaning="Nothing was analysed: half of what a file says is worse than none of it.",
            remedy=f"Write it as: {example}",
        )


@dataclass(frozen=True, slots=True)
class TomlFile:
    """A parsed file with its text, which tells the lines."""

    path: Path
    text: str
    values: Mapping[str, object]

    def section(self, name: str) -> TomlSection:
        """A table, empty where the file has none of that name.

        Raises:
            OptionError: what has the name is no table.
        """
        value = self.values.get(name, {})
        if not isinstance(value, dict):
            raise TomlSection(self, "", self.values).wrong(name, "a section", f"[{name}]")
        return TomlSection(self, name, value)

    def sections(self, name: str) -> list[TomlSection]:
        """An array of tables, empty where the file has none of that name.

        Raises:
            OptionError: what has the name is none.
        """
        value = self.values.get(name, [])
        if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
            raise TomlSection(self, "", self.values).wrong(name, "a list of sections", f"[[{name}]]")
        return [TomlSection(self, name, row, i) for i, row in enumerate(value)]

    def line_of(self, section: str, nth: int = 0, key: str | None = None) -> int | None:
        """The line of a key or of a header, counted from 1; None where the file spells it another way."""
        here, seen = "", -1
        for number, line in enumerate(self.text.splitlines(), 1):
            header = _HEADER.fullmatch(line)
            if header:
                here = header[2].strip("\"' ")
                seen += here == section
                if here == section and key is None and (seen == nth or header[1] == "["):
                    return number
                # A section that should not be there is itself the key that is looked for.
                if not section and here == key:
                    return number
                continue
            found = _KEY.match(line)
            name = next((g for g in found.groups() if g is not None), None) if found else None
            if name == key and here == section and (seen == nth or not section):
                return number
        return None


def read_toml(path: Path, *, option: str, remedy: str) -> TomlFile:
    """A TOML file in UTF-8.

    Args:
        path: the file.
        option: the option that named it, for messages.
        remedy: what to do where it can't be read.

    Raises:
        OptionError: it can't be read, or is no TOML.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return TomlFile(path, text, tomllib.loads(text))
    except OSError as fault:
        what = f"the file can't be read: {fault.strerror or fault}"
    except UnicodeDecodeError:
        what = "the file is no text in UTF-8"
    except tomllib.TOMLDecodeError as fault:
        what = f"the file is no TOML: {fault}"
    raise OptionError(what, where=f"{option} {label(path)}", meaning="Nothing was analysed.", remedy=remedy)
