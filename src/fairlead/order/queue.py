"""The contract of a queue: what waits in groups, and what readers do with it.

An `Agenda` keeps it in memory. Whatever keeps it elsewhere passes the same tests,
`tests/order/test_queue.py`. A queue has no clock: whoever calls says when.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from fairlead.balance.times import Time
from fairlead.errors import MessageError
from fairlead.order.outlook import Outlook


class Work(Iterator[Any], Protocol):
    """A group in the hands of a reader, until it is settled: accepted, rejected or released, once.

    It is an iterator over the group's items, in the order of their arrival, each once. It ends when
    nothing more waits at that moment; what arrives for the group before the work is settled can
    still be had by iterating on. Where it is settled already, each verb raises MessageError, and so
    does asking for an item.
    """

    @property
    def group(self) -> str:
        """The group's name; "" for an item that was sent without a group."""

    @property
    def tenant(self) -> str:
        """Whose it is."""

    @property
    def priority(self) -> int | None:
        """The priority with which it was taken; None if nobody had raised it."""

    @property
    def taken(self) -> float:
        """When it was taken, in seconds."""

    @property
    def attempt(self) -> int:
        """1, and 1 more for each release since the group was last accepted or rejected."""

    def accept(self) -> None:
        """What was given is done. What was not given waits on, as of its arrival."""

    def reject(self) -> list[Any]:
        """What was given is taken out, and not offered again. What was not given waits on.

        Returns the items that are taken out, in their order: the caller may keep them elsewhere.
        Raises MessageError where nothing was asked for: nobody knows what is meant.
        """

    def release(self) -> None:
        """All items return to their places, and the group to its own: as if it had not been taken.

        If the group was raised meanwhile, that counts instead of its old priority.
        """


def nothing_given(named: str) -> MessageError:
    """Why work cannot be rejected, or end well: it would wait again. `named`: its group."""
    return MessageError(
        f"work on {named}: found nothing of it given, allowed: to iterate over it first, or to "
        "release it"
    )


class WorkQueue(Protocol):
    """Work that waits in groups. Items of one group go in order, and to one reader at a time.

    A group lives while something of it waits or is worked on, or a raise of it has not had its
    turn; then nothing is left of it, not even whose it was.
    """

    def send(
        self,
        group: str | None,
        item: Any,  # noqa: ANN401 - an item is whatever is sent
        now: Time,
        *,
        priority: int | None = None,
        tenant: str = "",
        cost: int = 1,
    ) -> None:
        """Add an item to a group; a `priority` (0 to 255) raises the group, too.

        `group`: None or "" = the item is a group of its own. `tenant`: whose it is. Tenants that
        have work waiting share by their weights what is taken, counted in `cost`: an integer from
        1, in any unit. Raises MessageError, having done nothing, for a value that is not allowed,
        and for a group that is another tenant's.
        """

    def prioritise(self, group: str, now: Time, priority: int | None = None) -> bool:
        """Raise a group to a priority (0 to 255; None: the queue's default), behind its equals.

        This waits for no reader: a group that is worked on is raised, too, with what will be left
        of it or arrive for it. Returns whether it was raised: False, and nothing changes, for a
        group that does not live, and where the order is first come, first served.
        """

    def take(self, now: Time) -> Work | None:
        """Take the next group that nobody works on; None: there is none.

        It is locked until the work is settled. Taking a group ends its priority; so does its turn,
        where nothing of it waits.
        """

    def waiting(self, most: int = 5) -> Outlook:
        """The groups in the order in which they would be taken, at most so many, and why."""

    def working(self) -> Sequence[Work]:
        """The work in the hands of readers, in the order in which it was taken."""
