"""The connection is lost while a commit is on its way: nobody was told whether it was done.

A proxy between the store and PostgreSQL cuts the connection when it sees the commit, before it
passes it on, or after.
"""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from fairlead import Store
from fairlead.errors import StaleWorkError, StoreError
from tests.proxies import Proxy
from tests.stores import made_url, server

Open = Callable[..., Store]
COMMIT = "COMMIT\0"
"""As the driver says it; not what it says of READ COMMITTED."""
both = pytest.mark.parametrize("passes_on", [False, True], ids=["before", "after"])


@pytest.fixture
def url() -> str:
    return made_url("postgresql")


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    with Proxy(url) as found:
        yield found


@pytest.fixture
def store(proxy: Proxy) -> Iterator[Store]:
    """Behind the proxy."""
    with Store.open(proxy.url) as found:
        yield found


def lost(call: Callable[[], object]) -> None:
    with pytest.raises(StoreError) as refused:
        call()
    assert "\n" not in str(refused.value)


def sent(store: Store) -> list[str]:
    return [event.id for event in store.journal() if event.kind == "sent"]


def taken(store: Store) -> Any:
    work = store.take("q")
    assert work is not None
    assert [message.body for message in work] == [1]
    return work


@both
@pytest.mark.parametrize("many", [False, True], ids=["one", "many"])
def test_a_send_whose_answer_was_lost_sends_once_when_it_is_sent_again(
    many: bool, passes_on: bool, proxy: Proxy, store: Store
) -> None:
    ids = ["m", "n"] if many else ["m"]

    def send() -> object:
        if many:
            return store.send_many("q", [{"body": 1, "id": id_} for id_ in ids])
        return store.send("q", 1, id="m")

    proxy.cut("fairlead._send_many(" if many else "fairlead._send(", passes_on=passes_on)
    lost(send)
    assert proxy.cuts == 1
    assert sent(store) == (ids if passes_on else [])
    assert send() in ("m", ids)
    assert sent(store) == ids
    for _ in ids:
        taken(store).accept()
    assert store.take("q") is None


@both
@pytest.mark.parametrize("end", ["accepted", "rejected", "released"])
def test_the_outcome_tells_whether_work_was_settled_when_the_answer_was_lost(
    end: str, passes_on: bool, proxy: Proxy, store: Store
) -> None:
    store.send("q", 1, group="g")
    work = taken(store)
    settle = {"accepted": work.accept, "rejected": work.reject, "released": work.release}[end]
    proxy.cut("fairlead._settle_one(", passes_on=passes_on)
    lost(settle)
    assert proxy.cuts == 1
    assert store.outcome(work.token) == (end if passes_on else "held")
    if passes_on:
        with pytest.raises(StaleWorkError):
            settle()
    else:
        settle()
    assert store.outcome(work.token) == end


@both
def test_a_transaction_whose_commit_was_lost_is_done_whole_or_not_at_all(
    passes_on: bool, proxy: Proxy, store: Store
) -> None:
    with store.transaction() as tx:
        tx.execute("CREATE TABLE mine (value INTEGER)")
    store.send("q", 1, group="g")
    work = taken(store)

    def settle() -> None:
        with work.transaction() as tx:
            tx.execute("INSERT INTO mine VALUES (1)")
            tx.send("next", 2)
            tx.accept()

    proxy.cut(COMMIT, passes_on=passes_on)
    lost(settle)
    assert proxy.cuts == 1
    assert store.outcome(work.token) == ("accepted" if passes_on else "held")
    if not passes_on:
        settle()
    assert store.outcome(work.token) == "accepted"
    with store.transaction() as tx:
        assert tx.execute("SELECT value FROM mine").fetchall() == [(1,)]
    assert [each.messages for each in store.queues()] == [1, 0]


@both
def test_the_commit_of_a_joined_transaction_that_was_lost_is_told_by_the_outcome(
    passes_on: bool, proxy: Proxy, store: Store
) -> None:
    store.send("q", 1, group="g")
    work = taken(store)
    with psycopg.connect(proxy.url) as mine:
        with store.join(mine) as tx:
            tx.accept(work)
        proxy.cut(COMMIT, passes_on=passes_on)
        with pytest.raises(psycopg.OperationalError):
            mine.commit()
    assert proxy.cuts == 1
    assert store.outcome(work.token) == ("accepted" if passes_on else "held")


def test_the_outcome_waits_for_a_commit_that_still_runs(
    url: str, proxy: Proxy, store: Store
) -> None:
    """Else it would say that the work is held, which in a moment it is not any more."""
    with psycopg.connect(url, autocommit=True) as gate:
        gate.execute(
            b"CREATE TABLE mine (value INTEGER);"
            b"CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS "
            b"$$ BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NULL; END $$;"
            b"CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON mine DEFERRABLE INITIALLY DEFERRED "
            b"FOR EACH ROW EXECUTE FUNCTION wait()"
        )
        gate.execute("SELECT pg_advisory_lock(7)")
        store.send("q", 1, group="g")
        work = taken(store)

        def settle() -> None:
            with work.transaction() as tx:
                tx.execute("INSERT INTO mine VALUES (1)")
                tx.accept()

        settler = threading.Thread(target=settle)
        settler.start()
        until_waiting(1)
        found: list[str] = []
        asking = threading.Thread(target=lambda: found.append(store.outcome(work.token)))
        asking.start()
        until_waiting(2)
        gate.execute("SELECT pg_advisory_unlock(7)")
        asking.join()
        settler.join()
    assert found == ["accepted"]


def until_waiting(count: int) -> None:
    """Until so many sessions wait for others."""
    asked = "SELECT count(*) FROM pg_stat_activity WHERE cardinality(pg_blocking_pids(pid)) > 0"
    with psycopg.connect(server().get_uri(), autocommit=True) as watcher:
        while watcher.execute(asked).fetchall() != [(count,)]:
            pass
