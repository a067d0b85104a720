"""Clusters in plain SQL, on PostgreSQL: choose, publish, change, and look at machines.

What the functions do is held against the golden cases, the live balancer, and Python's own path,
row by row.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psycopg
import pytest

from fairlead import Balancer, Change, Cluster, Store
from fairlead.balance.runtime import ClusterRuntime
from fairlead.errors import MessageError, NoDestinationError
from fairlead.store.clusters.changing import rule_in_sql
from fairlead.store.clusters.state import version_of
from tests.engines import cluster_of, micros
from tests.golden_cases import Case, cases, check
from tests.stores import made_url

Opened = Callable[..., Store]
Connected = Callable[[str], "Psql"]
Table = dict[str, Any]
MANY = (
    "SELECT (d).* FROM (SELECT fairlead.next_destination(%s) AS d "
    "FROM generate_series(1, %s) OFFSET 0) x"
)


def named(*names: str) -> list[Table]:
    return [{"name": name} for name in names]


def weighing(**weights: int) -> list[Table]:
    return [{"name": name, "weight": weight} for name, weight in weights.items()]


def msmq(name: str = "pool", **more: Any) -> Cluster:
    tables = {"destination": weighing(DEV1=100, DEV2=200, DEV3=50), **more}
    return Cluster.of("msmq", name=name, **tables)


class Psql:
    """A connection to a store's database, and its clock."""

    def __init__(self, url: str) -> None:
        self.connection = psycopg.connect(url, autocommit=True)

    def __call__(self, sql: str, *values: Any) -> list[Any]:
        found = self.connection.execute(sql.encode(), values)
        return found.fetchall() if found.description else []

    def at(self, time: Any) -> None:
        self("SELECT set_config('fairlead.clock', %s, false)", str(micros(time)))

    def next(self, cluster: str, times: int = 1) -> list[str | None]:
        return [row[0] for row in self(MANY, cluster, times)]

    def refused(self, sql: str, *values: Any, state: str = "FL001") -> str:
        with pytest.raises(psycopg.Error) as caught:
            self(sql, *values)
        assert caught.value.sqlstate == state
        return str(caught.value).splitlines()[0]


@pytest.fixture
def url() -> str:
    return made_url("postgresql")


@pytest.fixture
def store(url: str, opened: Opened) -> Store:
    return opened(url)


@pytest.fixture
def connected() -> Iterator[Connected]:
    """Connects, and closes at the end."""
    made: list[Psql] = []

    def connect(url: str) -> Psql:
        made.append(Psql(url))
        return made[-1]

    yield connect
    for each in made:
        each.connection.close()


@pytest.fixture
def psql(url: str, store: Store, connected: Connected) -> Psql:
    assert store
    return connected(url)


# -------- what is settled in SQL completes


@pytest.mark.parametrize("outcome", ["accepted", "rejected", "expired"])
@pytest.mark.parametrize("in_sql", [False, True])
def test_what_is_settled_by_the_functions_is_completed_for_its_cluster(
    url: str, opened: Opened, connected: Connected, outcome: str, in_sql: bool
) -> None:
    now = [1000.0]
    store = opened(url, clock=lambda: now[0])
    store.keep_clusters([Cluster.of("fewest-pending", name="pool", destination=named("A", "B"))])
    expires = 1 if outcome == "expired" else None
    for id_ in ("m1", "m2"):
        store.publish("pool", "body", id=id_, expires=expires)
    if outcome == "expired":
        now[0] += 2
        assert store.take("B") is None
    elif in_sql:
        connected(url)(
            "SELECT fairlead.settle(token, %s, array_agg(number)) FROM fairlead.take('B') "
            "GROUP BY token",
            outcome,
        )
    else:
        work = store.take("B")
        assert work is not None
        assert next(work).id == "m2"
        work.accept() if outcome == "accepted" else work.reject()
    # B has nothing any more, A has one
    assert [store.next_destination("pool").destination for _ in range(3)] == ["B", "A", "B"]


# -------- the golden cases


def for_sql(case: Case) -> bool:
    cluster = cluster_of(case.cluster)
    runtime = ClusterRuntime(cluster.name, cluster.start())
    version = version_of(cluster, runtime, list(range(1, len(runtime.cluster.members) + 1)))
    changed = {(change["attribute"], change.get("value")) for change in case.changes}
    return (
        rule_in_sql(version) != ""
        and not {key for message in case.messages for key in message} & {"cluster"}
        and all(value != "failed" and key != "speed" for key, value in changed)
        and not any(change["target"] == "*" for change in case.changes)
    )


GOLDEN = [case for name in ("msmq", "everyday") for case in cases(name) if for_sql(case)]


@pytest.fixture(scope="module")
def for_goldens() -> Iterator[tuple[Store, Psql]]:
    url = made_url("postgresql")
    with Store.open(url) as store:
        psql = Psql(url)
        yield store, psql
        psql.connection.close()


def text_of(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


@pytest.mark.parametrize("case", GOLDEN, ids=str)
def test_the_golden_cases_hold_in_plain_sql(
    for_goldens: tuple[Store, Psql], case: Case, request: pytest.FixtureRequest
) -> None:
    store, psql = for_goldens
    name = request.node.name
    own = case.cluster.get("name", "cluster")
    store.keep_clusters([Cluster.from_dict({**case.cluster, "name": name}, default_name=name)])
    changes = sorted(case.changes, key=lambda change: change["time"])
    times = [message["time"] for message in case.messages]
    decided: list[tuple[str | None, str, int]] = []
    for change in [*changes, None]:
        before = times if change is None else [t for t in times if t < change["time"]]
        rows = psql(MANY, name, len(before) - len(decided))
        decided += [(row[0], row[3], row[2]) for row in rows]
        if change is not None:
            target = name if change["target"] == own else change["target"]
            values = (name, target, change["attribute"], text_of(change.get("value")))
            psql("SELECT fairlead.change(%s, %s, %s, %s)", *values)
    check(case, decided)


def test_many_golden_cases_are_for_plain_sql() -> None:
    assert len(GOLDEN) > 40


# -------- plain SQL, Python, and the live balancer

POOLS: list[Table] = [
    {"policy": "msmq", "destination": weighing(B=100, A=200, C=50)},
    {"policy": "msmq", "destination": weighing(B=3, A=7, C=0), "options": {"newcomer": "level"}},
    {"policy": "msmq", "destination": weighing(B=2**63 - 1, A=2**63 - 25, C=2**61 + 1)},
    {"policy": "weighted", "destination": weighing(B=5, A=5, C=11)},
    {"policy": "weighted", "destination": weighing(B=5, A=2), "options": {"newcomer": "catch-up"}},
    {"policy": "round-robin", "destination": named("B", "A", "C", "D")},
    {"policy": "hot-standby", "destination": named("B", "A", "C")},
    {
        "policy": {"eliminate": ["weight-zero"], "choose": "circular"},
        "destination": weighing(B=1, A=1, C=0),
    },
]
LATER = ("a", "E", "Z", "é")


class Compared:
    """Three clusters of one file: changed by SQL, by Python, and by both; and a live balancer."""

    def __init__(
        self, url: str, opened: Opened, connected: Connected, plain: Table, seed: int
    ) -> None:
        self.random = random.Random(seed)  # noqa: S311
        self.now = 1000
        self.by = {way: opened(url, clock=lambda: self.now) for way in ("python", "at once")}
        self.by["python"]._calling = self.by["python"]._writing
        self.psql = connected(url)
        self.psql.at(self.now)
        self.names = {f"sql {seed}": ("sql",), f"python {seed}": ("python",)}
        self.mixed = f"mixed {seed}"
        self.names[self.mixed] = ("sql", "python", "at once")
        self.by["python"].keep_clusters(
            [Cluster.from_dict({**plain, "name": name}, default_name="") for name in self.names]
        )
        later = [{**plain["destination"][0], "name": name, "present": False} for name in LATER]
        listed = {**plain, "name": "pool", "destination": [*plain["destination"], *later]}
        self.balancer = Balancer(Cluster.from_dict(listed, default_name="pool"))
        self.new = list(LATER)
        self.weighs = "weight" in plain["destination"][0]
        self.members = [each["name"] for each in plain["destination"]]
        self.resets = "reset_every" in plain.get("store", {})

    def ways(self) -> Iterator[tuple[str, str]]:
        for name, ways in self.names.items():
            way = self.random.choice(ways)
            if way == "python":  # the functions are not asked
                self.by["python"]._context.memory.only_here[name] = True
            yield name, way

    def choose(self, times: int) -> None:
        wanted = [self.balancer.choose() for _ in range(times)]
        for name, way in self.ways():
            if way == "sql":
                got = [(row[0], row[2]) for row in self.psql(MANY, name, times)]
            else:
                store = self.by[way]
                found = []
                for _ in range(times):
                    store._context.memory.only_here |= {name: True} if way == "python" else {}
                    found.append(store.next_destination(name))
                got = [(each.destination, each.sequence) for each in found]
            if not self.resets:
                assert got == [(each.destination, each.sequence) for each in wanted], (name, way)

    def change(self, target: str, attribute: str, value: Any) -> None:
        self.balancer.apply(Change(target, attribute, value))
        for name, way in self.ways():
            if way != "sql":
                self.by[way].change(name, target, attribute, value)
            else:
                values = (name, target, attribute, text_of(value))
                self.psql("SELECT fairlead.change(%s, %s, %s, %s)", *values)

    def reset(self) -> None:
        self.balancer.apply(Change("pool", "reset"))
        for name, way in self.ways():
            if way == "sql":
                self.psql("SELECT fairlead.reset(%s)", name)
            else:
                self.by[way].reset(name)

    def add(self) -> None:
        target = self.new.pop()
        table: Table = {"name": target, "address": f"to {target}"}
        if self.weighs:
            table["weight"] = self.random.choice((1, 3, 100))
        if self.policy_has("enabled"):
            table["enabled"] = self.random.random() < 0.8
        for key in table.keys() & {"weight", "enabled"}:
            self.balancer.apply(Change(target, key, table[key]))
        table["present"] = self.random.random() < 0.8
        self.balancer.apply(Change(target, "present", table["present"]))
        self.members.append(target)
        for name, way in self.ways():
            if way == "sql":
                self.psql(
                    "INSERT INTO fairlead.machines (cluster, name, address, weight, enabled, "
                    "present) VALUES (%s, %s, %s, %s, %s, %s)",
                    *(name, target, table["address"], table.get("weight")),
                    *(table.get("enabled"), table["present"]),
                )
            else:
                self.by[way].add_destination(name, table)

    def remove(self, target: str) -> None:
        self.members.remove(target)
        self.balancer.apply(Change(target, "present", value=False))
        for name, way in self.ways():
            if way == "sql":
                self.psql(
                    "DELETE FROM fairlead.machines WHERE cluster = %s AND name = %s", name, target
                )
            else:
                self.by[way].remove_destination(name, target)

    def roll_back(self, times: int) -> None:
        for name, way in self.ways():
            if way == "sql":
                with self.psql.connection.transaction(force_rollback=True):
                    self.psql(MANY, name, times)
            else:
                with suppress(ZeroDivisionError), self.by[way].transaction() as tx:
                    for _ in range(times):
                        tx.next_destination(name)
                    raise ZeroDivisionError

    def step(self) -> None:
        target = self.random.choice(self.members)
        possible: list[Callable[[], None]] = [
            lambda: self.choose(self.random.choice((1, 7, 40, 300))),
            lambda: self.choose(self.random.randint(1, 40)),
            lambda: self.roll_back(self.random.choice((1, 260))),
            lambda: self.change(target, "present", self.random.random() < 0.6),
        ]
        if self.policy_has("enabled"):
            possible.append(lambda: self.change(target, "enabled", self.random.random() < 0.6))
        if self.policy_has("draining"):
            possible.append(lambda: self.change(target, "draining", self.random.random() < 0.4))
        if self.policy_has("failback_delay"):  # of those who can be down
            possible.append(
                lambda: self.change(target, "state", self.random.choice(("up", "up", "down")))
            )
        if self.weighs:
            weight = self.random.choice((0, 1, 5, 200, 2**62))
            possible.append(lambda: self.change(target, "weight", weight))
        if self.policy_has("count"):
            possible.append(self.reset)
        if self.new:
            possible.append(self.add)
        if len(self.members) > 2:
            possible.append(lambda: self.remove(target))
        self.random.choice(possible)()

    def policy_has(self, what: str) -> bool:
        ((definition, state),) = self.psql(
            "SELECT v.definition, s.state FROM fairlead.clusters c JOIN fairlead.versions v "
            "ON v.cluster = c.id AND v.version = c.version JOIN fairlead.choice_runs s "
            "ON s.cluster = c.id AND s.first = c.first AND s.version = c.version "
            "WHERE c.name = %s",
            self.mixed,
        )
        return f'"{what}":' in definition or f'"{what}":' in state

    def kept(self, name: str) -> Any:
        """All that is kept of a cluster, but for what differs by nature."""
        rows = self.psql(
            "SELECT c.allocation, c.rule, c.reset_due, c.due, c.version, c.first, c.taken, "
            "c.state, v.at, v.definition::jsonb #- '{file,name}', s.first, s.state::jsonb, "
            "s.choices FROM fairlead.clusters c JOIN fairlead.versions v ON v.cluster = c.id "
            "JOIN fairlead.choice_runs s ON s.cluster = c.id AND s.version = v.version "
            "WHERE c.name = %s ORDER BY v.version, s.first",
            name,
        )
        events = self.psql(
            "SELECT time, kind, queue, group_name, key, tenant, cost, type, detail::jsonb #- "
            "'{value,speed}', version, replace(stream, cluster, ''), "
            "nullif(destination, cluster), address, outcome, sequence, said "
            "FROM fairlead.journal WHERE cluster = %s AND kind <> 'loaded' ORDER BY id",
            name,
        )
        destinations = self.psql(
            "SELECT d.id, d.name, d.address FROM fairlead.destinations d "
            "JOIN fairlead.clusters c ON c.id = d.cluster WHERE c.name = %s ORDER BY d.id",
            name,
        )
        return rows, events, destinations

    def check(self) -> None:
        first, *others = (self.kept(name) for name in self.names)
        for other in others:
            for mine, yours in zip(first, other, strict=True):
                assert mine == yours
        for name in self.names:
            machines = self.by["python"].pool(name).machines
            assert self.psql(
                "SELECT name, address, sent, share FROM fairlead.machines WHERE cluster = %s "
                'ORDER BY name COLLATE "C"',
                name,
            ) == sorted((each.name, each.address, each.sent, each.share) for each in machines)


@pytest.mark.costly
@pytest.mark.parametrize("seed", range(8))
def test_sql_and_python_choose_and_keep_the_same(
    url: str, opened: Opened, connected: Connected, seed: int
) -> None:
    compared = Compared(url, opened, connected, POOLS[seed % len(POOLS)], seed)
    for _ in range(14):
        compared.step()
        compared.check()
    explained(compared)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 132))
def test_sql_and_python_choose_and_keep_the_same_for_long(
    url: str, opened: Opened, connected: Connected, seed: int
) -> None:
    compared = Compared(url, opened, connected, POOLS[seed % len(POOLS)], seed)
    for _ in range(60):
        compared.step()
    compared.check()
    explained(compared)


@pytest.mark.costly
@pytest.mark.parametrize("allocation", ["exact", "ticket"])
@pytest.mark.parametrize("seed", [0, 1, 5, 6])
def test_resets_of_themselves_are_the_same(
    url: str, opened: Opened, connected: Connected, allocation: str, seed: int
) -> None:
    plain = {**POOLS[seed], "store": {"reset_every": 10, "allocation": allocation}}
    compared = Compared(url, opened, connected, plain, seed)
    for _ in range(18):
        compared.now += compared.random.choice((0, 1, 9, 10, 25))
        compared.psql.at(compared.now)
        compared.step()
        compared.check()


def explained(compared: Compared) -> None:
    """Decisions of the past explain themselves, whoever made them."""
    store = compared.by["python"]
    by_name = [
        compared.psql(
            "SELECT id FROM fairlead.journal WHERE cluster = %s AND kind = 'decided' ORDER BY id",
            name,
        )
        for name in compared.names
    ]
    rows = list(zip(*by_name, strict=True))
    for row in compared.random.sample(rows, min(4, len(rows))):
        texts = {str(store.decision(number).explain()) for (number,) in row}
        assert len(texts) == 1


# -------- the other promises


def test_many_callers_get_together_what_one_gets(
    store: Store, url: str, connected: Connected
) -> None:
    store.keep_clusters([msmq()])

    def call(own: Psql) -> list[Any]:
        return [own("SELECT * FROM fairlead.next_destination('pool')")[0] for _ in range(50)]

    with ThreadPoolExecutor(8) as pool:
        each_one = [connected(url) for _ in range(8)]
        every = [row for rows in pool.map(call, each_one) for row in rows]
    one = Balancer(msmq())
    in_turn = sorted(every, key=lambda row: row[2])
    assert [(row[2], row[0]) for row in in_turn] == [
        (turn, one.choose().destination) for turn in range(400)
    ]


def test_tickets_are_exact_between_changes_and_wait_for_nobody(
    store: Store, psql: Psql, url: str, connected: Connected
) -> None:
    cluster = msmq(store={"allocation": "ticket"})
    store.keep_clusters([cluster])
    live = Balancer(cluster)
    other = connected(url)
    with other.connection.transaction():
        other("SELECT 1 FROM fairlead.clusters FOR UPDATE")
        assert psql.next("pool", 700) == [live.choose().destination for _ in range(700)]
    psql("UPDATE fairlead.machines SET enabled = false WHERE name = 'DEV3'")
    live.apply(Change("DEV3", "enabled", value=False))
    got = [store.next_destination("pool").destination for _ in range(300)] + psql.next("pool", 300)
    assert got == [live.choose().destination for _ in range(600)]
    sent = dict(psql("SELECT name, sent FROM fairlead.machines"))
    assert sent == {each.name: each.sent for each in store.pool("pool").machines}
    assert sum(sent.values()) == 1300


def test_a_change_in_sql_counts_from_the_next_choice(store: Store, psql: Psql) -> None:
    store.keep_clusters([msmq()])
    psql.next("pool", 700)
    psql("UPDATE fairlead.machines SET enabled = false WHERE cluster = 'pool' AND name = 'DEV3'")
    assert psql.next("pool", 6) == ["DEV2", "DEV1", "DEV2"] * 2
    psql("UPDATE fairlead.machines SET enabled = name <> 'DEV2', weight = 1 WHERE cluster = 'pool'")
    assert store.pool("pool").version == 1 + 3 + 2
    actor, detail = psql(
        "SELECT actor, detail FROM fairlead.journal WHERE kind = 'changed' ORDER BY id LIMIT 1"
    )[0]
    assert actor == psql("SELECT session_user")[0][0]
    assert json.loads(detail) == {"attribute": "enabled", "value": False}


def test_sent_is_exact_at_every_moment(store: Store, psql: Psql) -> None:
    pending = Cluster.of("fewest-pending", name="pending", destination=named("A", "B"))
    store.keep_clusters([msmq(), pending])
    made: Counter[str] = Counter()
    for times in (1, 99, 200, 3):
        made.update(str(name) for name in psql.next("pool", times))
        rows = psql("SELECT name, sent FROM fairlead.machines WHERE cluster = 'pool'")
        assert dict(rows) == {"DEV1": 0, "DEV2": 0, "DEV3": 0} | made
    store.next_destination("pending")
    assert psql(
        "SELECT name, sent, share, weight FROM fairlead.machines WHERE cluster = 'pending'"
    ) == [("A", 1, 1.0, 1), ("B", 0, 0.0, 1)]


def test_a_stretch_among_a_thousand_machines_is_exact(store: Store, psql: Psql) -> None:
    large = random.Random(5)  # noqa: S311
    weights = {f"m{i:04d}": large.choice((1, 7, 100, 2**40, 2**62)) for i in range(1000)}
    cluster = Cluster.of("weighted", name="large", destination=weighing(**weights))
    store.keep_clusters([cluster])
    live = Balancer(cluster)
    assert psql.next("large", 600) == [live.choose().destination for _ in range(600)]


def test_publish_sends_to_the_queue_of_the_destination(store: Store, psql: Psql) -> None:
    machines = [
        {"name": "A", "weight": 1, "queue": "for A", "address": "to A"},
        {"name": "B", "weight": 1},
    ]
    store.keep_clusters([msmq(destination=machines)])
    publish = "SELECT * FROM fairlead.publish('pool', %s::text, \"group\" => 'g', id => %s)"
    assert psql(publish, "one", "m-a") == [("A", "to A", 0, "m-a")]
    assert psql(publish, "two", "m-b") == [("B", None, 1, "m-b")]
    assert psql(publish, "one", "m-a") == [("A", "to A", 0, "m-a")]
    assert "another message" in psql.refused(publish, "other", "m-a")
    assert psql("SELECT destination FROM fairlead.publish('pool', '[1]'::jsonb)") == [("A",)]
    assert psql("SELECT destination FROM fairlead.publish('pool', '\\x00'::bytea)") == [("B",)]
    bodies = {}
    for queue in ("for A", "B"):
        while work := store.take(queue):
            with work:
                bodies.setdefault(queue, []).extend(message.body for message in work)
    assert bodies == {"for A": ["one", [1]], "B": ["two", b"\0"]}
    assert store.publish("pool", "one", id="m-a").destination == "A"  # it was published in SQL
    assert store.decision(store.publish("pool", "x", id="new").number).explain()


def test_what_finds_nobody_is_not_published_and_not_counted(store: Store, psql: Psql) -> None:
    store.keep_clusters([msmq(destination=weighing(A=1))])
    psql("UPDATE fairlead.machines SET enabled = false")
    assert psql("SELECT * FROM fairlead.next_destination('pool')") == [
        (None, None, 0, "no-destination")
    ]
    with pytest.raises(NoDestinationError, match="pool': found no destination"):
        store.publish("pool", "body", id="x")
    publish = "SELECT fairlead.publish('pool', 'body'::text, id => 'x')"
    line = psql.refused(publish, state="FL006")
    assert line == (
        "cluster 'pool': found no destination (no-destination), allowed: to publish again when "
        "there is one; nothing was sent or counted"
    )
    psql("UPDATE fairlead.machines SET enabled = true")
    assert psql("SELECT * FROM fairlead.publish('pool', 'body'::text, id => 'x')") == [
        ("A", None, 1, "x")
    ]


REFUSED = {
    "UPDATE fairlead.machines SET weight = -1 WHERE name = 'DEV1'": (
        "change: weight: found -1, allowed: an integer from 0 to 9223372036854775807"
    ),
    "UPDATE fairlead.machines SET address = 'HTTPS://me:secret@x/' WHERE name = 'DEV1'": (
        "change: address: found a URL that says who logs in, allowed: an address without that, and "
        "user with password_file, or token_file, under [forward]"
    ),
    "UPDATE fairlead.machines SET enabled = NULL WHERE name = 'DEV1'": (
        "change: enabled: found nothing, allowed: true or false"
    ),
    "UPDATE fairlead.machines SET state = 'down' WHERE name = 'DEV1'": (
        "change: attribute: found 'state', allowed for destination:DEV1: present, enabled, "
        "draining, weight, address, queue, capacity, readers, speed"
    ),
    "UPDATE fairlead.machines SET name = 'X' WHERE name = 'DEV1'": (
        "machines: found a change of name, allowed: of weight, enabled, present, draining, state, "
        "address and queue"
    ),
    "UPDATE fairlead.machines SET sent = 7 WHERE name = 'DEV1'": (
        "machines: found a change of sent, allowed: of weight, enabled, present, draining, state, "
        "address and queue"
    ),
    "INSERT INTO fairlead.machines (cluster, name, weight) VALUES ('pool', 'DEV1', 1)": (
        "destination: found 'DEV1' twice in cluster 'pool', allowed: once"
    ),
    "INSERT INTO fairlead.machines (cluster, name, weight) VALUES ('pool', '', 1)": (
        "destination: name: found nothing, allowed: a text that is not empty"
    ),
    "INSERT INTO fairlead.machines (cluster, name) VALUES ('pool', 'X')": (
        "destination 'X': weight: found nothing, allowed: an integer from 0 to 9223372036854775807"
    ),
    "INSERT INTO fairlead.machines (cluster, name, weight) VALUES ('pool', 'X', -3)": (
        "change: weight: found -3, allowed: an integer from 0 to 9223372036854775807"
    ),
    "INSERT INTO fairlead.machines (cluster, name, weight, state) VALUES ('pool', 'X', 1, 'up')": (
        "destination 'X': state: found a key that its policy does not read, allowed: address, "
        "capacity, draining, enabled, name, present, queue, readers, speed, weight"
    ),
    "INSERT INTO fairlead.machines (cluster, name, weight, sent) VALUES ('pool', 'X', 1, 9)": (
        "machines: found a value for sent or share, allowed: none; they are counted"
    ),
    "INSERT INTO fairlead.machines (cluster, name, weight) VALUES ('pol', 'X', 1)": (
        "cluster: found 'pol', allowed: pending, pool, turns"
    ),
    "INSERT INTO fairlead.machines (name, weight) VALUES ('X', 1)": (
        "cluster: found NULL, allowed: pending, pool, turns"
    ),
    "SELECT fairlead.next_destination('pol')": (
        "cluster: found 'pol', allowed: pending, pool, turns"
    ),
    "SELECT fairlead.publish('pol', 'x'::text)": (
        "cluster: found 'pol', allowed: pending, pool, turns"
    ),
    "SELECT fairlead.change('pool', 'DEV9', 'weight', '1')": (
        "change: target: found 'DEV9', allowed: DEV1, DEV2, DEV3"
    ),
    "SELECT fairlead.change('pool', 'DEV1', 'weight', 'heavy')": (
        "change: weight: found heavy, allowed: an integer from 0 to 9223372036854775807"
    ),
    "SELECT fairlead.change('pool', 'DEV1', 'weight', '9223372036854775808')": (
        "change: weight: found 9223372036854775808, allowed: an integer from 0 to "
        "9223372036854775807"
    ),
    "SELECT fairlead.reset('turns')": (
        "change: reset: the policy of cluster 'turns' counts nothing that could be reset"
    ),
    "DELETE FROM fairlead.machines WHERE cluster = 'turns'": (
        "destination: found none, allowed: at least one [[destination]]"
    ),
}


@pytest.fixture(scope="module")
def three() -> Iterator[tuple[Store, Psql]]:
    url = made_url("postgresql")
    with Store.open(url) as store:
        pending = Cluster.of("fewest-pending", name="pending", destination=named("A"))
        turns = Cluster.of("round-robin", name="turns", destination=named("A"))
        store.keep_clusters([msmq(), pending, turns])
        psql = Psql(url)
        yield store, psql
        psql.connection.close()


def everything(psql: Psql) -> list[Any]:
    return psql(
        "SELECT c.*, (SELECT count(*) FROM fairlead.versions), "
        "(SELECT count(*) FROM fairlead.journal) FROM fairlead.clusters c ORDER BY c.id"
    )


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_not_allowed_is_refused_in_one_line_and_changes_nothing(
    three: tuple[Store, Psql], sql: str
) -> None:
    _, psql = three
    before = everything(psql)
    assert psql.refused(sql) == REFUSED[sql]
    assert everything(psql) == before


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT fairlead.next_destination('pending')",
        "SELECT fairlead.publish('pending', 'x'::text)",
        "SELECT fairlead.reset('pending')",
        "SELECT fairlead.change('pending', 'A', 'enabled', 'false')",
        "UPDATE fairlead.machines SET enabled = false WHERE cluster = 'pending'",
        "INSERT INTO fairlead.machines (cluster, name) VALUES ('pending', 'B')",
        "DELETE FROM fairlead.machines WHERE cluster = 'pending'",
    ],
)
def test_a_policy_that_sql_does_not_know_is_refused_by_name(
    three: tuple[Store, Psql], sql: str
) -> None:
    _, psql = three
    before = everything(psql)
    line = psql.refused(sql, state="FL005")
    assert line.startswith("cluster 'pending': found the policy \"fewest-pending\" with these")
    assert line.endswith("; the library can")
    assert everything(psql) == before


def test_a_change_that_only_the_library_makes_is_refused_by_name(
    three: tuple[Store, Psql],
) -> None:
    _, psql = three
    allowed = "present, enabled, draining, state, address, queue; the library can"
    for attribute, value in (("state", "failed"), ("speed", "2")):
        sql = "SELECT fairlead.change('turns', 'A', %s, %s)"
        line = psql.refused(sql, attribute, value, state="FL005")
        assert line == (
            f"change: found {attribute} {value}, which plain SQL does not change, "
            f"allowed: {allowed}"
        )


def test_names_are_never_read_as_sql(store: Store, psql: Psql) -> None:
    odd = ["a'; DROP TABLE fairlead.clusters; --", 'b"\\', "%s $1 {x}", "[c]", "d,e"]
    pool = "o'pool\"; --"
    store.keep_clusters([Cluster.of("round-robin", name=pool, destination=named(*odd[:3]))])
    for name in odd[3:]:
        psql("INSERT INTO fairlead.machines (cluster, name) VALUES (%s, %s)", pool, name)
    assert psql.next(pool, 5) == odd
    psql("UPDATE fairlead.machines SET enabled = false, address = %s WHERE name = %s", *odd[:2])
    assert psql.next(pool, 4) == [odd[0], *odd[2:]]
    psql("DELETE FROM fairlead.machines WHERE cluster = %s AND name = %s", pool, odd[0])
    assert psql("SELECT destination FROM fairlead.publish(%s, 'x'::text)", pool) == [(odd[2],)]
    assert odd[0] in psql.refused("SELECT fairlead.next_destination(%s)", odd[0]).replace("''", "'")
    assert store.take(odd[2]) is not None


def test_without_rights_nothing_is_done(
    store: Store, psql: Psql, url: str, connected: Connected
) -> None:
    store.keep_clusters([msmq()])
    role = "nobody_" + url.partition("/made_")[2].partition("?")[0]
    psql(f"CREATE ROLE {role} LOGIN")
    other = connected(url.replace("//postgres:", f"//{role}:"))
    for sql in (
        "SELECT fairlead.next_destination('pool')",
        "SELECT fairlead.publish('pool', 'x'::text)",
        "SELECT * FROM fairlead.machines",
        "UPDATE fairlead.machines SET weight = 1",
    ):
        assert "permission denied" in other.refused(sql, state="42501")
    psql(f"GRANT USAGE ON SCHEMA fairlead TO {role}")
    psql(f"GRANT SELECT, UPDATE ON fairlead.machines TO {role}")
    for sql in ("SELECT * FROM fairlead.machines", "UPDATE fairlead.machines SET weight = 1"):
        assert "permission denied" in other.refused(sql, state="42501")


# -------- the store's own use of it


def test_the_store_asks_the_function_and_falls_back(store: Store, url: str) -> None:
    pending = Cluster.of("fewest-pending", name="pending", destination=named("A", "B"))
    store.keep_clusters([msmq(), pending])
    found = [store.next_destination("pending"), store.next_destination("pool", group="g", type="t")]
    assert [(each.destination, each.version) for each in found] == [("A", 0), ("DEV2", 0)]
    with store.transaction() as tx:
        found += [tx.next_destination("pool"), tx.next_destination("pending")]
    with psycopg.connect(url) as connection, store.join(connection) as tx:
        found += [tx.next_destination("pool"), tx.next_destination("pending")]
    assert [each.destination for each in found[2:]] == ["DEV1", "B", "DEV3", "A"]
    assert [each.copies for each in found[2:4]] == [(("DEV1", None),), (("B", None),)]
    for each in found:
        assert store.decision(each.number).destination == each.destination
    (event,) = [event for event in store.journal() if event.position == found[1].number]
    assert (event.kind, event.group, event.type) == ("decided", "g", "t")


@pytest.mark.parametrize("at_once", [False, True])
def test_the_store_publishes_alike_in_one_call_and_in_many(
    store: Store, psql: Psql, at_once: bool
) -> None:
    destinations = [{"name": "A", "queue": "to A", "address": "a"}, {"name": "B"}]
    turns = Cluster.of("round-robin", name="turns", destination=destinations)
    pending = Cluster.of("fewest-pending", name="pending", destination=destinations)
    store.keep_clusters([turns, pending])
    if not at_once:
        store._calling = store._writing
    for name in ("turns", "pending"):
        first = store.publish(name, "one", id="i-1", group="g", type="t", priority=7)
        again = store.publish(name, "one", id="i-1", group="g", type="t", priority=7)
        assert first[:6] == ("A", "a", 0, "routed", name, 0)
        assert first[7:] == ((("A", "a"),), ((1, "[]"),), ("i-1",))
        assert again == first
        other = store.publish(name, {"b": 1}, {"size": 5}, group="h")
        assert (other.destination, other.sequence) == ("B", 1)
        assert store.publish(name, b"3", delay=60).destination == "A"
        with pytest.raises(MessageError, match="'i-1', which another message had before"):
            store.publish(name, "two", id="i-1")
        with pytest.raises(MessageError, match="attribute: found 'colour'"):
            store.publish(name, "two", {"colour": "red"})
        rows = psql(
            "SELECT group_name, key, type, said::jsonb, destination, sequence FROM "
            "fairlead.journal WHERE cluster = %s AND kind = 'decided' ORDER BY id",
            name,
        )
        assert rows == [
            ("g", "i-1", "t", {"group": "g", "type": "t"}, "A", 0),
            ("h", "", None, {"group": "h", "size": 5}, "B", 1),
            ("", "", None, None, "A", 2),
        ]
    work = store.take("to A")
    assert work is not None
    (message,) = work
    assert (message.id, message.body, message.type) == ("i-1", "one", "t")


def test_what_the_function_cannot_say_is_refused_as_ever(store: Store, url: str) -> None:
    store.keep_clusters([msmq()])
    with psycopg.connect(url) as connection, store.join(connection) as tx:
        for ask in (store.next_destination, tx.next_destination):
            with pytest.raises(MessageError, match="found 'poool', allowed: pool; did you mean"):
                ask("poool")
            with pytest.raises(MessageError, match="attribute: found 'colour'"):
                ask("pool", colour="red")
        assert tx.next_destination("pool").sequence == 0


def test_a_cluster_that_is_replaced_is_asked_in_its_new_way(store: Store) -> None:
    kinds = ("fewest-pending", "round-robin", "rendezvous")
    for policy in kinds:
        cluster = Cluster.of(policy, name="pool", destination=named("A", "B"))
        store.keep_clusters([cluster], replace=True)
        live = Balancer(cluster)
        got = [store.next_destination("pool", group=f"g{i}").destination for i in range(4)]
        wanted = [live.choose({"group": f"g{i}"}).destination for i in range(4)]
        assert got == wanted


def test_tickets_go_on_where_exact_counting_ended() -> None:
    machines = [{"name": "A", "weight": 2}, {"name": "B", "weight": 1}]
    exact = Cluster.of("msmq", name="pool", destination=machines)
    ticket = Cluster.of("msmq", name="pool", destination=machines, store={"allocation": "ticket"})
    with Store.open(made_url("postgresql")) as store:
        found = []
        for cluster in (exact, ticket, exact, ticket):
            store.keep_clusters([cluster], replace=True)
            chosen = [store.next_destination("pool") for _ in range(6)]
            assert [each.destination for each in chosen] == ["A", "B", "A", "A", "B", "A"]
            found += [each.sequence for each in chosen]
        assert found == sorted(set(found))
