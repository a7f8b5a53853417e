"""The user's own kernel-name rules, before the bundled ones."""

from __future__ import annotations

from pathlib import Path

from critpath.base.errors import OptionError
from critpath.model.taxonomy import Taxonomy

__all__ = ["read_taxonomy"]


def read_taxonomy(path: Path | None) -> Taxonomy:
    """The taxonomy with the rules of a TOML file in front; the bundled one without a file.

    Raises:
        OptionError: the file can't be read, or holds what is no rule.
    """
    if path is None:
        return Taxonomy.bundled()
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise OptionError(
            f"the rules can't be read: {fault}",
            where=f"--taxonomy {path}",
            meaning="Nothing was classified, so nothing was analysed.",
            remedy="Give a TOML file in UTF-8, as docs/method/taxonomy.md shows.",
        ) from fault
    return Taxonomy.layered(text, name=path.name)
