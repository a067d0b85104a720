"""What waits: order inside a lane, no lane behind another, and little work for each event."""

import threading
from collections import defaultdict
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead import Cluster
from fairlead.errors import MessageError
from fairlead.sockets import Pull, Push, Rep, Req, Request
from fairlead.sockets.lanes import SendLanes
from fairlead.sockets.ring import Ring

from .waiting import until, until_up

SECONDS = 30
REGIONS = {"A": "east", "B": "west", "C": ""}
BY_REGION = {
    "policy": {"eliminate": ["down", "other-region"], "choose": "ready-ring"},
    "destination": [{"name": name, "region": region} for name, region in REGIONS.items()],
}
BY_GROUP = {
    "policy": "nanomsg",
    "options": {"affinity": "group"},
    "destination": [{"name": name} for name in REGIONS],
}
PLAIN = {"policy": "nanomsg", "destination": [{"name": name} for name in REGIONS]}


class Item:
    """Something that waits."""

    def __init__(self, ring: Ring, number: int, message: dict[str, str], *, again: bool) -> None:
        self.number = number
        self.again = again
        self.message = message
        self.lane = ring.lane(message)


class Queue:
    """Lanes before a real ring; what was taken, and how often the ring was asked for it."""

    def __init__(self, plain: dict[str, Any]) -> None:
        settings = {key: value for key, value in plain.items() if key != "destination"}
        self.ring = Ring(settings)
        self.ring.add(*plain["destination"])
        self.lanes: SendLanes[Item] = SendLanes(self.ring)
        self.waiting: list[Item] = []
        self.taken: list[Item] = []
        self.asked = 0
        self.number = 0

    def comes(self, message: dict[str, str], *, again: bool = False) -> None:
        self.number += 1
        item = Item(self.ring, self.number, message, again=again)
        if again or self.lanes.holds(item.lane) or not self.take(item):
            self.waiting.append(item)
            self.lanes.put(item, again=again)
        self.lanes.offer(self.take)

    def take(self, item: Item) -> bool:
        self.asked += 1
        same = [each for each in self.waiting if each.lane == item.lane]
        assert not same or item is min(same, key=lambda each: (not each.again, each.number))
        if self.ring.choose(0, item.message) is None:
            return False
        self.taken.append(item)
        if item in self.waiting:
            self.waiting.remove(item)
        return True

    def goes(self, item: Item) -> None:
        self.waiting.remove(item)
        self.lanes.drop(item)


EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("comes"), st.sampled_from(["east", "west", "north", ""])),
        st.tuples(st.just("again"), st.sampled_from(["east", "west", "north", ""])),
        st.tuples(st.sampled_from(["joined", "failed", "busy", "ready"]), st.sampled_from("ABC")),
        st.tuples(st.just("gives up"), st.integers(0, 9).map(str)),
    ),
    max_size=60,
)


@pytest.mark.parametrize("plain", [BY_REGION, BY_GROUP, PLAIN], ids=["region", "group", "plain"])
@given(events=EVENTS)
def test_what_waits_keeps_its_order_and_nothing_that_could_go_stays(
    plain: dict[str, Any], events: list[tuple[str, str]]
) -> None:
    queue = Queue(plain)
    there: set[str] = set()
    busy: set[str] = set()
    for event, what in events:
        if event in ("comes", "again"):
            message = {"region": what, "group": what}
            queue.comes(message, again=event == "again")
        elif event == "gives up":
            for item in queue.waiting[int(what) : int(what) + 1]:
                queue.goes(item)
        elif event == "joined" and what not in there:
            there.add(what)
            queue.ring.joined(0, what)
        elif event == "failed" and what in there:
            there.discard(what)
            busy.discard(what)
            queue.ring.failed(0, what)
        elif event == "busy" and what in there - busy:
            busy.add(what)
            queue.ring.busy(0, what)
        elif event == "ready" and what in busy:
            busy.discard(what)
            queue.ring.ready(0, what)
        queue.lanes.offer(queue.take)
        assert queue.lanes.count == len(queue.waiting)
        for item in queue.waiting:
            assert queue.ring.choose(0, item.message) is None
    assert sorted(queue.lanes.take_all(), key=lambda each: each.number) == queue.waiting
    assert queue.lanes.count == 0


def test_a_lane_is_in_order_and_what_was_sent_before_goes_first() -> None:
    queue = Queue(BY_REGION)
    for number, region in enumerate(["east", "west", "east", "west"]):
        queue.comes({"region": region}, again=number >= 2)
    queue.ring.joined(0, "B")
    queue.lanes.offer(queue.take)
    assert [item.number for item in queue.taken] == [4, 2]
    queue.ring.joined(0, "A")
    queue.lanes.offer(queue.take)
    assert [item.number for item in queue.taken] == [4, 2, 3, 1]


def test_an_event_costs_no_more_for_a_thousand_groups_that_wait_for_a_busy_peer() -> None:
    queue = Queue(BY_GROUP)
    queue.ring.joined(0, "A")
    for k in range(1000):
        queue.comes({"group": str(k)})
    queue.ring.busy(0, "A")
    for k in range(2000):
        queue.comes({"group": str(k % 1000)})
    assert queue.lanes.count == 2000
    queue.asked = 0
    queue.lanes.offer(queue.take)
    assert queue.asked == 0
    queue.ring.joined(0, "B")
    queue.lanes.offer(queue.take)
    assert queue.asked == 1
    queue.comes({"group": "another"})
    assert queue.taken[-1].message == {"group": "another"}
    queue.ring.ready(0, "A")
    queue.lanes.offer(queue.take)
    assert not queue.lanes.count
    of_group = defaultdict(list)
    for item in queue.taken:
        of_group[item.message["group"]].append(item.number)
    assert all(found == sorted(found) for found in of_group.values())


def test_lanes_that_come_and_go_leave_nothing() -> None:
    queue = Queue(BY_GROUP)
    for k in range(1000):
        queue.comes({"group": str(k)})
        if k >= 5:
            queue.goes(queue.waiting[-1])
    assert sum(map(len, queue.lanes._hurdles.values())) < 50


# -------- over sockets


def cluster(plain: dict[str, Any], **addresses: str) -> Cluster:
    tables = [
        {**table, "address": addresses[table["name"]]}
        for table in plain["destination"]
        if table["name"] in addresses
    ]
    return Cluster.from_dict({**plain, "destination": tables}, default_name="pool")


def test_requests_for_others_go_past_one_whose_only_worker_is_busy() -> None:
    plain = {**BY_REGION, "destination": [{**t, "capacity": 1} for t in BY_REGION["destination"]]}
    with Rep() as east, Rep() as west:
        urls = {"A": east.bind("tcp://127.0.0.1:0"), "B": west.bind("tcp://127.0.0.1:0")}
        with Req(cluster(plain, **urls)) as req:
            until_up(req, "A", "B")
            asked: list[threading.Thread] = []

            def asks(body: bytes, region: str) -> None:
                message = {"region": region}
                options = {"timeout": SECONDS, "message": message}
                asked.append(threading.Thread(target=req.request, args=(body,), kwargs=options))
                asked[-1].start()

            def waits(n: int) -> None:
                until(lambda: req._waiting.count == n)

            asks(b"held", "east")
            held: list[Request] = [east.recv(timeout=SECONDS)]
            for n, body in enumerate((b"e1", b"e2")):
                asks(body, "east")
                waits(n + 1)
            asks(b"w", "west")
            west.recv(timeout=SECONDS).reply(b"")
            with pytest.raises(MessageError, match=r"found 1\.5"):
                req.request(b"", message={"region": 1.5})
            waits(2)
            bodies = []
            while held:
                held.pop().reply(b"")
                if len(bodies) < 2:
                    held.append(east.recv(timeout=SECONDS))
                    bodies.append(held[0].body)
            assert bodies == [b"e1", b"e2"]
            for thread in asked:
                thread.join()


@pytest.mark.parametrize("plain", [BY_REGION, BY_GROUP], ids=["region", "group"])
def test_messages_for_others_go_past_one_whose_only_peer_is_full(plain: dict[str, Any]) -> None:
    """East goes to A, which does not read, and west to B: by their region, or as their groups."""
    body = b"x" * 200_000
    with ExitStack() as stack:
        pulls = {name: stack.enter_context(Pull(buffer=1)) for name in "AB"}
        urls = {name: pull.bind("tcp://127.0.0.1:0") for name, pull in pulls.items()}
        push = stack.enter_context(Push(cluster(plain, **urls), buffer=2))
        until_up(push, "A", "B")

        def sends(region: str, number: int) -> threading.Thread:
            message = {"region" if plain is BY_REGION else "group": region}
            arguments = (b"%d " % number + body,)
            options = {"timeout": SECONDS, "message": message}
            found = threading.Thread(target=push.send, args=arguments, kwargs=options)
            found.start()
            return found

        threads: list[threading.Thread] = []
        while push._waiting.count < 3:
            before = waited_or_sent(push)
            threads.append(sends("east", len(threads)))
            until(lambda before=before: waited_or_sent(push) > before)
        west = sends("west", 0)
        assert pulls["B"].recv(timeout=SECONDS).startswith(b"0 ")
        west.join()
        assert push._waiting.count == 3
        got = [int(pulls["A"].recv(timeout=SECONDS).split()[0]) for _ in threads]
        assert got == [*range(len(threads))]
        for thread in threads:
            thread.join()


def waited_or_sent(push: Push) -> int:
    return push._waiting.count + sum(each.get("sent", 0) for each in push.counters().values())


def test_groups_keep_their_peers_when_others_join() -> None:
    with ExitStack() as stack:
        pulls = [stack.enter_context(Pull()) for _ in range(3)]
        urls = [pull.bind("tcp://127.0.0.1:0") for pull in pulls]
        push = stack.enter_context(Push(cluster(BY_GROUP, A=urls[0], B=urls[1])))
        until_up(push, "A", "B")
        groups = ["kim", "lee", "mia"]

        def went() -> list[str]:
            found = []
            for group in groups:
                before = {name: each["sent"] for name, each in push.counters().items()}
                push.send(b"", timeout=SECONDS, message={"group": group})
                after = {name: each["sent"] for name, each in push.counters().items()}
                found += [name for name in after if after[name] != before.get(name, 0)]
            return found

        first = went()
        push.connect(urls[2], name="C")
        until_up(push, "A", "B", "C")
        assert went() == first


def test_who_comes_back_after_a_while_gets_what_waits_then() -> None:
    """With a fail-back delay it is ready some time after it was connected, and nothing happens."""
    plain = {
        "policy": "hot-standby",
        "options": {"failback_delay": 0.2},
        "destination": [{"name": "A"}],
    }
    with Pull() as first, Pull() as again:
        url = first.bind("tcp://127.0.0.1:0")
        with Push(cluster(plain, A=url)) as push:
            until_up(push, "A")
            push.send(b"", timeout=SECONDS)
            first.close()
            until_up(push)
            again.bind(url)
            until_up(push, "A")
            push.send(b"waits", timeout=SECONDS)
            assert again.recv(timeout=SECONDS) == b"waits"
