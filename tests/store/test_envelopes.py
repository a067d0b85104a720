"""A body that came in an envelope: everybody reads the body, and who knows the envelope gets it."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead import Store
from fairlead.errors import MessageError
from fairlead.store.queues.bodies import BYTES, JSON, MAX_ENVELOPE, TEXT, Envelope, encoded
from tests.store.sql import by_hand
from tests.stores import made_url

AROUND = Envelope(b"\x00head|hello|tail", TEXT, (6, 5))
BEHIND = Envelope(b"\x00a map of another kind", JSON, b'{"total":3}')
RAW = Envelope(b"[\xff\xfe]", BYTES, (1, 2))
BODIES: list[tuple[Envelope, Any]] = [(AROUND, "hello"), (BEHIND, {"total": 3}), (RAW, b"\xff\xfe")]


@pytest.mark.parametrize("way", ["send", "send_many", "delayed", "in a transaction"])
def test_readers_get_the_body_and_its_envelope(store: Store, way: str) -> None:
    for each, _ in BODIES:
        if way == "send":
            store.send("orders", each, group="g")
        elif way == "send_many":
            store.send_many("orders", [{"body": each, "group": "g"}])
        elif way == "delayed":
            store.send("orders", each, group="g", delay=0.5)  # less may be over when it is sent
        else:
            with store.transaction() as tx:
                tx.send("orders", each, group="g")
    found: list[tuple[Any, Any]] = []
    while len(found) < len(BODIES):
        work = store.take("orders", wait=30)
        assert work is not None
        with work:
            found += [(message.body, message.envelope) for message in work]
    assert found == [(body, each.raw) for each, body in BODIES]


def test_a_plain_body_has_none(store: Store) -> None:
    store.send("orders", "plain")
    work = store.take("orders")
    assert work is not None
    assert [message.envelope for message in work] == [None]


def test_the_same_body_in_another_envelope_is_the_same_message(store: Store) -> None:
    store.send("orders", AROUND, id="o-1")
    again = Envelope(b"another head|hello", TEXT, (13, 5))
    assert store.send("orders", again, id="o-1") == "o-1"
    assert store.send_many("orders", [{"body": "hello", "id": "o-1"}]) == ["o-1"]
    with pytest.raises(MessageError, match="another message had before"):
        store.send("orders", RAW, id="o-1")
    assert store.queues()[0].messages == 1


def test_dead_letters_and_what_is_delayed_show_the_body(store: Store, url: str) -> None:
    for each, _ in BODIES:
        store.send("orders", each)
        store.send("orders", each, delay=3600)
    while (work := store.take("orders")) is not None:
        list(work)
        work.reject("spoilt")
    assert [each.body for each in store.dead("orders")] == [body for _, body in BODIES]
    shown = by_hand(url, "SELECT body_text, body FROM fairlead.dead_letters ORDER BY number")
    expected = [("hello", b"hello"), ('{"total":3}', b'{"total":3}'), (None, b"\xff\xfe")]
    assert [(text, bytes(body)) for text, body in shown] == expected
    later = by_hand(url, "SELECT body_text, body FROM fairlead.delayed_messages ORDER BY due")
    assert [(text, bytes(body)) for text, body in later] == expected
    assert store.requeue("orders") == len(BODIES)
    work = store.take("orders")
    assert work is not None
    assert [message.envelope for message in work] == [AROUND.raw]


def test_an_envelope_has_a_size_of_its_own() -> None:
    format_, raw = encoded(Envelope(bytes(MAX_ENVELOPE), BYTES, (5, MAX_ENVELOPE - 5)))
    assert len(raw) == MAX_ENVELOPE
    assert 0 < format_ < 2**63
    with pytest.raises(MessageError, match="allowed: at most"):
        encoded(Envelope(bytes(MAX_ENVELOPE), BYTES, b"x"))


def test_plain_sql_reads_the_body_alone() -> None:
    url = made_url("postgresql")
    with Store.open(url) as store:
        for each, _ in BODIES:
            store.send("orders", each, group="g")
        rows = by_hand(url, "SELECT body_text, body FROM fairlead.take('orders')")
        assert [(text, bytes(body)) for text, body in rows] == [
            ("hello", b"hello"),
            ('{"total":3}', b'{"total":3}'),
            (None, b"\xff\xfe"),
        ]
