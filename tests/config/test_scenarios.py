"""Scenario files: what they mean, and every bad one gives one line that says what is wrong."""

import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from fairlead import Change, Cluster
from fairlead.config.scenarios import MAX_SCENARIOS, Scenario, load_scenarios
from fairlead.errors import ChangeError, ConfigError

POOL = Cluster.of(
    "nanomsg",
    name="pool",
    destination=[
        {"name": "gpu-1"},
        {"name": "gpu-2", "readers": 2},
        {"name": "gpu-3", "present": False},
    ],
)
MSMQ = Cluster.of(
    "msmq", name="east", destination=[{"name": "front", "weight": 2}, {"name": "back", "weight": 1}]
)
WEIGHTED = Cluster.of(
    "weighted",
    name="west",
    destination=[{"name": "front", "weight": 4}, {"name": "side"}],
    order={"discipline": "priority", "ageing": 30},
)
IBM = Cluster.of(
    "ibm-mq",
    name="mq",
    queue_manager={"name": "HUB", "clusters": ["C1"]},
    remote=[{"name": "A"}, {"name": "B"}],
    channel=[
        {"name": "TO.A", "queue_manager": "A", "state": "inactive"},
        {"name": "TO.B", "queue_manager": "B", "state": "stopped"},
    ],
    queue=[{"name": "Q", "queue_manager": "A"}, {"name": "Q", "queue_manager": "B"}],
)
NEWS = Cluster.of(
    "smartsockets",
    name="news",
    message_type=[{"name": "price"}],
    subscriber=[
        {"name": "R1", "subject": "/a"},
        {"name": "R2", "subject": "/a", "connected": "warm"},
    ],
)
COMPOSED = Cluster.of(
    {"eliminate": ["draining"], "choose": "circular"},
    name="own",
    destination=[{"name": "A"}],  # type: ignore[arg-type]
)


def load(
    tmp_path: Path, text: str, *clusters: Cluster, changes: tuple[Change, ...] = ()
) -> list[Scenario]:
    file = tmp_path / "what-if.toml"
    file.write_text(text, encoding="utf-8")
    return load_scenarios(file, clusters or (POOL,), changes)


def one(tmp_path: Path, body: str, *clusters: Cluster, **more: Any) -> Scenario:
    (found,) = load(tmp_path, f'[[scenario]]\nname = "x"\n{body}\n', *clusters, **more)
    return found


def refused(tmp_path: Path, text: str, *clusters: Cluster, **more: Any) -> str:
    """What a file is refused with, without the folder's name."""
    with pytest.raises((ConfigError, ChangeError)) as caught:
        load(tmp_path, text, *clusters, **more)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{tmp_path}/what-if.toml:"), line
    return line.replace(f"{tmp_path}/", "")


def refused_body(tmp_path: Path, body: str, *clusters: Cluster, **more: Any) -> str:
    """The same of a body of one scenario, whose first line is line 3."""
    return refused(tmp_path, f'[[scenario]]\nname = "x"\n{body}\n', *clusters, **more)


def made(scenario: Scenario) -> list[tuple[str, str, object, float]]:
    return [(c.target, c.attribute, c.value, c.micros / 1_000_000) for c in scenario.changes]


# --- what is set -----------------------------------------------------------------------------


def test_a_scenario_without_more_is_as_it_is(tmp_path: Path) -> None:
    changes = (Change("gpu-1", "state", "down", 1),)
    found = one(tmp_path, "", changes=changes)
    assert found == Scenario("x", (POOL,), changes)
    assert (found.scale_rate, found.seed) == (1, 0)


def test_set_is_as_if_the_file_said_so(tmp_path: Path) -> None:
    found = one(
        tmp_path,
        """set = [
  { target = "gpu-3", attribute = "present", value = true },
  { target = "destination:gpu-2", attribute = "readers", value = 5 },
  { target = "gpu-2", attribute = "speed", value = 1.5 },
  { target = "gpu-2", attribute = "priority", value = 3 },  # as a change it is refused
  { target = "options", attribute = "affinity", value = "group" },
]""",
    )
    assert found.clusters == (
        Cluster.of(
            "nanomsg",
            name="pool",
            destination=[
                {"name": "gpu-1"},
                {"name": "gpu-2", "readers": 5, "speed": 1.5, "priority": 3},
                {"name": "gpu-3"},
            ],
            options={"affinity": "group"},
        ),
    )
    assert POOL.start().objects != found.clusters[0].start().objects


def test_set_reaches_every_table(tmp_path: Path) -> None:
    body = """set = [
  { target = "HUB", attribute = "use_queue", value = "any" },
  { target = "remote:A", attribute = "clusters", value = ["C1", "C2"] },
  { target = "channel:TO.A@A", attribute = "weight", value = 7 },
  { target = "queue:Q@B", attribute = "rank", value = 2 },
  { target = "options", attribute = "literal_step_11", value = true },
]"""
    (cluster,) = one(tmp_path, body, IBM).clusters
    plain = cluster.to_dict()
    assert plain["queue_manager"]["use_queue"] == "any"
    assert plain["remote"][0]["clusters"] == ["C1", "C2"]
    assert plain["channel"][0]["weight"] == 7
    assert [queue["rank"] for queue in plain["queue"]] == [0, 2]
    assert plain["options"]["literal_step_11"] is True


def test_targets_of_several_clusters(tmp_path: Path) -> None:
    body = """set = [
  { target = "front@east", attribute = "weight", value = 9 },
  { target = "side", attribute = "weight", value = 3 },
  { target = "options@west", attribute = "newcomer", value = "catch-up" },
]"""
    east, west = one(tmp_path, body, MSMQ, WEIGHTED).clusters
    assert [each["weight"] for each in east.to_dict()["destination"]] == [9, 1]
    assert [each["weight"] for each in west.to_dict()["destination"]] == [4, 3]
    assert west.to_dict()["options"]["newcomer"] == "catch-up"


def test_order_holds_for_every_cluster(tmp_path: Path) -> None:
    body = '[scenario.order]\ndiscipline = "priority"\nageing = 0.5'
    for cluster in one(tmp_path, body, MSMQ, WEIGHTED).clusters:
        assert cluster.tables.order.discipline == "priority"
        assert cluster.tables.order.step == 500_000
    same = one(tmp_path, 'order = { discipline = "fifo" }', MSMQ)
    assert same.clusters == (MSMQ,)


def test_more_traffic(tmp_path: Path) -> None:
    found = one(tmp_path, "scale_rate = 1.25\nseed = 7")
    assert (found.scale_rate, found.seed) == (Decimal("1.25"), 7)
    assert one(tmp_path, "scale_rate = 1000").scale_rate == 1000


def test_scenarios_travel(tmp_path: Path) -> None:
    body = 'scale_rate = 0.5\norder = { discipline = "priority" }'
    found = one(tmp_path, body, COMPOSED)
    again = pickle.loads(pickle.dumps(found))  # noqa: S301
    assert [cluster.to_dict() for cluster in again.clusters] == [
        cluster.to_dict() for cluster in found.clusters
    ]


# --- what it differs by ----------------------------------------------------------------------


def test_what_it_differs_by_is_told(tmp_path: Path) -> None:
    (tmp_path / "storm.csv").write_text("time,target,attribute,value\n7,gpu-1,state,down\n")
    text = """[[scenario]]
name = "as it is"
scale_rate = 1
[[scenario]]
name = "all"
set = [
  { target = "gpu-3", attribute = "present", value = true },
  { target = "options", attribute = "affinity", value = "group" },
]
sweep = [{ target = "gpu-2", attribute = "readers", values = [2, 4] }]
down = [
  { target = "gpu-2", from = 10, to = 20, failed = true },
  { target = "gpu-3", from = 2026-03-02T09:00:02Z },
]
changes = "storm.csv"
scale_rate = 1.5
seed = 7
order = { discipline = "priority", weights = { a = 2, "<b>" = 3 } }
"""
    as_it_is, two, four = load(tmp_path, text)
    assert as_it_is.differs == ()
    assert two.differs == (
        "gpu-3: present true",
        "options: affinity group",
        "gpu-2: readers 2",
        "order: discipline priority",
        "order: weights a=2;<b>=3",
        "gpu-2: failed from 10 s to 20 s",
        "gpu-3: down from 2026-03-02 09:00:02+00:00 on",
        "changes: storm.csv",
        "scale_rate 1.5, seed 7",
    )
    assert four.differs[2] == "gpu-2: readers 4"


# --- sweeps ----------------------------------------------------------------------------------


def names(found: list[Scenario]) -> list[str]:
    return [scenario.name for scenario in found]


def test_a_sweep_is_a_scenario_for_each_value(tmp_path: Path) -> None:
    text = """[[scenario]]
name = "readers"
sweep = [{ target = "gpu-2", attribute = "readers", from = 1, to = 8, step = 3 }]
"""
    found = load(tmp_path, text)
    assert names(found) == [f"readers: {n}" for n in (1, 4, 7)]
    assert [s.clusters[0].tables.destination[1].readers for s in found] == [1, 4, 7]  # type: ignore[attr-defined]


def test_a_sweep_that_ends_where_it_begins_is_one_scenario(tmp_path: Path) -> None:
    text = """[[scenario]]
name = "readers"
sweep = [{ target = "gpu-2", attribute = "readers", from = 3, to = 3 }]
"""
    assert names(load(tmp_path, text)) == ["readers: 3"]


def test_several_sweeps_are_their_product(tmp_path: Path) -> None:
    text = """[[scenario]]
name = "s"
sweep = [
  { target = "gpu-2", attribute = "speed", from = 1.5, to = 0.5, step = -0.5 },
  { target = "gpu-3", attribute = "present", values = [true, false] },
]
[[scenario]]
name = "more"
sweep = [{ target = "gpu-2", attribute = "readers", from = 3, to = 4 }]
"""
    assert names(load(tmp_path, text)) == [
        "s: gpu-2 speed 1.5, gpu-3 present true",
        "s: gpu-2 speed 1.5, gpu-3 present false",
        "s: gpu-2 speed 1, gpu-3 present true",
        "s: gpu-2 speed 1, gpu-3 present false",
        "s: gpu-2 speed 0.5, gpu-3 present true",
        "s: gpu-2 speed 0.5, gpu-3 present false",
        "more: 3",
        "more: 4",
    ]


def test_steps_are_exact(tmp_path: Path) -> None:
    text = """[[scenario]]
name = "s"
sweep = [{ target = "gpu-2", attribute = "speed", from = 0.1, to = 100, step = 0.1 }]
"""
    found = load(tmp_path, text)
    assert len(found) == MAX_SCENARIOS
    assert found[2].name == "s: 0.3"
    assert found[-1].name == "s: 100"


def test_too_many_are_counted_and_not_made(tmp_path: Path) -> None:
    text = """[[scenario]]
name = "as it is"
[[scenario]]
name = "s"
sweep = [
  { target = "gpu-2", attribute = "readers", from = 1, to = 1000000 },
  { target = "gpu-2", attribute = "speed", from = 1, to = 9e17, step = 1e-9 },
]
"""
    refusal = refused(tmp_path, text)
    number = f"{10**6 * ((9 * 10**17 - 1) * 10**9 + 1) + 1:,}"
    assert refusal == f"what-if.toml: found {number} scenarios, allowed: at most 1,000"
    many = "".join(f'[[scenario]]\nname = "{k}"\n' for k in range(MAX_SCENARIOS + 1))
    assert refused(tmp_path, many) == "what-if.toml: found 1,001 scenarios, allowed: at most 1,000"


# --- outages ---------------------------------------------------------------------------------

WAYS = [
    (POOL, "gpu-1", "", ("state", "down"), ("state", "up")),
    (POOL, "gpu-1", ", failed = true", ("state", "failed"), ("state", "up")),
    (MSMQ, "front", "", ("enabled", False), ("enabled", True)),
    (WEIGHTED, "front", ", failed = true", ("state", "failed"), ("state", "up")),
    (IBM, "TO.A", "", ("state", "retrying"), ("state", "inactive")),
    (IBM, "queue:Q@B", "", ("put_enabled", False), ("put_enabled", True)),
    (NEWS, "R1", "", ("connected", False), ("connected", True)),
    (NEWS, "R2", ", failed = true", ("state", "failed"), ("connected", "warm")),
]


@pytest.mark.parametrize(("cluster", "target", "more", "out", "back"), WAYS)
def test_down_is_two_changes(
    tmp_path: Path, cluster: Cluster, target: str, more: str, out: Any, back: Any
) -> None:
    body = f'down = [{{ target = "{target}", from = 1.5, to = 3{more} }}]'
    found = one(tmp_path, body, cluster)
    assert made(found) == [(target, *out, 1.5), (target, *back, 3)]
    assert found.changes[0].where == f"{tmp_path}/what-if.toml:3: scenario[1] 'x'.down[1]"


def test_down_for_good(tmp_path: Path) -> None:
    assert made(one(tmp_path, 'down = [{ target = "gpu-1", from = 5 }]')) == [
        ("gpu-1", "state", "down", 5)
    ]


@pytest.mark.parametrize(
    "moment",
    ["2013-02-08T00:00:00Z", '"2013-02-08T00:00:00Z"', '"2013-02-08"', "2013-02-08", "1360281600"],
)
def test_times_of_an_outage(tmp_path: Path, moment: str) -> None:
    found = one(tmp_path, f'down = [{{ target = "gpu-1", from = {moment} }}]')
    assert found.changes[0].micros / 1_000_000 == 1_360_281_600


def test_outages_may_follow_one_another(tmp_path: Path) -> None:
    body = """down = [
  { target = "gpu-1", from = 20, to = 30 },
  { target = "gpu-2", from = 15, to = 25 },
  { target = "destination:gpu-1", from = 10, to = 20 },
]"""
    assert [change[2:] for change in made(one(tmp_path, body))] == [
        *[("down", 10), ("up", 20)],
        *[("down", 15), ("up", 25)],
        *[("down", 20), ("up", 30)],
    ]


def test_an_outage_begins_and_ends_with_what_was_recorded(tmp_path: Path) -> None:
    """What is recorded for the moment of its end counts, because it comes after the end."""
    recorded = (
        Change("TO.A", "state", "starting", 5),
        Change("TO.A", "weight", "3", 15),
        Change("TO.B", "state", "running", 15),
        Change("*", "reset", None, 15),
        Change("TO.A", "state", "running", 20),
    )
    body = 'down = [{ target = "TO.A", from = 10, to = 20 }]'
    found = one(tmp_path, body, IBM, changes=recorded)
    assert made(found)[:2] == [("TO.A", "state", "retrying", 10), ("TO.A", "state", "starting", 20)]
    assert found.changes[2:] == recorded


def test_changes_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "storm.csv").write_text("time,target,attribute,value\n7,gpu-1,state,down\n")
    recorded = (Change("gpu-2", "state", "down", 1),)
    text = '[[scenario]]\nname = "x"\nchanges = "storm.csv"\n[[scenario]]\nname = "y"\n'
    storm, calm = load(tmp_path, text, changes=recorded)
    assert made(storm) == [("gpu-2", "state", "down", 1), ("gpu-1", "state", "down", 7)]
    assert calm.changes == recorded


def test_changes_are_read_as_the_caller_can(tmp_path: Path) -> None:
    (tmp_path / "what-if.toml").write_text('[[scenario]]\nname = "x"\nchanges = "storm.parquet"\n')
    own = Change("gpu-1", "state", "down", 1)
    asked = []

    def read(path: Path) -> list[Change]:
        asked.append(path)
        return [own]

    (found,) = load_scenarios(tmp_path / "what-if.toml", [POOL], read_changes=read)
    assert found.changes == (own,)
    assert asked == [tmp_path / "storm.parquet"]


A_LIST_OF_SETS = "a list, each a table under [[scenario.set]]"


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "what-if.toml: found no scenario, allowed: at least one [[scenario]]"),
        ("scenario = []", "what-if.toml: found no scenario, allowed: at least one [[scenario]]"),
        ("scenario = 5", "what-if.toml:1: scenario: found 5, allowed: a list, each a table"),
        (
            "[scenario]",
            "1: scenario: found a table, allowed: a list, each a table under [[scenario]]",
        ),
        (
            '[[scenario]]\nname = "x"\n[scenario.set]',
            "3: scenario[1] 'x'.set: found a table, allowed: " + A_LIST_OF_SETS,
        ),
        ("x" + ".a" * 5000 + " = 1", "what-if.toml: found tables or lists more than 32 deep, "),
        ("x = " + "[" * 5000, "what-if.toml: found tables or lists more than 32 deep, "),
        (f"x = {'9' * 5000}", "what-if.toml: not TOML: an integer of more than "),
        ("[[scenario]", "what-if.toml: not TOML: "),
        ("[[scenario]]", "what-if.toml:1: scenario[1].name: found nothing, allowed: a text that"),
        (
            '[[scenario]]\nname = ""',
            "what-if.toml:2: scenario[1] ''.name: found nothing, allowed: ",
        ),
        (
            '[[scenario]]\nname = "a\\nb"',
            "what-if.toml:2: scenario[1].name: found 'a\\nb', allowed: ",
        ),
        ('[[scenarios]]\nname = "a"', "what-if.toml:1: scenarios: found "),
        ('[[scenarios]]\nname = "a"', "; did you mean 'scenario'?"),
        (
            '[[scenario]]\nname = "a"\n[[scenario]]\nname = "b"\n[[scenario]]\nname = "a"',
            "what-if.toml:6: scenario[3] 'a'.name: found 'a', the name of scenario[1], too; ",
        ),
        (
            (
                '[[scenario]]\nname = "s: 1"\n[[scenario]]\nname = "s"\n'
                'sweep = [{ target = "gpu-2", attribute = "readers", values = [1] }]'
            ),
            (
                "what-if.toml:3: scenario[2] 's': found a second scenario that is called "
                "'s: 1', allowed: one"
            ),
        ),
        (
            (
                '[[scenario]]\nname = "a"\n[scenario.order]\nageing = 5\n'
                '[[scenario]]\nname = "b"\norder = { discipline = "lifo" }'
            ),
            (
                "what-if.toml:4: scenario[1] 'a'.order.ageing: cluster 'pool': order.ageing: "
                "found 5, allowed: only 0 with the discipline fifo"
            ),
        ),
    ],
)
def test_files(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in refused(tmp_path, text)


def test_the_line_is_in_the_scenario_that_is_meant(tmp_path: Path) -> None:
    text = (
        '[[scenario]]\nname = "a"\norder = { discipline = "lifo" }\n'
        '[[scenario]]\nname = "b"\n[scenario.order]\ndiscipline = "fifo"'
    )
    assert refused(tmp_path, text).startswith("what-if.toml:3: scenario[1] 'a'.order.discipline: ")


IN_ORDER = "allowed: only 0 with the discipline fifo, which would ignore anything else"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("sets = []", "3: scenario[1] 'x'.sets: found "),
        ("sets = []", "; did you mean 'set'?"),
        ('set = [{ target = "gpu-1", atribute = "x", value = 1 }]', "'x'.set[1].atribute: found "),
        ('set = [{ target = "gpu-1", atribute = "x", value = 1 }]', "did you mean 'attribute'?"),
        (
            'set = [{ target = "gpu-1", attribute = "readers" }]',
            "3: scenario[1] 'x'.set[1].value: found nothing, allowed: a value",
        ),
        (
            'set = [{ target = "gpu-5", attribute = "readers", value = 1 }]',
            "3: scenario[1] 'x'.set[1]: target: found 'gpu-5', allowed: gpu-1, gpu-2, gpu-3; did",
        ),
        (
            'set = [{ target = "option", attribute = "affinity", value = "group" }]',
            (
                "3: scenario[1] 'x'.set[1]: target: found 'option', allowed: gpu-1, gpu-2, "
                "gpu-3; did you mean 'options'?"
            ),
        ),
        (
            'set = [{ target = "gpu-1", attribute = "reader", value = 1 }]',
            "'x'.set[1]: cluster 'pool': destination[1] 'gpu-1'.reader: found ",
        ),
        (
            'set = [{ target = "gpu-1", attribute = "reader", value = 1 }]',
            "; did you mean 'readers'?",
        ),
        (
            'set = [{ target = "gpu-1", attribute = "readers", value = -1 }]',
            (
                "3: scenario[1] 'x'.set[1]: cluster 'pool': destination[1] 'gpu-1'.readers: "
                "found -1, allowed: an integer from 0 to 1000000"
            ),
        ),
        (
            'set = [{ target = "gpu-1", attribute = "present", value = "true" }]',
            "destination[1] 'gpu-1'.present: found 'true', allowed: true or false",
        ),
        (
            'set = [{ target = "gpu-1", attribute = "name", value = "gpu-9" }]',
            "3: scenario[1] 'x'.set[1].attribute: found 'name', allowed: any other; names are",
        ),
        (
            'set = [{ target = "options", attribute = "afinity", value = "group" }]',
            "'x'.set[1]: cluster 'pool': options.afinity: found ",
        ),
        (
            'set = [{ target = "options@pol", attribute = "affinity", value = "group" }]',
            (
                "3: scenario[1] 'x'.set[1].target: found 'options@pol', allowed: options@pool; "
                "did you mean 'options@pool'?"
            ),
        ),
        (
            (
                'set = [{ target = "gpu-1", attribute = "readers", value = 1 },\n'
                '  { target = "destination:gpu-1", attribute = "readers", value = 1 }]'
            ),
            "'x'.set[2]: found the readers again that ",
        ),
        (
            (
                'set = [{ target = "gpu-1", attribute = "readers", value = 1 }]\n'
                'sweep = [{ target = "gpu-1", attribute = "readers", values = [1] }]'
            ),
            "what-if.toml:4: scenario[1] 'x'.sweep[1]: found the readers again that ",
        ),
        (
            (
                'set = [{ target = "gpu-1", attribute = "readers", value = 1 }]\n'
                'sweep = [{ target = "gpu-1", attribute = "readers", values = [1] }]'
            ),
            "what-if.toml:3: scenario[1] 'x'.set[1] gives, allowed: once in a scenario",
        ),
        (
            'sweep = [{ target = "gpu-1", attribute = "readers" }]',
            "3: scenario[1] 'x'.sweep[1]: found no from, allowed: from, to and step, or values",
        ),
        (
            'sweep = [{ target = "gpu-1", attribute = "readers", from = 1 }]',
            "'x'.sweep[1]: found no to, allowed: from, to and step, or values",
        ),
        (
            'sweep = [{ target = "gpu-1", attribute = "readers", values = [1], to = 1 }]',
            "'x'.sweep[1]: found values and to, allowed: values, or from, to and step",
        ),
        (
            'sweep = [{ target = "gpu-1", attribute = "readers", values = [] }]',
            "'x'.sweep[1].values: found an empty list, allowed: at least one value",
        ),
        (
            'sweep = [{ target = "gpu-1", attribute = "readers", values = 3 }]',
            "'x'.sweep[1].values: found 3, allowed: a list, each a value",
        ),
        (
            'sweep = [{ target = "gpu-1", attribute = "readers", values = [1, 2, 1] }]',
            "'x'.sweep[1].values: found 1 twice, allowed: once",
        ),
        (
            'sweep = [{ target = "gpu-1", attribute = "readers", values = [1, 2, -3] }]',
            "'x'.sweep[1]: cluster 'pool': destination[1] 'gpu-1'.readers: found -3, allowed: ",
        ),
        (
            'sweep = [{ target = "gpu-1", attribute = "readers", from = 1, to = 8, step = 0 }]',
            "'x'.sweep[1].step: found 0, allowed from 1 to 8: above 0",
        ),
        (
            'sweep = [{ target = "gpu-1", attribute = "readers", from = 1, to = 8, step = -1 }]',
            "'x'.sweep[1].step: found -1, allowed from 1 to 8: above 0",
        ),
        (
            'sweep = [{ target = "gpu-1", attribute = "readers", from = 8, to = 1 }]',
            "'x'.sweep[1].step: found 1, allowed from 8 to 1: below 0",
        ),
        (
            'sweep = [{ target = "gpu-1", attribute = "readers", from = 1, to = 1, step = 0 }]',
            "'x'.sweep[1].step: found 0, allowed from 1 to 1: any but 0",
        ),
        *(
            (
                f'sweep = [{{ target = "gpu-1", attribute = "readers", from = {bad}, to = 1 }}]',
                f"'x'.sweep[1].from: found {shown}, allowed: a number below 10^18 with at most 9 ",
            )
            for bad, shown in (
                ("true", "true"),
                ('"1"', "'1'"),
                ("nan", "NaN"),
                ("-inf", "-Infinity"),
                ("1e999999999", "1E+999999999"),
                ("0.0000000001", "1E-10"),
            )
        ),
        *(
            (f"scale_rate = {bad}", f"3: scenario[1] 'x'.scale_rate: found {shown}, allowed: a num")
            for bad, shown in (
                ("0", "0"),
                ("-1", "-1"),
                ("1000.1", "1000.1"),
                ("0.0000001", "1E-7"),
                ("nan", "NaN"),
                ('"2"', "'2'"),
                ("true", "true"),
            )
        ),
        (
            "scale_rate = 2\nseed = -1",
            "4: scenario[1] 'x'.seed: found -1, allowed: an integer from 0",
        ),
        (
            "seed = 7",
            "3: scenario[1] 'x'.seed: found 7, which would be ignored; allowed: with a scale",
        ),
        ("seed = 0\nscale_rate = 1", "3: scenario[1] 'x'.seed: found 0, which would be ignored; "),
        ("order = 5", "3: scenario[1] 'x'.order: found 5, allowed: a table"),
        ('order = { disciplin = "fifo" }', "cluster 'pool': order.disciplin: found "),
        ('order = { disciplin = "fifo" }', "; did you mean 'discipline'?"),
        (
            '[scenario.order]\ndiscipline = "lifo"',
            (
                "what-if.toml:4: scenario[1] 'x'.order.discipline: cluster 'pool': "
                "order.discipline: found 'lifo', allowed: fifo, priority"
            ),
        ),
        ('[scenario.order]\ndiscipline = "fifo"\nageing = 3', f"order.ageing: found 3, {IN_ORDER}"),
        ('changes = "storm.csv"', "3: scenario[1] 'x'.changes: storm.csv: no such file"),
        (
            'down = [{ target = "gpu-9", from = 1 }]',
            "3: scenario[1] 'x'.down[1]: target: found 'gpu-9', allowed: gpu-1, gpu-2, gpu-3; did",
        ),
        (
            'down = [{ target = "gpu-1", to = 1 }]',
            "3: scenario[1] 'x'.down[1].from: found nothing, allowed: a value",
        ),
        (
            'down = [{ target = "gpu-1", from = "soon" }]',
            "'x'.down[1].from: found 'soon', allowed: a timestamp, or a number of seconds",
        ),
        (
            'down = [{ target = "gpu-1", from = 1, to = true }]',
            "'x'.down[1].to: found true, allowed: a timestamp, or a number of seconds",
        ),
        (
            'down = [{ target = "gpu-1", from = 5, to = 5 }]',
            "'x'.down[1].to: found 5, allowed: a time after from, which is 5",
        ),
        (
            "down = [{ target = 'gpu-1', from = 2013-02-09T00:00:00Z, to = 2013-02-08T00:00:00Z }]",
            "'x'.down[1].to: found 2013-02-08 00:00:00+00:00, allowed: a time after from, which is",
        ),
        (
            (
                'down = [{ target = "gpu-1", from = 5, to = 9 },\n'
                '  { target = "destination:gpu-1", from = 1, to = 6 }]'
            ),
            "'x'.down[1]: found an outage of destination:gpu-1 that overlaps with another of this",
        ),
        (
            'down = [{ target = "gpu-1", from = 5 }, { target = "gpu-1", from = 8, to = 9 }]',
            "'x'.down[2]: found an outage of destination:gpu-1 that overlaps with another of this",
        ),
        (
            (
                'set = [{ target = "gpu-1", attribute = "state", value = "down" }]\n'
                'down = [{ target = "gpu-1", from = 5 }]'
            ),
            (
                "'x'.down[1].from: found a time at which destination:gpu-1 is out already "
                "(state is 'down' in its cluster file), allowed: one at which it is not"
            ),
        ),
    ],
)
def test_bodies(tmp_path: Path, body: str, expected: str) -> None:
    assert expected in refused_body(tmp_path, body)


@pytest.mark.parametrize(
    ("cluster", "down", "expected"),
    [
        (
            IBM,
            'target = "A", from = 1',
            (
                "'x'.down[1].target: found queue_manager:A, which has nothing to be down by, "
                "allowed: an object with one of state, connected, enabled, put_enabled"
            ),
        ),
        (NEWS, 'target = "price", from = 1', "found message_type:price, which has nothing to be "),
        (
            COMPOSED,
            'target = "A", from = 1',
            "found destination:A, which has nothing to be down by",
        ),
        (IBM, 'target = "Q", from = 1', "'x'.down[1]: target 'Q' is ambiguous, allowed: queue:Q@A"),
        (
            IBM,
            'target = "TO.B", from = 1',
            "channel:TO.B@B is out already (state is 'stopped' in its cluster file), allowed: ",
        ),
        (
            IBM,
            'target = "TO.A", from = 1, failed = true',
            (
                "'x'.down[1].failed: found true, which would be ignored: the policy ibm-mq notices "
                "no failure of channel:TO.A@A; allowed: without it"
            ),
        ),
        (
            MSMQ,
            'target = "front", from = 1, failed = true',
            "the policy msmq notices no failure of ",
        ),
    ],
)
def test_what_cannot_be_down(tmp_path: Path, cluster: Cluster, down: str, expected: str) -> None:
    assert expected in refused_body(tmp_path, f"down = [{{ {down} }}]", cluster)


@pytest.mark.parametrize("failed", ["down", "failed"])
def test_outages_and_what_was_recorded(tmp_path: Path, failed: str) -> None:
    recorded = (
        Change("gpu-1", "state", failed, 10, "storm.csv:2"),
        Change("gpu-1", "state", "up", 20, "storm.csv:3"),
    )

    def refused_between(start: int, end: int) -> str:
        body = f'down = [{{ target = "gpu-1", from = {start}, to = {end} }}]'
        return refused_body(tmp_path, body, changes=recorded)

    assert "found another change of destination:gpu-1 state before its end (storm.csv:2), " in (
        refused_between(5, 15)
    )
    assert "found another change of destination:gpu-1 state before its end (storm.csv:3), " in (
        refused_between(20, 30)
    )
    assert "is out already (state is 'down' since storm.csv:2), allowed: " in refused_between(
        12, 18
    )


def test_several_clusters_must_be_told_apart(tmp_path: Path) -> None:
    for target, expected in (
        ("options", "found 'options', allowed: options@east, options@west"),
        (
            "front",
            "target 'front' is ambiguous, it stands in the clusters east, west, allowed: front@",
        ),
    ):
        body = f'set = [{{ target = "{target}", attribute = "weight", value = 1 }}]'
        assert expected in refused_body(tmp_path, body, MSMQ, WEIGHTED)


def test_recorded_changes_must_suit_the_scenario(tmp_path: Path) -> None:
    recorded = (Change("gpu-1", "capacity", "3", 0, "storm.csv:2"),)
    body = 'set = [{ target = "options", attribute = "affinity", value = "group" }]'
    assert refused_body(tmp_path, body, changes=recorded) == (
        "what-if.toml:1: scenario[1] 'x': storm.csv:2: attribute capacity: "
        'with affinity = "group" no destination can be busy'
    )


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: no such file"):
        load_scenarios(tmp_path / "none.toml", [POOL])
