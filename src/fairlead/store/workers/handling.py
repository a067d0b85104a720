"""Handle a group: its messages in order, then its settlement.

A message that fails does not take others with it: those before it are accepted when its group is
released, so that it is the first of its group the next time, and its failures are its own. One that
is rejected becomes a dead letter, and the others go on. A group that came back is handled a message
at a time: if the process itself dies of one, that one is the first in the end, too.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from fairlead.errors import MessageError, Reject, StaleWorkError, StoreError
from fairlead.store.leasing import StoreWork
from fairlead.store.message import Message
from fairlead.store.queues.failing import ERROR
from fairlead.store.queues.settlement import RELEASE
from fairlead.store.store import Store
from fairlead.store.workers.counting import WorkCounts
from fairlead.store.workers.handlers import FAILURES, Handler, raised_at
from fairlead.store.workers.health import HealthWatch
from fairlead.store.workers.held import Telling
from fairlead.store.workers.in_hand import IN_HAND, InHand
from fairlead.store.workers.lease_renewal import in_words, renewed
from fairlead.store.workers.tracing import traced

LOGGER: Final = logging.getLogger("fairlead.worker")
MAX_IN_HAND: Final = 100
"""So many messages of a group are handled before others have their turn, by default."""
RETRY_DELAY: Final = 1.0
MAX_DELAY: Final = 300.0
MAX_WAIT: Final = 10.0
"""Seconds between two looks whether a database is back."""
PLAIN: Final = re.compile(r"[^\s\"=]+")
SAVEPOINT: Final = "fairlead_message"
OTHERWISE: Final = {"released": ("rejected", "accepted")}
"""A release may be the last of those that a queue allows; then those before it are accepted."""

Step = tuple[Message, Callable[..., object]]
"""A message, and what is done about it in a transaction."""


class Handling(NamedTuple):
    """How a worker handles groups."""

    lease: float = 60
    """Seconds; it is extended while a handler works."""
    retry_delay: float | None = None
    """Seconds after the first failure; each further one doubles it, up to 5 minutes. None: what
    the queue's `retry` says, else 1."""
    most: int = MAX_IN_HAND
    """So many messages of a group at most are handled in one go."""
    counts: WorkCounts | None = None
    """Where what was done is counted."""
    health: HealthWatch | None = None
    """Is told how work ended."""
    telling: Telling | None = None
    """Tells another process what is held, which extends the leases, too."""

    @contextmanager
    def keeping(self, work: StoreWork) -> Iterator[None]:
        """In this block its lease is extended."""
        block = nullcontext() if self.telling is None else self.telling.holding(work)
        with block, renewed(work, self.lease):
            yield

    def delay(self, attempt: int) -> float:
        """Seconds until a group that failed can be taken again."""
        first = RETRY_DELAY if self.retry_delay is None else self.retry_delay
        doubled: float = first * 2 ** min(attempt - 1, 30)
        return min(doubled, MAX_DELAY)


def handle(store: Store, work: StoreWork, handler: Handler, handling: Handling) -> None:
    """Handle a group and settle it; an error of the handler is no error here."""
    fail = partial(_fail, store, handler, handling)
    entry = IN_HAND[work] = InHand(work, traced(store, work.queue, handler), fail)
    try:
        _handle(store, entry, handling)
    finally:
        IN_HAND.pop(work, None)


def _handle(store: Store, in_hand: InHand, handling: Handling) -> None:
    began = time.monotonic()
    work, handler = in_hand.work, in_hand.handler
    most = 1 if work.attempt > 1 else handling.most
    error: BaseException | None = None
    try:
        if handler.in_transaction:
            done, error = _in_transaction(store, in_hand, most, handling)
        else:
            with handling.keeping(work):
                done, error = _outside(work, handler.call, most)
        if error is None:
            outcome = "accepted"
            if not handler.in_transaction:
                outcome = _settled(store, work, work.accept, outcome)
        else:
            outcome = "released"
            if not (handler.in_transaction and done):
                release = partial(work.release, **_failed(store, work, error, done, handling))
                outcome = _settled(store, work, release, outcome)
            if outcome == "released" and _outcome(store, work) in OTHERWISE[outcome]:
                outcome = "dead"
    except StaleWorkError:
        done, outcome = 0, "lost"
    seconds = time.monotonic() - began
    _log(work, done, outcome, error, seconds)
    if handling.health is not None:
        _tell_health(handling.health, work.queue, error, done, outcome)
    if handling.counts is not None:
        first = work.held.messages[0].sent if work.attempt == 1 and work.held.messages else None
        handling.counts.handled(
            work.queue,
            outcome,
            messages=done,
            failed=error is not None,
            waited=None if first is None else max(work.taken - first, 0.0),
            seconds=seconds,
        )


def _tell_health(
    health: HealthWatch, queue: str, error: BaseException | None, done: int, outcome: str
) -> None:
    """A handler's error is a failure of its destination; a message that it rejects is none."""
    if error is not None:
        if not isinstance(error, StoreError):
            health.heard(queue, f"{type(error).__name__}: {error}")
    elif done and outcome == "accepted":
        health.heard(queue, None)


def until_there(what: Callable[[], None]) -> None:
    """Do something that needs the database, again and again until that is there."""
    pause = 0.1
    while True:
        try:
            what()
        except StoreError as error:
            if pause < 0.2:
                LOGGER.warning("%s; trying again until it is back", error)
            time.sleep(pause)
            pause = min(2 * pause, MAX_WAIT)
        else:
            return


def _outside(
    work: StoreWork, call: Callable[..., object], most: int
) -> tuple[int, BaseException | None]:
    """How many messages were handled, and why the next one was not."""
    done = 0
    while done < most and (message := _next(work)) is not None:
        try:
            call(message)
        except Reject as rejected:
            work.reject(str(rejected), message)
        except FAILURES as error:  # whatever a handler raises is its failure
            return done, error
        done += 1
    return done, None


def _in_transaction(
    store: Store, in_hand: InHand, most: int, handling: Handling
) -> tuple[int, BaseException | None]:
    """The same, and what was handled is settled in the handler's own transaction."""
    work, handler = in_hand.work, in_hand.handler
    done = 0
    before, unprepared = _prepared(work, handler, most, handling)
    if unprepared is not None and not before:
        return 0, unprepared
    error: BaseException | None = None
    try:
        with work.transaction() as tx:
            for message, call in _steps(work, handler, most, before, stop=unprepared is not None):
                tx.execute(f"SAVEPOINT {SAVEPOINT}")
                in_hand.tx = tx
                error = _failure(call, tx)
                in_hand.tx = None
                if isinstance(error, Reject):
                    tx.execute(f"ROLLBACK TO SAVEPOINT {SAVEPOINT}")
                    work.reject(str(error), message)
                    error = None
                if error is not None:
                    if not done:
                        raise error
                    tx.execute(f"ROLLBACK TO SAVEPOINT {SAVEPOINT}")
                    break
                tx.execute(f"RELEASE SAVEPOINT {SAVEPOINT}")
                done += 1
            error = error or unprepared
            if error is None:
                tx.accept()
            else:
                tx.release(**_failed(store, work, error, done, handling))
    except StaleWorkError:
        raise
    except FAILURES as failed:  # the handler's, or of the database under it
        return 0, failed
    return done, error


def _prepared(
    work: StoreWork, handler: Handler, most: int, handling: Handling
) -> tuple[list[Step], BaseException | None]:
    """What is to be done in the transaction for the messages that are worked on before it begins.

    These are the first messages of the group, up to one that is handled in the transaction. And
    why the one after them could not be worked on.
    """
    steps: list[Step] = []
    if handler.before is None:
        return steps, None
    with handling.keeping(work):
        while len(steps) < most:
            message = _looked_at(work)
            if message is None or (call := handler.before(message)) is None:
                break
            next(work)
            finish: object = None
            try:
                finish = call(message)
            except Reject as rejected:
                work.reject(str(rejected), message)
            except FAILURES as error:  # whatever a handler raises is its failure
                return steps, error
            steps.append((message, finish if callable(finish) else _nothing))
    return steps, None


def _steps(
    work: StoreWork, handler: Handler, most: int, before: list[Step], *, stop: bool
) -> Iterator[Step]:
    """What is done in the transaction, message by message.

    `stop`: nothing follows those that were worked on before it, as the next one has failed.
    """
    yield from before
    done = len(before)
    while not stop and done < most and (message := _for_transaction(work, handler)) is not None:
        done += 1
        yield message, partial(handler.call, message)


def _for_transaction(work: StoreWork, handler: Handler) -> Message | None:
    """The next message; not one that is to be worked on before the next transaction."""
    if handler.before is not None:
        message = _looked_at(work)
        if message is None or handler.before(message) is not None:
            return None
    return _next(work)


def _nothing(tx: object) -> None:
    """Nothing is left to be done in the transaction."""


def _looked_at(work: StoreWork) -> Message | None:
    """The next message; None: there is none, or it cannot be read now, and so stays."""
    try:
        return work.peek()
    except StoreError:
        return None


def _next(work: StoreWork) -> Message | None:
    """The next message; None: there is none, or it cannot be read now, and so stays."""
    try:
        return next(work, None)
    except StoreError:
        return None


def _failure(call: Callable[..., object], tx: object) -> BaseException | None:
    try:
        call(tx)
    except StaleWorkError:
        raise
    except FAILURES as error:  # whatever a handler raises is its failure
        return error
    return None


def _failed(
    store: Store, work: StoreWork, error: BaseException, done: int, handling: Handling
) -> dict[str, Any]:
    """How it is released; where the database was gone, that is no fault of the messages."""
    if isinstance(error, StoreError):
        return {"delay": handling.delay(work.attempt), "error": "", "done": done}
    delay: float | None = handling.delay(work.attempt)
    if handling.retry_delay is None:
        with suppress(StoreError):  # a database that is gone says nothing
            delay = delay if store.retry(work.queue) is None else None
    return {"delay": delay, "error": f"{type(error).__name__}: {error}", "done": done}


def _fail(
    store: Store, handler: Handler, handling: Handling, work: StoreWork, seconds: float, most: int
) -> bool:
    """Settle work as failed whose handler does not return; whether it was this process's still."""
    LOGGER.error("event=too-long %s seconds=%.0f max_seconds=%d", in_words(work), seconds, most)
    why = f"message {work.latest!r}: worked on for {seconds:.0f} s, allowed: max_seconds = {most}"
    after = _failed(store, work, TimeoutError(why), 0, handling)["delay"]
    delay = None if after is None else round(after * 1_000_000)
    end = work.end(RELEASE, why, delay, failed=ERROR)
    if handler.in_transaction:  # what was done before is undone, and no failure
        end = replace(end, given=end.given[-1:], dead={})
    else:
        end = replace(end, done=max(len(end.given) - 1, 0))
    try:
        until_there(partial(store.settle, work.queue, end))
    except MessageError:  # it has ended just now
        return False
    return True


def _settled(store: Store, work: StoreWork, settle: Callable[[], None], outcome: str) -> str:
    """How the work was settled, as the journal says; a database that is gone is waited for."""
    try:
        until_there(settle)
    except StaleWorkError:  # the answer to an earlier try may have been lost, not the try
        answer = _outcome(store, work)
        return outcome if answer in {outcome, *OTHERWISE.get(outcome, ())} else "lost"
    return outcome


def _outcome(store: Store, work: StoreWork) -> str:
    answers: list[str] = []
    until_there(lambda: answers.append(store.outcome(work.token)))
    return answers[0]


def _log(
    work: StoreWork, done: int, outcome: str, error: BaseException | None, seconds: float
) -> None:
    """One line for each group; no bodies, and so not what an error says: the journal has that."""
    group = work.group if PLAIN.fullmatch(work.group) else json.dumps(work.group)
    queue = work.queue if PLAIN.fullmatch(work.queue) else json.dumps(work.queue)
    end = work.end(outcome)
    dead = len(end.dead) if outcome == "accepted" else 0
    rejected = f" rejected={dead}" if dead else ""
    why = "" if error is None else f" error={type(error).__name__} at={raised_at(error)}"
    if outcome == "dead" and end.given:
        key = end.given[-1].key
        why = f" message={key if PLAIN.fullmatch(key) else json.dumps(key)}{why}"
    LOGGER.log(
        logging.INFO if error is None and outcome == "accepted" and not dead else logging.WARNING,
        "queue=%s group=%s attempt=%d messages=%d outcome=%s seconds=%.3f%s%s",
        *(queue, group, work.attempt, done, outcome, seconds, rejected, why),
    )
