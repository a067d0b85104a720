"""Whoever is not an end of a dialog can neither speak in it nor break it, whatever he sends."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from fairlead import Store
from fairlead.errors import ConfigError, ConversationError, MessageError
from fairlead.store.conversation import Conversation
from fairlead.store.queues.bodies import MAX_BODY
from tests.store.test_dialogs import TABLES, declared
from tests.stores import made_url, scratch

Open = Callable[..., Store]
XML = """
[[queue]]
name = "papers"

[[message_type]]
name = "Paper"
validation = "xml"

[[message_type]]
name = "Nothing"
validation = "empty"

[[contract]]
name = "Papers"
initiator = ["Paper", "Nothing"]

[[service]]
name = "Writer"
queue = "papers"

[[service]]
name = "Archive"
queue = "papers"
contracts = ["Papers"]
"""
LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE lolz [
  <!ENTITY lol "lol">
  <!ENTITY lol1 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">
  <!ENTITY lol2 "&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;&lol1;">
]>
<lolz>&lol2;</lolz>"""
EXTERNAL = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'


@pytest.fixture
def store(url: str, opened: Open) -> Store:
    found = opened(url)
    found.declare(declared())
    path = scratch() / "papers.toml"
    path.write_text(XML)
    found.declare(path)
    return found


@pytest.fixture
def ends(store: Store) -> tuple[Conversation, Conversation]:
    """Both ends of a dialog that is spoken in."""
    near = store.begin_dialog("Client", "Shop")
    near.send("Order", 1)
    far = read(store, "shops")[0].conversation
    return near, far


def read(store: Store, queue: str) -> list[Any]:
    """All messages of a queue, accepted."""
    found: list[Any] = []
    while (work := store.take(queue)) is not None:
        with work:
            found += work
    return found


def rows(store: Store) -> dict[str, list[Any]]:
    """All that is kept of dialogs."""
    with store._connection() as database:
        dot = "_" if database.dialect == "sqlite" else "."
        found = {
            table: database.execute(f"SELECT * FROM fairlead{dot}{table}").fetchall()  # noqa: S608
            for table in TABLES
        }
        database.rollback()
    return found


# -------- handles


def guesses(end: Conversation) -> list[Any]:
    flipped = "0" if end.id[-1] != "0" else "1"
    return [
        *("", end.dialog, end.group, end.id[:-1], end.id[:-1] + flipped, end.id + "0"),
        *(end.id.upper() + "\n", f" {end.id}", f"{end.id}\0", "\udc80" * 32, "é" * 32),
        *("' OR '1'='1", "x'; DROP TABLE fairlead_endpoints; --", "%", "_" * 32, "*"),
        *("0" * 32, str(end.endpoint.id), end.endpoint.id, None, True, 1.5, b"a" * 32, [end.id]),
        {"id": end.id},
    ]


def test_an_id_that_is_guessed_opens_nothing(
    store: Store, ends: tuple[Conversation, Conversation]
) -> None:
    before = rows(store)
    for guess in guesses(ends[1]):
        with pytest.raises(ConversationError, match=r"^conversation: found .+, allowed: the id"):
            store.conversation(guess)
        with store.transaction() as tx:
            with pytest.raises(ConversationError):
                tx.conversation(guess)
            if guess is not None:
                with pytest.raises(ConversationError):
                    tx.begin_dialog("Client", "Shop", related=guess)
    assert rows(store) == before


def test_ids_are_random_and_those_of_both_ends_have_nothing_in_common(store: Store) -> None:
    found = {store.begin_dialog("Client", "Shop").id for _ in range(50)}
    assert len(found) == 50
    assert all(len(each) == 32 and int(each, 16) >= 0 for each in found)
    assert len({each[:4] for each in found}) > 40


def test_a_conversation_of_another_store_is_no_end_here(
    store: Store, ends: tuple[Conversation, Conversation], dialect: str, opened: Open
) -> None:
    other = opened(made_url(dialect))
    other.declare(declared())
    foreign = other.begin_dialog("Client", "Shop")
    assert foreign.endpoint.id == ends[0].endpoint.id, "the same number is another end"
    foreign.send("Order", 2)
    before = rows(store)
    with store.transaction() as tx:
        verbs: list[Callable[[], Any]] = [
            lambda: tx.conversation(foreign),
            lambda: tx.conversation(foreign.id),
            lambda: tx.say(foreign, "Order", 3),
            lambda: tx.end_conversation(foreign),
            lambda: tx.set_timer(foreign, 1),
            lambda: tx.raise_far_end(foreign, 200),
            lambda: tx.bind(tx.conversation(ends[0]), foreign),
            lambda: tx.begin_dialog("Client", "Shop", related=foreign),
        ]
        for verb in verbs:
            with pytest.raises(ConversationError):
                verb()
    with pytest.raises(ConversationError):
        ends[0].bind(foreign)
    assert rows(store) == before


def test_a_conversation_of_the_same_database_is_the_same_end(
    ends: tuple[Conversation, Conversation], url: str, opened: Open
) -> None:
    other = opened(url)
    with other.transaction() as tx:
        tx.conversation(ends[0]).send("Order", 2)
    assert [each.body for each in read(other, "shops")] == [2]


# -------- whoever is no end


def test_a_plain_message_that_says_it_is_of_a_dialog_is_a_plain_one(
    store: Store, ends: tuple[Conversation, Conversation]
) -> None:
    near, far = ends
    before = rows(store)["endpoints"]
    far.send("Reply", 1)
    for type_ in ("Error", "EndDialog", "DialogTimer", "Reply"):
        store.send("clients", {"code": 17, "description": "no"}, group=near.group, type=type_)
    found = read(store, "clients")
    assert [(each.type, each.conversation is None) for each in found] == [
        ("Reply", False),
        *((type_, True) for type_ in ("Error", "EndDialog", "DialogTimer", "Reply")),
    ]
    assert [row[:10] for row in rows(store)["endpoints"]] == [row[:10] for row in before]
    assert (near.state, far.state) == ("conversing", "conversing")


def test_nobody_speaks_by_the_name_of_a_dialog(
    store: Store, ends: tuple[Conversation, Conversation]
) -> None:
    before = rows(store)["endpoints"]
    for named in (ends[1].dialog, ends[1].group, f"{ends[1].dialog}/t/0", "Shop"):
        with pytest.raises(ConversationError):
            store.conversation(named)
    for each in ends:
        with pytest.raises(MessageError, match="which is a dialog's own"):
            store.begin_dialog("Client", "Shop", group=each.group)
    assert rows(store)["endpoints"] == before


def test_nobody_raises_the_group_of_another_dialog(
    store: Store, ends: tuple[Conversation, Conversation]
) -> None:
    other = store.begin_dialog("Client", "Shop")
    other.send("Order", 1)
    ends[0].send("Order", 2)
    assert other.prioritise(255)
    assert [each.priority for each in store.take_many("shops", 2)] == [255, None]


def test_what_is_dropped_or_refused_is_nobody_elses(
    store: Store, ends: tuple[Conversation, Conversation]
) -> None:
    near, far = ends
    twin = store.begin_dialog("Client", "Shop", related=near)
    twin.send("Order", "{")
    far.send("Reply", 1)
    assert twin.state == "failed"
    assert (near.state, far.state) == ("conversing", "conversing")
    found = read(store, "clients")
    assert [(each.type, each.conversation) for each in found] == [("Error", twin), ("Reply", near)]
    twin.end()
    assert near.send("Order", 2)
    assert [each.conversation for each in read(store, "shops")] == [far]


# -------- what an end may not say


@pytest.mark.parametrize("type_", ["Error", "EndDialog", "DialogTimer", "Reply", "", "order"])
def test_a_type_of_the_other_side_or_of_the_store_is_refused(
    store: Store, ends: tuple[Conversation, Conversation], type_: str
) -> None:
    before = rows(store)
    with pytest.raises(MessageError, match=r"^type: found .+ allowed: Order, Note"):
        ends[0].send(type_, 2)
    assert rows(store) == before


@pytest.mark.parametrize("type_", [None, 1, b"Order", ["Order"], {"Order": 1}, "Order\0"])
def test_what_is_no_type_is_refused(
    store: Store, ends: tuple[Conversation, Conversation], type_: Any
) -> None:
    before = rows(store)
    with pytest.raises(MessageError, match="type: found"):
        ends[0].send(type_, 2)
    assert rows(store) == before


@pytest.mark.parametrize("name", ["Error", "EndDialog", "DialogTimer"])
def test_no_contract_lets_anybody_send_what_the_store_sends(store: Store, name: str) -> None:
    path = scratch() / f"reserved-{name}.toml"
    path.write_text(f'[[contract]]\nname = "Bad"\nany = ["{name}"]\n')
    with pytest.raises(ConfigError, match="which only a store itself sends"):
        store.declare(path)


def test_what_is_not_known_begins_nothing(store: Store) -> None:
    before = rows(store)
    wrong: list[tuple[Any, ...]] = [
        ("Client", "Nobody"),
        ("Nobody", "Shop"),
        ("Client", "Shop", "Nothing"),
        ("Client", "Shop'; DROP TABLE fairlead_endpoints; --"),
        (None, "Shop"),
        ("Client", 1),
        ("Client", ["Shop"]),
        ("Client", "Shop", 5),
    ]
    for asked in wrong:
        with pytest.raises(MessageError, match="found"):
            store.begin_dialog(*asked)
    more: list[dict[str, Any]] = [
        {"group": "a\0b"},
        {"group": 5},
        {"group": "g" * 501},
        {"lifetime": 0},
        {"lifetime": -1},
        {"lifetime": "soon"},
        {"lifetime": float("nan")},
        {"related": store.place, "group": "g"},
    ]
    for each in more:
        with pytest.raises(MessageError, match="found"):
            store.begin_dialog("Client", "Shop", **each)
    assert rows(store) == before


@pytest.mark.parametrize(
    ("type_", "body"),
    [
        ("Paper", LAUGHS),
        ("Paper", EXTERNAL),
        ("Paper", LAUGHS.encode("utf-16")),
        ("Paper", "<a>" * 5000 + "</a>" * 5000),
        ("Paper", "<a"),
        ("Nothing", "x"),
    ],
    ids=["laughs", "external", "laughs in utf-16", "deep", "cut off", "not empty"],
)
def test_a_body_that_is_no_such_type_is_an_error_to_its_sender_alone(
    store: Store, type_: str, body: Any
) -> None:
    other, near = (store.begin_dialog("Writer", "Archive") for _ in range(2))
    for each in (other, near):
        each.send("Paper", "<a/>")
    assert len(read(store, "papers")) == 2
    near.send(type_, body)
    (found,) = read(store, "papers")
    assert (found.type, found.conversation, found.body["code"]) == ("Error", near, -9615)
    assert "root:" not in found.body["description"]
    assert len(found.body["description"]) < 1000
    assert (near.state, other.state) == ("failed", "conversing")


def test_deep_json_is_an_error_to_its_sender_and_too_deep_data_is_refused(
    store: Store, ends: tuple[Conversation, Conversation]
) -> None:
    near, _ = ends
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    before = rows(store)
    with pytest.raises(MessageError, match="body: found"):
        near.send("Order", deep)
    while deep:
        deep = deep.pop()
    assert rows(store) == before
    near.send("Order", "[" * 100_000 + "]" * 100_000)
    (found,) = read(store, "clients")
    assert (found.type, found.conversation, found.body["code"]) == ("Error", near, -9615)


def test_a_body_over_the_limit_is_refused_and_nothing_is_done(
    store: Store, ends: tuple[Conversation, Conversation]
) -> None:
    before = rows(store)
    with pytest.raises(MessageError, match=f"allowed: at most {MAX_BODY}"):
        ends[0].send("Note", b"x" * (MAX_BODY + 1))
    assert rows(store) == before
    assert ends[0].send("Note", "one that fits") == f"{ends[0].dialog}/i/1"


# -------- ids are secrets


def test_ids_are_in_no_event_no_log_no_repr_and_no_error(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    shown: list[str] = []
    near = store.begin_dialog("Client", "Shop", lifetime=1000)
    near.send("Order", 1)
    with store.take("shops") as work:  # type: ignore[union-attr]
        message = next(work)
        far = message.conversation
        assert far is not None
        shown += [repr(message), repr(work), repr(work.held), str(far)]
        with work.transaction() as tx:
            end = tx.conversation(far)
            shown += [repr(end), repr(end.endpoint)]
            end.send("Reply", 2)
            end.timer(30)
            tx.accept()
    near.prioritise(7)
    secrets = [near.id, far.id]
    far.end((17, "no"))
    for verb in (
        lambda: far.send("Reply", 1),
        lambda: near.send("Order", 1),
        lambda: near.send("Nothing", 1),
        lambda: far.timer(1),
        far.end,
        lambda: near.end((0, "")),
    ):
        with pytest.raises(MessageError) as refused:
            verb()
        shown += [str(refused.value), repr(refused.value)]
    near.end()
    for handle in secrets:
        with pytest.raises(ConversationError) as gone:
            store.conversation(handle)
        shown.append(str(gone.value))
    shown += [repr(near), repr(far), repr({near: far}), caplog.text]
    shown += [repr(event) for event in store.journal()]
    shown += [repr(store.waiting("clients")), repr(store.queues()), repr(store.peek("clients"))]
    text = json.dumps(shown)
    assert len(text) > 1000
    assert not any(handle in text for handle in secrets)


def test_nobody_joins_the_group_of_a_dialog_by_its_name(store: Store) -> None:
    first = store.begin_dialog("Client", "Shop")
    with pytest.raises(MessageError, match=r"group: found 'd-1/i', which is a dialog's own"):
        store.begin_dialog("Client", "Shop", group=first.group)
    assert store.begin_dialog("Client", "Shop", related=first).group == first.group
