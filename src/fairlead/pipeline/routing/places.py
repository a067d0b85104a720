"""Places in the order of messages, and the blocks that begin at some of them."""

from __future__ import annotations

from dataclasses import dataclass

Place = tuple[int, str]
"""(key, id): a message's place in the order."""


@dataclass(frozen=True)
class Blocks:
    """The places at which blocks 1, 2, … begin; block 0 begins before everything."""

    starts: tuple[Place, ...] = ()
    tasks: tuple[int, ...] = ()
    """By block the number of the task that reads it, where each is a piece of a file."""

    @property
    def in_place(self) -> bool:
        """Whether each block is a piece of a file, so that nothing has to be moved."""
        return bool(self.tasks)

    def __len__(self) -> int:
        """How many blocks there are."""
        return len(self.starts) + 1

    def of(self, place: Place) -> int:
        """The block of one message."""
        bytes_ = [(key, id_.encode()) for key, id_ in self.starts]
        return sum((place[0], place[1].encode()) >= start for start in bytes_)
