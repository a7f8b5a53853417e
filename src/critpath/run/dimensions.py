"""Which parallel dimension a communicator is: its members against the groups that the declared sizes make.

Ranks are numbered with tensor parallelism fastest, then context, data and pipeline, as Megatron-LM does by default; the
experts' groups lie inside data parallelism. A communicator is told a dimension only where it is the only one that fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from critpath.run.collectives import Communicator
from critpath.run.units import RunUnit

__all__ = ["dimension_of", "strides"]


def strides(sizes: Mapping[str, int | None], ranks: int | None) -> dict[str, tuple[int, int]]:
    """(size, distance of neighbours in rank) of each dimension of more than one rank.

    Args:
        sizes: as declared: tp, pp, cp, ep, etp, dp; None = nobody said.
        ranks: of the whole job, which tells dp where nobody did.
    """
    tp, cp, pp = (sizes.get(name) or 1 for name in ("tp", "cp", "pp"))
    dp = sizes.get("dp") or (max(1, ranks // (tp * cp * pp)) if ranks else 1)
    ep, etp = sizes.get("ep") or 1, sizes.get("etp") or tp
    found = {"tp": (tp, 1), "cp": (cp, tp), "dp": (dp, tp * cp), "pp": (pp, tp * cp * dp), "ep": (ep, etp)}
    return {name: pair for name, pair in found.items() if pair[0] > 1}


def dimension_of(community: Communicator, units: Sequence[RunUnit], known: Mapping[str, tuple[int, int]]) -> str | None:
    """The one dimension that a communicator can be, None where none fits or several do.

    Args:
        community: its captured members, and its size where that is told.
        units: all units.
        known: see `strides`.
    """
    if community.message:
        return "pp" if "pp" in known and _fits(community, units, known["pp"], whole=False) else None
    fits = [name for name, pair in known.items() if _fits(community, units, pair, whole=True)]
    return fits[0] if len(fits) == 1 else None


def _fits(community: Communicator, units: Sequence[RunUnit], pair: tuple[int, int], *, whole: bool) -> bool:
    size, stride = pair
    ranks = [units[i].rank for i in community.units]
    told = community.ranks
    if whole and (len(ranks) > size or (told is not None and told != size)):
        return False
    if any(rank is None for rank in ranks):
        return whole and told == size
    places = {(rank // (stride * size), rank % stride) for rank in ranks if rank is not None}
    return len(places) == 1
