"""Limits of queues: how much is in work at one time, and how much is taken in a time."""

import fnmatch
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import Store
from fairlead.errors import ConfigError, SharedQueueError
from fairlead.store.leasing import StoreWork
from fairlead.store.queues.limiting import Limit, kept_limits, lane_of, matches
from tests.stores import Clock, made_url

QUEUE = "[[queue]]\nname = 'jobs'\n"
BEGIN = 1_700_000_000.0


@pytest.fixture
def store(url: str, opened: Callable[..., Store], clock: Clock) -> Store:
    return opened(url, clock=clock)


def declare(store: Store, folder: Path, *limits: str) -> None:
    file = folder / "queues.toml"
    file.write_text(QUEUE + "".join(f"[[queue.limit]]\n{each}\n" for each in limits), "utf-8")
    store.declare(file)


def taken(store: Store, most: int = 100) -> list[StoreWork]:
    """As much as can be taken, one after the other."""
    found = []
    while len(found) < most and (work := store.take("jobs")) is not None:
        found.append(work)
    return found


@given(st.text("ab*?.[", max_size=6), st.text("ab.[", max_size=6))
def test_patterns_have_two_signs(pattern: str, name: str) -> None:
    plain = pattern.replace("[", "[[]")
    assert matches(pattern, name) == fnmatch.fnmatchcase(name, plain)


def test_a_queue_has_so_many_in_work(store: Store, tmp_path: Path) -> None:
    declare(store, tmp_path, "in_work = 2")
    for k in range(5):
        store.send("jobs", k)
    first, second = taken(store)
    assert store.take("jobs") is None
    first.accept()
    assert len(taken(store)) == 1
    second.release()
    assert [work.attempt for work in taken(store)] == [2]


def test_what_is_declared_is_shown(store: Store, tmp_path: Path) -> None:
    assert store.queues() == []
    rate = "of = 'group'\nmatch = 'a*'\nrate = 5\nper = 2\nburst = 3"
    declare(store, tmp_path, "in_work = 2", rate, "of = 'tenant'\nin_work = 1")
    (found,) = store.queues()
    assert [*found.limits] == [
        {"of": "queue", "match": "*", "in_work": 2},
        {"of": "group", "match": "a*", "rate": 2.5, "burst": 3},
        {"of": "tenant", "match": "*", "in_work": 1},
    ]
    declare(store, tmp_path)
    assert [each.limits for each in store.queues()] == [[]]


def test_groups_by_their_names_are_held_up_and_others_go_on(store: Store, tmp_path: Path) -> None:
    declare(store, tmp_path, "of = 'group'\nmatch = 'api-*'\nin_work = 1")
    for k in range(3):
        store.send("jobs", k, group=f"api-{k}", priority=200)
    store.send("jobs", 3, group="own")
    store.send("jobs", 4)
    works = taken(store)
    assert [work.group for work in works] == ["api-0", "own", ""]
    assert store.take("jobs", group="api-2") is None
    works[0].accept()
    assert [work.group for work in taken(store)] == ["api-1"]


def test_a_raise_counts_among_those_that_are_held_up(store: Store, tmp_path: Path) -> None:
    declare(store, tmp_path, "of = 'group'\nmatch = 'api-*'\nin_work = 1")
    for k in range(4):
        store.send("jobs", k, group=f"api-{k}")
    (work,) = taken(store)
    store.prioritise("jobs", "api-3", 200)
    work.accept()
    assert [work.group for work in taken(store)] == ["api-3"]


def test_a_rate_is_kept(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, "rate = 3\nper = 60")
    for k in range(5):
        store.send("jobs", k)
    times = []
    while len(times) < 5:
        times += [clock.now - BEGIN] * len(taken(store))
        clock.now += 1
    assert times == [0, 20, 40, 60, 80]


def test_a_burst_is_saved_up(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, "rate = 1\nburst = 3")
    for k in range(10):
        store.send("jobs", k)
    assert len(taken(store)) == 3
    clock.now += 2
    assert len(taken(store)) == 2
    clock.now += 100
    assert len(taken(store)) == 3


def test_a_clock_that_was_wrong_holds_nothing_up(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    declare(store, tmp_path, "rate = 1")
    for k in range(3):
        store.send("jobs", k)
    clock.now += 365 * 24 * 3600
    assert len(taken(store)) == 1
    clock.now = BEGIN
    assert len(taken(store)) == 1


def test_a_group_of_many_messages_counts_as_many(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    declare(store, tmp_path, "rate = 1")
    for k in range(5):
        store.send("jobs", k, group="many")
    store.send("jobs", 5)
    assert len(taken(store)) == 1
    clock.now += 4
    assert taken(store) == []
    clock.now += 1
    assert len(taken(store)) == 1


def test_each_tenant_has_a_limit_of_its_own(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, "of = 'tenant'\nmatch = 'free-*'\nin_work = 1\nrate = 1\nper = 10")
    for tenant in ("free-a", "free-b", "gold"):
        for k in range(3):
            store.send("jobs", k, tenant=tenant)
    works = taken(store)
    assert sorted(work.tenant for work in works) == ["free-a", "free-b", "gold", "gold", "gold"]
    for work in works:
        list(work)
        work.accept()
    assert taken(store) == []
    clock.now += 10
    assert sorted(work.tenant for work in taken(store)) == ["free-a", "free-b"]


def test_limits_of_names_hold_where_tenants_share_the_queue(store: Store, tmp_path: Path) -> None:
    declare(store, tmp_path, "of = 'group'\nmatch = 'api-*'\nin_work = 1")
    for tenant in ("a", "b"):
        store.send("jobs", 1, tenant=tenant, group=f"api-{tenant}")
        store.send("jobs", 2, tenant=tenant, group=f"own-{tenant}")
    assert sorted(work.group for work in taken(store)) == ["api-a", "own-a", "own-b"]


def test_what_waits_already_is_limited_too(store: Store, tmp_path: Path) -> None:
    for k in range(3):
        store.send("jobs", k, group=f"api-{k}")
    held = store.take("jobs")
    assert held is not None
    declare(store, tmp_path, "of = 'group'\nmatch = 'api-*'\nin_work = 2")
    assert [work.group for work in taken(store)] == ["api-1"]
    declare(store, tmp_path)
    assert [work.group for work in taken(store)] == ["api-2"]


def test_many_are_taken_as_far_as_the_limits_go(store: Store, tmp_path: Path) -> None:
    declare(store, tmp_path, "in_work = 3")
    store.send_many("jobs", [{"body": k} for k in range(5)])
    assert len(store.take_many("jobs", 10)) == 3


def test_what_is_sent_together_is_limited(store: Store, tmp_path: Path) -> None:
    declare(store, tmp_path, "of = 'group'\nmatch = 'api-*'\nin_work = 1")
    groups = ["api-1", "api-2", None, "own", "api-1"]
    store.send_many("jobs", [{"body": k, "group": group} for k, group in enumerate(groups)])
    assert [work.group for work in taken(store)] == ["api-1", "", "own"]


def test_a_reader_that_waits_is_woken_when_something_is_settled(
    dialect: str, tmp_path: Path, opened: Callable[..., Store]
) -> None:
    store = opened(made_url(dialect))
    declare(store, tmp_path, "in_work = 1")
    store.send("jobs", 1)
    store.send("jobs", 2)
    work = store.take("jobs")
    assert work is not None
    found: list[float] = []

    def wait() -> None:
        if store.take("jobs", wait=10) is not None:
            found.append(time.monotonic())

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.3)
    settled = time.monotonic()
    work.accept()
    thread.join()
    assert len(found) == 1
    assert found[0] >= settled


def test_a_reader_that_waits_takes_when_a_rate_allows_it(
    dialect: str, tmp_path: Path, opened: Callable[..., Store]
) -> None:
    store = opened(made_url(dialect))
    declare(store, tmp_path, "rate = 4")
    for k in range(3):
        store.send("jobs", k)
    began = time.monotonic()
    assert all(store.take("jobs", wait=10) is not None for _ in range(3))
    assert time.monotonic() - began >= 0.45


def test_eight_at_once_never_have_too_many(tmp_path: Path) -> None:
    url = made_url("postgresql")
    with Store.open(url) as store:
        declare(store, tmp_path, "of = 'group'\nmatch = 'api-*'\nin_work = 3", "in_work = 5")
        for k in range(60):
            store.send("jobs", k, group=f"{'api' if k % 2 else 'own'}-{k}")
        held, most, lock = set[str](), [0, 0], threading.Lock()

        def work() -> None:
            with Store.open(url) as own:
                while (found := own.take("jobs", wait=0.5)) is not None:
                    with lock:
                        held.add(found.group)
                        most[0] = max(most[0], len(held))
                        most[1] = max(most[1], sum(each.startswith("api") for each in held))
                    list(found)
                    with lock:
                        held.remove(found.group)
                    found.accept()

        threads = [threading.Thread(target=work) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert most[0] <= 5
        assert most[1] <= 3
        assert store.queues()[0].messages == 0


def test_plain_sql_puts_groups_into_the_same_lanes(opened: Callable[..., Store]) -> None:
    store = opened(made_url("postgresql"))
    patterns = ["a*", "?1", "50%", "a_b", "b\\*", "*", "[a]*"]
    limits = [Limit("group", each, 1, 0, 1) for each in patterns] + [Limit("queue", "*", 1, 0, 1)]
    with store.transaction() as tx:
        for name in ("a", "a1", "50%", "500", "a_b", "axb", "b\\x", "[a]", "ä1", "", "a\u2028b"):
            asked = "SELECT fairlead._lane(%s, %s)"
            ((found,),) = tx.execute(asked, (kept_limits(limits), name)).fetchall()
            assert found == lane_of(limits, name), name
        assert tx.execute("SELECT fairlead._lane(NULL, 'a')").fetchall() == [(None,)]


def test_a_transaction_of_the_callers_does_not_take(tmp_path: Path) -> None:
    with Store.open(made_url("postgresql")) as store:
        declare(store, tmp_path, "in_work = 1")
        store.send("jobs", 1)
        with store.transaction() as tx, pytest.raises(SharedQueueError, match="queue with limits"):
            tx.take("jobs")


def test_plain_sql_takes_what_the_limits_let_through(tmp_path: Path) -> None:
    take = "SELECT token, number, body_text FROM fairlead.take('jobs')"
    with Store.open(made_url("postgresql")) as store:
        declare(store, tmp_path, "in_work = 1")
        store.send_many("jobs", [{"body": "a"}, {"body": "b"}])
        with store.transaction() as tx:
            ((token, number, body),) = tx.execute(take).fetchall()
            assert (body, tx.execute(take).fetchall()) == ("a", [])
        assert store.take("jobs") is None
        with store.transaction() as tx:
            tx.execute(
                "SELECT fairlead.settle(%s, 'accepted', ARRAY[%s]::bigint[])", [token, number]
            )
            ((*_, body),) = tx.execute(take).fetchall()
        assert body == "b"


SERVICES = """
[[message_type]]
name = "Ask"
[[contract]]
name = "C"
any = ["Ask"]
[[service]]
name = "Client"
queue = "clients"
[[service]]
name = "Shop"
queue = "jobs"
contracts = ["C"]
"""


def test_conversations_are_limited_too(store: Store, tmp_path: Path) -> None:
    declare(store, tmp_path, "in_work = 1")
    (tmp_path / "services.toml").write_text(SERVICES, "utf-8")
    store.declare(tmp_path / "services.toml")
    for _ in range(2):
        store.begin_dialog("Client", "Shop", contract="C").send("Ask", "a")
    (work,) = taken(store)
    (message,) = list(work)
    assert message.conversation is not None
    message.conversation.send("Ask", "b")
    work.accept()
    (work,) = taken(store)
    list(work)
    work.accept()
    assert len(store.take_many("clients", 5)) == 1


def test_how_it_stands_with_the_limits(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, "in_work = 1\nrate = 1\nper = 10", "of = 'tenant'\nin_work = 9")
    store.send("jobs", 1, tenant="a")
    assert [each.is_open for each in store.limits("jobs")] == [True]
    assert len(taken(store)) == 1
    first, second = store.limits("jobs")
    assert (first.of, first.in_work, first.most_in_work) == ("queue", 1, 1)
    assert (first.opens, first.is_open) == (BEGIN + 10, False)
    assert (second.of, second.match, second.name, second.in_work) == ("tenant", "*", "a", 1)
    assert (second.opens, second.is_open) == (None, True)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("of = 'queue'", "rate: found neither rate nor in_work"),
        ("in_work = 0", "in_work: found 0"),
        ("rate = 0", "rate: found 0"),
        ("in_work = 1\nper = 5", "rate: found nothing with per or burst"),
        ("rate = 1\nper = 0", "per: found 0, allowed: seconds, more than 0"),
        ("rate = 1\nper = nan", "per: found"),
        ("of = 'group'\nrate = 1", "match: found nothing, allowed: the names of groups"),
        ("match = 'a*'\nrate = 1", "match: found 'a*' for the whole queue"),
        ("of = 'type'\nrate = 1", "of: found 'type', allowed: "),
        ("rate = 1\n[[queue.limit]]\nin_work = 1", "limit: found two of queue, allowed: one"),
    ],
)
def test_what_a_file_may_not_say(store: Store, tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        declare(store, tmp_path, line)
    assert says in str(caught.value)
    assert store.queues() == []
