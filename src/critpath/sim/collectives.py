"""Where ranks meet: a collective ends for all of its parts once the last of them has started and the data has moved."""

from __future__ import annotations

from collections.abc import Sequence

from critpath.sim.errors import ProgramError
from critpath.sim.executed import Op
from critpath.sim.instructions import Collective

__all__ = ["Meetings", "Rendezvous"]


class Rendezvous:
    """One collective across its ranks. A part waits inside its kernel from its own start until the last part's."""

    __slots__ = ("collective", "last", "ops", "sequence", "transfer_ns")

    def __init__(self, collective: Collective, sequence: int) -> None:
        self.collective = collective
        self.sequence = sequence
        self.transfer_ns = collective.transfer_ns
        self.ops: list[Op] = []
        self.last: Op | None = None

    def arrive(self, op: Op) -> Sequence[Op]:
        """Note that `op` has started; every part, once the last has.

        The slowest part's transfer counts: data moves at the pace of the slowest link.
        """
        self.ops.append(op)
        if len(self.ops) < self.collective.communicator.size:
            return ()
        last = self.last = max(self.ops, key=lambda part: (part.start_ns, part.index))
        end_ns = last.start_ns + self.transfer_ns
        for part in self.ops:
            part.end_ns = end_ns + part.exit_jitter_ns
            part.peer = last
        return self.ops


class Meetings:
    """Matches each rank's collectives to those of its peers, by order within a communicator."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, int, int], int] = {}
        self._open: dict[tuple[str, int], Rendezvous] = {}
        self.all: list[Rendezvous] = []

    def join(self, op: Op, collective: Collective) -> None:
        """Enter `op` into the collective that is next on its communicator for its process and device.

        Raises:
            ProgramError: when another rank issued a different operation at the same place.
        """
        name = collective.communicator.name
        counter = (name, id(op.run), op.stream.device)
        sequence = self._counts.get(counter, 0)
        self._counts[counter] = sequence + 1
        meeting = self._open.get((name, sequence))
        if meeting is None:
            meeting = self._open[name, sequence] = Rendezvous(collective, sequence)
            self.all.append(meeting)
        theirs = meeting.collective
        if (theirs.operation, theirs.communicator) != (collective.operation, collective.communicator):
            raise ProgramError(
                f"collective {sequence} on communicator {name!r} is {theirs.operation} of {theirs.communicator.size} "
                f"on one rank and {collective.operation} of {collective.communicator.size} on another"
            )
        meeting.transfer_ns = max(meeting.transfer_ns, collective.transfer_ns)
        op.collective = meeting
        op.exit_jitter_ns = collective.exit_jitter_ns
