"""Settle what has left: many in one transaction. A database that is lost is waited for."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from fairlead.errors import MessageError, StaleWorkError, StoreError
from fairlead.forward.outcome import ServiceAnswer
from fairlead.store.aio.handles import AsyncTransaction, AsyncWork
from fairlead.store.aio.store import AsyncStore
from fairlead.store.message import GivenMessage

LOGGER: Final = logging.getLogger("fairlead.forward")
MOST: Final = 100
"""Works that are accepted in one transaction."""
FIRST_PAUSE: Final = 0.1
MAX_PAUSE: Final = 10.0
"""Seconds between two tries while a database is away."""
OUTCOMES: Final = {"accept": ("accepted",), "release": ("released", "dead", "rejected")}
"""How the journal says that work was settled so."""
ANSWER: Final = "answer"
"""The type of a message that is an answer."""


class AnswerMessage(NamedTuple):
    """An answer that becomes a message."""

    queue: str
    to: GivenMessage
    """What was answered."""
    by: str
    """The destination that has."""
    answer: ServiceAnswer

    async def send(self, tx: AsyncTransaction) -> None:
        """Send it. Raises MessageError."""
        await tx.send(
            self.queue,
            self.answer.body,
            group=self.to.group or None,
            id=f"{self.to.id}:{self.by}",
            type=ANSWER,
            tenant=self.to.tenant or None,
        )


async def until_there(what: Callable[[], Awaitable[None]]) -> None:
    """Do something that needs the database, again and again until that is there."""
    pause = FIRST_PAUSE
    while True:
        try:
            await what()
        except StoreError as error:
            if pause == FIRST_PAUSE:
                LOGGER.warning("event=database-lost %s; trying again until it is back", error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)
        else:
            return


class Settler:
    """Accepts works, as many in one transaction as are done when it begins."""

    def __init__(self, store: AsyncStore) -> None:
        """Nothing is done yet."""
        self._store = store
        self._done: list[tuple[AsyncWork, asyncio.Future[bool]]] = []
        self._settling: asyncio.Task[None] | None = None

    async def accept(self, work: AsyncWork) -> bool:
        """Accept it; False: it was somebody else's by then."""
        told: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._done.append((work, told))
        if self._settling is None or self._settling.done():
            self._settling = asyncio.create_task(self._settle())
        return await told

    async def settle(
        self,
        work: AsyncWork,
        how: str,
        answers: Sequence[AnswerMessage] = (),
        **more: Any,  # noqa: ANN401 - as `how` takes them
    ) -> bool:
        """Settle by itself, together with answers; False: it was somebody else's by then.

        `how`: accept | release, with `more` as its arguments. Raises MessageError for an answer
        that cannot be sent, and then nothing is settled.
        """

        async def settled() -> None:
            if not answers:
                await getattr(work, how)(**more)
                return
            async with self._store.transaction(work) as tx:
                for answer in answers:
                    await answer.send(tx)
                await getattr(tx, how)(work=work, **more)

        try:
            await until_there(settled)
        except StaleWorkError:  # the answer to an earlier try may have been lost, not the try
            return await self._was_settled(work, how)
        return True

    async def _was_settled(self, work: AsyncWork, how: str) -> bool:
        outcomes: list[str] = []

        async def asked() -> None:
            outcomes.append(await self._store.outcome(work.token))

        await until_there(asked)
        return outcomes[0] in OUTCOMES[how]

    async def _settle(self) -> None:
        while self._done:
            await asyncio.sleep(0)  # what is done at this moment comes along
            lot, self._done = self._done[:MOST], self._done[MOST:]
            try:
                await until_there(partial(self._store.accept, [work for work, _ in lot]))
            except MessageError:  # one of them is somebody else's: each by itself
                for work, told in lot:
                    _tell(
                        told,
                        await asyncio.gather(self.settle(work, "accept"), return_exceptions=True),
                    )
            except BaseException as error:
                for _, told in lot:
                    _tell(told, [error])
                raise
            else:
                for _, told in lot:
                    _tell(told, [True])


def _tell(told: asyncio.Future[bool], found: Sequence[bool | BaseException]) -> None:
    (result,) = found
    if told.done():
        return
    if isinstance(result, BaseException):
        told.set_exception(result)
    else:
        told.set_result(result)
