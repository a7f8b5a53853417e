"""What the user declares of a job: its workload, its size, its source tree."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict

from critpath.model.manifest import Manifest
from critpath.model.report import Capture, SourceTree, Workload

__all__ = ["declared", "workload"]

_HASH = re.compile(r"[0-9a-f]{7,64}")


def workload(manifest: Manifest | None, *, step_definition: str) -> Workload:
    """What the job trains; null where nobody said."""
    if manifest is None:
        return Workload(step_definition=step_definition)
    model = manifest.model
    return Workload(
        model=model.name,
        precision=model.precision,
        seq_length=model.seq_length,
        micro_batch=model.micro_batch,
        global_batch=model.global_batch,
        framework_revisions=dict(manifest.run.framework_revisions),
        container=manifest.run.container,
        step_definition=step_definition,
        **asdict(manifest.parallel),
    )


def declared(capture: Capture, source: SourceTree, manifest: Manifest | None) -> Capture:
    """The capture section with what the user says: the job's ranks, and the source tree beside the capture."""
    revisions = manifest.run.framework_revisions.values() if manifest else ()
    ranks = manifest.job.ranks if manifest else None
    return capture.model_copy(
        update={
            "ranks_declared": capture.ranks_declared if ranks is None else ranks,
            "source": source.model_copy(update={"matches_profiled": _matches(source.revision, revisions)}),
        }
    )


def _matches(revision: str | None, declared: Iterable[str]) -> bool | None:
    """Whether a commit is a declared one. A release's name can't be compared with a commit, so it tells nothing."""
    hashes = [text.strip().lower() for text in declared if _HASH.fullmatch(text.strip().lower())]
    if revision is None or not hashes:
        return None
    return any(revision.startswith(text) or text.startswith(revision) for text in hashes)
