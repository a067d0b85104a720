"""The golden cases of conversations, and of Service Broker's order through real dialogs.

The order's are those of `golden/service-broker.toml`: a group there is a client's dialog here, and
a front end forwards its requests to the back end.
"""

import re
import runpy
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import psycopg
import pytest

from fairlead import (
    Conversation,
    Message,
    PriorityService,
    Service,
    Store,
    StoreWork,
    Transaction,
)
from fairlead.errors import MessageError
from tests.order import service
from tests.store.test_goldens import DAY, Clock, check
from tests.stores import made_url

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT.parent / "examples" / "priority-service"
BY_HAND = runpy.run_path(str(EXAMPLE / "services.py"))

DECLARED = """
[[queue]]
name = "strict"
poison = "off"

[[message_type]]
name = "Order"
[[message_type]]
name = "Note"
validation = "xml"
[[message_type]]
name = "Confirmation"

[[contract]]
name = "Orders"
initiator = ["Order", "Note"]
target = ["Confirmation"]
[[contract]]
name = "Unwanted"
initiator = ["Order"]

[[service]]
name = "Shop"
queue = "shop"
contracts = ["Orders"]
[[service]]
name = "Strict"
queue = "strict"
contracts = ["Orders"]
"""


class Party(NamedTuple):
    """Who speaks in a script."""

    service: str
    queue: str


CLIENT = Party("SampleClient", "SampleClient")
BACK = Party("BackEndService", "BackEndQueue")
PARTIES = {
    "client": CLIENT,
    "shop": Party("Shop", "shop"),
    "strict": Party("Strict", "strict"),
    "priority": Party("Samples/PriorityService", "FrontEndQueue"),
    "back": BACK,
}
ELEMENTS = {"LongWorkloadRequest": "request", "SetPriority": "priority", "Response": "result"}
Front = Callable[[Store], None]
URLS: WeakKeyDictionary[Store, str] = WeakKeyDictionary()
SESSIONS: WeakKeyDictionary[Store, psycopg.Connection[Any]] = WeakKeyDictionary()
SNIPPETS = ROOT.parent / "docs" / "snippets"


def forwarding(front_end: Service) -> Front:
    """Lets a front end work until nothing waits for it."""

    def forward(store: Store) -> None:
        while work := store.take(PARTIES["priority"].queue):
            with work.transaction() as tx:
                for message in work:
                    front_end.handle(message, tx)
                tx.accept()

    return forward


def in_sql(store: Store) -> None:
    """Lets the front end of the documentation work, which is plain SQL."""
    connection = SESSIONS.get(store)
    if connection is None:
        connection = SESSIONS[store] = psycopg.connect(URLS[store], autocommit=True)
        connection.execute((SNIPPETS / "priority-services.sql").read_bytes())
    now = store._clock()
    connection.execute("SELECT set_config('fairlead.clock', %s, false)", [str(now)])
    connection.execute("CALL front_end_service()")


FRONT_ENDS: dict[str, Front] = {
    "in-sql": in_sql,
    "by-hand": forwarding(BY_HAND["front_end"]),
    "priority-service": forwarding(PriorityService(PARTIES["priority"].service, BACK.service)),
}


@pytest.fixture(params=FRONT_ENDS)
def front_end(request: pytest.FixtureRequest, dialect: str) -> Front:
    """Works until nothing waits for it."""
    if request.param == "in-sql" and dialect == "sqlite":
        pytest.skip("plain SQL is on PostgreSQL")
    return FRONT_ENDS[request.param]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(dialect: str, clock: Clock, tmp_path: Path) -> Iterator[Store]:
    """With all services."""
    (tmp_path / "declared.toml").write_text(DECLARED)
    url = made_url(dialect)
    with Store.open(url, clock=clock) as store:
        URLS[store] = url
        store.declare(tmp_path / "declared.toml")
        store.declare(EXAMPLE / "declare.toml")
        yield store
        if store in SESSIONS:
            SESSIONS[store].close()


# -------- The order, through dialogs


class Dialogs:
    """The back end's queue, as the tests of the order speak to it."""

    def __init__(self, store: Store, clock: Clock, front_end: Front, case: service.Case) -> None:
        self.store = store
        self.clock = clock
        self.front_end = front_end
        self.begun: dict[str, Conversation] = {}
        self.said: list[tuple[int, str, str, str]] = []
        self.left = Counter(dialog_of(row) for row in case.rows if "item" in row)
        self.answers: list[str] = []
        store.set_order(BACK.queue, **case.order)

    def arrive(self, group: str, item: str, now: int, priority: int | None = None) -> None:
        dialog = dialog_of({"group": group, "item": item})
        self.said.append((now, dialog, "LongWorkloadRequest", item))
        if priority is not None:
            self.prioritise(dialog, now, priority)

    def prioritise(self, group: str, now: int, priority: int | None = None) -> None:
        self.said.append((now, group, "SetPriority", "" if priority is None else str(priority)))

    def take(self, now: int) -> StoreWork | None:
        """The next work; ends are read, too, which takes no time."""
        self._happen()
        self.clock.now = now
        while work := self.store.take(BACK.queue, lease=DAY):
            assert work.held.messages
            if work.held.messages[0].type != "EndDialog":
                return work
            with work.transaction() as tx:
                for message in work:
                    tx.conversation(message.conversation).end()
                tx.accept()
        return None

    def receive(self, work: StoreWork) -> str | None:
        self._happen()
        message = next(work, None)
        return None if message is None else shown(message).removeprefix("LongWorkloadRequest ")

    def finish(self, work: StoreWork) -> None:
        """The back end answers in the transaction that settles the group."""
        self._happen()
        with work.transaction() as tx:
            for message in given(work):
                response = f"<result>{message.body}</result>"
                tx.conversation(message.conversation).send("Response", response)
            tx.accept()
        self.front_end(self.store)
        self._read_answers()

    def rollback(self, work: StoreWork) -> None:
        self._happen()
        work.release()

    def _happen(self) -> None:
        """What clients said at one time is one transaction, and is forwarded at that time."""
        while self.said:
            at = self.clock.now = self.said[0][0]
            with self.store.transaction() as tx:
                while self.said and self.said[0][0] == at:
                    _, dialog, type_, text = self.said.pop(0)
                    self._conversation(tx, dialog).send(type_, encoded(type_, text))
            self.front_end(self.store)

    def _conversation(self, tx: Transaction, dialog: str) -> Conversation:
        if dialog not in self.begun:
            self.begun[dialog] = tx.begin_dialog(CLIENT.service, PARTIES["priority"].service)
        return tx.conversation(self.begun[dialog].id)

    def _read_answers(self) -> None:
        """The client ends a dialog with its last response, as the document's does."""
        while work := self.store.take(CLIENT.queue):
            with work.transaction() as tx:
                for message in work:
                    self.answers.append(shown(message).removeprefix("Response "))
                    dialog = self._dialog(message)
                    self.left[dialog] -= 1
                    if not self.left[dialog]:
                        tx.conversation(message.conversation).end()
                tx.accept()

    def _dialog(self, message: Message) -> str:
        return next(name for name, each in self.begun.items() if each == message.conversation)


def dialog_of(row: service.Row) -> str:
    return row.get("group") or f"alone {row['item']}"


def order_cases() -> Iterator[Any]:
    """Those without tenants, which dialogs do not have. Of the long ones the first is the rule."""
    long = 0
    for case in service.cases():
        if not any({"tenant", "cost"} & row.keys() for row in case.rows):
            long += len(case.rows) > 100
            slow = [pytest.mark.slow] if len(case.rows) > 100 and long > 1 else []
            yield pytest.param(case, marks=slow, id=case.name)


@pytest.mark.parametrize("case", list(order_cases()))
def test_work_is_taken_in_the_document_s_order(
    case: service.Case, store: Store, clock: Clock, front_end: Front
) -> None:
    dialogs = Dialogs(store, clock, front_end, case)
    started = service.run(dialogs, case)
    check(case, started)
    assert Counter(dialogs.answers) == Counter({each.item for each in started})
    if case.readers == 1:  # they come back in the order in which they were done
        taken = [each.item for each in started]
        last = {item: place for place, item in enumerate(taken)}
        assert dialogs.answers == sorted(last, key=lambda item: last[item])


# -------- Scripts


class Script(NamedTuple):
    """A golden case of conversations."""

    name: str
    lines: list[str]

    def __str__(self) -> str:
        return self.name


def scripts() -> list[Script]:
    with (ROOT / "golden" / "conversations.toml").open("rb") as file:
        tables = tomllib.load(file)["case"]
    return [Script(table["name"], table["script"].strip().splitlines()) for table in tables]


class RolledBackError(Exception):
    """The reader's transaction is rolled back."""


class Reading(NamedTuple):
    """A reader's transaction: what it holds, and what it does before it ends."""

    party: str
    work: StoreWork
    does: list[Callable[[Transaction], None]]


class Player:
    """Plays a script, line by line."""

    def __init__(self, store: Store, clock: Clock, front_end: Front) -> None:
        self.store = store
        self.clock = clock
        self.front_end = front_end
        self.ends: dict[tuple[str, str], Conversation] = {}
        self.readings: dict[str, Reading] = {}
        self.lines: list[tuple[str, Callable[..., None]]] = [
            (r"at (\d+) s", self.at),
            (
                r"(\w+) begins (\w) with (\w+)(?: on (\w+))?(?: related to (\w))?(?: for (\d+) s)?",
                self.begins,
            ),
            (r"(\w+) (\w) sends (.+?)(?:: (.+))?", self.sends),
            (
                r"(\w+) (\w) ends(?: with error (\d+) (.+?))?( with cleanup)?(?:: (.+))?",
                self.ends_it,
            ),
            (r"(\w+) (\w) prioritises (\d+): (done|nothing)", self.prioritises),
            (r"(\w+) (\w) sets (?:no timer|a timer of (\d+) s)", self.sets_timer),
            (r"(\w+) (\w) is ([a-z-]+)", self.stands),
            (r"(\w+) (\w) takes (.+)", self.receives_of_one),
            (r"(\w+) receives (.+)", self.receives),
            (r"(\w+) (r\d) takes (.+)", self.takes),
            (r"(\w+) (r\d) is given (.+)", self.is_given),
            (r"(\w+) (r\d) answers (\w) (.+)", self.answers),
            (r"(\w+) (r\d) ends (\w)", self.ends_within),
            (r"(\w+) (r\d) commits", self.commits),
            (r"(\w+) (r\d) rolls back", self.rolls_back),
            (r"(\w+) (r\d) fails", self.fails),
            (r"(\w+) has dead letters (.+)", self.has_dead),
            (r"(\w+) is switched (on again|on|off)", self.is_switched),
        ]

    def play(self, lines: list[str]) -> None:
        for line in lines:
            for pattern, does in self.lines:
                if found := re.fullmatch(pattern, line):
                    does(*found.groups())
                    break
            else:
                raise ValueError(f"no such line: {line!r}")
            self.front_end(self.store)

    # what the two sides do

    def at(self, seconds: str) -> None:
        self.clock.now = int(seconds) * service.SECOND

    def begins(
        self, who: str, dialog: str, whom: str, contract: str, related: str, lifetime: str
    ) -> None:
        self.ends[who, dialog] = self.store.begin_dialog(
            *(PARTIES[who].service, PARTIES[whom].service, contract),
            related=self.ends[who, related] if related else None,
            lifetime=int(lifetime) if lifetime else None,
        )

    def sends(self, who: str, dialog: str, messages: str, refusal: str | None) -> None:
        def send() -> None:
            with self.store.transaction() as tx:
                for each in messages.split(" and "):
                    type_, _, text = each.partition(" ")
                    tx.conversation(self.ends[who, dialog]).send(type_, encoded(type_, text))

        self._unless_refused(send, refusal)

    def ends_it(
        self, who: str, dialog: str, code: str, why: str, cleanup: str, refusal: str | None
    ) -> None:
        end, error = self.ends[who, dialog], (int(code), why) if code else None
        self._unless_refused(lambda: end.end(error, cleanup=bool(cleanup)), refusal)

    def prioritises(self, who: str, dialog: str, priority: str, outcome: str) -> None:
        assert self.ends[who, dialog].prioritise(int(priority)) == (outcome == "done")

    def sets_timer(self, who: str, dialog: str, seconds: str | None) -> None:
        self.ends[who, dialog].timer(int(seconds) if seconds else None)

    def stands(self, who: str, dialog: str, state: str) -> None:
        assert self.ends[who, dialog].state == state

    # what a reader is given

    def receives(self, party: str, expected: str) -> None:
        self._received(party, self.store.take(PARTIES[party].queue, lease=DAY), expected)

    def receives_of_one(self, party: str, dialog: str, expected: str) -> None:
        found = ", ".join(f"{dialog} {each}" for each in expected.split(", "))
        self._received(party, self.ends[party, dialog].take(), found)

    def takes(self, party: str, reader: str, expected: str) -> None:
        work = self.store.take(PARTIES[party].queue, lease=DAY)
        assert work is not None
        self.readings[reader] = Reading(party, work, [])
        self._given(party, next(work, None), expected)

    def is_given(self, party: str, reader: str, expected: str) -> None:
        reading = self.readings[reader]
        given = next(reading.work, None) if not reading.does else None
        if reading.does:  # its transaction has begun
            reading.does.append(lambda _: self._given(party, next(reading.work, None), expected))
        else:
            self._given(party, given, expected)

    def answers(self, party: str, reader: str, dialog: str, message: str) -> None:
        type_, _, text = message.partition(" ")
        here = self.ends[party, dialog]
        self.readings[reader].does.append(
            lambda tx: ignored(tx.conversation(here).send(type_, encoded(type_, text)))
        )

    def ends_within(self, party: str, reader: str, dialog: str) -> None:
        here = self.ends[party, dialog]
        self.readings[reader].does.append(lambda tx: tx.conversation(here).end())

    def commits(self, party: str, reader: str) -> None:
        self._end(self.readings.pop(reader))

    def rolls_back(self, party: str, reader: str) -> None:
        reading = self.readings.pop(reader)
        with pytest.raises(RolledBackError):
            self._end(reading, rolled_back=True)
        reading.work.release()

    def fails(self, party: str, reader: str) -> None:
        self.readings.pop(reader).work.release(error="it failed")

    # what an operator sees

    def has_dead(self, party: str, expected: str) -> None:
        dead = [shown(each) for each in self.store.dead(PARTIES[party].queue)]
        assert dead == expected.split(", ")

    def is_switched(self, party: str, how: str) -> None:
        queue = PARTIES[party].queue
        if how == "on again":
            assert self.store.switch(queue, on=True)
        else:
            (found,) = (each for each in self.store.queues() if each.queue == queue)
            assert found.enabled == (how == "on")

    def _unless_refused(self, does: Callable[[], None], refusal: str | None) -> None:
        if refusal is None:
            does()
        else:
            with pytest.raises(MessageError, match=refusal):
                does()

    def _received(self, party: str, work: StoreWork | None, expected: str) -> None:
        if expected == "nothing":
            assert work is None
            return
        assert work is not None
        for each in expected.split(", "):
            self._given(party, next(work, None), each)
        self._given(party, next(work, None), "nothing more")
        work.accept()

    def _given(self, party: str, message: Message | None, expected: str) -> None:
        if expected == "nothing more":
            assert message is None
            return
        assert message is not None
        assert message.conversation is not None
        dialog, _, wanted = expected.partition(" ")
        assert shown(message)[: len(wanted)] == wanted
        here = self.ends.setdefault((party, dialog), message.conversation)
        assert here == message.conversation

    def _end(self, reading: Reading, *, rolled_back: bool = False) -> None:
        with reading.work.transaction() as tx:
            for does in reading.does:
                does(tx)
            tx.accept()
            if rolled_back:
                raise RolledBackError


def encoded(type_: str, text: str) -> str:
    """The body that a word stands for: an element, where the type wants XML."""
    element = ELEMENTS.get(type_)
    return text if element is None or text == "no-xml" else f"<{element}>{text}</{element}>"


def shown(message: Any) -> str:
    """A message in the words of a script."""
    body = message.body
    if message.type == "Error":
        body = f"{body['code']} {body['description']}"
    elif message.type in ELEMENTS:
        body = re.sub("<[^>]*>", "", body)
    return f"{message.type} {body or ''}".strip()


def given(work: StoreWork) -> list[Message]:
    return list(work._given)


def ignored(_: object) -> None:
    """For the type's sake."""


def played() -> Iterator[Any]:
    """Where there is no front end, none differs."""
    for script in scripts():
        wanted = any("with priority" in line for line in script.lines)
        for kind in FRONT_ENDS if wanted else [next(iter(FRONT_ENDS))]:
            yield pytest.param(script, kind, id=f"{kind}-{script.name}" if wanted else script.name)


@pytest.mark.parametrize(("script", "front_end"), list(played()), indirect=["front_end"])
def test_what_is_said_is_received_as_the_golden_says(
    script: Script, store: Store, clock: Clock, front_end: Front
) -> None:
    Player(store, clock, front_end).play(script.lines)
