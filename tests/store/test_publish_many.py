"""Many messages published at once are as many published one by one."""

import json
import re
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from fairlead import Change, Store
from fairlead.errors import (
    DeliveredError,
    MessageError,
    NoDestinationError,
    QueueFullError,
)
from fairlead.store.clusters.decision import StoreDecision
from fairlead.store.journal.events import Event
from tests.engines import cluster_of, in_order
from tests.golden_cases import POLICIES
from tests.sockets.waiting import until
from tests.store.balancers import SAID_ELSEWHERE
from tests.store.test_choices import weighted
from tests.store.test_clusters import scenario
from tests.stores import Clock, made_url

Open = Callable[..., Store]


def one_by_one(
    store: Store, cluster: str, messages: list[dict[str, Any]]
) -> list[StoreDecision | str]:
    """The decisions; the outcome instead, where there is no destination."""
    found: list[StoreDecision | str] = []
    for message in messages:
        body, said = message["body"], message["message"]
        more = {key: value for key, value in message.items() if key not in ("body", "message")}
        try:
            found.append(store.publish(cluster, body, said, **more))
        except NoDestinationError as error:
            found.append(error.outcome)
    return found


def at_once(
    store: Store, cluster: str, messages: list[dict[str, Any]]
) -> list[StoreDecision | str | None]:
    with store.transaction() as tx:
        found = tx.publish_as_found(cluster, messages)
    return [
        each if each is None or each.copies or each.outcome == "control" else each.outcome
        for each in found
    ]


def plain(decision: StoreDecision | str | None) -> Any:
    if isinstance(decision, StoreDecision):
        return decision._replace(number=0, messages=())
    return decision


def cluster_rows(store: Store) -> list[tuple[Any, ...]]:
    """Where the clusters stand, without what is never the same twice."""
    dot = "_" if store.has_one_writer else "."
    with store._connection() as database:
        rows = database.execute(
            f"SELECT name, version, first + taken, state FROM fairlead{dot}clusters ORDER BY name"  # noqa: S608
        ).fetchall()
    return [(*row[:3], row[3] and json.loads(row[3])) for row in rows]


def events(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """What happened, each kind and queue by itself."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for event in store.journal():
        if event.kind == "begun":
            continue
        row = (
            *(event.kind, event.queue, event.group, event.type, event.tenant, event.priority),
            *(event.destination, event.address, event.outcome, event.sequence, event.stream),
            *(event.version, event.said, event.detail, "" if made_up(event) else event.id),
        )
        found.setdefault(f"{event.kind} {event.queue}", []).append(row)
    return found


def made_up(event: Event) -> bool:
    """Whether the store may have made its id, of numbers that are never the same twice."""
    return event.kind == "sent" or re.fullmatch(r"m-\d+", event.id) is not None


def work_some(store: Store, most: int) -> list[Any]:
    """Take and accept a few groups of every queue, the same in each store."""
    done = []
    for queue in sorted(each.queue for each in store.queues()):
        for _ in range(most):
            work = store.take(queue)
            if work is None:
                break
            with work:
                done.append((queue, work.group, [message.body for message in work]))
    return done


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(3))
def test_all_policies(policy: str, seed: int, dialect: str, opened: Open) -> None:
    table, messages, changes = scenario(policy, f"{policy} many {seed}")
    if policy == "ibm-mq":  # a store has to know the queue
        messages = [message for message in messages if message.get("queue")]
    random = Random(f"{policy} {seed}")  # noqa: S311
    cluster = cluster_of(table)
    clock = Clock()
    stores = [opened(made_url(dialect), clock=clock) for _ in range(2)]
    for store in stores:
        store.keep_clusters([cluster])
    left = [
        {
            "body": {"n": place},
            "id": f"{message['id']!r}-{place}",  # names are printable
            "group": ascii(message["group"]) if message.get("group") else None,
            "type": message.get("type") or None,
            "message": {
                key: value
                for key, value in message.items()
                if key not in (*SAID_ELSEWHERE, "group", "type")
            },
        }
        for place, message in enumerate(in_order(messages))
    ]
    left += [dict(random.choice(left)) for _ in range(3 if left else 0)]
    later = sorted(changes, key=lambda each: each["time"])
    while left:
        size = random.randint(1, 12)
        batch, left = left[:size], left[size:]
        expected = one_by_one(stores[0], cluster.name, batch)
        found = at_once(stores[1], cluster.name, batch)
        for one, many in zip(expected, found, strict=True):
            if many is not None:  # else its id was known: the first has the first decision
                assert plain(one) == plain(many)
        clock.now += random.random() * 5
        if later and random.random() < 0.5:
            change = later.pop(0)
            for store in stores:
                store.apply(
                    cluster.name,
                    Change(change["target"], change["attribute"], change.get("value")),
                )
        most = random.randint(0, 3)
        assert work_some(stores[0], most) == work_some(stores[1], most)
        assert cluster_rows(stores[0]) == cluster_rows(stores[1])
    assert events(stores[0]) == events(stores[1])
    for event in stores[1].journal():
        if event.kind == "decided":
            again = stores[1].decision(event.position)
            assert (again.outcome, again.sequence) == (event.outcome, event.sequence)
    assert work_some(stores[0], 1000) == work_some(stores[1], 1000)
    assert [store.check() for store in stores] == [[], []]


def test_the_verb_publishes_all_or_none(store: Store) -> None:
    store.keep_clusters([weighted()])
    found = store.publish_many("pool", [{"body": k, "id": f"m{k}"} for k in range(600)])
    assert [each.sequence for each in found] == list(range(600))
    assert [each.destination for each in store.publish_many("pool", [{"body": 7, "id": "m7"}])] == [
        found[7].destination
    ]
    for name in ("DEV1", "DEV2", "DEV3"):
        store.change("pool", name, "enabled", value=False)
    with pytest.raises(NoDestinationError, match=r"^message 0: cluster 'pool': found no destin"):
        store.publish_many("pool", [{"body": 1}])
    store.change("pool", "DEV1", "enabled", value=True)
    assert store.publish("pool", "next").sequence == 600
    assert store.publish_many("pool", []) == []


def test_what_is_wrong_with_one_undoes_all(store: Store) -> None:
    store.keep_clusters([weighted()])
    store.publish("pool", "first", id="one")
    store.set_limits("DEV1", max_waiting=3)
    for wrong, error, line in (
        ([{"body": 1}, {"body": 2, "id": "one"}], MessageError, "found 'one', which another"),
        ([{"body": 1, "id": "x"}, {"body": 2, "id": "x"}], MessageError, "found 'x', which anot"),
        ([{"body": 1}, {"body": 1, "priority": 256}], MessageError, "priority: found 256"),
        ([{"body": 1}, {"body": 1, "message": {"sise": 1}}], MessageError, "attribute: found 'sis"),
        ([{"body": k} for k in range(100)], QueueFullError, "more than 3 messages"),
        ([{"body": 1}, {}], MessageError, "allowed: a table with body"),
        (["text"], MessageError, "message: found 'text', allowed: a table with body"),
        ([{"body": 1, "message": "x"}], MessageError, "found 'x', allowed: a table of attributes"),
    ):
        with pytest.raises(error, match=line):
            store.publish_many("pool", wrong)
    assert store.pool("pool").choices == 1
    assert sum(each.messages for each in store.queues()) == 1


def test_an_id_whose_decision_is_forgotten_is_refused(store: Store) -> None:
    store.keep_clusters([weighted()])
    store.publish("pool", 1, id="one")
    dot = "_" if store.has_one_writer else "."
    with store.transaction() as tx:
        tx.execute(f"DELETE FROM fairlead{dot}journal")  # noqa: S608
    with pytest.raises(MessageError, match="does not say any more where to; allowed: a new id"):
        store.publish_many("pool", [{"body": 2}, {"body": 1, "id": "one"}])
    assert store.pool("pool").choices == 1


def test_a_run_is_brought_once(url: str, opened: Open) -> None:
    store, other = opened(url), opened(url)
    store.keep_clusters([weighted()])

    def bring(batch: int = 0, *, fails: bool = False) -> None:
        with store.transaction() as tx:
            tx.begin_run("night", batch)
            tx.publish_as_found("pool", [{"body": batch, "id": f"m{batch}"}])
            tx.end_run("night", 1)
            if fails:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        bring(fails=True)
    assert other.bulk_run("night") is None
    bring()
    run = other.bulk_run("night")
    assert run is not None
    assert (run.batch, run.messages) == (0, 1)
    with pytest.raises(
        DeliveredError, match=r"^run 'night': found one that was brought at .* with"
    ):
        bring()
    bring(3)
    with pytest.raises(DeliveredError, match="brought up to batch 3 at"):
        bring(3)
    with pytest.raises(DeliveredError):
        bring(2)
    with (
        pytest.raises(MessageError, match="run: found '', allowed: a name"),
        store.transaction() as tx,
    ):
        tx.begin_run("")
    assert store.pool("pool").choices == 2
    store.publish("pool", "live", id="live")
    runs = [store.decision_about("pool", id_).run for id_ in ("m0", "m3", "live")]
    assert runs == ["night", "night", ""]
    assert store.decision_about("pool", "m3").explain().notes == (
        (
            "it came in bulk, with run 'night': what was changed while that was on its way left it "
            "alone"
        ),
    )
    assert store.decision_about("pool", "live").explain().notes == ()


def test_an_id_that_is_published_meanwhile_is_left_out(opened: Open) -> None:
    url = made_url("postgresql")
    store, other = opened(url), opened(url)
    store.keep_clusters([weighted()])
    found: list[StoreDecision] = []
    batch = [{"body": "same", "id": "one"}, {"body": "own", "id": "two"}]
    waiting = threading.Thread(target=lambda: found.extend(store.publish_many("pool", batch)))
    with other.transaction() as tx:
        first = tx.publish("pool", "same", id="one")
        waiting.start()
        until(lambda: _waits(tx))
    waiting.join(10)
    assert found[0].number == first.number
    assert [each.sequence for each in found] == [0, 1]
    assert store.pool("pool").choices == 2


def _waits(tx: Any) -> bool:
    """Whether anybody waits for a lock."""
    rows = tx.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchall()
    return bool(rows)
