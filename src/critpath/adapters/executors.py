"""Who analyses the inputs: this process, a pool of others on this machine, or a Dask cluster.

with executor("processes:4", inputs=64) as workers:
    analysis(files, options, MapSettings(executor=workers))
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from threading import local
from typing import Any, TypeVar

from critpath.base.errors import OptionError

__all__ = ["ProcessSlots", "executor"]

T = TypeVar("T")

_MOST_PROCESSES = 1_024
_DASK_TIMEOUT_S = 10
_FORM = "serial, processes:N, or dask://HOST:PORT"


@contextmanager
def executor(name: str | None, *, inputs: int) -> Iterator[Executor | None]:
    """The executor of a name; None stands for this process, one input after the other.

    Args:
        name: `serial`, `processes`, `processes:N` or `dask://HOST:PORT`; None takes processes, up to the cores.
        inputs: how many inputs there are: more workers than that do nothing.

    Raises:
        OptionError: the name is none of these, or there is no scheduler at the address.
    """
    if name is not None and name.startswith("dask://"):
        with _dask(name) as workers:
            yield workers
        return
    processes = _processes(name)
    if name == "serial" or (min(processes, inputs) < 2 and name is None):
        yield None
        return
    with ProcessSlots(max(1, min(processes, inputs))) as slots:
        yield slots


def _processes(name: str | None) -> int:
    if name in (None, "serial", "processes"):
        return len(os.sched_getaffinity(0))
    match = re.fullmatch(r"processes:(\d{1,4})", str(name))
    if match is None or not 1 <= int(match[1]) <= _MOST_PROCESSES:
        raise OptionError(
            f"{name!r} is no executor",
            where="--executor",
            meaning="Nobody would analyse the inputs, so nothing was analysed.",
            remedy=f"Give {_FORM}, N being 1 to {_MOST_PROCESSES:,}.",
        )
    return int(match[1])


class ProcessSlots(Executor):
    """Processes side by side, each replaced when it dies: a death costs the work it held and nothing else.

    Processes are spawned, since polars hangs in forked ones.

    Args:
        slots: how many processes at a time.
    """

    def __init__(self, slots: int) -> None:
        self._own = local()
        self._threads = ThreadPoolExecutor(slots, thread_name_prefix="critpath-slot")
        self._pools: list[ProcessPoolExecutor] = []

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """See `Executor.submit`; work whose process dies raises `BrokenExecutor`."""
        return self._threads.submit(self._run, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `Executor.shutdown`."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for pool in self._pools:
            pool.shutdown(wait, cancel_futures=cancel_futures)

    def _run(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        pool = getattr(self._own, "pool", None)
        if pool is None:
            pool = self._own.pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
            self._pools.append(pool)
        try:
            return pool.submit(fn, *args, **kwargs).result()
        except BrokenExecutor:
            self._own.pool = None
            raise


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client  # noqa: PLC0415 - an extra
    except ImportError as fault:
        raise OptionError(
            "Dask isn't installed",
            where=f"--executor {address}",
            meaning="Nothing was analysed.",
            remedy="Install it here and on the workers: pip install 'critpath[dask]'",
        ) from fault
    target = address.replace("dask://", "tcp://", 1)
    if re.fullmatch(r"tcp://(\[[0-9a-fA-F:]+\]|[^\s/:]+):\d{1,5}/?", target) is None:
        raise OptionError(
            f"{address!r} is no scheduler's address",
            where="--executor",
            meaning="Nobody would analyse the inputs, so nothing was analysed.",
            remedy=f"Give {_FORM}.",
        )
    try:
        client = Client(target.rstrip("/"), timeout=_DASK_TIMEOUT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as fault:
        raise OptionError(
            f"no Dask scheduler answers there within {_DASK_TIMEOUT_S} s",
            where=f"--executor {address}",
            meaning="Nobody would analyse the inputs, so nothing was analysed.",
            remedy="Start one (dask scheduler, dask worker), check the address, or leave --executor out.",
        ) from fault
    with client:
        yield _DaskExecutor(client.get_executor(pure=False))  # type: ignore[no-untyped-call]


class _DaskExecutor(Executor):
    """A cluster whose lost workers raise `BrokenExecutor`, as those of any other executor do."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """See `Executor.submit`."""
        outer: Future[T] = Future()
        outer.set_running_or_notify_cancel()

        def done(inner: Future[T]) -> None:
            fault = inner.exception()
            if fault is None:
                outer.set_result(inner.result())
            else:
                outer.set_exception(_as_lost(fault))

        self._inner.submit(fn, *args, **kwargs).add_done_callback(done)
        return outer


def _as_lost(fault: BaseException) -> BaseException:
    from distributed import KilledWorker  # noqa: PLC0415 - an extra
    from distributed.comm.core import CommClosedError  # noqa: PLC0415

    if isinstance(fault, KilledWorker | CommClosedError):
        return BrokenExecutor(f"Dask lost it: {type(fault).__name__}")
    return fault
