"""What meters count, held against the rows of the same replay."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import ceil
from random import Random
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead import Change, Cluster
from fairlead.compiled.intake.accepted import accepted
from fairlead.compiled.intake.rows import CheckedTable, validate
from fairlead.compiled.plan import Plan
from fairlead.measure.attempts import digest_of
from fairlead.measure.bins import common, over
from fairlead.measure.histograms import Bars, merged, waits, whole
from fairlead.measure.lanes import HASH, MeasuredLanes, MeasureRequest
from fairlead.measure.measured import Measured, Moves, Slices
from fairlead.measure.scenarios import Replayed, compared
from fairlead.measure.timeline import there
from fairlead.measure.waits import EXACT
from fairlead.memory.attempts import attempt_rows
from fairlead.memory.counts import by_number, row_hashes
from fairlead.memory.prepared import PreparedMessages, Simulation, measured, prepared
from fairlead.replay.traffic import CODE, SERVICE, TIME, Lane
from fairlead.results.comparison import Waits, Window
from fairlead.rows import ATTEMPT, DECISION

SECOND = 1_000_000
WINDOWS = [
    Window(name, start * SECOND, end * SECOND)
    for name, start, end in (("a", 20, 40), ("b", 0, 30), ("c", 500, 501))
]
CHANGES = [
    Change("A", "state", "failed", 20),
    Change("A", "state", "up", 40),
    Change("B", "readers", 3, 50),
]


def traffic(seed: int, n: int = 400) -> pa.Table:
    random = Random(seed)  # noqa: S311
    rows = []
    for k in range(n):
        group = random.choice(["", *(f"g{i}" for i in range(12))])
        raised = bool(group) and random.random() < 0.05
        rows.append(
            {
                "id": f"{k:04}",
                "time": random.randint(0, 900) / 10,
                "service_time": random.choice([0.0, 0.3, 0.7, 1.5]),
                "cluster": random.choice(["one", "two"]),
                "group": group,
                "type": "SetPriority" if raised else "",
                "priority": random.choice([None, None, 3, 200]),
                "tenant": f"t{int(group[1:]) % 2}" if group else "t0",
                "rollbacks": 1 if random.random() < 0.03 else 0,
            }
        )
    return pa.Table.from_pylist(rows)


def clusters(policy: str, **more: Any) -> list[Cluster]:
    named = [{"name": "A", "readers": 2}, {"name": "B"}, {"name": "C", "speed": 0.5}]
    return [
        Cluster.of(policy, name="one", destination=named, **more),
        Cluster.of("broadcast", name="two", destination=[{"name": "x"}, {"name": "y"}]),
    ]


PLANS = {
    "weighted": Plan(clusters("weighted", order={"discipline": "priority"}), CHANGES),
    "fewest": Plan(clusters("fewest-pending"), []),
    "together": Plan(clusters("weighted", options={"affinity": "group"}), CHANGES),
    "alone": Plan(clusters("weighted")[:1], []),
}


def ready(table: pa.Table, plan: Plan) -> PreparedMessages:
    return prepared(accepted(validate(CheckedTable(table, None), plan, worked=True)), [plan])


def exact(found: list[int], part: float) -> float:
    return sorted(found)[ceil(len(found) * part) - 1] / SECOND


def last_started(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        row | {"waited": whole_micros(row["start"]) - whole_micros(row["time"])}
        for row in rows
        if row["outcome"] not in ("released", "rolled-back") and row["start"] is not None
    ]


def whole_micros(seconds: float) -> int:
    return round(Fraction(seconds) * SECOND)


def check(found: Waits | None, wanted: list[int]) -> None:
    assert (found.messages if found else 0) == len(wanted)
    if found is not None:
        assert found.mean == pytest.approx(sum(wanted) / len(wanted) / SECOND)
        assert found.max == max(wanted) / SECOND
        for name, part in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99)):
            lowest = exact(wanted, part)
            assert lowest <= getattr(found, name) <= lowest * (1 + 2 ** (1 - EXACT))


@pytest.mark.parametrize("name", PLANS)
def test_a_meter_counts_what_the_rows_say(name: str) -> None:
    plan = PLANS[name]
    table = traffic(len(name))
    own = ready(table, plan)
    asked = own.what(WINDOWS)
    known, found, attempts = measured(own, plan, asked, keep=True)
    written = attempt_rows(own.messages, known, attempts, dated=False)
    rows = written.to_pylist()
    ids = written["id"].cast(pa.string()).combine_chunks()
    hashed = row_hashes(written, ids, (*DECISION, *ATTEMPT))
    (_, (xor,), (total,)) = by_number(hashed, np.zeros(len(rows), np.int64), 1)
    mask = (1 << 64) - 1
    assert digest_of(found.ends) == f"{xor & mask:016x}{total & mask:016x}"
    assert sum(end.rows for end in found.ends) == len(rows)
    started = last_started(rows)
    every = [row["waited"] for row in started]
    check(found.waits, every)
    for kind, column in (
        (found.by_destination, "destination"),
        (found.by_priority, "priority"),
        (found.by_tenant, "tenant"),
    ):
        names = Counter("" if row[column] is None else str(row[column]) for row in started)
        assert {each.name: each.messages for each in kind} == names
        for each in kind:
            check(each, [r["waited"] for r in started if str(r[column] or "") == each.name])
    for window, waited in zip(WINDOWS, found.by_window, strict=True):
        start, end = window.start, window.end
        inside = [r["waited"] for r in started if start <= r["time"] * SECOND < end]
        check(waited, inside)
    assert found.longest is not None
    longest = max(every)
    in_time = sorted(table.to_pylist(), key=lambda row: (row["time"], row["id"]))
    first = next(
        row["id"]
        for row in in_time
        if any(each["id"] == row["id"] and each["waited"] == longest for each in started)
    )
    assert own.messages.ids[found.longest.message].as_py() == first
    assert (found.groups, found.torn) == groups(started)


def groups(started: list[dict[str, Any]]) -> tuple[int, int]:
    """How many groups there are, and in how many a message started before an earlier one."""
    starts: dict[tuple[str, str], dict[tuple[float, str], float]] = {}
    for row in started:
        if row["group"]:
            own = starts.setdefault((row["cluster"], row["group"]), {})
            place = (row["time"], row["id"])
            own[place] = min(row["start"], own.get(place, row["start"]))
    in_order = [[own[place] for place in sorted(own)] for own in starts.values()]
    return len(starts), sum(each != sorted(each) for each in in_order)


@pytest.mark.parametrize("name", PLANS)
def test_numbers_are_the_same_where_nothing_else_is_measured(name: str) -> None:
    plan = PLANS[name]
    own = ready(traffic(3), plan)
    both = []
    for asked in (own.what(), own.what(in_full=False)):
        known, found, _ = measured(own, plan, asked)
        both += compared([Replayed(name, known, found, None)], own.messages.period, asked)
    whole, numbers = both
    assert whole.digest is not None
    assert replace(whole, digest=None, queue=None, waits_over_time=None, use=None) == numbers


@pytest.mark.parametrize("name", PLANS)
def test_over_time_it_comes_to_the_same(name: str) -> None:
    """Little's law for what waited and what was worked on; and each bin has its own waits."""
    plan = PLANS[name]
    own = ready(traffic(3), plan)
    asked = own.what()
    known, found, attempts = measured(own, plan, asked, keep=True)
    (scenario,) = compared([Replayed(name, known, found, None)], own.messages.period, asked)
    rows = attempt_rows(own.messages, known, attempts, dated=False).to_pylist()
    queue, use, over_time = scenario.queue, scenario.use, scenario.waits_over_time
    assert queue is not None
    assert use is not None
    assert over_time is not None
    end = (queue.start + queue.width * len(queue.waiting)) / SECOND
    area = sum(
        end - row["time"] if row["wait"] is None else row["wait"]
        for row in rows
        if row["wait"] is not None or row["outcome"] == "routed"
    )
    assert sum(queue.waiting) * queue.width / SECOND == pytest.approx(area)
    busy = sum(row["finish"] - row["start"] for row in rows if row["start"] is not None)
    worked = there(over(*edges(own, rows)), asked.unit, found.work)
    assert sum(worked) * use.width / SECOND == pytest.approx(busy)
    bins: dict[int, list[int]] = {}
    for row in last_started(rows):
        place = (whole_micros(row["time"]) - over_time.start) // over_time.width
        bins.setdefault(place, []).append(row["waited"])
    assert over_time.messages == [len(bins.get(k, [])) for k in range(len(queue.waiting))]
    for k, waited in bins.items():
        for column, part in ((over_time.p50, 0.5), (over_time.p99, 0.99)):
            lowest, found_here = exact(waited, part), column[k]
            assert found_here is not None
            assert lowest <= found_here <= lowest * 1.032


def edges(own: PreparedMessages, rows: list[dict[str, Any]]) -> tuple[int, int]:
    assert own.messages.period is not None
    first, latest = own.messages.period
    return first, max([latest, *(whole_micros(r["finish"]) for r in rows if r["finish"])])


def pieces(own: PreparedMessages, codes: Any, size: int) -> list[pa.RecordBatch]:
    table = own.messages.table
    whole_table = pa.table(
        {
            CODE: pa.array(codes),
            TIME: own.messages.times,
            SERVICE: own.messages.services,
            HASH: own.traffic.sent().hashes,
            "priority": own.columns.priorities,
            "group": table["group"],
            "tenant": table["tenant"],
            "rollbacks": own.columns.rollbacks,
        }
    )
    return whole_table.combine_chunks().to_batches(max_chunksize=size)


def test_pieces_that_are_forgotten_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairlead.measure.lanes.KEPT", 30)
    plan = PLANS["weighted"]
    own = ready(traffic(8, 900), plan)
    asked = own.what(WINDOWS)
    known, wanted, _ = measured(own, plan, asked)
    simulation = Simulation(own, plan)
    codes = simulation.batch.codes
    names = [""] * len(known.classes)
    for code, whose in zip(codes.tolist(), own.messages.table["cluster"].to_pylist(), strict=True):
        names[code] = whose
    lane = Lane(0, known, np.arange(len(known.classes), dtype=np.int32))
    lanes = MeasuredLanes([lane], own.columns.traits, MeasureRequest(asked, names))
    for piece in pieces(own, codes, 17):
        list(lanes.feed(piece))
    list(lanes.finish())
    ((_, found),) = lanes.measured()
    assert sorted(found.ends) == sorted(wanted.ends)
    same = {name: getattr(found, name) for name in Measured.__dataclass_fields__ if name != "ends"}
    assert same == {name: getattr(wanted, name) for name in same}


def test_a_queue_is_the_mean_of_each_bin() -> None:
    """One waits from 1.25 s to 1.75 s, one from 1.5 s to 3.5 s, and one from 299.5 s to the end."""
    half, quarter = SECOND // 2, SECOND // 4
    bins = over(0, 299 * SECOND)
    moves = Moves([2, 3, 7, 599], [1, 0, -1, 1], [quarter, -quarter, 0, 0])
    assert bins.width == 2 * SECOND
    assert there(bins, half, moves) == [0.5, 0.75, *[0.0] * 147, 0.25]


@given(
    st.lists(st.integers(0, 1 << 50), min_size=1, max_size=60),
    st.lists(st.integers(0, 4), min_size=60, max_size=60),
)
def test_histograms_of_parts_are_those_of_the_whole(found: list[int], names: list[int]) -> None:
    bars = bars_of(found, names[: len(found)])
    every = whole(bars)
    check(every, found)
    assert every == whole(merged(bars, bars.name % 2))
    for each in waits(bars, str):
        check(each, [w for w, n in zip(found, names, strict=False) if str(n) == each.name])


def bars_of(found: list[int], names: list[int]) -> Bars:
    """One by one."""
    rows = []
    for wait, name in sorted(zip(found, names, strict=True), key=lambda each: each[::-1]):
        shift = max(0, wait.bit_length() - EXACT)
        bar = (shift << EXACT) + (wait >> shift)
        rows.append((name, bar, 1, wait >> 32, wait & ((1 << 32) - 1), wait))
    return merged(Bars(*np.array(rows, np.int64).T), np.array(rows, np.int64)[:, 0])


def test_a_quantile_is_a_wait_that_enough_messages_had_at_most() -> None:
    """Of 3 waits the second is that of a half, and the last of nine tenths; of 10 the ninth is."""
    three, ten = ([k * SECOND for k in range(n)] for n in (3, 10))
    assert whole(bars_of(three, [0] * 3)) == Waits("", 3, 1.0, 1.0, 2.0, 2.0, 2.0)
    assert whole(bars_of(ten, [0] * 10)) == Waits("", 10, 4.5, 4.0, 8.0, 9.0, 9.0)


@settings(max_examples=300)
@given(st.integers(0, 10**15), st.integers(0, 10**14), st.integers(0, 10**16))
def test_the_common_width_divides_whatever_comes(first: int, length: int, more: int) -> None:
    unit = common(first, first + length)
    assert over(first, first + length + more).width % unit == 0
    assert over(first, first + length).width // unit <= 3


def test_what_was_measured_travels() -> None:
    own = ready(traffic(5), PLANS["weighted"])
    _, found, _ = measured(own, PLANS["weighted"], own.what(WINDOWS))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(found), type=Measured) == found


def test_no_message_comes_to_nothing() -> None:
    own = ready(traffic(1).slice(0, 0), PLANS["alone"])
    _, found, _ = measured(own, PLANS["alone"], own.what(WINDOWS))
    assert (found.ends, found.waits, found.longest) == ([], None, None)
    assert (found.slices, found.queue) == (Slices(), Moves())
