"""What Python code gives wrong is refused with an error of Fairlead's own, one line, never another.

Each call is tried with all values; those that it takes are none of this test's business.
"""

import json
import pickle
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from fairlead import Agenda, Balancer, Change, Cluster, load_changes, load_clusters, route
from fairlead.errors import ConfigError, FairleadError, MessageError
from fairlead.pipeline.questions.explain import why
from fairlead.replay import replay

WRONG: list[Any] = [
    *(None, True, 5, -1, 1.5, float("nan"), 10**5_000, Decimal("NaN"), b"x", object(), Path, len),
    *("", "x", "\0", "\ud800", "a" * 5_000, [], [None], ["x"], (), {}, {"x": 1}, {1: 2}, {1, 2}),
    *(np.zeros(2), pd.DataFrame({"a": [1]}), pa.table({"a": [1]})),
]
POOL = Cluster.of("weighted", destination=[{"name": "a"}])
KEYED = Cluster.of("rendezvous", destination=[{"name": "a"}])
STICKY = Cluster.of("weighted", options={"affinity": "group"}, destination=[{"name": "a"}])
ROWS = pa.table({"id": ["1"], "time": [1.0], "service_time": [1.0]})


def of(**tables: Any) -> Cluster:
    return Cluster.of("weighted", **{"destination": [{"name": "a"}], **tables})


def change(*given: Any) -> None:
    Balancer(POOL).apply(Change(*given))


def completed(by: Any) -> None:
    balancer = Balancer(POOL)
    balancer.completed(balancer.choose(), by)


def waiting() -> Agenda:
    agenda = Agenda()
    agenda.send("g", "item", 0)
    return agenda


CALLS: dict[str, Callable[[Any], object]] = {
    "route messages": lambda it: route(it, POOL),
    "route clusters": lambda it: route(ROWS, it),
    "route changes": lambda it: route(ROWS, POOL, it),
    "replay messages": lambda it: replay(it, POOL),
    "replay clusters": lambda it: replay(ROWS, it),
    "replay changes": lambda it: replay(ROWS, POOL, it),
    "load_clusters": load_clusters,
    "load_changes": load_changes,
    "why folder": lambda it: why(it, "m1"),
    "why message": lambda it: why(".", it),
    "policy": Cluster.of,
    "name": lambda it: of(name=it),
    "destination": lambda it: of(destination=it),
    "destination[]": lambda it: of(destination=[it]),
    "destination.name": lambda it: of(destination=[{"name": it}]),
    "weight": lambda it: of(destination=[{"name": "a", "weight": it}]),
    "speed": lambda it: of(destination=[{"name": "a", "speed": it}]),
    "options": lambda it: of(options=it),
    "slow_start": lambda it: of(options={"slow_start": it}),
    "order": lambda it: of(order=it),
    "ageing": lambda it: of(order={"discipline": "priority", "ageing": it}),
    "order.weights": lambda it: of(order={"weights": it}),
    "eliminate": lambda it: Cluster.of({"eliminate": it, "choose": "least-served"}),  # type: ignore[arg-type]
    "eliminate[]": lambda it: Cluster.of({"eliminate": [it], "choose": "x"}),  # type: ignore[arg-type]
    "from_dict": lambda it: Cluster.from_dict(it, default_name="c"),
    "default_name": lambda it: Cluster.from_dict(POOL.to_dict(), default_name=it),
    "Balancer": Balancer,
    "Balancer of several": lambda it: Balancer([POOL, it]),
    "choose": lambda it: Balancer(POOL).choose(it),
    "group": lambda it: Balancer(STICKY).choose({"group": it}),
    "key": lambda it: Balancer(KEYED).choose({"group": it}),
    "cluster": lambda it: Balancer(POOL).choose({"cluster": it}),
    "journalled id": lambda it: Balancer(POOL, journal=print).choose({"id": it}),
    "completed": Balancer(POOL).completed,
    "completed by": completed,
    "apply": Balancer(POOL).apply,
    "apply several": lambda it: Balancer(POOL).apply([it]),
    "target": lambda it: change(it, "weight", 1),
    "attribute": lambda it: change("a", it, 1),
    "value": lambda it: change("a", "weight", it),
    "state": lambda it: change("a", "state", it),
    "address": lambda it: change("a", "address", it),
    "reset": lambda it: change("*", "reset", it),
    "where": lambda it: change("a", "weight", 1, 0, it),
    "restore": Balancer(POOL).restore,
    "Agenda": Agenda,
    "default_priority": lambda it: Agenda(default_priority=it),
    "agenda's ageing": lambda it: Agenda(ageing=it),
    "weights": lambda it: Agenda(weights=it),
    "weights[]": lambda it: Agenda(weights={"x": it}),
    "Agenda.of": Agenda.of,
    "sent group": lambda it: waiting().send(it, 1, 0),
    "sent priority": lambda it: waiting().send("g", 1, 0, priority=it),
    "sent tenant": lambda it: waiting().send("h", 1, 0, tenant=it),
    "sent cost": lambda it: waiting().send("h", 1, 0, cost=it),
    "prioritise": lambda it: waiting().prioritise(it, 0),
    "priority": lambda it: waiting().prioritise("g", 0, it),
    "begin": lambda it: waiting().begin(it),
    "begin tenant": lambda it: waiting().begin("h", tenant=it),
    "end": waiting().end,
    "waiting": lambda it: waiting().waiting(it),
    "Agenda.restore": waiting().restore,
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_is_wrong_is_refused_in_one_line(call: str) -> None:
    refused = 0
    for value in WRONG:
        try:
            CALLS[call](value)
        except FairleadError as error:
            refused += 1
            assert "\n" not in str(error)  # noqa: PT017 - some values are taken
    assert refused


@pytest.mark.parametrize("journal", [5, "x", []])
def test_a_journal_must_be_callable(journal: Any) -> None:
    with pytest.raises(ConfigError, match=r"journal: found .*, allowed: what can be called"):
        Balancer(POOL, journal=journal)


# --- columns ---------------------------------------------------------------------------------


COLUMNS = [
    pa.array([b"caf\xe9"]),
    pa.array([b"caf\xe9"]).dictionary_encode(),
    pa.array([[1]]),
    pa.array([{"a": 1}]),
    pa.array([2**64 - 1], pa.uint64()),
    pa.array([5.5]),
    pa.array(["x"], pa.string_view()),
    pa.array([10**20], pa.decimal128(38, 9)),
    pa.array([18_000], pa.date32()),
    pa.array([1], pa.duration("s")),
    pa.array([None], pa.float64()),
    pa.array([None], pa.int64()),
]
NAMES = ["id", "time", "service_time", "position", "group", "cluster", "type", "priority", "cost"]


@pytest.mark.parametrize("work", [route, replay])
@pytest.mark.parametrize("name", [*NAMES, "rollbacks", "tenant"])
def test_columns_of_any_type_are_taken_or_refused_in_one_line(work: Any, name: str) -> None:
    for column in COLUMNS:
        rows = ROWS.drop_columns([name]) if name in ROWS.column_names else ROWS
        try:
            work(rows.append_column(name, column), STICKY if name == "group" else POOL)
        except MessageError as error:
            assert "\n" not in str(error)  # noqa: PT017 - some columns are taken
            assert re.match(f"messages: (row 0: )?{name}: ", str(error))  # noqa: PT017


@pytest.mark.parametrize("work", [route, replay])
@pytest.mark.parametrize("name", ["id", "time", "mine"])
def test_a_column_that_is_there_twice_is_refused(work: Any, name: str) -> None:
    once = ROWS.append_column("mine", pa.array([1]))
    twice = pa.table([*once.columns, once[name]], names=[*once.column_names, name])
    with pytest.raises(MessageError, match=f"messages: column '{name}': found 2 times, allowed:"):
        work(twice, POOL)


def test_bytes_that_are_no_text_are_refused() -> None:
    rows = ROWS.set_column(0, "id", pa.array([b"caf\xe9"]))
    with pytest.raises(MessageError, match="row 0: id: found 'caf\ufffd', allowed: text in UTF-8"):
        route(rows, POOL)


@pytest.mark.parametrize("work", [route, replay])
def test_views_of_texts_are_texts(work: Any) -> None:
    views = pa.array(["x", "y"], pa.string_view())
    rows = pa.table({"id": views, "time": [2, 1], "service_time": [1, 1], "mine": views})
    assert work(rows, POOL)["mine"].to_pylist() == ["y", "x"]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64()])
def test_a_service_time_that_is_missing_is_refused(kind: pa.DataType) -> None:
    rows = ROWS.set_column(2, "service_time", pa.array([None], kind))
    with pytest.raises(MessageError, match="row 0: service_time: found nothing, allowed: a number"):
        replay(rows, POOL)


def test_a_replay_of_nobody_s_messages_tells_so() -> None:
    found = replay(ROWS.append_column("cluster", pa.array(["elsewhere"])), POOL)
    assert found["outcome"].to_pylist() == ["no-destination"]


# --- snapshots -------------------------------------------------------------------------------


def used_balancer() -> Balancer:
    clusters = [
        Cluster.of(
            "weighted",
            name="w",
            options={"affinity": "group", "slow_start": 10},
            destination=[{"name": "a", "weight": 2}, {"name": "b"}],
        ),
        Cluster.of("nanomsg", name="n", destination=[{"name": "a", "capacity": 2}, {"name": "b"}]),
    ]
    balancer = Balancer(clusters)
    for cluster in ("w", "n", "gone"):
        balancer.choose({"cluster": cluster, "group": "kim"})
    balancer.apply([Change("b@w", "state", "down", 1), Change("b@w", "state", "up", 2)])
    return balancer


def used_agenda() -> Agenda:
    agenda = Agenda(weights={"t": 2})
    for k, tenant in enumerate(["t", "", "t"]):
        agenda.send(f"g{k}", f"item {k}", k, tenant=tenant, priority=k or None)
    agenda.take(3)
    return agenda


def altered(plain: Any) -> Iterator[Any]:
    """The same data with one thing gone, or another in its place, at every depth."""
    places = plain.items() if isinstance(plain, dict) else enumerate(plain)
    for key, inner in list(places):
        rest = [*plain[:key], *plain[key + 1 :]] if isinstance(plain, list) else {**plain}
        if isinstance(rest, dict):
            del rest[key]
        yield rest
        others = list(altered(inner)) if isinstance(inner, dict | list) else []
        for other in [*others, None, "x", -7, [], {}]:
            if other == inner:
                continue
            copy = pickle.loads(pickle.dumps(plain))  # noqa: S301
            copy[key] = other
            yield copy


@pytest.mark.parametrize("used", [used_balancer, used_agenda])
def test_a_snapshot_that_was_cut_or_changed_is_refused(used: Callable[[], Any]) -> None:
    stateful = used()
    whole = stateful.snapshot()
    plain = json.loads(json.dumps(whole))
    tried = 0
    for other in altered(plain):
        if {**other, "items": 0} == {**plain, "items": 0} and other.get("items"):
            continue  # items of work may be anything
        with pytest.raises(ConfigError, match=r"^snapshot: ") as refused:
            stateful.restore(other)
        assert "\n" not in str(refused.value)
        tried += 1
    assert tried > 300
    assert stateful.snapshot() == whole
    stateful.restore(plain)
    assert stateful.snapshot() == whole


def test_a_snapshot_of_another_policy_or_other_options_is_refused() -> None:
    snapshot = Balancer(POOL).snapshot()
    for other, expected in (
        (Cluster.of("round-robin", destination=[{"name": "a"}]), "policy: found 'weighted'"),
        (STICKY, r"options: found \{"),
    ):
        with pytest.raises(ConfigError, match=f"snapshot: cluster 'default': {expected}"):
            Balancer(other).restore(snapshot)


# --- values that are nearly right ------------------------------------------------------------


class Kind(str, Enum):  # noqa: UP042 - a StrEnum would be spelled as its value
    """What people choose names from."""

    ONE = "a"


@pytest.mark.parametrize(
    "value",
    [
        *(np.True_, np.float32(1.5), pd.NA, pd.NaT, Decimal("1.0"), ["x"], {"x"}, object()),
        *(datetime(2024, 1, 1, tzinfo=UTC), bytearray(b"x"), pa.scalar("kim"), 1j),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("cluster", [KEYED, STICKY], ids=["keyed", "sticky"])
def test_a_value_that_engines_would_spell_otherwise_is_no_group(value: Any, cluster: Any) -> None:
    """Not one is a group of its own by accident, such as what pandas has for nothing."""
    with pytest.raises(MessageError, match=r"^message group: found .*, allowed: text, whole num"):
        Balancer(cluster).choose({"group": value})


def test_numbers_and_texts_of_other_kinds_are_what_they_say() -> None:
    wide = Cluster.of("rendezvous", destination=[{"name": name} for name in "abcdefgh"])
    for value, plain in (
        (np.int64(7), "7"),
        (np.str_("kim"), "kim"),
        (Kind.ONE, "a"),
        (True, "true"),
    ):
        assert Balancer(wide).choose({"group": value}).destination == (
            Balancer(wide).choose({"group": plain}).destination
        )


@pytest.mark.parametrize("name", [np.str_("a"), Kind.ONE])
def test_a_name_is_the_text_that_it_is(name: str) -> None:
    cluster = Cluster.of("weighted", destination=[{"name": name}])
    assert Balancer(cluster).choose().destination == "a"
    assert cluster.to_dict()["destination"][0]["name"] == "a"
    assert type(cluster.start().members[0]) is str


def test_no_cluster_at_all_is_refused() -> None:
    """A generator that has been used before has none any more."""
    several = (each for each in [POOL])
    assert route(ROWS, several).num_rows == 1
    for work in (lambda: route(ROWS, several), lambda: Balancer([]), lambda: replay(ROWS, [])):
        with pytest.raises(ConfigError, match=r"^clusters: found none, allowed: at least one"):
            work()


@pytest.mark.parametrize("name", ["position", "priority", "cost", "rollbacks"])
@pytest.mark.parametrize(
    "column",
    [
        *(pa.array([True]), pa.array([1], pa.timestamp("s")), pa.array([1], pa.time64("us"))),
        *(pa.array(["0x5"]), pa.array(["1_0"]), pa.array(["1.5"]), pa.array([1.5])),
        pa.array([Decimal("1.5")]),
    ],
    ids=str,
)
def test_what_is_no_whole_number_is_not_taken_for_one(name: str, column: pa.Array) -> None:
    order = Cluster.of("weighted", order={"discipline": "priority"}, destination=[{"name": "a"}])
    allowed = "allowed: (an integer|a number, or text)"
    with pytest.raises(MessageError, match=rf"^messages: (row 0: )?{name}: found .*, {allowed}"):
        replay(ROWS.append_column(name, column), order)


@pytest.mark.parametrize("column", [pa.array(["+1"]), pa.array([" 1\t"]), pa.array(["1"])])
def test_a_text_is_a_whole_number_as_spark_reads_it(column: pa.Array) -> None:
    assert route(ROWS.append_column("position", column), POOL).num_rows == 1
    assert replay(ROWS.append_column("priority", column), POOL).num_rows == 1


@pytest.mark.parametrize("column", [pa.array([""]), pa.array([None], pa.string())])
def test_an_empty_text_is_no_priority(column: pa.Array) -> None:
    assert replay(ROWS.append_column("priority", column), POOL).num_rows == 1


@pytest.mark.parametrize(
    "column",
    [
        pa.RunEndEncodedArray.from_arrays([1], ["g"]),
        pa.array([{"a": "x"}], pa.struct([("a", pa.string_view())])),
    ],
    ids=["runs", "views"],
)
@pytest.mark.parametrize("work", [route, replay])
def test_rows_that_arrow_cannot_order_are_refused(work: Any, column: pa.Array) -> None:
    with pytest.raises(MessageError, match=r"mine: found .*, whose rows Arrow cannot put into ord"):
        work(ROWS.append_column("mine", column), POOL)


@pytest.mark.parametrize(
    "column",
    [
        pa.array([10**15], pa.timestamp("s")),
        pa.array([10**17], pa.timestamp("ms")),
        pa.array([2**31 - 1], pa.int32()).cast(pa.date32()),
    ],
    ids=lambda column: str(column.type),
)
def test_a_moment_that_64_bits_do_not_hold_is_refused(column: pa.Array) -> None:
    """Arrow would make another one of it without a word."""
    with pytest.raises(
        MessageError, match=r"^messages: row 0: time: found '.*\d+>?', allowed: a times"
    ):
        route(ROWS.set_column(1, "time", column), POOL)


def test_short_numbers_are_times() -> None:
    column = pa.array([np.float16(1.5)])
    assert route(ROWS.set_column(1, "time", column), POOL).num_rows == 1


def test_ids_of_floating_point_are_refused() -> None:
    with pytest.raises(MessageError, match="id: found a column of type double, allowed: text, who"):
        route(ROWS.set_column(0, "id", pa.array([1.0])), POOL)
