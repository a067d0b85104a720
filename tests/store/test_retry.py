"""What a queue does about failures, as its file declares it."""

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import Store
from fairlead.errors import ConfigError
from fairlead.store.queues.backoff import Backoff
from fairlead.store.workers.handlers import function
from fairlead.store.workers.handling import Handling, handle
from tests.stores import Clock, made_url

DAY = 86_400
QUEUE = "[[queue]]\nname = 'jobs'\n"
RETRY = "[queue.retry]\nbase = 10\nfactor = 3\nlimit = 100\n"


@pytest.fixture
def store(url: str, opened: Callable[..., Store], clock: Clock) -> Store:
    return opened(url, clock=clock)


def declare(store: Store, folder: Path, lines: str) -> None:
    file = folder / "queues.toml"
    file.write_text(lines, "utf-8")
    store.declare(file)


def delay(store: Store) -> float:
    """After how many seconds what was released can be taken again."""
    (found,) = store.later("jobs")
    return found.until


def test_plain_sql_settles_alike(
    opened: Callable[..., Store], tmp_path: Path, clock: Clock
) -> None:
    store = opened(made_url("postgresql"), clock=clock)
    declare(store, tmp_path, QUEUE + RETRY)
    for named, seconds in (("", 10), (", delay => '7 seconds'", 7)):
        store.send("jobs", "a")
        work = store.take("jobs")
        assert work is not None
        with store.transaction() as tx:
            tx.execute(
                "SELECT set_config('fairlead.clock', %s, true)", [str(int(clock.now * 10**6))]
            )
            tx.execute(
                f"SELECT fairlead.settle(%s, 'released', reason => 'no'{named})", [work.token]
            )
        assert delay(store) == clock.now + seconds
        clock.now += seconds
        work = store.take("jobs")
        assert work is not None
        next(work)
        work.reject("done")


def fail(store: Store, **more: Any) -> None:
    work = store.take("jobs")
    assert work is not None
    next(work)
    work.release(error="no", **more)


@given(
    base=st.integers(1000, 10**9),
    factor=st.integers(100, 10_000),
    limit=st.integers(1000, 10**12),
    jitter=st.integers(0, 100),
    failures=st.integers(1, 60),
    key=st.text(max_size=5),
)
def test_delays_grow_and_have_a_limit(
    base: int, factor: int, limit: int, jitter: int, failures: int, key: str
) -> None:
    backoff = Backoff(base, factor, limit, jitter)
    found = backoff.delay(failures, key)
    exact = min(Fraction(base) * Fraction(factor, 100) ** (failures - 1), Fraction(limit))
    assert found <= exact
    assert found >= exact * Fraction(100 - jitter, 100) * Fraction(9, 10) - failures
    assert found == backoff.delay(failures, key)
    if not jitter:
        assert backoff.delay(failures + 1, key) >= found


def test_plain_sql_has_the_same_delays(opened: Callable[..., Store]) -> None:
    store = opened(made_url("postgresql"))
    cases = [
        (Backoff(base, factor, limit, jitter), failures, key)
        for base in (1000, 10**6, 7_777_777)
        for factor in (100, 101, 250, 10_000)
        for limit in (1000, 300 * 10**6, 10**15)
        for jitter in (0, 1, 37, 100)
        for failures, key in ((0, ""), (1, "m-1"), (2, "ä"), (9, "m-1"), (70, "x" * 300))
    ]
    with store.transaction() as tx:
        for backoff, failures, key in cases:
            asked = "SELECT fairlead._backoff(%s::jsonb, %s, %s)"
            kept = json.dumps(backoff._asdict())
            ((found,),) = tx.execute(asked, (kept, failures, key)).fetchall()
            assert found == backoff.delay(failures, key), (backoff, failures, key)


def test_jitter_spreads_messages() -> None:
    backoff = Backoff(10**7, 200, 10**9, 50)
    found = sorted(backoff.delay(1, f"m-{k}") / 10**7 for k in range(1000))
    assert 0.5 <= found[0] < 0.51
    assert 0.99 < found[-1] <= 1
    assert abs(found[500] - 0.75) < 0.03


def test_each_failure_in_a_row_waits_longer(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, QUEUE + RETRY)
    store.send("jobs", "a")
    for seconds in (10, 30, 90, 100):
        fail(store)
        assert delay(store) == clock.now + seconds
        assert store.take("jobs") is None
        clock.now += seconds
    fail(store)  # the fifth
    assert [each.attempt for each in store.dead("jobs")] == [5]


def test_who_names_a_delay_has_it(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, QUEUE + RETRY)
    store.send("jobs", "a")
    fail(store, delay=7)
    assert delay(store) == clock.now + 7
    clock.now += 7
    work = store.take("jobs")
    assert work is not None
    work.release()  # no failure
    assert store.take("jobs") is not None


def test_a_transaction_of_the_callers_releases_alike(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    declare(store, tmp_path, QUEUE + RETRY)
    store.send("jobs", "a")
    work = store.take("jobs")
    assert work is not None
    with work.transaction() as tx:
        next(work)
        tx.release(error="no")
    assert delay(store) == clock.now + 10


def test_the_delay_is_that_of_the_message_that_failed(
    store: Store, tmp_path: Path, clock: Clock
) -> None:
    declare(store, tmp_path, f"{QUEUE}{RETRY}jitter = 0.5\n")
    for id_ in ("a", "b"):
        store.send("jobs", id_, group="g", id=id_)
    work = store.take("jobs")
    assert work is not None
    assert len(list(work)) == 2
    work.release(error="no", done=1)
    backoff = Backoff(10_000_000, 300, 100_000_000, 50)
    assert delay(store) == pytest.approx(clock.now + backoff.delay(1, "b") / 10**6)


@pytest.mark.parametrize("counts", ["error", "lease", "process"])
def test_what_counts_as_a_failure(store: Store, tmp_path: Path, clock: Clock, counts: str) -> None:
    lines = f"max_failures = 1\ncount_as_failure = ['{counts}']\n"
    declare(store, tmp_path, QUEUE + lines + RETRY)
    store.send("jobs", "a")
    assert store.queues()[0].count_as_failure == [counts]
    fail(store)
    assert len(store.dead("jobs")) == (counts == "error")
    assert store.later("jobs") == []
    store.requeue("jobs")
    assert store.take("jobs", lease=5) is not None
    clock.now += 6
    assert (store.take("jobs") is None) == (counts == "lease")
    assert len(store.dead("jobs")) == (counts == "lease")


def test_a_lease_that_is_over_waits_as_long(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, QUEUE + RETRY)
    store.send("jobs", "a")
    assert store.take("jobs", lease=5) is not None
    clock.now += 6
    assert store.take("jobs") is None
    assert delay(store) == clock.now + 10


def test_workers_do_as_the_queue_says(store: Store, tmp_path: Path, clock: Clock) -> None:
    def refuse(message: object) -> None:
        raise ValueError(message)

    handler = function("jobs", refuse)
    declare(store, tmp_path, QUEUE)
    for retry, own, seconds in (("", None, 1), (RETRY, None, 10), (RETRY, 4.0, 4)):
        declare(store, tmp_path, QUEUE + retry)
        store.send("jobs", "a")
        work = store.take("jobs")
        assert work is not None
        handle(store, work, handler, Handling(retry_delay=own))
        assert delay(store) == clock.now + seconds
        store.recover()
        clock.now += 1000
        work = store.take("jobs")
        assert work is not None
        list(work)
        work.accept()


def test_dead_letters_are_kept_for_so_long(store: Store, tmp_path: Path, clock: Clock) -> None:
    declare(store, tmp_path, f"{QUEUE}keep_dead = 2\n[[queue]]\nname = 'other'\n")
    for queue in ("jobs", "other"):
        store.send(queue, "a", id="a")
        work = store.take(queue)
        assert work is not None
        list(work)
        work.reject("no")
    clock.now += 2 * DAY - 1
    assert looked(store) == 1
    clock.now += 1
    assert looked(store) == 0
    assert len(store.dead("other")) == 1
    event = list(store.journal())[-1]
    assert (event.kind, event.queue, event.detail) == (
        "discarded",
        "jobs",
        "was a dead letter for 2 days",
    )


def looked(store: Store) -> int:
    """Dead letters of the queue after a reader has looked."""
    store._retention._due.clear()
    store.take("jobs")
    return len(store.dead("jobs"))


def test_it_is_shown_and_taken_back(store: Store, tmp_path: Path) -> None:
    declare(store, tmp_path, QUEUE + "keep_dead = 1.5\n" + RETRY)
    (found,) = store.queues()
    assert found.retry == {"base": 10, "factor": 3, "limit": 100, "jitter": 0}
    assert found.keep_dead == 1.5
    store.set_limits("jobs", max_failures=2)
    assert store.retry("jobs") == found.retry
    declare(store, tmp_path, QUEUE)
    (found,) = store.queues()
    assert (found.retry, found.keep_dead) == (None, None)
    assert found.count_as_failure == ["error", "lease", "process"]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("keep_dead = 0", "keep_dead: found 0, allowed: days, more than 0"),
        ("keep_dead = nan", "keep_dead: found"),
        ("count_as_failure = []", "count_as_failure: found"),
        ("count_as_failure = ['error', 'error']", "found error, error, allowed: each once"),
        ("count_as_failure = ['mood']", "'mood', allowed: "),
        ("[queue.retry]\nbase = 0", "base: found 0, allowed: from 0.001 to 1000000000"),
        ("[queue.retry]\nbase = 500", "base: found 500, allowed: at most the limit, 300"),
        ("[queue.retry]\nfactor = 0.9", "factor: found 0.9, allowed: from 1 to 100"),
        ("[queue.retry]\nfactor = 1.005", "factor: found 1.005, allowed"),
        ("[queue.retry]\njitter = 1.1", "jitter: found 1.1, allowed: from 0 to 1"),
        ("[queue.retry]\nlimit = inf", "limit: found"),
        ("[queue.retry]\ntimes = 3", "times: found an unknown key"),
    ],
)
def test_what_a_file_may_not_say(store: Store, tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        declare(store, tmp_path, f"{QUEUE}{line}\n")
    assert says in str(caught.value)
    assert store.queues() == []
