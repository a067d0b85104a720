"""Several servers whose clients have the same name, and subscribe to the same subject."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE, Popen
from sys import executable
from types import SimpleNamespace
from typing import Any

import pytest

from fairlead import Store
from tests.serve.serving import Served, serving, wait_until
from tests.serve.test_subjects import CHAPTER, NEWS, SERVER, Client
from tests.stores import made_url

LEASE = 2.0
"""Seconds; servers look at each other's subscriptions four times in it."""
OWN = "fairlead:subscriptions"


@pytest.fixture
def url() -> str:
    url = made_url("postgresql")
    with Store.open(url) as store:
        store.keep_clusters([NEWS])
    return url


@pytest.fixture
def three(url: str) -> Iterator[list[Served]]:
    with (
        Store.open(url) as a,
        Store.open(url) as b,
        Store.open(url) as c,
        serving(a, lease=LEASE) as first,
        serving(b, lease=LEASE) as second,
        serving(c, lease=LEASE) as third,
    ):
        yield [first, second, third]


def subscribers(store: Store) -> list[str]:
    return [each.name for each in store.pool("news").machines]


def looks(store: Store) -> int:
    """So often a server has taken what nobody keeps."""
    return sum(event.kind == "taken" and event.queue == OWN for event in store.journal())


@pytest.mark.costly
@pytest.mark.parametrize("leaves", [0, 1])
def test_one_of_two_clients_of_a_name_leaves_and_the_other_stays(
    url: str, three: list[Served], leaves: int
) -> None:
    two = [Client(served, "A") for served in three[:2]]
    for each in two:
        each.subscribe(CHAPTER)
    gone, stays = two[leaves], two[1 - leaves]
    sender = Client(three[2], "S")
    gone.receiver.close()
    with Store.open(url) as store:
        before = looks(store)
        wait_until(lambda: leaves == 1 or looks(store) > before)
        sender.publish(CHAPTER, "sorted", mode="sorted")
        assert stays.printed(1) == ["sorted"]
        assert subscribers(store) == ["A"]
        stays.receiver.close()
        wait_until(lambda: subscribers(store) == [])
        gone.subscribe(CHAPTER, name="again")
        sender.publish(CHAPTER, "again")
        assert gone.printed(1) == ["again"]
    for each in (*two, sender):
        each.close()


@pytest.mark.slow
def test_a_server_dies_and_the_client_of_the_same_name_at_another_stays(
    url: str, three: list[Served]
) -> None:
    root = Path(__file__).parents[2]
    with Popen([executable, "-c", SERVER, url], cwd=root, stdout=PIPE, text=True) as process:
        assert process.stdout is not None
        elsewhere: Any = SimpleNamespace(url=process.stdout.readline().strip())
        elsewhere.connect = lambda **more: Served.connect(elsewhere, **more)
        lost = Client(elsewhere, "A")
        lost.subscribe(CHAPTER)
        stays, sender = Client(three[0], "A"), Client(three[1], "S")
        stays.subscribe(CHAPTER)
        with Store.open(url) as store:
            before = looks(store)
            process.kill()
            wait_until(lambda: looks(store) >= before + 2)
            assert subscribers(store) == ["A"]
            sender.publish(CHAPTER, "kept")
            assert stays.printed(1) == ["kept"]
            stays.receiver.close()
            wait_until(lambda: subscribers(store) == [])
        for each in (stays, sender):
            each.close()
