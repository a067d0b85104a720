"""Cluster files: every bad one gives one line that says where, what was found, what is allowed."""

import re
import tomllib
from collections.abc import Iterator
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

import pytest

from fairlead import Balancer, Cluster, load_clusters
from fairlead.errors import ConfigError

MSMQ = """policy = "msmq"
[[destination]]
name = "A"
weight = 1

[[destination]]
name = "B"
{line}
"""
NANOMSG = """policy = "nanomsg"
[[destination]]
name = "A"
{line}
"""
IBM = """policy = "ibm-mq"
[queue_manager]
name = "HUB"
clusters = ["C1"]
[[remote]]
name = "A"
[[channel]]
name = "{channel}"
queue_manager = "{manager}"
{line}
[[queue]]
name = "ORDERS"
queue_manager = "A"
"""
UNREADABLE = Path("/proc/self/mem")
WEIGHT = "allowed: an integer from 0 to 9223372036854775807"


def error(tmp_path: Path, text: str) -> str:
    """What a file is refused with, without the folder's name."""
    file = tmp_path / "pool.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_clusters(file)
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{file}:"), line
    return line.removeprefix(str(tmp_path)).removeprefix("/")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("weight = -1", "found -1"),
        ("weight = nan", "found NaN"),
        ("weight = inf", "found Infinity"),
        ("weight = 1.5", "found 1.5"),
        ("weight = 1e300", "found 1E+300"),
        ("weight = 9223372036854775808", "found 9223372036854775808"),
        ('weight = "x"', "found 'x'"),
        ('weight = "1"', "found '1'"),
        ("weight = true", "found true"),
        ("weight = []", "found []"),
    ],
)
def test_weights(tmp_path: Path, line: str, found: str) -> None:
    refusal = error(tmp_path, MSMQ.format(line=line))
    assert refusal == f"pool.toml:8: destination[2] 'B'.weight: {found}, {WEIGHT}"


def test_a_weight_is_needed(tmp_path: Path) -> None:
    refusal = error(tmp_path, MSMQ.format(line=""))
    assert refusal == f"pool.toml:6: destination[2] 'B'.weight: found nothing, {WEIGHT}"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "wieght = 1",
            "8: destination[2] 'B'.wieght: found an unknown key, allowed: name,",
        ),
        (
            "priority = 1",
            "8: destination[2] 'B'.priority: found a key of ",
        ),
        ("priority = 1", "would be ignored here"),
        ("weight = 1\ncapacity = 3", "9: destination[2] 'B'.capacity: found 3, allowed: only 0"),
        (
            "weight = 1\nspeed = 0",
            "destination[2] 'B'.speed: found 0, allowed: a number from 0.001",
        ),
        ("weight = 1\nspeed = nan", "destination[2] 'B'.speed: found NaN, allowed: a number from"),
        ('weight = 1\nspeed = "2"', "9: destination[2] 'B'.speed: found '2', allowed: a number"),
        ('weight = 1\nspeed = "x"', "9: destination[2] 'B'.speed: found 'x', allowed: a number"),
        ("weight = 1\nspeed = 1.2345", "destination[2] 'B'.speed: found 1.2345, allowed:"),
        (
            "weight = 1\nreaders = -1",
            "9: destination[2] 'B'.readers: found -1, allowed: an integer",
        ),
        (
            'weight = 1\nenabled = "yes"',
            "9: destination[2] 'B'.enabled: found 'yes', allowed: true",
        ),
        (
            "weight = 1\nenabled = 1",
            "9: destination[2] 'B'.enabled: found 1, allowed: true or false",
        ),
        ("weight = 1\naddress = 5", "9: destination[2] 'B'.address: found 5, allowed: a text"),
        ('weight = 1\n[options]\nnewcomer = "lvl"', "10: options.newcomer: found 'lvl', allowed: "),
        ("weight = 1\n[options]\nnew = 1", "10: options.new: found an unknown key"),
        ("weight = 1\n[order]\nageing = 'x'", "10: order.ageing: found 'x', allowed: a number"),
        ("weight = 1\n[surprise]\nx = 1", "9: surprise: found an unknown key"),
        (
            'weight = 1\n[[channel]]\nname = "C"',
            "9: channel: found a key of ",
        ),
        (
            'weight = 1\n[[destination]]\nname = ""\nweight = 1',
            "10: destination[3] ''.name: found ",
        ),
        ("weight = 1\n[[destination]]\nname = 7\nweight = 1", "10: destination[3].name: found 7"),
        ("weight = 1\n[[destination]]\nweight = 1", "9: destination[3].name: found nothing"),
    ],
)
def test_msmq(tmp_path: Path, line: str, expected: str) -> None:
    assert expected in error(tmp_path, MSMQ.format(line=line))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('slow_start = "5"', "4: options.slow_start: found '5', allowed: a number"),
        ("slow_start = 0", "4: options.slow_start: found 0, allowed: seconds from 0.001"),
        (
            "slow_start = 1\nslow_start_aggression = 99",
            "5: options.slow_start_aggression: found 99",
        ),
        ("slow_start = 1\nslow_start_aggression = 99", "decimals; without it it is 1"),
        ("failback_delay = -1", "4: options.failback_delay: found -1, allowed: seconds"),
    ],
)
def test_ranges_of_options(tmp_path: Path, line: str, expected: str) -> None:
    text = f'policy = "weighted"\n\n[options]\n{line}\n[[destination]]\nname = "A"\n'
    assert expected in error(tmp_path, text)


def test_a_name_that_is_given_is_not_empty(tmp_path: Path) -> None:
    refusal = error(tmp_path, 'name = ""\n' + MSMQ.format(line="weight = 1"))
    assert refusal == "pool.toml:1: name: found nothing, allowed: a text that is not empty"


def test_did_you_mean(tmp_path: Path) -> None:
    assert error(tmp_path, MSMQ.format(line="wieght = 1")).endswith("; did you mean 'weight'?")
    text = MSMQ.format(line='weight = 1\n[options]\nnewcomer = "levl"')
    assert error(tmp_path, text).endswith("; did you mean 'level'?")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "priority = 0",
            "4: destination[1] 'A'.priority: found 0, allowed: an integer from 1 to 16",
        ),
        (
            "priority = 17",
            "4: destination[1] 'A'.priority: found 17, allowed: an integer from 1 to",
        ),
        (
            "weight = 3",
            "4: destination[1] 'A'.weight: found a key of msmq",
        ),
        ('state = "failed"', "4: destination[1] 'A'.state: found 'failed', allowed: "),
        ("capacity = -1", "4: destination[1] 'A'.capacity: found -1, allowed: an integer from 0"),
        (
            '[options]\nnewcomer = "level"',
            "5: options.newcomer: found a key of",
        ),
    ],
)
def test_nanomsg(tmp_path: Path, line: str, expected: str) -> None:
    assert expected in error(tmp_path, NANOMSG.format(line=line))


@pytest.mark.parametrize(
    ("channel", "manager", "line", "expected"),
    [
        (
            "TO.A",
            "A",
            "weight = 0",
            "10: channel[1] 'TO.A'.weight: found 0, allowed: an integer from",
        ),
        (
            "TO.A",
            "A",
            "weight = 100",
            "10: channel[1] 'TO.A'.weight: found 100, allowed: an integer",
        ),
        (
            "TO.A",
            "A",
            "rank = 10",
            "10: channel[1] 'TO.A'.rank: found 10, allowed: an integer from 0",
        ),
        ("TO.A", "A", 'state = "runing"', "10: channel[1] 'TO.A'.state: found 'runing', allowed: "),
        ("TO.A", "A", 'state = "runing"', "did you mean 'running'?"),
        ("TO.A", "Z", "", "'Z'"),
        ("TO.A", "Z", "", "allowed: "),
        ("local", "A", "", "local"),
        ("TO.A", "HUB", "", "HUB"),
    ],
)
def test_ibm_mq(tmp_path: Path, channel: str, manager: str, line: str, expected: str) -> None:
    assert expected in error(tmp_path, IBM.format(channel=channel, manager=manager, line=line))


def test_names_stand_once(tmp_path: Path) -> None:
    refusal = error(tmp_path, MSMQ.format(line="weight = 1").replace('"B"', '"A"'))
    assert "destination 'A': found twice, allowed: once" in refusal
    refusal = error(tmp_path, NANOMSG.format(line='[[destination]]\nname = "A"'))
    assert "destination 'A': found twice, allowed: once" in refusal
    text = IBM.format(channel="TO.A", manager="A", line="")
    refusal = error(tmp_path, text + '[[channel]]\nname = "TO.A"\nqueue_manager = "A"\n')
    assert "'TO.A': found twice, allowed: once" in refusal
    refusal = error(tmp_path, text + '[[queue]]\nname = "ORDERS"\nqueue_manager = "A"\n')
    assert "found twice, allowed: once" in refusal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "policy: found nothing, allowed: "),
        ('policy = "msmk"', "policy: found 'msmk', allowed: "),
        ('policy = "msmk"', "did you mean 'msmq'?"),
        ('policy = ["msmq"]', "policy: found ['msmq'], allowed: "),
        ('policy = "msmq"', "destination: found none, allowed: at least one [[destination]]"),
        ('policy = "nanomsg"\ndestination = []', "destination: found none, allowed: at least one"),
        ('policy = "ibm-mq"', "queue_manager: found nothing, allowed: a table"),
        (
            'policy = "msmq"\ndestination = 1',
            "2: destination: found 1, allowed: a list, each a table",
        ),
        ('policy = "msmq"\nname = 5\n', "2: name: found 5, allowed: a text"),
        ("policy = ", "not TOML: "),
        ('policy = "msmq"\npolicy = "msmq"', "not TOML: "),
        ("[cluster]\nname = 'x'", "allowed: [[cluster]] tables only"),
        ("cluster = 1", "allowed: [[cluster]] tables only"),
        ("cluster = [1]", "allowed: "),
        ("[[cluster]]\npolicy = 'msmq'", "cluster[1].name: found nothing, allowed: a text"),
        ("[[cluster]]\nname = ['x']\npolicy = 'msmq'", "name: found ['x'], allowed: a text"),
        ("[[cluster]]\nname = 3\npolicy = 'msmq'", "name: found 3, allowed: a text"),
        ("policy = 'msmq'\n[[cluster]]\nname = 'x'", "found policy beside [[cluster]]"),
        ("[[cluster]]\nname = 'x'\n[[cluster]]\nname = 'x'\n", "'x': found twice, allowed: once"),
        ("cluster = []", "allowed: "),
    ],
)
def test_whole_files(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in error(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('Policy = "weighted"', "1: Policy: found an unknown key, allowed: policy, name, order, "),
        ('Policy = "weighted"', "; did you mean 'policy'?"),
        ('POLICY = "weighted"', "; did you mean 'policy'?"),
        ('x = 1\npolcy = "weighted"', "2: polcy: found an unknown key, "),
        (
            '[[destinations]]\nname = "A"',
            "1: destinations: found an unknown key, allowed: policy, ",
        ),
        ('[[destinations]]\nname = "A"', "; did you mean 'destination'?"),
        ('[[clusters]]\nname = "x"', "1: clusters: found an unknown key, allowed: [[cluster]] "),
        ('[[Cluster]]\nname = "x"', "; did you mean 'cluster'?"),
        (
            '[[cluster]]\nname = "x"\nPolicy = "msmq"',
            "3: cluster 'x': Policy: found an unknown key",
        ),
        ('[[destination]]\nname = "A"', "pool.toml: policy: found nothing, allowed: msmq, "),
    ],
)
def test_an_unknown_key_where_the_policy_is_missing_is_named(
    tmp_path: Path, text: str, expected: str
) -> None:
    assert expected in error(tmp_path, text)


IN_A_HUB = 'policy = "ibm-mq"\n[queue_manager]\nname = "H"\nclusters = ["C"]\n'
IN_ITS_LIST = "a list, each a table under [[cluster.destination]]"
IN_A_CLUSTER = '[[cluster]]\nname = "x"\npolicy = "weighted"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'policy = "weighted"\n[destination]\nname = "A"',
            "2: destination: found a table, allowed: a list, each a table under [[destination]]",
        ),
        (
            'policy = "smartsockets"\n[message_type]\nname = "A"',
            "2: message_type: found a table, allowed: a list, each a table under [[message_type]]",
        ),
        *(
            (
                IN_A_HUB + f'[{kind}]\nname = "A"',
                f"5: {kind}: found a table, allowed: a list, each a table under [[{kind}]]",
            )
            for kind in ("remote", "channel", "queue", "alias")
        ),
        (
            'policy = "ibm-mq"\n[[queue_manager]]\nname = "H"',
            "2: queue_manager: found [a table], allowed: a table under [queue_manager]",
        ),
        ('policy = "weighted"\norder = 1', "2: order: found 1, allowed: a table under [order]"),
        (
            'policy = "weighted"\ndestination = ["A"]',
            "2: destination[1]: found 'A', allowed: a table under [[destination]]",
        ),
        (
            IN_A_CLUSTER + '[cluster.destination]\nname = "A"',
            "4: cluster 'x': destination: found a table, allowed: " + IN_ITS_LIST,
        ),
        (
            IN_A_CLUSTER,
            "cluster 'x': destination: found none, allowed: at least one [[cluster.destination]]",
        ),
        ('[cluster]\nname = "x"', "1: cluster: found a table, allowed: [[cluster]] tables only, "),
    ],
)
def test_a_table_in_the_wrong_brackets_is_told_the_right_ones(
    tmp_path: Path, text: str, expected: str
) -> None:
    assert expected in error(tmp_path, text)


@pytest.mark.parametrize(
    "nested",
    [
        "x = " + "[" * 5000 + "]" * 5000,
        "x = " + "[" * 100 + "]" * 100,
        "name" + ".a" * 5000 + " = 1",
        "destination" + ".a" * 5000 + " = 1",
        "[order.weights" + ".a" * 5000 + "]",
    ],
)
def test_what_is_nested_without_end_is_refused_in_a_line(tmp_path: Path, nested: str) -> None:
    refusal = error(tmp_path, f'policy = "weighted"\n{nested}\n')
    assert refusal == "pool.toml: found tables or lists more than 32 deep, allowed: fewer"


def test_the_value_of_a_key_of_ones_own_is_named(tmp_path: Path) -> None:
    text = 'policy = "weighted"\n[order]\nweights = { a = 1, b = 0 }\n'
    refusal = error(tmp_path, text)
    assert refusal == "pool.toml:3: order.weights.b: found 0, allowed: an integer from 1 to 1000000"


def test_weights_of_tenants_whose_charges_leave_64_bits_are_refused(tmp_path: Path) -> None:
    weights = "a = 1000000, b = 999999, c = 999997, d = 999983"
    refusal = error(tmp_path, f'policy = "weighted"\n[order]\nweights = {{ {weights} }}\n')
    assert refusal == (
        "pool.toml:3: order.weights: found a least common multiple of more than "
        "4611686018427387904, allowed: weights that have a smaller one, so that what tenants are "
        "charged fits in 64 bits"
    )


SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets"
KEYS = [*SNIPPETS.glob("*-keys.toml"), *sorted(Path(__file__).parent.glob("keys/*-keys.toml"))]
"""Files that have every key of their policy."""
IN_PYTHON = re.compile(r"datetime|Decimal|True|False|None|[{<`]|Expected|Struct|dict|str\b")


def places(table: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in inside:
        yield (*at, key)
        if isinstance(value, dict | list):
            yield from places(value, (*at, key))


@pytest.mark.parametrize("file", KEYS, ids=lambda file: file.stem)
def test_no_line_speaks_python(file: Path) -> None:
    refusals: list[str] = []
    bad = [date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), time(12, 30), True, Decimal("1.5")]
    for place in places(tomllib.loads(file.read_text(encoding="utf-8"))):
        for value in [*bad, [*bad, [], {}], {"a": bad}, [{"a": True}], ""]:
            plain = tomllib.loads(file.read_text(encoding="utf-8"), parse_float=Decimal)
            *around, key = place
            reduce(getitem, around, plain)[key] = value
            try:
                Cluster.from_dict(plain, default_name="x")
            except ConfigError as refused:
                refusals.append(str(refused))
    assert len(refusals) > 100
    assert [line for line in refusals if IN_PYTHON.search(line)] == []


def test_the_line_is_that_of_the_right_cluster(tmp_path: Path) -> None:
    good = '[[cluster]]\nname = "{0}"\npolicy = "msmq"\n[[cluster.destination]]\nname = "A"\n'
    text = good.format("x") + "weight = 1\n" + good.format("y") + "weight = -1\n"
    refusal = error(tmp_path, text)
    assert refusal.startswith("pool.toml:12: cluster 'y': destination[1] 'A'.weight: found -1, ")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('policy = "msmk"\n', 1),
        ('# mine\npolicy = "msmk"\n', 2),
        ('policy = "msmq"\ndestination = [\n  { name = "A", weight = -1 },\n]\n', 2),
        ('policy = "nanomsg"\n[[destination]]\nname = "A"\n[[destination]]\nname = "A"\n', 4),
        ('policy = "nanomsg"\noptions.x = 1\n[[destination]]\nname = "A"\n', 2),
    ],
)
def test_an_error_names_its_line(tmp_path: Path, text: str, line: int) -> None:
    assert error(tmp_path, text).startswith(f"pool.toml:{line}")


def test_not_a_text(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    with pytest.raises(ConfigError, match=r"no such file$"):
        load_clusters(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"pool.toml:1: cannot be read: not a text in UTF-8$"):
        load_clusters(file)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_clusters(tmp_path)


@pytest.mark.skipif(not UNREADABLE.exists(), reason="not here: a file that only Linux has")
def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    file.symlink_to(UNREADABLE)
    with pytest.raises(ConfigError, match=r"pool.toml: cannot be read: Input/output error$"):
        load_clusters(file)


def test_good_files(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    file.write_text(MSMQ.format(line="weight = 9_223_372_036_854_775_807"), encoding="utf-8")
    (cluster,) = load_clusters(file)
    assert cluster.name == "pool"
    assert Balancer(cluster).choose().destination == "B"
    table = '[[cluster]]\nname = "{0}"\npolicy = "nanomsg"\n[[cluster.destination]]\nname = "{0}"\n'
    file.write_text(table.format("x") + table.format("y"), encoding="utf-8")
    clusters = load_clusters(file)
    assert [cluster.name for cluster in clusters] == ["x", "y"]
    balancer = Balancer(clusters)
    assert balancer.choose({"cluster": "y"}).destination == "y"
    assert balancer.choose({}).outcome == "no-destination"


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    file = tmp_path / "pool.toml"
    file.write_text(MSMQ.format(line="weight = 1"), encoding="utf-8-sig")
    assert len(load_clusters(file)) == 1


def test_a_folder_of_files_is_one_set_of_clusters(tmp_path: Path) -> None:
    for name in ("b", "a"):
        text = MSMQ.format(line="weight = 1")
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("not a cluster", encoding="utf-8")
    assert [cluster.name for cluster in load_clusters(tmp_path)] == ["a", "b"]
    again = 'name = "a"\n' + MSMQ.format(line="weight = 1")
    (tmp_path / "c.toml").write_text(again, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"c.toml: cluster 'a': found in another file"):
        load_clusters(tmp_path)


def test_all_files_of_a_folder_that_are_wrong_are_named(tmp_path: Path) -> None:
    for name, line in {"a": "weight = -1", "b": "weight = 1", "c": "wieght = 1"}.items():
        (tmp_path / f"{name}.toml").write_text(MSMQ.format(line=line), encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_clusters(tmp_path)
    one, other = str(caught.value).split("; ", 1)
    assert one.startswith(f"{tmp_path / 'a.toml'}:8: destination[2] 'B'.weight: found -1, ")
    assert other.startswith(f"{tmp_path / 'c.toml'}:8: destination[2] 'B'.wieght: found an unknown")


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"found no file that ends in \.toml"):
        load_clusters(tmp_path)
