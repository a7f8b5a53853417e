"""The name of a model, from the configuration that its framework keeps."""

from __future__ import annotations

import json
from pathlib import Path

from critpath.base.errors import OptionError
from critpath.ingest.label import label

__all__ = ["read_model_name"]

_NAMES = ("model_type", "architectures", "model_name", "name", "_name_or_path")
_NESTED = ("model", "model_config", "text_config", "args")
_ENUMERATION = "ModelType."
"""Megatron's arguments have a `model_type` too: a member of this enumeration, which names no model."""


def read_model_name(path: Path, *, where: str) -> str | None:
    """Name or family of the model in a JSON configuration of Hugging Face or Megatron; None where it tells none.

    Args:
        path: the configuration.
        where: where it was named, for messages.

    Raises:
        OptionError: the file can't be read, or is no JSON object.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as fault:
        raise _unread(path, where, f"it can't be read: {fault.strerror or fault}") from fault
    except ValueError as fault:
        raise _unread(path, where, f"it is no JSON: {fault}") from fault
    if not isinstance(found, dict):
        raise _unread(path, where, "it holds no JSON object")
    nested = [found[key] for key in _NESTED if isinstance(found.get(key), dict)]
    return next((name for section in (found, *nested) if (name := _name(section))), None)


def _name(section: dict[str, object]) -> str | None:
    for key in _NAMES:
        value = section.get(key)
        told = value[0] if isinstance(value, list) and value else value
        if isinstance(told, str) and told.strip() and not told.startswith(_ENUMERATION):
            # A name may be the folder it was loaded from, which tells of its owner.
            return told.rstrip("/").rpartition("/")[2] if key == "_name_or_path" else told
    return None


def _unread(path: Path, where: str, what: str) -> OptionError:
    return OptionError(
        f"the model's configuration {label(path)}: {what}",
        where=where,
        meaning="Nothing was analysed.",
        remedy="Name the model's config.json, in UTF-8, relative to the manifest; or leave the key out.",
    )
