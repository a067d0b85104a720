"""Subscribers come and go in a store: who gets what is what the live balancer says."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from fairlead import Cluster, Store, Work, load_changes, load_clusters, route
from fairlead.cli.app import run
from fairlead.errors import ChangeError, MessageError, NoDestinationError
from tests.balance.test_membership import Grown

NEWS = Cluster.of("smartsockets", name="news", options={"subscribers": "any"})
LISTED = Cluster.of(
    "smartsockets", name="listed", subscriber=[{"name": "R1", "subject": "/a", "present": False}]
)
SUBJECT = "/manual/chapter4"


def received(store: Store, queue: str) -> list[Any]:
    """What a subscriber finds in its queue; it acknowledges all of it."""
    found = []
    while (work := store.take(queue)) is not None:
        with work:
            found += [message.body for message in work]
    return found


def test_the_two_programs_of_the_document_print_what_it_prints(store: Store) -> None:
    store.keep_clusters([NEWS])
    r1, r2 = (store.subscribe("news", SUBJECT, name).queue for name in ("R1", "R2"))
    monitor = store.subscribe("news", SUBJECT, "archive", load_balanced=False).queue
    for i in range(20):
        mode = "none" if i < 10 else "round-robin"
        store.publish("news", i, {"subject": SUBJECT, "mode": mode})
    assert received(store, r1) == [*range(10), 11, 13, 15, 17, 19]
    assert received(store, r2) == [*range(10), 10, 12, 14, 16, 18]
    assert received(store, monitor) == [*range(20)]


def test_who_leaves_gets_no_more_and_who_comes_back_takes_its_new_setting(store: Store) -> None:
    store.keep_clusters([NEWS])
    queues = {name: store.subscribe("news", "/a", name).queue for name in ("A", "B")}

    def publish(body: str) -> list[str]:
        store.publish("news", body, {"subject": "/a", "mode": "sorted"})
        return [name for name, queue in queues.items() if received(store, queue)]

    assert publish("first") == ["A"]
    store.unsubscribe("news", "/a", "A")
    assert publish("second") == ["B"]
    assert store.subscribe("news", "/a", "A", load_balanced=False).queue == queues["A"]
    assert publish("third") == ["A", "B"]
    store.subscribe("news", "/a", "A")
    assert publish("fourth") == ["A"]
    for name in queues:
        store.unsubscribe("news", "/a", name)
    with pytest.raises(NoDestinationError, match="no-destination"):
        publish("fifth")
    assert store.pool("news").machines == []


def test_what_is_acknowledged_is_pending_no_more(store: Store) -> None:
    store.keep_clusters([NEWS])
    queues = {name: store.subscribe("news", "/a", name).queue for name in ("A", "B", "C")}
    told = {"subject": "/a", "mode": "weighted", "delivery": "all"}

    def chosen() -> str | None:
        return store.publish("news", "work", told).destination

    assert [chosen() for _ in range(3)] == ["A", "B", "C"]
    assert received(store, queues["B"]) == ["work"]
    assert chosen() == "B"
    assert chosen() == "C"  # behind B, and each has one
    assert {each.name: each.sent for each in store.pool("news").machines} == {
        "A": 1,
        "B": 2,
        "C": 2,
    }


def test_a_subscriber_of_the_file_only_steps_aside(store: Store) -> None:
    store.keep_clusters([LISTED])
    assert store.subscribe("listed", "/a", "R1").queue == "R1"
    store.publish("listed", "o", {"subject": "/a"})
    store.unsubscribe("listed", "/a", "R1")
    assert [each.attributes["present"] for each in store.pool("listed").machines] == [False]
    with pytest.raises(ChangeError, match=r"allowed: R1 to /a, or any with options\.subscribers ="):
        store.subscribe("listed", "/a", "R2")


class Both:
    """A store, and a live cluster that has listed everybody from the beginning."""

    def __init__(self, store: Store, random: Random) -> None:
        self.store, self.random = store, random
        self.names = [(name, subject) for name in "dAb" for subject in ("/s", "/z")]
        absent = [{"name": n, "subject": s, "present": False} for n, s in self.names]
        plain = {"policy": "smartsockets", "options": {"subscribers": "any"}, "subscriber": absent}
        self.live = Grown(Cluster.from_dict(plain, default_name="pool"))
        self.there: dict[tuple[str, str], int] = {}
        self.decided: dict[str, Any] = {}
        self.held: list[tuple[tuple[str, str], Work]] = []
        store.keep_clusters([NEWS])

    def change(self, who: tuple[str, str], attribute: str, value: object) -> None:
        name, subject = who
        self.live.change(f"subscriber:{name}@{subject}", attribute, value, time=0)

    def join(self, at: int) -> None:
        name, subject = who = self.random.choice(self.names)
        balanced = self.random.random() < 0.8
        self.store.subscribe("news", subject, name, load_balanced=balanced)
        self.change(who, "load_balanced", balanced)
        self.change(who, "present", value=True)
        self.there.setdefault(who, at)

    def leave(self, at: int) -> None:
        name, subject = who = self.random.choice(self.names)
        if who in self.there:
            self.store.unsubscribe("news", subject, name)
            self.change(who, "present", value=False)
            del self.there[who]
        else:
            with pytest.raises(ChangeError):
                self.store.unsubscribe("news", subject, name)

    def publish(self, at: int) -> None:
        message = {
            "subject": self.random.choice(["/s", "/z"]),
            "mode": self.random.choice(["none", "round-robin", "weighted", "sorted"]),
            "delivery": self.random.choice(["all", "some"]),
            "server": self.random.choice(["near", "far"]),
        }
        wanted = self.live.runtime.choose(message)
        try:
            found = self.store.publish("news", at, message)
        except NoDestinationError:
            assert wanted.destination is None
            self.live.runtime.withdraw(wanted)  # nothing was counted
            return
        copies = [each.destination for each in wanted.copies]
        assert [name for name, _ in found.copies] == copies
        assert (found.destination, found.sequence) == (wanted.destination, wanted.sequence)
        self.decided[str(at)] = wanted

    def take(self, at: int) -> None:
        name, subject = who = self.random.choice(self.names)
        work = self.store.take(f"news:{subject}:{name}")
        if work is not None:
            self.held.append((who, work))

    def accept(self, at: int) -> None:
        if self.held:
            who, work = self.held.pop(self.random.randrange(len(self.held)))
            (body,) = [message.body for message in work]
            work.accept()
            decided, joined = self.decided[str(body)], self.there.get(who)
            if joined is not None and joined < body:  # else it is another's: it has left since
                self.live.runtime.completed(decided, who[0])


@pytest.mark.parametrize("seed", range(6))
def test_whoever_comes_and_goes_it_is_as_in_the_live_balancer(seed: int, store: Store) -> None:
    random = Random(seed)  # noqa: S311 - a history, no secret
    both = Both(store, random)
    acts = [both.publish, both.take, both.accept, both.join, both.leave]
    for at in range(60):
        (act,) = random.choices(acts, [50, 20, 15, 15, 5])
        act(at)


@pytest.mark.parametrize("seed", range(4))
def test_what_the_journal_tells_is_decided_anew_alike(
    seed: int, url: str, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    random = Random(seed)  # noqa: S311 - a history, no secret
    store.keep_clusters([NEWS])
    there: set[tuple[str, str]] = set()
    for at in range(60):
        who = random.choice("dAb"), random.choice(["/s", "/z"])
        if random.random() < 0.15:
            balanced = random.random() < 0.7
            store.subscribe("news", who[1], who[0], load_balanced=balanced)
            there.add(who)
        elif random.random() < 0.1 and who in there:
            store.unsubscribe("news", who[1], who[0])
            there.remove(who)
        elif any(subject == who[1] for _, subject in there):
            mode = random.choice(["none", "round-robin", "sorted"])
            store.publish("news", at, {"subject": who[1], "mode": mode})
    capsys.readouterr()
    told = {}
    for what in ("decisions", "changes", "file"):
        assert run(["journal", "--store", url, "--cluster", "news", f"--{what}"]) == 0
        told[what] = capsys.readouterr().out
    file, changes = tmp_path / "news.toml", tmp_path / "changes.jsonl"
    file.write_text(told["file"], encoding="utf-8")
    changes.write_text(told["changes"], encoding="utf-8")
    rows = [json.loads(line) for line in told["decisions"].splitlines()]
    messages = {row["id"]: row for row in rows}
    anew = route(
        pa.Table.from_pylist([*messages.values()]), load_clusters(file), load_changes(changes)
    )
    again = [(row["id"], row["sequence"], row["destination"]) for row in anew.to_pylist()]
    assert sorted(again) == sorted((row["id"], row["sequence"], row["destination"]) for row in rows)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("nowhere", "/a", "A"), "cluster: found 'nowhere', allowed: msmq, news"),
        (("msmq", "/a", "A"), "cluster 'msmq': found the policy msmq, which has no subscribers"),
        (("news", "", "A"), "subject: found '', allowed: a name"),
        (("news", "/a", None), "name: found None, allowed: a name"),
        (("news", "/a", "x" * 499), "subject and name: found 507 characters with the cluster's"),
    ],
)
def test_what_is_no_subscription_is_refused(
    given: tuple[Any, ...], said: str, store: Store
) -> None:
    store.keep_clusters(
        [NEWS, Cluster.of("msmq", name="msmq", destination=[{"name": "A", "weight": 1}])]
    )
    with pytest.raises((MessageError, ChangeError)) as refused:
        store.subscribe(*given)
    assert said in str(refused.value)
    with pytest.raises(MessageError, match="disconnect_mode: found 'cold', allowed: failure"):
        store.subscribe("news", "/a", "A", disconnect_mode="cold")
    assert store.pool("news").version == 0
