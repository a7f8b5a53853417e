"""What an export's tables look like in each generation of the tool: the one place that knows the differences.

A table is written as one line a column: name, type, "!" for NOT NULL, and the versions that have it
(`>=2025.1.3`, `<2025.5.2`). Tables and columns come in the order in which real exports declare them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from critpath.sim.errors import UnknownNameError
from critpath.sim.executed import SyncShape

__all__ = ["GENERATIONS", "NO_ID", "Generation", "generation_named"]

NO_ID = 4_294_967_295
"""What the profiler writes for "no stream" and "no event"."""

Version = tuple[int, ...]

_TYPES = {"I": "INTEGER", "T": "TEXT", "F": "REAL"}
_COLUMN = re.compile(
    r"(?P<name>\w+) (?P<type>[ITF])(?P<required>!?)(?P<key>\*?)(?: >=(?P<since>[\d.]+))?(?: <(?P<until>[\d.]+))?"
)


@dataclass(frozen=True, slots=True)
class Generation:
    """A schema generation: a version of the tool and what it writes differently.

    `sync_codes` are the `syncType` values as real rows of that version carry them, which is not what the version's own
    enumeration table says. `no_event_sync` is written where a sync row has no event.
    """

    name: str
    product: str
    schema: str
    sync_codes: dict[SyncShape, int]
    no_event_sync: int

    @property
    def version(self) -> Version:
        """The tool's version, comparable."""
        return _version(self.product)[:3]

    def since(self, version: str) -> bool:
        """Whether this generation is at least `version`."""
        return self.version >= _version(version)

    def columns(self, table: str) -> tuple[str, ...]:
        """The names of a table's columns in this generation; empty where the table doesn't exist."""
        return tuple(name for name, _ in self._declared(table))

    def statement(self, table: str) -> str:
        """The statement that creates `table`."""
        declared = ", ".join(f'"{name}" {kind}' for name, kind in self._declared(table))
        return f'CREATE TABLE "{table}" ({declared})'

    def _declared(self, table: str) -> list[tuple[str, str]]:
        found = []
        for match in _COLUMN.finditer(_TABLES[table]):
            since, until = match["since"], match["until"]
            if (since and not self.since(since)) or (until and self.since(until)):
                continue
            kind = _TYPES[match["type"]] + " NOT NULL" * bool(match["required"]) + " PRIMARY KEY" * bool(match["key"])
            found.append((match["name"], kind))
        return found


def _version(text: str) -> Version:
    return tuple(int(part) for part in text.split("."))


def _codes(event: int, wait: int, stream: int, context: int) -> dict[SyncShape, int]:
    return {
        SyncShape.EVENT: event,
        SyncShape.QUERY: event,
        SyncShape.WAIT: wait,
        SyncShape.STREAM: stream,
        SyncShape.CONTEXT: context,
    }


GENERATIONS = {
    generation.name: generation
    for generation in (
        Generation("2022.1", "2022.1.3.3", "2.9.1", _codes(2, 3, 3, 1), NO_ID),
        Generation("2024.6", "2024.6.2.225", "3.16.1", _codes(1, 2, 2, 0), NO_ID),
        Generation("2025.3", "2025.3.1.90", "3.20.2", _codes(1, 2, 2, 4), NO_ID),
        Generation("2025.6", "2025.6.3.541", "3.24.8", _codes(1, 2, 2, 4), 0),
        Generation("2026.2", "2026.2.1.210", "3.25.0", _codes(1, 2, 3, 4), 0),
    )
}


def generation_named(name: str) -> Generation:
    """The generation called `name`.

    Raises:
        UnknownNameError: when there is none.
    """
    try:
        return GENERATIONS[name]
    except KeyError:
        raise UnknownNameError.among(name, GENERATIONS, kind="generation") from None


_ENUM = "id I!* name T label T"

_TABLES = {
    "StringIds": "id I!* value T!",
    "TARGET_INFO_SYSTEM_ENV": """
        globalVid I! <2023.1 globalVid I >=2023.1 devStateName T! name T! nameEnum I! value T!""",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs I utcTime T localTime T systemClockNs I >=2025.6.1",
    "ANALYSIS_DETAILS": "globalVid I! duration I! startTime I! stopTime I!",
    "DIAGNOSTIC_EVENT": "timestamp I! timestampType I! source I! severity I! text T! globalPid I",
    "PROFILER_OVERHEAD": """
        start I! end I! globalTid I nameId I! returnValue I! <2025.5.2 overheadType I! >=2025.5.2""",
    "CUPTI_ACTIVITY_KIND_OVERHEAD": """
        start I! end I! eventClass I! globalTid I correlationId I nameId I overheadType I!""",
    "OSRT_API": """
        start I! end I! eventClass I! globalTid I nameId I! returnValue I! nestingLevel I callchainId I!
        argumentsId I! >=2025.5.1""",
    "SCHED_EVENTS": """
        start I! cpu I! isSchedIn I! globalTid I threadState I >=2024.5.1 threadBlock I >=2024.5.1""",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": """
        timestamp I >=2025.5.2 deviceId I! contextId I! greenContextId I >=2025.1.3 streamId I! correlationId I
        globalPid I eventId I! eventSyncId I >=2025.1.3""",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": """
        start I! end I! deviceId I! contextId I! greenContextId I >=2024.2.3 streamId I! correlationId I globalPid I
        deprecatedSyncType I >=2025.1.3 syncType I! eventId I! eventSyncId I >=2025.1.3""",
    "CUPTI_ACTIVITY_KIND_RUNTIME": """
        start I! end I! eventClass I! globalTid I correlationId I nameId I! returnValue I! callchainId I""",
    "CUPTI_ACTIVITY_KIND_KERNEL": """
        start I! end I! deviceId I! contextId I! greenContextId I >=2024.2.3 streamId I! correlationId I globalPid I
        demangledName I! shortName I! mangledName I launchType I cacheConfig I registersPerThread I!
        gridX I! gridY I! gridZ I! blockX I! blockY I! blockZ I! staticSharedMemory I! dynamicSharedMemory I!
        localMemoryPerThread I! localMemoryTotal I! gridId I! sharedMemoryExecuted I graphNodeId I
        sharedMemoryLimitConfig I qmdBulkReleaseDone I >=2025.5.2 qmdPreexitDone I >=2025.5.2
        qmdLastCtaDone I >=2025.5.2 graphId I >=2025.5.2 clusterX I >=2025.5.2 clusterY I >=2025.5.2
        clusterZ I >=2025.5.2 clusterSchedulingPolicy I >=2025.5.2 maxPotentialClusterSize I >=2025.5.2
        maxActiveClusters I >=2025.5.2 sharedMemoryRequestedPercentage I >=2025.6.3
        tensorSizeMinusOneElements T! >=2026.1.3""",
    "CUPTI_ACTIVITY_KIND_MEMCPY": """
        start I! end I! deviceId I! contextId I! greenContextId I >=2024.2.3 streamId I! correlationId I globalPid I
        bytes I! copyKind I! deprecatedSrcId I srcKind I dstKind I srcDeviceId I srcContextId I dstDeviceId I
        dstContextId I migrationCause I graphNodeId I virtualAddress I copyCount I >=2025.1.3""",
    "CUPTI_ACTIVITY_KIND_MEMSET": """
        start I! end I! deviceId I! contextId I! greenContextId I >=2025.1.3 streamId I! correlationId I globalPid I
        value I! bytes I! graphNodeId I memKind I""",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": """
        start I! end I! deviceId I! contextId I! greenContextId I >=2024.2.3 streamId I! correlationId I globalPid I
        graphId I! graphExecId I!""",
    "NVTX_EVENTS": """
        start I! end I eventType I! rangeId I category I color I text T globalTid I endGlobalTid I textId I domainId I
        uint64Value I int64Value I doubleValue F uint32Value I int32Value I floatValue F jsonTextId I jsonText T
        binaryData T >=2025.1.3""",
    "NVTX_PAYLOAD_SCHEMAS": """
        domainId I schemaId I name T type I flags I numEntries I payloadSize I alignTo I""",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": """
        domainId I! schemaId I! idx I! flags I type I name T description T arrayOrUnionDetail I offset I""",
    "GPU_METRICS": """
        rawTimestamp I! >=2024.6 timestamp I <2024.6 timestamp I! >=2024.6 typeId I! metricId I! value I!""",
    "TARGET_INFO_GPU_METRICS": "typeId I! sourceId I! typeName T! metricId I! metricName T!",
    "TARGET_INFO_NVTX_CUDA_DEVICE": "name T! hwId I! vmId I! deviceId I!",
    "PROCESSES": "globalPid I pid I name T",
    "ThreadNames": "nameId I! priority I globalTid I",
    "TARGET_INFO_GPU": """
        vmId I! id I! name T busLocation T isDiscrete I l2CacheSize I totalMemory I memoryBandwidth I clockRate I
        smCount I pwGpuId I uuid T luid I chipName T cuDevice I ctxswDevPath T ctrlDevPath T revision I nodeMask I
        constantMemory I maxIPC I maxRegistersPerBlock I maxShmemPerBlock I maxShmemPerBlockOptin I maxShmemPerSm I
        maxRegistersPerSm I threadsPerWarp I asyncEngines I maxWarpsPerSm I maxBlocksPerSm I maxThreadsPerBlock I
        maxBlockDimX I maxBlockDimY I maxBlockDimZ I maxGridDimX I maxGridDimY I maxGridDimZ I computeMajor I
        computeMinor I smMajor I smMinor I""",
    "TARGET_INFO_CUDA_DEVICE": "gpuId I cudaId I! pid I! uuid T >=2025.6.1 numMultiprocessors I >=2025.6.1",
    "TARGET_INFO_CUDA_CONTEXT_INFO": """
        nullStreamId I! hwId I! vmId I! processId I! deviceId I! contextId I! parentContextId I isGreenContext I
        numMultiprocessors I >=2025.6.1 numTpcs I >=2026.1.3 tpcMask T >=2026.1.3 workqueueResourceId I >=2026.1.3
        workqueueConcurrencyLimit I >=2026.1.3 workqueueSharingScope I >=2026.1.3""",
    "TARGET_INFO_CUDA_NULL_STREAM": "streamId I! hwId I! vmId I! processId I! deviceId I! contextId I!",
    "TARGET_INFO_CUDA_STREAM": "streamId I! hwId I! vmId I! processId I! contextId I! priority I! flag I!",
    "META_DATA_CAPTURE": "name T! value T",
    "META_DATA_EXPORT": "name T! value T",
    "EXPORT_META_DATA": "name T! value T",
    "ENUM_NSYS_EVENT_TYPE": _ENUM,
    "ENUM_NSYS_EVENT_CLASS": _ENUM,
    "ENUM_CUDA_MEMCPY_OPER": _ENUM,
    "ENUM_CUDA_MEM_KIND": _ENUM,
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE": _ENUM,
    "ENUM_CUPTI_STREAM_TYPE": _ENUM,
    "ENUM_CUPTI_SYNC_TYPE": _ENUM,
    "ENUM_CUPTI_OVERHEAD_TYPE": _ENUM,
    "ENUM_DIAGNOSTIC_SEVERITY_LEVEL": _ENUM,
    "ENUM_DIAGNOSTIC_SOURCE_TYPE": _ENUM,
    "ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE": _ENUM,
}
