"""What the SmartSockets document describes, between clients over AMQP."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from proton import Message, ProtonException, Timeout
from proton.utils import LinkDetached, SendException

from fairlead import Cluster, Store, load_changes, load_clusters, route
from fairlead.cli.app import run
from tests.serve.serving import Served, serving, wait_until
from tests.serve.subscriber import NUMBERS, Client
from tests.stores import made_url

NEWS = Cluster.of("smartsockets", name="news", options={"subscribers": "any"})
CHAPTER = "subject:/manual/chapter4"
Url = str


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest) -> Url:
    return made_url(request.param)


@pytest.fixture
def store(url: Url) -> Iterator[Store]:
    with Store.open(url) as found:
        found.keep_clusters([NEWS])
        yield found


@pytest.fixture
def served(store: Store) -> Iterator[Served]:
    with serving(store) as found:
        yield found


@pytest.fixture
def client(served: Served) -> Iterator[Callable[[str], Client]]:
    every: list[Client] = []

    def connected(name: str) -> Client:
        every.append(Client(served, name))
        return every[-1]

    yield connected
    for each in every:
        with suppress(ProtonException):
            each.close()


@pytest.mark.costly
def test_the_two_programs_of_the_document_print_what_it_prints(
    client: Callable[[str], Client],
) -> None:
    r1, r2, archive, sender = map(client, ["R1", "R2", "archive", "lbsend"])
    r1.subscribe(CHAPTER)
    r2.subscribe(CHAPTER)
    archive.subscribe(CHAPTER, load_balancing=False)
    sender.publish(CHAPTER, *range(10))
    sender.publish(CHAPTER, *range(10, 20), mode="round-robin")
    assert r1.printed(15) == [*range(10), 11, 13, 15, 17, 19]
    assert r2.printed(15) == [*range(10), 10, 12, 14, 16, 18]
    assert archive.printed(20) == [*range(20)]
    assert r1.printed() == r2.printed() == archive.printed() == []


@pytest.mark.costly
def test_who_leaves_gets_no_more_and_a_second_attach_replaces_the_setting(
    client: Callable[[str], Client], store: Store
) -> None:
    a, b, sender = map(client, ["A", "B", "S"])
    a.subscribe(CHAPTER)
    b.subscribe(CHAPTER)
    sender.publish(CHAPTER, 1, mode="sorted")
    assert (a.printed(1), b.printed()) == ([1], [])
    a.receiver.close()
    wait_until(lambda: len(store.pool("news").machines) == 1)
    sender.publish(CHAPTER, 2, mode="sorted")
    assert b.printed(1) == [2]
    a.subscribe(CHAPTER, load_balancing=False)
    sender.publish(CHAPTER, 3, mode="sorted")
    assert (a.printed(1), b.printed(1)) == ([3], [3])
    a.receiver = a.connection.create_receiver(CHAPTER, credit=100, name="another")
    sender.publish(CHAPTER, 4, mode="sorted")
    assert b.printed() == []


@pytest.mark.costly
def test_one_that_is_lost_is_a_subscriber_no_more_and_others_get_what_it_had(
    client: Callable[[str], Client], store: Store, served: Served
) -> None:
    a, sender = map(client, ["A", "S"])
    a.subscribe(CHAPTER)
    sender.publish(CHAPTER, "lost", mode="sorted")
    kept = sender.offer(CHAPTER, "kept", mode="sorted", delivery="all")
    other = Client(served, "B")
    other.subscribe(CHAPTER)
    served.hang_up("A")
    message = other.receiver.receive(timeout=10)
    assert (message.body, message.delivery_count) == ("kept", 1)
    other.receiver.accept()
    assert other.printed() == []
    assert sender.told(kept) == "accepted"
    wait_until(lambda: [each.name for each in store.pool("news").machines] == ["B"])
    other.close()


@pytest.mark.costly
def test_a_durable_subscriber_is_remembered_while_it_is_away(
    client: Callable[[str], Client], store: Store
) -> None:
    a, b, sender = map(client, ["A", "B", "S"])
    a.subscribe(CHAPTER, durable=True)
    b.subscribe(CHAPTER)

    def connected() -> dict[str, Any]:
        found = store.pool("news").machines
        return {each.name: each.attributes["connected"] for each in found}

    a.receiver.detach()
    while connected() != {"A": "warm", "B": True}:
        with suppress(Timeout):
            a.connection.wait(lambda: False, timeout=0.1)
    sender.publish(CHAPTER, 1, mode="sorted")
    assert b.printed(1) == [1]
    b.receiver.close()
    wait_until(lambda: connected() == {"A": "warm"})
    sender.publish(CHAPTER, "nobody keeps it")
    kept = sender.offer(CHAPTER, "kept", mode="round-robin", delivery="some")
    a.subscribe(CHAPTER, durable=True)
    assert a.printed() == ["kept"]
    assert sender.told(kept) == "accepted"
    a.receiver.close()
    wait_until(lambda: connected() == {})


def test_what_cannot_be_said_is_refused_by_name(client: Callable[[str], Client]) -> None:
    sender, receiver = map(client, ["S", "R"])
    for wrong, condition in (
        ("subject:/a/*", "wildcards in subjects"),
        ("subject:/...", "wildcards in subjects"),
        ("subject:", "found no subject"),
    ):
        with pytest.raises(LinkDetached, match=condition):
            receiver.subscribe(wrong)
    with pytest.raises(LinkDetached, match="load-balancing: found 'no'"):
        receiver.subscribe(CHAPTER, load_balancing="no", name="refused")
    receiver.subscribe(CHAPTER)
    for said in ({"mode": "at-random"}, {"mode": "weighted"}, {"delivery": "perhaps"}):
        with pytest.raises(SendException):
            sender.publish(CHAPTER, 1, **said)
    assert receiver.printed() == []


def test_a_store_without_subjects_says_so(url: Url) -> None:
    with Store.open(url) as store, serving(store) as served:
        client = Client(served, "R")
        with pytest.raises(LinkDetached, match="found no cluster with the policy smartsockets"):
            client.subscribe(CHAPTER)
        client.close()


def test_no_client_uses_what_servers_keep_for_themselves(
    client: Callable[[str], Client], store: Store
) -> None:
    own = "fairlead:subscriptions"
    peer, other = map(client, ["R", "S"])
    for attach in (peer.connection.create_receiver, peer.connection.create_sender):
        with pytest.raises(LinkDetached, match="a queue of the server's own"):
            attach(own, name=f"link {next(NUMBERS)}")
    sender = other.connection.create_sender(None)
    with pytest.raises(SendException):
        sender.send(Message("forged", address=own))
    assert [each for each in store.queues() if each.queue == own] == []


def test_what_no_server_has_written_is_a_dead_letter(store: Store) -> None:
    """And it keeps nobody from keeping what is kept."""
    own = "fairlead:subscriptions"
    store.send(own, {"cluster": "news"})
    work = store.take(own)
    assert work is not None
    work.release()
    with serving(store, lease=4.0):
        wait_until(lambda: bool(store.dead(own)))
    assert store.dead(own)[0].body == {"cluster": "news"}


def test_what_servers_keep_is_never_buried_however_often_they_crash(store: Store) -> None:
    own, usual = "fairlead:subscriptions", "orders"
    for queue in (own, usual):
        store.send(queue, "kept")
        for _ in range(7):
            work = store.take(queue)
            if work is not None:
                with suppress(ZeroDivisionError), work:
                    list(work)
                    raise ZeroDivisionError
    assert (len(store.dead(own)), len(store.dead(usual))) == (0, 1)


def test_two_projects_do_not_see_each_other(store: Store, served: Served) -> None:
    store.keep_clusters([Cluster.of("smartsockets", name="other", options={"subscribers": "any"})])
    found = []
    for host in ("news", "other"):
        client = Client(served, f"in {host}", host=host)
        client.subscribe(CHAPTER)
        found.append(client)
    found[0].publish(CHAPTER, "news")
    assert found[0].printed(1) == ["news"]
    assert found[1].printed() == []
    stranger = Client(served, "stranger", host="nowhere")
    with pytest.raises(LinkDetached, match="virtual host: found 'nowhere', which has no subjects"):
        stranger.subscribe(CHAPTER)
    for each in [*found, stranger]:
        each.close()


def test_what_the_journal_tells_is_decided_anew_alike(
    client: Callable[[str], Client],
    url: Url,
    store: Store,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """And it says why one subscriber got a message."""
    r1, r2, sender = map(client, ["R1", "R2", "S"])
    r1.subscribe(CHAPTER)
    sender.publish(CHAPTER, 1, 2, mode="round-robin")
    r2.subscribe(CHAPTER)
    sender.publish(CHAPTER, 3, 4, 5, mode="round-robin")
    sender.publish(CHAPTER, 6)
    capsys.readouterr()
    told = {}
    for what in ("decisions", "changes", "file"):
        assert run(["journal", "--store", url, "--cluster", "news", f"--{what}"]) == 0
        told[what] = capsys.readouterr().out
    file, changes = tmp_path / "news.toml", tmp_path / "changes.jsonl"
    file.write_text(told["file"], encoding="utf-8")
    changes.write_text(told["changes"], encoding="utf-8")
    rows = [json.loads(line) for line in told["decisions"].splitlines()]
    table = pa.Table.from_pylist([*{row["id"]: row for row in rows}.values()])
    anew = route(table, load_clusters(file), load_changes(changes)).to_pylist()
    names = ("id", "sequence", "destination")
    assert [[row[n] for n in names] for row in anew] == [[row[n] for n in names] for row in rows]
    assert [row["destination"] for row in rows] == ["R1", "R1", "R1", "R2", "R1", "R1", "R2"]
    assert run(["explain", "news", "--store", url, "--id", f"news/{CHAPTER[8:]}/3"]) == 0
    assert "the cursor comes to R2 first" in capsys.readouterr().out


SERVER = """
import sys, time
from fairlead import Store
from tests.serve.serving import Served
with Store.open(sys.argv[1]) as store:
    print(Served(store, lease=4.0).url, flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_a_server_that_is_killed_leaves_no_subscriber_behind(url: Url, store: Store) -> None:
    """Another one lets its clients go; what one of them had goes to those that are there."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, url],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    with process, serving(store, lease=4.0) as served:
        assert process.stdout is not None
        elsewhere = SimpleNamespace(url=process.stdout.readline().strip())
        elsewhere.connect = partial(Served.connect, elsewhere)
        lost = Client(elsewhere, "A")  # type: ignore[arg-type]
        lost.subscribe(CHAPTER)
        other = Client(served, "B")
        other.subscribe(CHAPTER)
        other.offer(CHAPTER, "kept", mode="sorted", delivery="all")
        assert lost.receiver.receive(timeout=10).body == "kept"
        process.kill()
        message = other.receiver.receive(timeout=20)
        assert (message.body, message.delivery_count) == ("kept", 1)
        other.receiver.accept()
        wait_until(lambda: [each.name for each in store.pool("news").machines] == ["B"])
        other.close()
    wait_until(lambda: store.pool("news").machines == [])
    assert [(each.queue, each.messages) for each in store.queues() if each.messages] == []
