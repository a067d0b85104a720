"""What the last hour would have been: the same as the store itself would have decided."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fairlead import Balancer, Change, Cluster, Store
from fairlead.console import preview_process
from fairlead.console.preview import Preview, PreviewRequest, Proposal, plans, preview
from fairlead.console.preview_process import preview_apart
from fairlead.errors import ChangeError, ConfigError, MessageError
from tests.stores import Clock

BEGAN = 1_700_000_000.0
MACHINES = [{"name": name, "weight": weight} for name, weight in (("a", 1), ("b", 1), ("c", 2))]


def quiet(what: str, done: int, of: int) -> None:
    assert done <= of, what


@pytest.fixture
def clock() -> Clock:
    return Clock(BEGAN)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/work.db"


@pytest.fixture
def store(url: str, clock: Clock) -> Any:
    with Store.open(url, clock=clock) as store:
        store.keep_clusters([Cluster.of("msmq", name="pool", destination=MACHINES)])
        yield store


def publish(store: Store, clock: Clock, count: int, *, work: bool = False) -> None:
    for _ in range(count):
        clock.now += 1
        found = store.publish("pool", "body", id=str(clock.now))
        if work and (held := store.take(str(found.destination))) is not None:
            clock.now += 5
            with held:
                assert [*held]


def request(clock: Clock, proposal: Proposal, **more: Any) -> PreviewRequest:
    return PreviewRequest("pool", proposal, BEGAN, clock.now + 1, **more)


def counts(found: Preview, which: str) -> dict[str, int]:
    return {each.name: getattr(each, which) for each in found.destinations}


def live(changes: list[Change], count: int) -> Counter[str | None]:
    balancer = Balancer([Cluster.of("msmq", name="pool", destination=MACHINES)])
    for change in changes:
        balancer.apply(change)
    return Counter(balancer.choose().destination for _ in range(count))


def test_the_recorded_the_present_and_the_changed(store: Store, clock: Clock) -> None:
    publish(store, clock, 40)
    store.change("pool", "c", "enabled", value=False)
    publish(store, clock, 40)
    now = [Change("c", "enabled", value=False)]
    found = preview(store, request(clock, Proposal([("a", "weight", 7)])), quiet)
    assert (found.messages, found.cut, found.nobody) == (80, False, (0, 0, 0))
    assert counts(found, "recorded") == {"a": 30, "b": 30, "c": 20}
    assert counts(found, "now") == {"c": 0, **live(now, 80)}
    assert counts(found, "then") == {"c": 0, **live([*now, Change("a", "weight", 7)], 80)}
    assert found.waits is None


def test_who_joins_and_who_leaves(store: Store, clock: Clock) -> None:
    publish(store, clock, 40)
    change = Proposal(added=[{"name": "new", "weight": 4}], removed=["a"])
    found = preview(store, request(clock, change), quiet)
    then = counts(found, "then")
    assert then == {"a": 0, "b": 40 // 7 + 1, "c": 11, "new": 23}
    assert counts(found, "recorded")["new"] == counts(found, "now")["new"] == 0
    assert store.pool("pool").version == 0


def test_nobody_left_is_told(store: Store, clock: Clock) -> None:
    publish(store, clock, 8)
    change = Proposal([(name, "enabled", False) for name in "abc"])
    assert preview(store, request(clock, change), quiet).nobody == (0, 0, 8)


def test_waits_are_told_where_it_is_known_how_long_work_takes(store: Store, clock: Clock) -> None:
    publish(store, clock, 6, work=True)
    found = preview(store, request(clock, Proposal([("a", "weight", 7)])), quiet)
    assert found.waits is not None
    assert {name: waits.messages for name, waits in found.waits.items()} == {"now": 6, "then": 6}


def test_of_many_the_latest(store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.console.preview.PAGE", 7)
    publish(store, clock, 40)
    found = preview(store, request(clock, Proposal(), most=10), quiet)
    assert found.cut
    assert 10 <= found.messages <= 14
    assert found.last == clock.now
    found = preview(store, request(clock, Proposal(), most=1000), quiet)
    assert (found.cut, found.messages) == (False, 40)


@pytest.mark.parametrize(
    ("proposal", "error", "line"),
    [
        (Proposal([("nobody", "weight", 1)]), ChangeError, "found 'nobody'"),
        (Proposal([("a", "weight", -1)]), ChangeError, "-1"),
        (Proposal(added=[{"name": "a", "weight": 1}]), (ChangeError, ConfigError), "twice"),
        (Proposal(removed=["nobody"]), ChangeError, "found 'nobody'"),
    ],
)
def test_what_the_store_refuses_is_refused(
    proposal: Proposal, error: Any, line: str, store: Store, clock: Clock
) -> None:
    with pytest.raises(error, match=line):
        plans(store.pool("pool"), proposal, BEGAN)


def test_where_nothing_was_decided_there_is_no_preview(store: Store, clock: Clock) -> None:
    with pytest.raises(MessageError, match="found no decision of cluster 'pool' in that time"):
        preview(store, request(clock, Proposal()), quiet)


@pytest.mark.slow
def test_a_process_finds_the_same_and_leaves_the_store_alone(
    url: str, store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(store, clock, 6, work=True)
    wanted = request(clock, Proposal([("a", "weight", 7)]))
    latest, told = store.latest(), []
    monkeypatch.setattr("fairlead.console.preview.PAGE", 2)
    assert preview(store, wanted, lambda *what: told.append(what)).messages == 6
    assert [what for what in told if what[0] == "write"] == [("write", k, 6) for k in (2, 4, 6)]
    told.clear()
    found = preview_apart(url, wanted, lambda *what: told.append(what))
    assert found == preview(store, wanted, quiet)
    assert {what for what, _, _ in told} == {"read", "decide", "replay"}
    assert store.latest() == latest


def test_a_process_tells_why_not_and_ends_in_time(url: str, store: Store, clock: Clock) -> None:
    wanted = request(clock, Proposal([("nobody", "weight", 1)]))
    with pytest.raises(MessageError, match="found 'nobody'"):
        preview_apart(url, wanted, quiet)
    with pytest.raises(MessageError, match=r"within 0\.05 seconds, allowed: a shorter time"):
        preview_apart(url, wanted, quiet, seconds=0.05)


def test_a_process_that_says_nothing_is_asked_after(
    url: str, store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(store, clock, 6)
    monkeypatch.setattr(preview_process, "STEP", 0.01)
    asked = []

    def stop_at_the_third(what: str, done: int, of: int) -> None:
        asked.append((what, done, of))
        if len(asked) == 3:
            raise MessageError("stopped")

    with pytest.raises(MessageError, match="stopped"):
        preview_apart(url, request(clock, Proposal()), stop_at_the_third)
    assert asked == [("read", 0, 1)] * 3


def test_a_process_ends_when_nobody_wants_it(url: str, store: Store, clock: Clock) -> None:
    publish(store, clock, 6)

    def stop(what: str, done: int, of: int) -> None:
        raise MessageError("stopped")

    with pytest.raises(MessageError, match="stopped"):
        preview_apart(url, request(clock, Proposal()), stop)
