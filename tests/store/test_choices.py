"""What one transaction chooses, publishes and changes in a store's clusters."""

import threading
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from fairlead import Balancer, Change, Cluster, Store
from fairlead.errors import ChangeError, ConfigError, MessageError, NoDestinationError
from fairlead.store.clusters.decision import StoreDecision

Open = Callable[..., Store]
WEIGHTS = {"DEV1": 100, "DEV2": 200, "DEV3": 50}


def weighted(policy: str = "msmq", name: str = "pool", **more: Any) -> Cluster:
    machines = [{"name": each, "weight": weight} for each, weight in WEIGHTS.items()]
    return Cluster.of(policy, name=name, destination=machines, **more)


def named(policy: str, names: str, **more: Any) -> Cluster:
    return Cluster.of(policy, name="pool", destination=[{"name": each} for each in names], **more)


def names(store: Store, n: int, cluster: str = "pool", **message: Any) -> list[str | None]:
    return [store.next_destination(cluster, **message).destination for _ in range(n)]


def live(cluster: Cluster, n: int) -> list[str | None]:
    balancer = Balancer(cluster)
    return [balancer.choose().destination for _ in range(n)]


def at_once(callers: int, what: Callable[[], object]) -> None:
    """Do the same in several threads."""
    wrong: list[Exception] = []

    def one() -> None:
        try:
            what()
        except Exception as error:  # noqa: BLE001 - the test shows it
            wrong.append(error)

    threads = [threading.Thread(target=one) for _ in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def test_the_golden_shares_hold_for_eight_callers_at_once(store: Store) -> None:
    store.keep_clusters([weighted()])
    found: list[StoreDecision] = []
    lock = threading.Lock()

    def call() -> None:
        for _ in range(25):
            decision = store.next_destination("pool")
            with lock:
                found.append(decision)

    at_once(8, call)
    by_turn = sorted(found, key=lambda each: each.sequence)
    assert [each.destination for each in by_turn] == live(weighted(), 200)
    assert [each.sequence for each in by_turn] == list(range(200))
    assert Counter(each.destination for each in by_turn[:100]) == {
        "DEV1": 29,
        "DEV2": 57,
        "DEV3": 14,
    }


def test_two_processes_of_a_program_share_one_state(url: str, opened: Open) -> None:
    one, other = opened(url), opened(url)
    one.keep_clusters([weighted()])
    other.keep_clusters([weighted()])
    found = [(one, other)[k % 2].next_destination("pool").destination for k in range(600)]
    assert found == live(weighted(), 600)


def test_a_rollback_gives_back_what_was_counted(store: Store) -> None:
    store.keep_clusters([weighted()])

    def fail() -> None:
        with store.transaction() as tx:
            tx.next_destination("pool")
            tx.publish("pool", "lost")
            tx.change("pool", "DEV2", "enabled", value=False)
            assert tx.next_destination("pool").destination != "DEV2"
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert names(store, 300) == live(weighted(), 300)
    assert store.queues() == []


def test_a_refusal_inside_a_transaction_undoes_that_alone(store: Store) -> None:
    store.keep_clusters([Cluster.of("msmq", name="none", destination=[{"name": "X", "weight": 0}])])
    with store.transaction() as tx:
        with pytest.raises(NoDestinationError):
            tx.publish("none", "nobody gets it")
        with pytest.raises(ChangeError):
            tx.change("none", "X", "weight", -1)
        tx.send("other", "stays")
    assert store.pool("none").choices == 0
    assert [each.queue for each in store.queues()] == ["other"]


def test_nobody_eligible_is_an_outcome(store: Store) -> None:
    store.keep_clusters([weighted()])
    for name in WEIGHTS:
        store.change("pool", name, "enabled", value=False)
    found = store.next_destination("pool")
    assert (found.destination, found.outcome, found.copies) == (None, "no-destination", ())
    store.change("pool", "DEV1", "enabled", value=True)
    assert names(store, 2) == ["DEV1", "DEV1"]


def test_publish_sends_to_the_queue_of_whoever_was_chosen(store: Store) -> None:
    machines = [{"name": "A", "queue": "work-of-a"}, {"name": "B"}]
    store.keep_clusters([Cluster.of("round-robin", name="pool", destination=machines)])
    found = [store.publish("pool", {"n": k}, group=f"g{k}") for k in range(4)]
    assert [each.destination for each in found] == ["A", "B", "A", "B"]
    bodies = {}
    for queue in ("work-of-a", "B"):
        bodies[queue] = []
        while work := store.take(queue):
            with work:
                bodies[queue] += [message.body["n"] for message in work]
    assert bodies == {"work-of-a": [0, 2], "B": [1, 3]}


def test_a_message_for_everyone_is_sent_to_each(store: Store) -> None:
    store.keep_clusters([named("broadcast", "ABC")])
    found = store.publish("pool", "news", id="n1")
    assert [name for name, _ in found.copies] == ["A", "B", "C"]
    assert found.messages == ("n1", "n1", "n1")
    assert sorted(each.queue for each in store.queues()) == ["A", "B", "C"]
    assert store.publish("pool", "news", id="n1").copies == found.copies
    assert [each.messages for each in store.queues()] == [1, 1, 1]


def test_what_was_published_with_an_id_is_not_published_again(store: Store) -> None:
    store.keep_clusters([weighted()])
    first = store.publish("pool", "a", id="1")
    again = store.publish("pool", "a", id="1")
    assert (again.destination, again.sequence) == (first.destination, first.sequence)
    with pytest.raises(MessageError, match="another message had before"):
        store.publish("pool", "b", id="1")
    assert store.pool("pool").choices == 1
    assert names(store, 6) == live(weighted(), 7)[1:]


def test_fewest_pending_counts_down_when_the_work_is_settled(store: Store) -> None:
    store.keep_clusters([named("fewest-pending", "ABC")])
    assert [store.publish("pool", k).destination for k in range(3)] == ["A", "B", "C"]
    with store.take("B") as work:  # type: ignore[union-attr]
        assert [message.body for message in work] == [1]
    assert [store.publish("pool", k).destination for k in range(3, 5)] == ["B", "C"]
    work = store.take("C")
    assert work is not None
    assert len(list(work)) == 1
    work.reject("no")
    assert store.publish("pool", 5).destination == "A"
    work = store.take("A")
    assert work is not None
    work.release()
    assert store.next_destination("pool").destination == "B"  # A still has two


def test_a_capacity_is_free_again_when_the_work_is_settled(store: Store) -> None:
    machines = [{"name": each, "capacity": 1} for each in "AB"]
    store.keep_clusters([Cluster.of("nanomsg", name="pool", destination=machines)])
    assert [store.publish("pool", k).destination for k in range(2)] == ["A", "B"]
    with pytest.raises(NoDestinationError):
        store.publish("pool", 2)
    with store.take("B") as work:  # type: ignore[union-attr]
        assert [message.body for message in work] == [1]
    assert store.publish("pool", 2).destination == "B"


def test_what_the_user_does_elsewhere_is_completed_by_word(store: Store) -> None:
    store.keep_clusters([named("fewest-pending", "AB")])
    first, second = store.next_destination("pool"), store.next_destination("pool")
    assert [first.destination, second.destination] == ["A", "B"]
    store.completed(second)
    assert names(store, 1) == ["B"]


def test_groups_stay_with_their_destination(store: Store) -> None:
    cluster = weighted("weighted", options={"affinity": "group"})
    store.keep_clusters([cluster])
    balancer, random = Balancer(cluster), Random(1)  # noqa: S311
    groups = [f"g{random.randrange(20)}" for _ in range(200)]
    for k, group in enumerate(groups):
        if k == 100:
            store.change("pool", "DEV2", "enabled", value=False)
            balancer.apply(Change("DEV2", "enabled", value=False))
        wanted = balancer.choose({"group": group}).destination
        assert store.next_destination("pool", group=group).destination == wanted


@pytest.mark.parametrize(
    ("policy", "options"),
    [
        ("msmq", {"newcomer": "catch-up"}),
        ("msmq", {"newcomer": "level"}),
        ("weighted", {}),
        ("round-robin", {}),
        ("hot-standby", {}),
        ("rendezvous", {}),
        ("priority-failover", {}),
        ("broadcast", {}),
    ],
)
def test_one_that_no_file_listed_joins_as_if_it_had_always_been_there(
    policy: str, options: dict[str, Any], store: Store
) -> None:
    def machine(name: str, present: bool = True) -> dict[str, Any]:
        read = {"weight": len(name)} if policy in {"msmq", "weighted", "rendezvous"} else {}
        return {"name": name, "present": present, **read}

    def cluster(*machines: dict[str, Any]) -> Cluster:
        more = {"options": options} if options else {}
        return Cluster.of(policy, name="pool", destination=list(machines), **more)

    store.keep_clusters([cluster(machine("b"), machine("dd"))])
    balancer = Balancer(
        cluster(machine("b"), machine("dd"), *(machine(each, False) for each in ("a", "ccc")))
    )

    def same(n: int) -> None:
        for k in range(n):
            said = {"group": f"g{k}"} if policy == "rendezvous" else {}
            wanted = balancer.choose(said)
            assert store.next_destination("pool", **said).destination == wanted.destination

    same(7)
    store.add_destination("pool", machine("a"))
    balancer.apply(Change("a", "present", value=True))
    same(9)
    store.add_destination("pool", machine("ccc"))
    balancer.apply(Change("ccc", "present", value=True))
    same(300)
    store.remove_destination("pool", "b")
    balancer.apply(Change("b", "present", value=False))
    same(20)
    assert [each.name for each in store.pool("pool").machines if each.name == "b"] == []
    with pytest.raises(ChangeError, match="found 'a' twice"):
        store.add_destination("pool", machine("a"))


def test_everything_explains_itself_later(store: Store) -> None:
    for policy in ("msmq", "round-robin", "fewest-pending"):
        cluster = named(policy, "ABC") if policy != "msmq" else weighted()
        store.keep_clusters(
            [Cluster.from_dict({**cluster.to_dict(), "name": policy}, default_name="")]
        )
        balancer = Balancer(cluster)
        target = "DEV2" if policy == "msmq" else "B"
        pairs = []
        for k in range(600 if policy == "msmq" else 40):
            pairs.append((store.next_destination(policy), balancer.choose()))
            if k % 7 == 3:
                store.completed(pairs[-1][0])
                balancer.completed(pairs[-1][1])
            if k == 20:
                store.change(policy, target, "enabled", value=False)
                balancer.apply(Change(target, "enabled", value=False))
        for decision, wanted in (*pairs[:3], *pairs[18:25], *pairs[-3:]):
            assert str(store.decision(decision.number).explain()) == str(wanted.explain())
            again = store.decision_about(policy, f"{policy}/{decision.sequence}")
            assert again.destination == wanted.destination
    with pytest.raises(MessageError, match="found 'pool/99999'"):
        store.decision_about("msmq", "pool/99999")
    with pytest.raises(MessageError, match=r"id: found 'a.x00b', allowed: a text of printable"):
        store.decision_about("msmq", "a\0b")


def test_a_cluster_is_reset_by_its_schedule(url: str, opened: Open) -> None:
    now = [1000.0]
    store = opened(url, clock=lambda: now[0])
    store.keep_clusters([weighted(store={"reset_every": 60})])
    assert names(store, 4) == live(weighted(), 4)
    now[0] += 59.9
    assert names(store, 1) == live(weighted(), 5)[4:]
    now[0] += 0.1
    assert names(store, 9) == live(weighted(), 9)
    now[0] += 10**6
    assert names(store, 300) == live(weighted(), 300)
    assert sum(each.sent for each in store.pool("pool").machines) == 300
    resets = [each for each in store.journal() if each.kind == "changed"]
    assert [each.time for each in resets] == [1060.0, 1000 + 60 * ((10**6 + 60) // 60)]


def test_a_file_that_has_changed_is_not_taken_unasked(url: str, opened: Open) -> None:
    store = opened(url)
    store.keep_clusters([weighted()])
    before = names(store, 5)
    store.keep_clusters([weighted()])
    lighter = Cluster.of("msmq", name="pool", destination=[{"name": "DEV1", "weight": 1}])
    with pytest.raises(ConfigError, match=r"cluster 'pool': found another file .*destination"):
        store.keep_clusters([lighter])
    assert before + names(store, 5) == live(weighted(), 10)
    store.keep_clusters([lighter], replace=True)
    assert names(store, 2) == ["DEV1", "DEV1"]


@pytest.mark.parametrize(
    ("what", "line"),
    [
        (lambda s: s.next_destination("nope"), "cluster: found 'nope', allowed: pool"),
        (lambda s: s.next_destination("pool", colour="red"), "attribute: found 'colour'"),
        (lambda s: s.publish("nope", "x"), "cluster: found 'nope'"),
        (lambda s: s.change("pool", "DEV1", "weight", -1), "weight: found -1, allowed: an integer"),
        (lambda s: s.change("pool", "DEV9", "weight", 1), "target: found 'DEV9', allowed: DEV1"),
        (lambda s: s.change("pool", "DEV1", "colour", 1), "attribute: found 'colour'"),
        (lambda s: s.add_destination("pool", {"name": "DEV1", "weight": 1}), "'DEV1' twice"),
        (lambda s: s.add_destination("pool", {"name": "X", "weight": -1}), "weight"),
        (lambda s: s.add_destination("pool", {"weight": 1}), "destination: found nothing"),
        (lambda s: s.remove_destination("pool", "X"), "destination: found 'X', allowed: DEV1"),
        (lambda s: s.reset("'; DROP TABLE fairlead_clusters; --"), "cluster: found "),
        (lambda s: s.completed("pool"), "completed: found 'pool'"),
        (lambda s: s.decision(10**9), "number: found 1000000000"),
        (lambda s: s.pool(""), "cluster: found ''"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(
    what: Callable[[Store], object], line: str, store: Store
) -> None:
    store.keep_clusters([weighted()])
    with pytest.raises((MessageError, ChangeError, ConfigError)) as caught:
        what(store)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
    assert names(store, 10) == live(weighted(), 10)


def test_names_are_data_whatever_they_look_like(store: Store) -> None:
    odd = ["'; DROP TABLE x; --", 'a"b', "%s", ":name", "{0}", "é\u0301", "$1"]
    machines = [{"name": each, "weight": 1} for each in odd]
    cluster = Cluster.of("msmq", name="po'ol%(x)s", destination=machines)
    store.keep_clusters([cluster])
    assert names(store, 20, "po'ol%(x)s") == live(cluster, 20)
    store.change("po'ol%(x)s", odd[0], "enabled", value=False)
    assert odd[0] not in names(store, 20, "po'ol%(x)s")


def test_tickets_are_refused_where_they_gain_nothing(store: Store, dialect: str) -> None:
    ticket = {"store": {"allocation": "ticket"}}
    if dialect == "sqlite":
        with pytest.raises(ConfigError, match="allowed on SQLite: 'exact'"):
            store.keep_clusters([weighted(**ticket)])
    with pytest.raises(ConfigError, match=r"store\.allocation: found 'ticket', allowed"):
        store.keep_clusters([named("fewest-pending", "AB", **ticket)])
    assert store.clusters() == []


def test_no_changes_are_no_step(store: Store) -> None:
    store.keep_clusters([weighted()])
    store.apply("pool", [])
    assert store.pool("pool").version == 0
    assert names(store, 5) == live(weighted(), 5)
