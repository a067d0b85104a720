"""What plain SQL sends to an outbox is put by the queue manager: once, each group in its order."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fairlead.store.channels import outbox
from tests.channels.sites import Sites, sites_of, taken, written

TO = "TO.QM2"
OUTBOX = "outbox:ORDERS"
WAY = f"channel:{TO}"
ONE = '\n[[queue]]\nname = "ORDERS"\nqueue_manager = "QM2"\nbind = "not-fixed"\n'
BOTH = f'{ONE}\n[[queue]]\nname = "ORDERS"\nqueue_manager = "QM1"\n'


@pytest.fixture(params=["sqlite", "postgresql"])
def sites(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sites]:
    with sites_of(tmp_path, request.param, written(tmp_path, ONE)) as found:
        yield found.declare()


def send(sites: Sites, body: str, queue: str = OUTBOX, **more: Any) -> None:
    """Send a text to a queue of QM1: in plain SQL where the database has that."""
    store = sites.stores["QM1"]
    if store.url.startswith("sqlite"):
        store.send(queue, body, **more)
        return
    named = "".join(f', "{key}" => %({key})s' for key in more)
    with psycopg.connect(store.url) as connection:
        sql = f"SELECT fairlead.send(%(queue)s, %(body)s::text{named})"
        connection.execute(sql.encode(), {"queue": queue, "body": body, **more})


def relay(sites: Sites, queue: str = OUTBOX) -> outbox.Relayed:
    """What the server of QM1 does, once."""
    return sites.stores["QM1"].moving.relay(queue, sites.claim("QM1"))


def headers(sites: Sites) -> list[dict[str, Any]]:
    """What is said of what waits for QM2."""
    work = sites.stores["QM1"].take(WAY)
    assert work is not None
    with work:
        raws = [message.envelope or b"" for message in work]
    return [json.loads(raw[4 : 4 + int.from_bytes(raw[:4])]) for raw in raws]


def test_messages_are_put_as_they_were_sent(sites: Sites) -> None:
    for place in range(3):
        more = {"id": f"o-{place}"} if place else {}
        send(sites, f"m{place}", group="kim", type="Order", tenant="t", cost=3, **more)
    assert sites.stores["QM1"].moving.outboxes() == [OUTBOX]
    assert relay(sites) == (3, "")
    (work,) = [sites.stores["QM1"].peek(WAY)]
    assert [(m.body, m.group, m.type, m.tenant, m.cost) for m in work] == [
        (f"m{place}", "kim", "Order", "t", 3) for place in range(3)
    ]
    assert [header["id"] for header in headers(sites)] == [None, "o-1", "o-2"]
    assert relay(sites) == (0, "")


def test_a_priority_and_an_expiry_go_with_it(sites: Sites) -> None:
    store = sites.stores["QM1"]
    store.send(OUTBOX, "later")
    store.send(OUTBOX, "first", group="kim", priority=200, expires=3600)
    relay(sites)
    (header,) = headers(sites)
    assert 0 < header["expires"] / 1e6 - time.time() <= 3600


def test_it_is_put_at_a_queue_manager_that_is_named(sites: Sites) -> None:
    send(sites, "done", "outbox:ANSWERS@QM2")
    assert relay(sites, "outbox:ANSWERS@QM2") == (1, "")
    (header,) = headers(sites)
    assert (header["said"], header["route"]["queue"]) == ({"queue_manager": "QM2"}, "ANSWERS")


def test_a_local_instance_gets_it(tmp_path: Path) -> None:
    with sites_of(tmp_path, "sqlite", written(tmp_path, BOTH)) as sites:
        sites.declare()
        send(sites, "here")
        relay(sites)
        assert sites.bodies("QM1", "ORDERS") == ["here"]


def test_an_id_is_put_once(sites: Sites) -> None:
    send(sites, "o", id="o-1")
    relay(sites)
    assert sites.stores["QM1"].put("ORDERS", "o", id="o-1").destination == TO
    assert sites.count("QM1", WAY) == 1


def test_what_can_never_be_put_is_a_dead_letter_and_the_rest_goes_on(sites: Sites) -> None:
    send(sites, "o", id="o-1")
    relay(sites)
    for place in range(3):
        send(sites, f"m{place}", group="kim")
    with sites.stores["QM1"].transaction() as tx:
        tx.put("ORDERS", "another", id="o-2")
    send(sites, "not that", group="kim", id="o-2")
    send(sites, "behind it", group="kim")
    assert relay(sites) == (5, "")
    (letter,) = sites.stores["QM1"].dead(OUTBOX)
    assert letter.body == "not that"
    assert "o-2" in letter.reason
    for nowhere, why in (("NONE", "unknown-queue"), ("ORDERS@QM9", "no-destination")):
        send(sites, "x", f"outbox:{nowhere}")
        assert relay(sites, f"outbox:{nowhere}") == (1, "")
        (letter,) = sites.stores["QM1"].dead(f"outbox:{nowhere}")
        assert why in letter.reason
    bodies = [message.body for message in sites.stores["QM1"].peek(WAY, group="kim")]
    assert bodies == ["m0", "m1", "m2", "behind it"]


GONE = "temporary:gone: found a temporary queue that is gone, or never was"


@pytest.mark.parametrize(
    ("queue", "reason"),
    [
        ("temporary:gone", GONE),
        ("temporary:gone@QM1", GONE),
        (WAY, f"queue: found '{WAY}', allowed: one that is not the servers' own"),
    ],
)
def test_what_leads_nowhere_is_a_dead_letter(sites: Sites, queue: str, reason: str) -> None:
    send(sites, "o", f"outbox:{queue}")
    assert relay(sites, f"outbox:{queue}") == (1, "")
    (letter,) = sites.stores["QM1"].dead(f"outbox:{queue}")
    assert letter.reason == reason


@pytest.mark.slow
def test_what_finds_a_full_queue_waits_in_its_order(sites: Sites) -> None:
    store = sites.stores["QM1"]
    store.set_limits(WAY, max_waiting=2)
    for place in range(4):
        send(sites, f"m{place}", group="kim")
    relayed = relay(sites)
    assert relayed.messages == 2
    assert "found more than 2 messages" in relayed.waits
    assert relay(sites).messages == 0
    assert not store.ready(OUTBOX)  # it is left alone for a while
    assert not store.dead(OUTBOX)
    assert all(row.failures == 0 for row in store.queues())
    store.set_limits(WAY, max_waiting=None)
    sites.until(lambda: relay(sites).messages == 2)
    assert [message.body for message in store.peek(WAY)] == ["m0", "m1", "m2", "m3"]


@pytest.mark.costly
def test_what_may_not_be_put_now_waits(sites: Sites) -> None:
    store = sites.stores["QM1"]
    cluster = sites.cluster("QM1")
    store.change(cluster, "queue:ORDERS@QM2", "put_enabled", False)
    send(sites, "o")
    assert "put-inhibited" in relay(sites).waits
    store.change(cluster, "queue:ORDERS@QM2", "put_enabled", True)
    sites.until(lambda: relay(sites).messages == 1)


def test_what_fails_in_the_middle_has_done_nothing(
    sites: Sites, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(sites, "o", group="kim")

    class GoneError(Exception):
        pass

    def fail(*_: object) -> object:
        raise GoneError

    with monkeypatch.context() as patched:
        patched.setattr(outbox, "_end", fail)
        with pytest.raises(GoneError):
            relay(sites)
    assert sites.count("QM1", WAY) == 0
    assert relay(sites) == (1, "")
    assert sites.count("QM1", WAY) == 1


def test_plain_sql_is_told_the_way_out(tmp_path: Path) -> None:
    with sites_of(tmp_path, "postgresql", written(tmp_path, ONE)) as sites:
        sites.declare()
        with (
            psycopg.connect(sites.urls["QM1"]) as connection,
            pytest.raises(psycopg.Error) as error,
        ):
            connection.execute("SELECT fairlead.publish('sites.QM1', 'o'::text)")
    assert error.value.sqlstate == "FL005"
    line = error.value.diag.message_primary or ""
    assert "whoever sends to outbox:QUEUE, which its queue manager puts to QUEUE" in line


def test_one_that_is_full_keeps_no_other_waiting(tmp_path: Path) -> None:
    others = (OUTBOX, "outbox:ANSWERS@QM2")
    with sites_of(tmp_path, "sqlite", written(tmp_path, ONE)) as sites:
        store = sites.stores["QM1"]
        for queue in others:
            store.send_many(queue, [{"body": place} for place in range(500)])
        sites.start("QM1")
        sites.until(lambda: not any(sites.count("QM1", queue) for queue in others))
        order = [event.queue for event in store.journal(kind=["accepted"])]
        ends = {queue: (order.index(queue), order[::-1].index(queue)) for queue in others}
        assert all(first < 500 and last < 500 for first, last in ends.values())


@pytest.mark.slow
def test_a_server_empties_it_and_is_killed_meanwhile(tmp_path: Path) -> None:
    """What is rolled back is not put; what is committed arrives once, whatever is killed."""
    with sites_of(tmp_path, "postgresql", written(tmp_path, ONE)) as sites:
        sites.start()
        sent: dict[str, list[str]] = defaultdict(list)
        for number in range(300):
            group = f"g{number % 7}"
            with psycopg.connect(sites.urls["QM1"]) as connection:
                connection.execute(
                    'SELECT fairlead.send(%s, %s::text, "group" => %s)',
                    (OUTBOX, str(number), group),
                )
                if number % 10 == 3:
                    connection.rollback()
                else:
                    sent[group].append(str(number))
            if number in (100, 200):
                sites.kill("QM1")
                sites.start("QM1")
        wanted = sum(map(len, sent.values()))
        sites.until(lambda: sites.count("QM2", "ORDERS") >= wanted, 90)
        got: dict[str, list[str]] = defaultdict(list)
        for message in taken(sites.stores["QM2"], "ORDERS"):
            got[message.group].append(message.body)
        assert got == sent
