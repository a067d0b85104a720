"""Eliminations and choice rules that packages bring: in every engine, and when they go wrong."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from fairlead import Balancer, Change, Cluster, Pool, route
from fairlead.balance import own
from fairlead.balance.policies.composed import compose
from fairlead.compiled.uncompiled_rules import INTERPRETED
from fairlead.errors import ConfigError, RuleError
from tests import engines

CHEAPEST = {
    "policy": {"eliminate": ["down", "other-region"], "choose": "cheapest"},
    "destination": [
        {"name": "A", "region": "east", "price": 3},
        {"name": "B", "region": "east", "price": 2},
        {"name": "C", "region": "west"},
        {"name": "D", "price": 7},
    ],
}
BROKEN = """
from typing import NamedTuple
from fairlead import OwnChoice, OwnElimination, drop_where, keep_highest
from fairlead.balance.elimination import Elimination


class State(NamedTuple):
    served: list


def start(destinations):
    return State([0] * len(destinations))


def first(s, members, start, stop):
    return members[start]


def count(s, i):
    s.served[i] += 1


def divides(s, members, start, stop):
    return members[start + 0 * (1 // (3 - s.served[0]))]


def stranger(s, members, start, stop):
    return members[start] if s.served[0] < 3 else 77


def unfit(s, members, start, stop):
    return min(members[start:stop], key=lambda i: (s.served[i], f"{i}"))


def choice(name, choose, start=start):
    return OwnChoice(name=name, about="a test", start=start, choose=choose, served=count)


divides_ = choice("divides", divides)
stranger_ = choice("stranger", stranger)
unfit_ = choice("unfit", unfit)
no_start = choice("no-start", first, lambda destinations: destinations[0].colour)
weights = OwnChoice(
    name="weights", about="a test", start=start, choose=first, served=count,
    attributes={"weight": (str, "")},
)
raises = OwnElimination(drop_where("raises", "", lambda m, c: 1 / 0, lambda m, c: ""))
invents = OwnElimination(Elimination("invents", "", lambda m, cs: ["x"], lambda m, c, k: ""))
versioned = OwnElimination(
    drop_where("versioned", "", lambda m, c: m["version"] == c.name, lambda m, c: ""),
    reads=("version",),
)
fussy = OwnElimination(
    drop_where("fussy", "", lambda m, c: 1 / (m["region"] != "bad") < 0, lambda m, c: ""),
    reads=("region",),
)
nothing = 7
"""
POINTS = """[fairlead.choices]
divides = broken:divides_
stranger = broken:stranger_
unfit = broken:unfit_
no-start = broken:no_start
weights = broken:weights
nothing = broken:nothing
missing = broken:missing
circular = broken:unfit_
[fairlead.eliminations]
raises = broken:raises
fussy = broken:fussy
invents = broken:invents
versioned = broken:versioned
"""
AB = [{"name": "A"}, {"name": "B"}]
MESSAGES = [{"id": f"m{k}", "time": k} for k in range(8)]


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package, as pip would have installed it."""
    (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
    about = tmp_path / "broken-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(POINTS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    caches: list[Any] = [own._points, compose]
    for cache in caches:
        cache.cache_clear()
    yield tmp_path
    sys.modules.pop("broken", None)
    for cache in caches:
        cache.cache_clear()


def pool(choose: str = "circular", eliminate: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"policy": {"eliminate": list(eliminate), "choose": choose}, "destination": AB}


def random_case(seed: int) -> engines.Scenario:
    random = Random(seed)  # noqa: S311
    messages = [
        {"id": f"m{k:03}", "time": random.randint(0, 20), "region": random.choice(["", "east"])}
        for k in range(60)
    ]
    changes: list[dict[str, Any]] = [
        {
            "time": random.randint(0, 20),
            "target": random.choice("ABCD"),
            "attribute": "price",
            "value": random.randint(0, 9),
        }
        for _ in range(5)
    ]
    changes += [
        {"time": time, "target": "B", "attribute": "state", "value": value}
        for time, value in ((5, "down"), (11, "up"))
    ]
    return CHEAPEST, messages, changes


@pytest.mark.slow
def test_every_engine_decides_alike(spark: SparkSession) -> None:
    batch = [random_case(seed) for seed in range(12)]
    lived = [engines.live(*case) for case in batch]
    assert [engines.compiled(*case) for case in batch] == lived
    assert [engines.replayed(*case) for case in batch] == lived
    assert engines.on_spark(spark, batch, partitions=3, rows_a_block=40) == lived
    assert len({name for case in lived for name, _, _ in case}) == len("ABCD")


def test_it_is_compiled() -> None:
    assert engines.compiled(*random_case(1))
    assert engines.replayed(*random_case(1))
    assert "cheapest" not in {choice.name for choice in INTERPRETED}


def test_a_snapshot_changes_nothing() -> None:
    cluster = Cluster.from_dict(CHEAPEST, default_name="c")
    balancer, other = Balancer(cluster), Balancer(cluster)
    for _ in range(20):
        other.restore(balancer.snapshot())
        assert other.choose().destination == balancer.choose().destination
    balancer.apply(Change("A", "price", 0))
    names = [balancer.choose().destination for _ in range(30)]
    assert set(names[-5:]) == {"A"}


@pytest.mark.costly
@pytest.mark.parametrize("engine", [engines.compiled, engines.replayed])
def test_what_numba_cannot_compile_is_interpreted(broken: Path, engine: engines.Engine) -> None:
    lived = engines.live(pool("unfit"), MESSAGES, [])
    assert [name for name, _, _ in lived] == list("ABABABAB")
    for _ in range(2):
        assert engine(pool("unfit"), MESSAGES, []) == lived
    assert "unfit" in {choice.name for choice in INTERPRETED}


@pytest.mark.parametrize("engine", [engines.live, engines.compiled, engines.replayed])
@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (pool("divides"), "choice rule divides: it failed with ZeroDivisionError: "),
        (pool("stranger"), "choice rule stranger: it chose 77, allowed: one of the members"),
        (pool(eliminate=("raises",)), "elimination raises: it failed with ZeroDivisionError: "),
        (pool(eliminate=("invents",)), "elimination invents: it kept 'x', allowed: some of the"),
    ],
)
def test_a_rule_that_goes_wrong_is_named(
    broken: Path, engine: engines.Engine, cluster: dict[str, Any], expected: str
) -> None:
    with pytest.raises(RuleError) as error:
        engine(cluster, MESSAGES, [])
    assert str(error.value).startswith(expected)


def test_a_choice_that_failed_is_not_counted(broken: Path) -> None:
    balancer = Balancer(Cluster.from_dict(pool("stranger"), default_name="c"))
    for _ in range(3):
        balancer.choose()
    for _ in range(2):
        with pytest.raises(RuleError):
            balancer.choose()
    assert balancer.snapshot()["clusters"]["c"]["sequences"] == [[[], 3]]


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (pool("nothing"), "'nothing' of the package broken (broken:nothing): found int, allowed"),
        (pool("missing"), "(broken:missing) cannot be loaded: AttributeError"),
        (pool("no-start"), "choice rule no-start: it failed with AttributeError"),
        (pool("weights", ("weight-zero",)), "declare the key 'weight' of a destination"),
        (pool("divide"), "divides, stranger, unfit"),
        (pool(eliminate=("raise",)), "did you mean 'raises'?"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(
    broken: Path, cluster: dict[str, Any], expected: str
) -> None:
    with pytest.raises((ConfigError, RuleError)) as error:
        Cluster.from_dict(cluster, default_name="c")
    assert expected in str(error.value)


def test_ours_go_before_a_package_s(broken: Path) -> None:
    found = route(engines.table(MESSAGES), Cluster.from_dict(pool("circular"), default_name="c"))
    assert found["destination"].to_pylist() == list("ABABABAB")


ONE_AFTER_THE_OTHER = """
import sys
from fairlead.cli.app import run

for choose in sys.argv[1:]:
    cluster = f"{choose}.toml"
    status = run(["dispatch", "m.csv", "-c", cluster, "-o", "out", "--master", "local[1]"])
    print(choose, status, file=sys.stderr)
"""
"""Of each the lines that it prints, then its status."""


@pytest.mark.slow
def test_on_spark_it_is_one_line_and_nothing_is_written(broken: Path) -> None:
    rules = ["divides", "stranger"]
    for choose in rules:
        text = f'[policy]\neliminate = []\nchoose = "{choose}"\n[[destination]]\nname = "A"\n'
        (broken / f"{choose}.toml").write_text(text, encoding="utf-8")
    rows = "".join(f"m{k},{k}\n" for k in range(8))
    (broken / "m.csv").write_text(f"id,time\n{rows}", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", ONE_AFTER_THE_OTHER, *rules],
        cwd=broken,
        env={**os.environ, "PYTHONPATH": str(broken)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    lines = done.stderr.splitlines()
    for choose in rules:
        last = lines[lines.index(f"{choose} 2") - 1]
        assert last.startswith(f"fairlead: choice rule {choose}: "), done.stderr
    assert lines[-1] == f"{rules[-1]} 2"
    assert sorted(p.name for p in broken.iterdir() if p.name.startswith((".", "out"))) == []


def test_a_rule_that_reads_what_a_journal_calls_its_own_is_refused_with_one(broken: Path) -> None:
    pool = Cluster.of({"eliminate": ["versioned"], "choose": "circular"}, destination=AB)
    assert Balancer(pool).choose({"version": "A"}).destination == "B"
    line = "journal: a policy reads 'version' of messages"
    with pytest.raises(ConfigError, match=line):
        Balancer(pool, journal=print)
    with pytest.raises(ConfigError, match=line):
        route(engines.table(MESSAGES), pool, journal=True)


def test_a_rule_that_raises_ends_the_block_that_waits_not_the_one_that_leaves(
    broken: Path,
) -> None:
    policy = {"eliminate": ["fussy"], "choose": "ready-ring"}
    given = {"policy": policy, "destination": [{"name": "A", "capacity": 1}]}
    waiting = Pool(Cluster.from_dict(given, default_name="c"))

    async def block(region: str, held: asyncio.Event) -> str:
        async with waiting.acquire(region=region) as decision:
            await held.wait()
            return decision.destination

    async def blocks() -> list[str | BaseException]:
        first, others = asyncio.Event(), asyncio.Event()
        others.set()
        each = [asyncio.create_task(block("east", first))]
        for region in ("east", "bad", "west"):
            each.append(asyncio.create_task(block(region, others)))
            await asyncio.sleep(0)
        first.set()
        return await asyncio.gather(*each, return_exceptions=True)

    found = asyncio.run(blocks())
    assert [found[0], found[1], found[3]] == ["A", "A", "A"]
    assert isinstance(found[2], RuleError)
    assert "elimination fussy" in str(found[2])
    assert waiting.counts().waiting == waiting.counts().working == 0
