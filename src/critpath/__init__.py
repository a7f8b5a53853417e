"""critpath: a critical-path diagnosis of distributed GPU training from Nsight Systems exports.

import critpath
report = critpath.analyze(["rank0.sqlite"])
report.units[0].budget.compute_absent.mean_ms
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from critpath.base.errors import CritpathError
    from critpath.ingest.manifest import read_manifest
    from critpath.model.report import Report, load_report
    from critpath.pipeline.analyze import analyze
    from critpath.pipeline.options import Options, step_options

__all__ = [
    "CritpathError",
    "Options",
    "Report",
    "__version__",
    "analyze",
    "load_report",
    "read_manifest",
    "step_options",
]

__version__ = "0.1.0.dev0"

_HOMES = {
    "CritpathError": "critpath.base.errors",
    "Options": "critpath.pipeline.options",
    "Report": "critpath.model.report",
    "analyze": "critpath.pipeline.analyze",
    "load_report": "critpath.model.report",
    "read_manifest": "critpath.ingest.manifest",
    "step_options": "critpath.pipeline.options",
}


def __getattr__(name: str) -> Any:
    """The public names, imported when first used: the simulator needs none of the analysis."""
    if name not in _HOMES:
        raise AttributeError(f"module 'critpath' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_HOMES[name]), name)
