"""`fairlead machines`, and what other commands take from a store's clusters."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from tests.cli.shell import Shell

from fairlead import load_changes
from fairlead.compiled.table import route
from fairlead.config.clusters import load_clusters

FILE = """
policy = "msmq"
[[destination]]
name = "DEV1"
address = "10.0.0.1"
weight = 2
[[destination]]
name = "DEV2"
weight = 1
"""


@pytest.fixture
def pool(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A store with a cluster, and a folder with its file."""
    monkeypatch.chdir(tmp_path)
    Path("pool.toml").write_text(FILE)
    assert shell.ok("machines", "load", "pool.toml") == "pool\n"
    return shell


def test_next_prints_where_a_message_goes(pool: Shell) -> None:
    found = [pool.ok("machines", "next", "pool") for _ in range(3)]
    assert found == ["DEV1\t10.0.0.1\n", "DEV2\n", "DEV1\t10.0.0.1\n"]
    (row,) = pool.rows("machines", "next", "pool")
    assert (row["destination"], row["sequence"], row["outcome"]) == ("DEV1", 3, "routed")


def test_nobody_is_status_3(pool: Shell) -> None:
    pool.ok("machines", "disable", "pool", "DEV1")
    pool.ok("machines", "disable", "pool", "DEV2")
    assert pool.run("machines", "next", "pool") == 3
    assert pool.out == ""


def test_an_administrator_changes_a_cluster_while_it_runs(pool: Shell) -> None:
    pool.ok("machines", "add", "pool", "DEV3", "weight=3", "address=10.0.0.3")
    pool.ok("machines", "weight", "pool", "DEV1", "4")
    pool.ok("machines", "set", "pool", "DEV2", "weight=5", "enabled=false")
    rows = {row["destination"]: row for row in pool.rows("machines", "list", "pool")}
    assert {name: row["attributes"]["weight"] for name, row in rows.items()} == {
        "DEV1": 4,
        "DEV2": 5,
        "DEV3": 3,
    }
    assert [name for name, row in rows.items() if not row["candidate"]] == ["DEV2"]
    assert "enabled is false" in pool.ok("machines", "list", "pool")
    assert "enabled is false" not in pool.ok("machines", "enable", "pool", "DEV2")
    pool.ok("machines", "remove", "pool", "DEV1")
    assert "DEV1" not in pool.ok("machines", "list")
    pool.ok("machines", "next", "pool")
    assert [row["sent"] for row in pool.rows("machines", "list")] == [1, 0]
    pool.ok("machines", "reset", "pool")
    assert [row["sent"] for row in pool.rows("machines", "list")] == [0, 0]
    authors = {event.actor for event in pool.store.journal() if event.kind == "changed"}
    assert len(authors) == 1


def test_a_share_stands_beside_what_the_weight_gives(pool: Shell) -> None:
    for _ in range(6):
        pool.ok("machines", "next", "pool")
    assert pool.ok("machines", "list", "pool").splitlines() == [
        "pool: msmq, version 0, 6 choices",
        "destination  address   weight  sent   share  by weight",
        "DEV1         10.0.0.1       2     4  66.67%     66.67%",
        "DEV2                        1     2  33.33%     33.33%",
    ]


def test_without_a_subcommand_it_lists(pool: Shell) -> None:
    listed = pool.ok("machines", "list", "pool")
    assert pool.ok("machines", "pool") == pool.ok("machines") == listed
    assert len(pool.rows("machines")) == 2
    assert pool.run("machines", "lst") == 2
    assert "cluster: found 'lst', allowed: pool" in pool.err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("list", "pol"), "cluster: found 'pol', allowed: pool; did you mean 'pool'?"),
        (("weight", "pool", "DEV1", "-1"), "WEIGHT: found -1, allowed: an integer from 0"),
        (("weight", "pool", "DEV9", "1"), "target: found 'DEV9', allowed: DEV1, DEV2"),
        (("add", "pool", "DEV1", "weight=1"), "destination: found 'DEV1' twice"),
        (("add", "pool", "DEV3"), "weight"),
        (("add", "pool", "DEV3", "weight=-1"), "weight: found -1"),
        (("add", "pool", "DEV3", "weight"), "KEY=VALUE: found 'weight', allowed: NAME=VALUE"),
        (("set", "pool", "DEV1"), "machines set: found no KEY=VALUE"),
        (("set", "pool", "DEV1", "colour=red"), "attribute: found 'colour'"),
        (("remove", "pool", "DEV7"), "destination: found 'DEV7'"),
        (("next", "pool", "colour=red"), "attribute: found 'colour'"),
        (("load", "nowhere.toml"), "nowhere.toml"),
    ],
)
def test_bad_input_is_one_line(pool: Shell, arguments: tuple[str, ...], line: str) -> None:
    assert pool.run("machines", *arguments) == 2
    assert line in pool.err
    assert len(pool.err.splitlines()) == 1
    assert pool.store.pool("pool").version == 0


def test_a_decision_of_the_past_is_explained(pool: Shell) -> None:
    for _ in range(5):
        pool.ok("machines", "next", "pool")
    pool.ok("machines", "disable", "pool", "DEV1")
    said = pool.ok("explain", "pool", "--id", "pool/1", "--store", pool.url)
    assert said.splitlines()[:2] == [
        "pool/1 -> DEV2",
        "cluster pool, version 0, stream pool, sequence 1",
    ]
    assert pool.run("explain", "pool", "--id", "pool/9", "--store", pool.url) == 2
    assert "id: found 'pool/9'" in pool.err
    assert pool.run("explain", "pool", "--store", pool.url) == 2
    assert "explain --store goes with" in pool.err


def test_the_journal_of_a_cluster_is_decided_anew_alike(pool: Shell) -> None:
    for k in range(10):
        pool.ok("machines", "next", "pool", f"group=g{k}")
        if k == 5:
            pool.ok("machines", "weight", "pool", "DEV2", "7")
    told = pool.ok("journal", "--cluster", "pool", "--decisions")
    rows = [json.loads(line) for line in told.splitlines()]
    Path("changes.jsonl").write_text(pool.ok("journal", "--cluster", "pool", "--changes"))
    table = pa.Table.from_pylist(rows)
    anew = route(table, load_clusters("pool.toml"), load_changes("changes.jsonl"))
    assert anew["destination"].to_pylist() == [row["destination"] for row in rows]
    assert [row["id"] for row in rows] == [f"pool/{k}" for k in range(10)]
    assert [row["group"] for row in rows] == [f"g{k}" for k in range(10)]


def test_the_file_of_a_cluster_lists_who_was_added_and_removed(pool: Shell) -> None:
    pool.ok("machines", "add", "pool", "DEV8", "weight=3")
    pool.ok("machines", "add", "pool", "DEV9", "weight=4")
    pool.ok("machines", "remove", "pool", "DEV8")
    Path("pool-now.toml").write_text(pool.ok("journal", "--cluster", "pool", "--file"))
    (cluster,) = load_clusters("pool-now.toml")
    added = {each["name"]: each for each in cluster.to_dict()["destination"][-2:]}
    assert {name: each["weight"] for name, each in added.items()} == {"DEV8": 3, "DEV9": 4}
    assert not any(each["present"] for each in added.values())


def test_a_journal_is_asked_for_in_one_way(pool: Shell) -> None:
    for arguments, line in (
        (("--decisions",), "journal --decisions needs --cluster NAME"),
        (("--changes", "--queue", "q"), "journal --changes needs --cluster NAME"),
        (("--messages", "--cluster", "pool"), "journal --messages needs --queue NAME"),
        (("--file", "--queue", "q"), "journal --file needs --cluster NAME"),
        (("--decisions", "--changes", "--cluster", "pool"), "allowed: one of them"),
        (("--cluster", "pol"), "cluster: found 'pol'"),
        (("--since", "yesterday"), "--since: found 'yesterday'"),
    ):
        assert pool.run("journal", *arguments) == 2
        assert line in pool.err
    pool.ok("machines", "next", "pool")
    assert len(pool.ok("journal", "--cluster", "pool", "--since", "2020-01-01").splitlines()) == 2
    assert pool.ok("journal", "--cluster", "pool", "--since", "2999-01-01") == ""
