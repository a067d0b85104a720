"""A group in the hands of a reader, until it is settled."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Final, Self

from fairlead.errors import MessageError, StoreError
from fairlead.order.key import UNRAISED
from fairlead.order.queue import Work, nothing_given
from fairlead.store.arguments import duration, reason_of, whole
from fairlead.store.conversation import Conversation, DialogSession
from fairlead.store.database.port import Database
from fairlead.store.message import Message, message_of, not_given
from fairlead.store.queues.failing import ERROR
from fairlead.store.queues.received import Received
from fairlead.store.queues.settlement import ACCEPTED, REJECTED, RELEASE, Given, Settlement
from fairlead.store.queues.taken_group import TakenGroup

AT_ONCE: Final = 0.0001
"""Seconds. Whoever ends a conversation has to ask the server, which takes longer: nobody can have
done so, and know it, since a server has told that it has not ended."""
PAUSE: Final = 1.0
"""Seconds until a group can be taken again whose reader the database has failed."""


class HeldWork(Work):
    """A group that a reader holds: an iterator over its messages, and the verbs that settle it.

    `with work:` accepts what was given at the end of the block; where the block raises, it
    releases the group, and that counts as a failure, unless it raises StoreError.
    """

    def __init__(self, session: DialogSession, queue: str, held: TakenGroup) -> None:
        """`session`: through whom its reader answers in conversations."""
        self._session = session
        self.queue = queue
        """The queue's name."""
        self.held = held
        self.conversations: dict[int, Conversation] = {}
        """Those in which its messages were said, by their ends."""
        self._read = [self._message(message) for message in held.messages]
        self._given: list[Message] = []
        self._next = 0
        self._passed: list[Message] = []
        """Read and not given: a transaction that is open has ended their conversations, or it was
        only looked at."""
        self._dead: dict[int, str] = {}
        self._asked = False
        """Whether its reader has asked for a message."""
        self._settled = False
        self._within: Database | None = None
        self._told: dict[int, float] = {}
        """When a server has told, since it was read, how these ends stand."""

    # -------- what its store, or its transaction, does

    @abstractmethod
    def _more(self, given: list[int]) -> list[Received]:
        """Messages of the group that were not given yet."""

    @abstractmethod
    def _holds(self) -> bool:
        """Whether the group is still this reader's."""

    @abstractmethod
    def _has_ended(self, conversation: Conversation) -> bool:
        """Whether the receiver's end of a conversation has ended."""

    @abstractmethod
    def _settle_as(self, end: Settlement) -> None:
        """Settle the work."""

    @abstractmethod
    def extend(self, lease: float = 60) -> None:
        """The lease ends so many seconds from now. Raises StaleWorkError."""

    @abstractmethod
    def transaction(self) -> AbstractContextManager[Any]:
        """A transaction for the user's own rows, further sends, and settling this work.

        Before its block ends, one of `accept`, `reject` or `release` is to be said.
        """

    # --------

    def _message(self, received: Received) -> Message:
        """As its reader gets it, with the same conversation for all that was said in one."""
        end = received.end
        if end is None:
            return message_of(received)
        if end.id not in self.conversations:
            self.conversations[end.id] = Conversation(end, self._session)
        return message_of(received, self.conversations[end.id])

    @property
    def group(self) -> str:
        return self.held.group

    @property
    def tenant(self) -> str:
        return self.held.tenant

    @property
    def priority(self) -> int | None:
        return None if self.held.priority == UNRAISED else self.held.priority

    @property
    def taken(self) -> float:
        return self.held.taken / 1_000_000

    @property
    def attempt(self) -> int:
        return self.held.attempt

    @property
    def token(self) -> int:
        """The fencing token: it rises with each take, and is that of one reader at a time."""
        return self.held.token

    @property
    def deadline(self) -> float:
        """When the lease is over, in seconds since 1970."""
        return self.held.deadline / 1_000_000

    @property
    def named(self) -> str:
        """The group, as errors name it."""
        return f"group {self.group!r}" if self.group else "an item without a group"

    @property
    def latest(self) -> str:
        """The id of the message that was given last; "" before any was."""
        return self._given[-1].id if self._given else ""

    def is_at_hand(self) -> bool:
        """Whether the next message is given without asking the database."""
        read_on = self._next < len(self._read) and not self._passed
        return read_on and self._within is None and self._read[self._next].conversation is None

    def __iter__(self) -> Iterator[Message]:
        return self

    def __next__(self) -> Message:
        self.check_open()
        self._asked = True
        message = self._passed_over() or self._following()
        if message is None:
            raise StopIteration
        self._given.append(message)
        if message.conversation is not None:
            message.conversation.given.append(message.number)
        return message

    def _passed_over(self) -> Message | None:
        """The first that was passed over, and whose conversation was not ended after all."""
        for message in self._passed:
            if not self._is_over(message.conversation):
                self._passed.remove(message)
                return message
        return None

    def peek(self) -> Message | None:
        """The message that would be given next; None: there is none."""
        self.check_open()
        message = self._passed_over() or self._following()
        if message is not None:
            self._passed.insert(0, message)
        return message

    def _following(self) -> Message | None:
        """The next message that was read, and whose conversation has not ended since."""
        while (message := self._read_on()) is not None:
            conversation = message.conversation
            if not self._is_over(conversation, self.held.told):
                return message
            if conversation is not None and conversation.ending is not None:
                self._passed.append(message)
        return None

    def _is_over(self, conversation: Conversation | None, told: float | None = None) -> bool:
        """`told`: when a server has told that it has not ended, if it has."""
        if conversation is None:
            return False
        if conversation.ending is not None:
            if not conversation.ending.idle:
                return True
            conversation.ending = told = None  # it was committed, or rolled back
        elif told is not None:
            end = conversation.endpoint.id
            if time.monotonic() - self._told.get(end, told) < AT_ONCE:
                return False
        over = self._has_ended(conversation)
        if not over and self.held.told is not None:
            self._told[conversation.endpoint.id] = time.monotonic()
        return over

    def _read_on(self) -> Message | None:
        if self._next == len(self._read) and self.group:
            more = self._more([message.number for message in self._read])
            if self.held.told is not None:
                self._told, self.held.told = {}, time.monotonic()
            self._read += [self._message(message) for message in more]
        if self._next == len(self._read):
            return None
        self._next += 1
        return self._read[self._next - 1]

    def accept(self) -> None:
        self._settle(ACCEPTED)

    def reject(self, reason: str = "", message: Message | None = None) -> list[Any]:
        """What was given is taken out and kept as dead letters, with the reason.

        `message`: only this one; it is taken out when the work is accepted. Returns what is
        rejected.
        """
        if message is not None:
            self.check_open()
            if message not in self._given:
                raise not_given(message)
            self._dead[message.number] = reason_of(reason)
            return [message]
        self._settle(REJECTED, reason=reason)
        return list(self._given)

    def release(self, delay: float | None = None, error: str = "", done: int = 0) -> None:
        """All messages return to their places, and the group to its own.

        `delay`: seconds until it can be taken again; without it none, but for a failure as many as
        the queue's `retry` says. `error`: why the work failed; then it counts towards the failures
        after which what was given becomes dead letters. `done`: so many of what was given, from the
        first, are accepted all the same: they come no more, are no dead letters, and failures are
        counted from here. Not all of it: then accept the work.
        """
        micros = None if delay is None else duration("delay", delay)
        failed = ERROR if error else ""
        self._settle(RELEASE, reason=error, delay=micros, failed=failed, done=done)

    def __enter__(self) -> Self:
        self.check_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.is_settled():
            return
        if isinstance(error, StoreError):  # the database has failed, and no message
            self.release(delay=PAUSE)
        elif isinstance(error, Exception):
            self.release(error=f"{type(error).__name__}: {error}")
        elif error is not None:  # the process is told to stop: nothing has failed
            self.release()
        elif self._asked:
            self.accept()
        else:
            self.release()
            raise nothing_given(self.named)

    def end(
        self,
        kind: str,
        reason: str = "",
        delay: int | None = None,
        *,
        failed: str = "",
        done: int = 0,
    ) -> Settlement:
        """How it ends, with what was given so far. Raises MessageError."""
        if kind == REJECTED and not self._asked:
            raise nothing_given(self.named)
        whole("done", done, 0, max(len(self._given) - 1, 0))
        messages = [Given(message.number, message.id, message.cost) for message in self._given]
        held = self.held
        return Settlement(
            *(kind, held.id, held.token, held.group, messages),
            dead={} if kind == REJECTED else self._dead,
            reason=reason_of(reason),
            delay=delay,
            failed=failed,
            done=done,
            partly=held.only is not None,
        )

    def _settle(self, kind: str, **more: Any) -> None:  # noqa: ANN401 - as `end` says
        self.check_open()
        self._settle_as(self.end(kind, **more))
        self.close()

    def close(self, within: Database | None = None) -> None:
        """It is settled; `within`: in a transaction of the caller's, who may roll it back."""
        self._settled, self._within = True, within
        if within is None:
            for conversation in self.conversations.values():
                conversation.given.clear()

    def is_settled(self, database: Database | None = None) -> bool:
        """Whether it is settled, as its row says if the caller's transaction has ended.

        `database`: of the transaction from which one looks; None: outside of any.
        """
        within, held = self._within, self.held
        if self._settled and within is not None:
            if database is not None and database.connection is within.connection:
                self._settled = not database.run("still_held", id=held.id, token=held.token)
            elif within.idle:
                self._settled = not self._holds()
        return self._settled

    def check_open(self, database: Database | None = None) -> None:
        """Raises MessageError where it is settled already."""
        if self.is_settled(database):
            raise MessageError(
                f"work on {self.named}: it is settled already, allowed: to accept, reject or "
                "release it once"
            )

    def __repr__(self) -> str:
        return f"<Work on {self.named}, attempt {self.attempt}, token {self.token}>"
