"""One channel: it connects when something waits for it, sends, and says in which state it is.

inactive (nothing waits) → binding (it connects) → initializing (it logs in, both ends agree) →
running → inactive again. What fails leads to retrying; stopping, stopped, starting and paused come
by command. Each state is a change of the queue manager's cluster, so the next choice knows it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, Protocol

from fairlead.balance.policies.ibm_mq_objects import transmission_queue
from fairlead.channels.peer import (
    OpenChannel,
    agree,
    connect,
    expiry_of,
    sections_of,
)
from fairlead.config.sites import SiteChannel
from fairlead.errors import MessageError, StoreError
from fairlead.jitter import between
from fairlead.serve.initiator import PeerError
from fairlead.serve.wire.events import ACCEPTED, REJECTED
from fairlead.store.channels.rows import PAUSED, RUNS, STOPPED, ChannelBatch
from fairlead.store.store import Store

LOGGER: Final = logging.getLogger("fairlead.channels")
WINDOW: Final = 3
"""Batches that are under way at one time."""
SETTLE: Final = 60.0
"""Seconds in which the other end is to take a batch in."""
LOOK: Final = 5.0
"""Seconds between two looks of a store that did not answer."""
ROOM: Final = 65_536
"""Bytes that a batch has around its longest message, at most."""
RESET: Final = "reset"
CONNECTED: Final = ("starting", "binding", "initializing", "running", "stopping")
JITTER: Final = 0.25
"""Of a pause, by which it is shorter or longer."""


class Office(Protocol):
    """What a channel asks of its queue manager."""

    store: Store
    name: str
    folder: Path
    facts: dict[str, str]

    async def in_thread(self, verb: Callable[..., Any], *args: Any) -> Any:  # noqa: ANN401
        """Do something that waits for the database."""

    def claim(self) -> Any:  # noqa: ANN401 - as the store has it
        """As whom this process takes messages, and for how long."""


class StopError(Exception):
    """Somebody wants the channel to stop, or to pause."""


class ChannelRunner:
    """One channel on which a queue manager sends. `run` goes on until it is cancelled."""

    def __init__(self, office: Office, channel: SiteChannel) -> None:
        """Nothing happens before `run`."""
        self._office = office
        self.channel = channel
        self.name = channel.name
        self.queue = transmission_queue(channel.name)
        self.wanted = RUNS
        self.listens = False
        """Whether it wants to hear that something waits."""
        self.state = ""
        """In which it was last, as far as this process knows."""
        self._woken = asyncio.Event()
        self._failures = 0
        self._failing_since = 0.0

    def wake(self) -> None:
        """Something waits, or somebody wants something of it."""
        self._woken.set()

    def want(self, wanted: str) -> None:
        """What an operator wants."""
        if wanted != self.wanted:
            self.wanted = wanted
            self._failures = 0
            self.wake()

    async def run(self) -> None:
        """Go from state to state."""
        while True:
            try:
                await self._step()
            except StopError:
                continue
            except StoreError as error:  # nothing can be said of it there
                LOGGER.warning("event=store-failed channel=%s why=%s", self.name, _quoted(error))
                await self._wait(LOOK)

    async def _step(self) -> None:
        """Until the next time that it is inactive, stopped, or has failed."""
        if self.wanted in (STOPPED, PAUSED):
            await self._become(self.wanted, "by command")
            await self._wait(None)
            if self.wanted == RUNS:
                await self._become("starting", "by command")
            return
        if not await self._something_waits():
            await self._become("inactive", "nothing waits")
            self.listens = True
            await self._wait(None)
            self.listens = False
            return
        try:
            await self._connect_and_send()
        except PeerError as error:
            await self._failed(str(error))
        except MessageError as error:  # the ends do not agree: an operator has to say what is so
            await self._failed(str(error))

    async def _something_waits(self) -> bool:
        office = self._office
        if self.wanted == RESET or await office.in_thread(
            office.store.moving.has_batches, self.name
        ):
            return True
        return bool(await office.in_thread(office.store.ready, self.queue))

    async def _connect_and_send(self) -> None:
        office = self._office
        await self._become("binding", "messages wait")
        initiator = await connect(self.channel, office.folder, office.name)
        try:
            await self._become("initializing", "it is connected")
            if (left := expiry_of(initiator)) is not None:
                days = left / 86_400
                LOGGER.warning("event=certificate-expires channel=%s days=%.1f", self.name, days)
            opened = await agree(initiator, self.channel, office.name, office.facts)
            pending = await self._agreed(opened)
            self._failures = 0
            await office.in_thread(office.store.moving.note_channel, self.name, "")
            await self._become("running", "both ends agree")
            await self._send(opened, pending)
        finally:
            await initiator.close()

    async def _agreed(self, opened: OpenChannel) -> list[ChannelBatch]:
        office = self._office
        verb = office.store.moving.agree
        if self.wanted == RESET:
            verb = office.store.moving.go_on_behind
        peer = self.channel.queue_manager
        batches: list[ChannelBatch] = await office.in_thread(
            verb, self.name, peer, opened.number, opened.token
        )
        if self.wanted == RESET:
            await office.in_thread(office.store.moving.has_reset, self.name)
            self.wanted = RUNS
        return batches

    async def _send(self, opened: OpenChannel, batches: list[ChannelBatch]) -> None:
        """Send what waits, until nothing does for long enough, or somebody wants it to stop."""
        pending = deque(batches)
        under_way: deque[tuple[ChannelBatch, int]] = deque()
        initiator, link = opened.initiator, opened.link
        idle = float(self.channel.disconnect_after)
        while True:
            stops = self.wanted != RUNS
            while len(under_way) < WINDOW and (pending or not stops):
                batch = pending.popleft() if pending else await self._form(opened)
                if batch is None:
                    break
                delivery = await _bounded(initiator.begin_send(link, sections_of(batch), SETTLE))
                under_way.append((batch, delivery))
            if under_way:
                batch, delivery = under_way.popleft()
                await self._settled(opened, batch, delivery)
            elif stops:
                await self._become("stopping", "by command")
                raise StopError
            elif not await self._more(opened, idle):
                return

    async def _form(self, opened: OpenChannel) -> ChannelBatch | None:
        office = self._office
        longest = max(opened.longest - ROOM, 1) if opened.longest else 0
        batch: ChannelBatch | None = await office.in_thread(
            office.store.moving.form_batch,
            *(self.name, self.channel.queue_manager, office.claim()),
            *(self.channel.batch, longest),
        )
        return batch

    async def _settled(self, opened: OpenChannel, batch: ChannelBatch, delivery: int) -> None:
        outcome = await _bounded(opened.initiator.outcome(opened.link, delivery, SETTLE))
        if outcome.kind != ACCEPTED:
            why = outcome.condition.description if outcome.condition else ""
            did = "refused" if outcome.kind == REJECTED else "could not take in"
            raise PeerError(f"found that the other end {did} batch {batch.number}: {why}")
        office = self._office
        peer = self.channel.queue_manager
        await office.in_thread(
            office.store.moving.confirm_batch, self.name, peer, batch.number, batch.token
        )

    async def _more(self, opened: OpenChannel, idle: float) -> bool:
        """Wait for something to send; whether to go on. Raises PeerError when the peer is gone."""
        self.listens = True
        ended = asyncio.ensure_future(opened.initiator.until_ended())
        woken = asyncio.ensure_future(self._wait(idle or None))
        try:
            await asyncio.wait({ended, woken}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                await ended
            return woken.result()
        finally:
            self.listens = False
            for task in (ended, woken):
                task.cancel()
            await asyncio.gather(ended, woken, return_exceptions=True)

    async def _failed(self, why: str) -> None:
        """Leave it alone for a while, longer where it failed often."""
        office, channel = self._office, self.channel
        now = time.monotonic()
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        await office.in_thread(office.store.moving.note_channel, self.name, why)
        await self._become("retrying", why)
        await self._rechoose(now - self._failing_since)
        is_short = self._failures <= channel.short_retries
        seconds = float(channel.short_retry if is_short else channel.long_retry)
        await self._wait(between(seconds * (1 - JITTER), seconds * (1 + JITTER)))

    async def _rechoose(self, failed_for: float) -> None:
        """Choose anew for what is not bound, once the channel has failed for long enough."""
        office, after = self._office, float(self.channel.rechoose_after)
        if not after or failed_for < after:
            return
        claim = office.claim()
        while await office.in_thread(office.store.moving.rechoose, self.name, claim):
            if not await office.in_thread(office.store.ready, self.queue):
                return

    async def ended(self) -> None:
        """This process goes: the channel is not connected any more."""
        if self.state in CONNECTED:
            await self._become("inactive", "its server stops")

    async def _become(self, state: str, cause: str) -> None:
        self.state = state
        office = self._office
        if await office.in_thread(office.store.moving.set_channel_state, self.name, state, cause):
            LOGGER.info(
                "event=channel channel=%s state=%s cause=%s", self.name, state, _quoted(cause)
            )

    async def _wait(self, seconds: float | None) -> bool:
        """Wait until it is woken, or for so long; whether it was woken."""
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


async def _bounded(waiting: Awaitable[Any]) -> Any:  # noqa: ANN401 - what it gives
    """What waits for the peer, and says so where that takes too long."""
    try:
        return await waiting
    except TimeoutError:
        raise PeerError(f"found no answer to a batch in {SETTLE:g} s") from None


def _quoted(what: object) -> str:
    return json.dumps(str(what))
