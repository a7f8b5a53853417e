"""What `critpath explain` says of a guard or of a word of the report."""

from __future__ import annotations

import re

from critpath.base.errors import OptionError
from critpath.guards.glossary import Term, glossary
from critpath.guards.registry import Guard, guards

__all__ = ["explain"]

_GUARD_ID = re.compile(r"p\d+", re.IGNORECASE)


def explain(topic: str) -> str:
    """The page of a guard, or the glossary's entry of a term or of a report key.

        explain("p07")
        explain("launch starved")       # also Launch-Starved, launch_starved, launch_starved_ms

    Raises:
        OptionError: neither a guard nor a term has that name.
    """
    pages = {guard.id: guard for guard in guards()}
    terms = {_plain(term.name): term for term in glossary()}
    word = topic.strip()
    if word.upper() in pages:
        return _guard(pages[word.upper()])
    if _plain(word) in terms:
        return _term(terms[_plain(word)])
    for term in glossary():
        if word in term.keys:
            return _term(term)
    if _GUARD_ID.fullmatch(word):
        raise OptionError.unknown(word.upper(), pages, kind="guard", where="critpath explain")
    names = [*pages, *(term.name for term in terms.values())]
    raise OptionError.unknown(word.lower(), names, kind="topic", where="critpath explain")


def _guard(guard: Guard) -> str:
    rest = guard.page.partition("\n")[2].strip("\n")
    places = "\n".join(f"    {anchor}" for anchor in guard.anchors) or "    not analysed yet"
    return f"{guard.id}  {guard.title}\n\n{rest}\n\nCode:\n{places}\n"


def _term(term: Term) -> str:
    return f"{term.name}\n\n{term.text}\n"


def _plain(word: str) -> str:
    return re.sub(r"[\s_-]+", " ", word.strip().lower())
