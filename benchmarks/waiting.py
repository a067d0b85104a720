"""o: what a worker that becomes ready costs while many messages wait, for each way to keep them."""

import time
from collections import OrderedDict, deque
from collections.abc import Callable

from benchmarks.timing import Line
from fairlead.balance.decision import Decision
from fairlead.balance.message import Message
from fairlead.sockets.lanes import SendLanes
from fairlead.sockets.ring import Lane, Ring

PEERS, WAITING, TURNS = 3, 10_000, 300
SETTINGS: dict[str, dict[str, object]] = {
    "one lane": {"policy": "nanomsg"},
    "10,000 lanes, one for each group": {
        "policy": "nanomsg",
        "options": {"affinity": "group"},
    },
}


class Item:
    """A message that waits."""

    def __init__(self, message: Message, lane: Lane) -> None:
        self.message = message
        self.lane = lane


class LaneByLane:
    """The plainest that keeps the order: offer the first of each lane, whatever it waits for."""

    def __init__(self, ring: Ring) -> None:
        self._ring = ring
        self._lines: OrderedDict[Lane, list[Item]] = OrderedDict()
        self._moment = 0

    def put(self, item: Item) -> None:
        self._lines.setdefault(item.lane, []).append(item)

    def offer(self, taken: Callable[[Item], bool]) -> None:
        while self._lines and self._moment != self._ring.moment:
            self._moment = self._ring.moment
            for lane, line in [*self._lines.items()]:
                while line and taken(line[0]):
                    del line[0]
                if not line:
                    del self._lines[lane]


def microseconds(
    settings: dict[str, object], kind: type[SendLanes[Item]] | type[LaneByLane]
) -> float:
    """Of one peer that becomes ready, gets what waits first, and is busy again."""
    ring = Ring(settings, capacity=1)
    names = [f"peer-{k}" for k in range(PEERS)]
    ring.add(*({"name": name} for name in names))
    for name in names:
        ring.joined(0, name)
    waiting = kind(ring)
    underway: deque[Decision] = deque()

    def taken(item: Item) -> bool:
        decision = ring.choose(0, item.message)
        if decision is None:
            return False
        if not ring.knows_capacity:
            ring.busy(0, decision.destination or "")
        underway.append(decision)
        return True

    def ready() -> None:
        decision = underway.popleft()
        ring.completed(0, decision)
        if not ring.knows_capacity:
            ring.ready(0, decision.destination or "")

    for k in range(WAITING):
        message: Message = {"group": str(k)}
        waiting.put(Item(message, ring.lane(message)))
    waiting.offer(taken)
    began = time.perf_counter()
    for _ in range(TURNS):
        ready()
        waiting.offer(taken)
    return (time.perf_counter() - began) / TURNS * 1e6


def lines() -> list[Line]:
    """How many times longer the plainest way takes."""
    found = []
    for what, settings in SETTINGS.items():
        kinds: tuple[type[SendLanes[Item]], type[LaneByLane]] = (SendLanes, LaneByLane)
        ours, plain = (min(microseconds(settings, kind) for _ in range(3)) for kind in kinds)
        print(f"    {what}: {ours:.1f} µs, lane by lane {plain:.1f} µs", flush=True)
        name = f"workers that become ready a second, 10,000 messages wait in {what}"
        found.append(Line("o", name, "lane by lane", plain / ours, ""))
    return found
