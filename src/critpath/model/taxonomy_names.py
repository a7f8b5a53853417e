r"""One spelling for the name of a kernel, whoever demangled it.

The same kernel is `void a::f<(int)8>(T1 *)` in an Nsight Systems export, `void a::f<8>(int*)` in a Kineto trace and
`_ZN1a1fILi8EEEvPT_` in the binary. `normalise` writes all three as `a::f<8>…`: the qualified name first, then every
template argument, then the function's arguments, so that `^[\w:]*` in a rule means "in the name itself".

Names are foreign text. Only the first `LONGEST_READ` characters are read, every step is linear, and nothing raises.
"""

from __future__ import annotations

import re

__all__ = ["LONGEST_NAME", "LONGEST_READ", "normalise"]

LONGEST_READ = 4096
"""Characters of a raw name that are looked at; the longest name in our corpus has under 2,000."""

LONGEST_NAME = 1024
"""Characters of a normalised name; bounds what a pattern with two stars can cost."""

_SUMMARY_ROWS = ("Memcpy ", "Memset ", "[CUDA mem")
"""How profilers' summaries list copies and fills among kernels: no C++ names."""

_ANONYMOUS = re.compile(r"(?:\(anonymous namespace\)|\(anonymous\)|<unnamed>|\{anonymous\}|_GLOBAL__N_\w*)(?:::)?")
_VERSIONED = re.compile(r"\b(?:CUB|THRUST|CCCL)_[0-9_]+NS::|\b(?:__\d+|_V\d+|__cxx11)::")
_LAMBDA = re.compile(
    r"\[lambda\((?:[^()\[\]]|\([^()]*\)){0,400}\) \(instance \d+\)\]"
    r"|\{lambda\((?:[^(){}]|\([^()]*\)){0,400}\)#\d+\}"
    r"|'lambda\d*'(?:\([^()]{0,400}\))?"
)
_CAST = re.compile(r"\([A-Za-z_][\w:]*(?: [\w:]+){0,2}\)(?=-?\d)")
_SUFFIXED = re.compile(r"\b(\d+)[uUlL]{1,3}\b")
_WORDS = re.compile(r"\b(?:const|volatile|__restrict__|__restrict|restrict|struct|class)\b")
_SPACED = re.compile(r" (?=[*&,<>()])|(?<=[*&,<>()]) ")
_BRACKET = re.compile(r"[<>()]")
_LITERAL = {"true": "1", "false": "0"}
_BOOL = re.compile(r"\b(?:true|false)\b")


def normalise(name: str) -> str:
    """The one spelling of a kernel's name that rules are written for.

    `void`, return types, anonymous and versioned inline namespaces, `const`, casts and integer suffixes go;
    lambdas become `{lambda}`; template arguments follow the whole qualified name; a mangled name is read for its
    identifiers, without the arguments. A name cut short by a report keeps what is left of it.
    """
    text = _printable(name[:LONGEST_READ])
    if text.startswith(("_Z", "__Z")):
        return _mangled(text[text.index("_Z") + 2 :])[:LONGEST_NAME]
    if text.startswith(_SUMMARY_ROWS):
        return text[:LONGEST_NAME]
    text = _one_spelling(text)
    head, templates, arguments = _parts(text)
    inside = f"<{', '.join(templates)}>" if templates else ""
    return f"{head}{inside}{arguments}"[:LONGEST_NAME]


def _printable(name: str) -> str:
    """The name in one line: control characters and lone surrogates are no part of any identifier."""
    if name.isascii() and name.isprintable():
        return name.strip()
    return "".join(c if c.isprintable() else " " for c in name).strip()


def _one_spelling(text: str) -> str:
    text = text.removesuffix("...").removesuffix("…").removesuffix(".kd").removesuffix(" [clone .kd]")
    text = text.replace("operator ()", "operator()")
    if "lambda" in text:
        text = _LAMBDA.sub("{lambda}", text)
    text = _ANONYMOUS.sub("", text)
    if "::_" in text or "_NS" in text:
        text = _VERSIONED.sub("", text)
    if "<" not in text and "(" not in text:
        return text
    text = _WORDS.sub("", text)
    text = _CAST.sub("", text)
    text = _SUFFIXED.sub(r"\1", text)
    text = _BOOL.sub(lambda m: _LITERAL[m[0]], text)
    text = _SPACED.sub("", " ".join(text.split()))
    return text.replace(",", ", ")


def _parts(text: str) -> tuple[str, list[str], str]:
    """Qualified name, template arguments and argument list of a demangled name.

    Brackets of the name proper are walked one by one; a space outside of them ends a return type, up to the
    argument list, which is the last group of parentheses outside all others.
    """
    head: list[str] = []
    templates: list[str] = []
    arguments = ""
    depth = opened = copied = 0
    for found in _BRACKET.finditer(text.replace("operator()", "operator__").replace("->", "--")):
        at, bracket = found.start(), found[0]
        if bracket in "<(":
            if depth == 0:
                piece = text[copied:at]
                if not arguments and " " in piece:
                    # What stood before the space was the return type, its template arguments included.
                    piece = piece[piece.rindex(" ") + 1 :]
                    head.clear()
                    templates.clear()
                head.append(piece)
                opened = at
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                copied = at + 1
                if bracket == ">":
                    templates.append(text[opened + 1 : at])
                else:
                    arguments = text[opened:copied]
    if depth and text[opened] == "<":
        templates.append(text[opened + 1 :])
    elif depth:
        arguments = text[opened:]
    else:
        tail = text[copied:]
        if not arguments and " " in tail:
            tail = tail[tail.rindex(" ") + 1 :]
            head.clear()
            templates.clear()
        head.append(tail.removesuffix(" const"))
    return "".join(head).strip(), templates, arguments


_DEEPEST_NESTING = 64
"""Brackets inside brackets up to which a mangled name is read."""

_IDENTIFIER_LENGTH = re.compile(r"\d+")
_PLAIN_LITERAL = re.compile(r"L[a-z](n?)(\d+)E")
_CLOSURE_NUMBER = re.compile(r"\d*_")
_SUBSTITUTION = re.compile(r"S[0-9A-Z]*_|T\d*_|S[abdios]")
_SKIPPED = re.compile(r"D(?:p|n|i|u|s|F16_|F16b|v\d+_)|A\d+_|[a-z]{1,2}|[PROKVM_GC0-9]")


def _mangled(text: str) -> str:
    """Qualified name and template identifiers of an Itanium-mangled name, read without its grammar of types.

    Only length-prefixed identifiers and integer literals are taken. The brackets N, I, J, L, X, Z, U and E are
    counted, which is enough to tell the name from its template arguments and these from the function's arguments.
    """
    head: list[str] = []
    inside: list[str] = []
    stack: list[str] = []
    at = 1 if text.startswith("L") else 0
    while at < len(text) and len(stack) < _DEEPEST_NESTING:
        step, word = _mangled_piece(text, at, stack)
        in_template = "I" in stack
        if word is not None and not word.startswith("_GLOBAL__N"):
            (inside if in_template else head).append(word)
        at += step
        if not stack and head and (at >= len(text) or text[at] not in "IL"):
            break
    name = "::".join(head)
    templates = f"<{', '.join(inside)}>" if inside else ""
    # That there are arguments tells a full name from a bare one; which they are isn't read.
    return f"{name}{templates}{'(…)' if at < len(text) else ''}"


def _mangled_piece(text: str, at: int, stack: list[str]) -> tuple[int, str | None]:
    """How many characters the piece at `at` takes, and the word it says, if it says one."""
    if length := _IDENTIFIER_LENGTH.match(text, at):
        if stack and stack[-1] == "L" and text.startswith("E", length.end()):
            return length.end() - at, length[0]
        size = int(length[0]) if len(length[0]) <= 4 else LONGEST_NAME
        return length.end() - at + size, text[length.end() : length.end() + size]
    if literal := _PLAIN_LITERAL.match(text, at):
        return literal.end() - at, ("-" if literal[1] else "") + literal[2]
    if text.startswith("St", at):
        return 2, "std"
    return _mangled_mark(text, at, stack), None


def _mangled_mark(text: str, at: int, stack: list[str]) -> int:
    """How many characters the bracket, substitution or built-in type at `at` takes; keeps the stack of brackets."""
    letter = text[at]
    if found := _SUBSTITUTION.match(text, at):
        return found.end() - at
    if letter in "NIJLXZU" or text.startswith(("DT", "Dt"), at):
        stack.append(letter)
        return 2 if letter in "DU" else 1
    if letter == "E":
        closed = stack.pop() if stack else ""
        # A lambda's or unnamed type's number follows its bracket: `UlvE1_`.
        number = _CLOSURE_NUMBER.match(text, at + 1) if closed == "U" else None
        return number.end() - at if number else 1
    skipped = _SKIPPED.match(text, at)
    return skipped.end() - at if skipped else 1
