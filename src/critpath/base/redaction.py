"""Foreign text made fit to be shown: without folders, users, addresses and values of variables.

Reports are passed on, and messages of tools quote whatever they met: home folders, command lines, tokens.

    redacted("Loading '/home/ada/env/libx.so' failed, HF_TOKEN=hf_abc")
    # "Loading '[path]/libx.so' failed, HF_TOKEN=[redacted]"
"""

from __future__ import annotations

import re

__all__ = ["redacted"]

_PATH = "[path]"
_HIDDEN = "[redacted]"

_SYSTEM = re.compile(r"/(?:proc|sys|dev)(?:/|$)")
_HOME = re.compile(r"/(?:home|Users|users)/[^/]*/?")

_QUOTED = re.compile(r"""(?P<quote>['"])(?P<path>(?:/|[A-Za-z]:[\\/]|\\\\|~)[^'"\n]*)(?P=quote)""")
_WINDOWS = re.compile(r"(?:\b[A-Za-z]:[\\/]|\\\\)(?:[Uu]sers[\\/](?:[^\\/'\"\n]+[\\/]|\S+))?[^\s'\"<>|,;]*")
_UNIX = re.compile(r"(?<![\w/:.\]~])(?:~[\w.-]*)?/(?:[^\s'\"<>:;,()\[\]]*[^\s'\"<>:;,()\[\].])?")

_TELLING = r"token|secret|passw(?:or)?d|credential|api_?key|access_?key|private_?key"
_SECRETS = (
    (re.compile(r"(?<=://)[^/\s@]+@"), f"{_HIDDEN}@"),
    (re.compile(r"""\b(?<!-)([A-Z][A-Z0-9_]*)=(?:"[^"]*"|'[^']*'|[^\s,;'"]*)"""), rf"\1={_HIDDEN}"),
    (
        re.compile(rf"""(?i)\b([\w-]*(?:{_TELLING})[\w-]*)(\s*[=:]\s*)(?:"[^"]*"|'[^']*'|[^\s,;'"]+)"""),
        rf"\1\2{_HIDDEN}",
    ),
    (re.compile(r"(?i)\b(\w+_proxy)=\S+"), rf"\1={_HIDDEN}"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}"), rf"\1 {_HIDDEN}"),
    (re.compile(r"\b(?:hf_|gh[pousr]_|github_pat_|sk-|xox[abp]-|AKIA|glpat-)[\w-]{4,}"), _HIDDEN),
    (re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)*\b"), _HIDDEN),
    (
        re.compile(r"""(?i)\b(user(?:\s?name)?)(\s*[:=]\s*|\s+(?=['"]))(?:"[^"]*"|'[^']*'|[^\s,;'"]+)"""),
        rf"\1\2{_HIDDEN}",
    ),
)


def redacted(text: str) -> str:
    """The text without what names a place, a person or a secret.

    Of a path its last part stays, since libraries tell their versions there; a home folder named alone leaves nothing.
    Paths of the operating system's own settings, web addresses and options of command lines stay.
    """
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    text = _QUOTED.sub(lambda m: m["quote"] + _last_part(m["path"]) + m["quote"], text)
    text = _WINDOWS.sub(lambda m: _last_part(m[0]), text)
    return _UNIX.sub(lambda m: _last_part(m[0]), text)


def _last_part(path: str) -> str:
    plain = path.replace("\\", "/")
    if _SYSTEM.match(plain) or plain == "/":
        return path
    if _HOME.fullmatch(re.sub(r"^[A-Za-z]:", "", plain)):
        return _PATH
    last = plain.rstrip("/").rpartition("/")[2]
    return f"{_PATH}/{last}" if last and not last.startswith("~") else _PATH
