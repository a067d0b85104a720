"""`dispatch --deliver`: a table goes into the queues of a store, and a folder of files does."""

import json
from pathlib import Path

import pytest
from tests.cli.shell import Shell

pytestmark = pytest.mark.usefixtures("spark")
POOL = """
policy = "weighted"
name = "pool"
[[destination]]
name = "A"
weight = 2
[[destination]]
name = "B"
"""


def jobs(name: str, first: int, n: int) -> None:
    rows = [
        {"id": f"j{k}", "time": k, "payload": f"work {k}", "group": f"g{k % 3}"}
        for k in range(first, first + n)
    ]
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def site(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    Path("pool.toml").write_text(POOL, encoding="utf-8")
    shell.store.load_clusters("pool.toml")
    jobs("jobs.jsonl", 0, 30)
    return shell


def asked(site: Shell, *more: str, table: str = "jobs.jsonl") -> list[str]:
    return ["dispatch", table, "-c", "pool.toml", "--deliver", site.url, *more]


@pytest.mark.costly
def test_a_table_arrives_once(site: Shell) -> None:
    with Path("jobs.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "odd", "time": "soon", "payload": "", "group": ""}\n')
    own = ("--body", "payload")
    assert site.run(*asked(site, *own, "-o", "out", "--fail-if", "rejected > 50%")) == 0, site.err
    lines = site.out.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["cluster", "destination", "messages"],
        ["pool", "A", "20"],
        ["pool", "B", "10"],
    ]
    assert "in 31 = published 30 + no work 0 + left out 0 + rejected 1" in lines
    delivered = json.loads(Path("out/delivered.json").read_text(encoding="utf-8"))
    assert delivered["destinations"] == {"pool": {"A": 20, "B": 10}}
    assert list(Path("out/rejected").glob("*.parquet"))
    assert site.run("explain", "pool", "--id", "j17", "--store", site.url) == 0, site.err
    assert "it came in bulk, with run 'jobs.jsonl " in site.out
    assert site.run(*asked(site, *own)) == 2
    assert "found one that was brought at" in site.err
    assert site.err.endswith("with 30 messages, allowed: a name of its own for each run\n")
    assert site.run(*asked(site, *own, "--run", "by hand", "--fail-if", "rejected > 0")) == 3
    assert "left out, known by their ids: 30" in site.out.splitlines()
    assert site.store.pool("pool").choices == 30


@pytest.mark.slow
def test_files_of_a_folder_arrive_once_each(site: Shell) -> None:
    Path("in").mkdir()
    follow = ("--body", "payload", "-o", "out", "--follow", "--available-now")
    for number in range(3):
        jobs(f"in/.{number}", 10 * number, 10)
        Path(f"in/.{number}").rename(f"in/{number}.jsonl")
        assert site.run(*asked(site, *follow, table="in")) == 0, site.err
        assert site.store.pool("pool").choices == 10 * (number + 1)
    line = "batch 3: in 10 = published 10 + no work 0 + left out 0 + rejected 0"
    assert site.out.splitlines() == [
        "begun; Ctrl-C ends after the micro-batch under way",
        line,
    ]
    assert site.store.check() == []


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["--changes", "jobs.jsonl"], "--changes: found with --deliver, allowed: without it"),
        (["--engine", "memory"], "--engine memory: found with --deliver, allowed: without it"),
        (["--horizon", "1h"], "--horizon: found with --deliver, allowed: without it"),
        (["--others", "queue"], "'--others': Value error, 'queue' is not one of 'wait', 'refuse'"),
        (["--dry-run"], "--dry-run: found with --deliver, allowed: without it"),
        (["--every", "1s"], "--every: found without --follow, allowed: with it"),
        (["--format", "csv"], "--format: found without --out DIR, allowed: with it"),
        (["--overwrite"], "--overwrite: found without --out DIR, allowed: with it"),
        (["--follow"], "--out: found nothing, allowed with --follow: a folder"),
        (["--follow", "--trust-ids"], "--trust-ids: found with --follow, allowed: without it"),
        (
            ["--body", "load"],
            "jobs.jsonl: body: found no column 'load', allowed: one or several",
        ),
        ([], "jobs.jsonl: body: found no column 'body', allowed: one or several of"),
        (["--run", "a\nb"], "run: found 'a\\nb', allowed: a text of printable characters"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(more: list[str], line: str, site: Shell) -> None:
    assert site.run(*asked(site, *more)) == 2
    assert line in site.err
    assert "Traceback" not in site.err
    assert site.store.queues() == []


def test_the_store_must_have_the_cluster_as_the_file_says(site: Shell) -> None:
    Path("pool.toml").write_text(POOL.replace("= 2", "= 3"), encoding="utf-8")
    assert site.run(*asked(site)) == 2
    assert "cluster 'pool': found another destination than in " in site.err
    assert site.run("dispatch", "jobs.jsonl", "-c", "pool.toml", "-o", "x", "--run", "y") == 2
    assert "--run: found without --deliver, allowed: with it" in site.err
    more = ["-o", "x", "--others", "wait"]
    assert site.run("dispatch", "jobs.jsonl", "-c", "pool.toml", *more) == 2
    assert "--others: found without --deliver, allowed: with it" in site.err


@pytest.mark.parametrize("follow", [True, False])
def test_what_becomes_of_others_is_said_where_they_wait(follow: bool, site: Shell) -> None:
    Path("in").mkdir()
    jobs("in/0.jsonl", 0, 10)
    more = ("--body", "payload", "--others", "refuse", "-o", "out")
    stream = ("--follow", "--available-now") if follow else ()
    status = site.run(*asked(site, *more, *stream, table="in"))
    if site.url.startswith("sqlite"):
        assert status == 0, site.err
        assert site.store.pool("pool").choices == 10
    else:
        assert status == 2
        assert "others: found 'refuse', allowed: nothing, as nobody waits for this run" in site.err
        assert site.store.pool("pool").choices == 0
