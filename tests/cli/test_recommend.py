"""The command `recommend`, as a user runs it."""

import json
from pathlib import Path
from random import Random

import pytest

from fairlead import load_clusters
from fairlead.cli.app import run

CREWS = """
policy = "round-robin"
[[destination]]
name = "big"
readers = 4
[[destination]]
name = "small"
readers = 4
speed = 0.5
"""
COMMAND = ["recommend", "jobs.csv", "-c", "crews.toml", "-o", "better"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with traffic and a cluster file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "crews.toml").write_text(CREWS)
    random, time, rows = Random(7), 0.0, ["id,time,service_time"]  # noqa: S311
    for k in range(1_200):
        time += random.expovariate(3)
        rows.append(f"j{k},{time:.3f},{random.expovariate(1):.3f}")
    (tmp_path / "jobs.csv").write_text("\n".join([*rows, "x,,1"]) + "\n")
    return tmp_path


def test_the_folder_has_the_file_the_numbers_and_the_page(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--target", "p99_wait < 4s", "--vary", "policy", "--vary", "readers of each * 1..5"]
    assert run([*COMMAND, *given]) == 0
    out = capsys.readouterr().out
    assert out.startswith("p99_wait < 4s: met by\n")
    assert "note: left out, because they are no messages: 1 row" in out
    found = json.loads((folder / "better/recommendation.json").read_text())
    assert found["found"]
    assert found["then"]["cost"] < found["now"]["cost"]
    (cluster,) = load_clusters(folder / "better/recommended.toml")
    assert (
        sum(each["readers"] for each in cluster.to_dict()["destination"]) == found["then"]["cost"]
    )
    page = (folder / "better/report.html").read_text()
    assert "Cost against wait" in page
    assert run([*COMMAND, *given, "--overwrite", "--no-report"]) == 0
    assert not (folder / "better/report.html").exists()
    again = json.loads((folder / "better/recommendation.json").read_text())
    for each in (found, again):
        each.pop("seconds")
        each.pop("made", None)
    assert again == found


def test_nothing_that_meets_it_is_said_first_and_has_a_status_of_its_own(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--target", "p99_wait < 1ms", "--vary", "readers of * 1..2"]
    assert run([*COMMAND, *given]) == 3
    assert capsys.readouterr().out.startswith(
        "nothing in this space meets p99_wait < 1ms; the nearest:\n"
    )
    page = (folder / "better/report.html").read_text()
    assert "Nothing in this space meets p99_wait &lt; 1ms" in page
    assert not (folder / "better/recommended.toml").exists()
    assert "which does not keep p99_wait < 1ms" not in (folder / "crews.toml").read_text()
    others = ["--target", "p99_wait < 1ms", "--vary", "policy", "--overwrite"]
    assert run([*COMMAND, *others]) == 3
    text = (folder / "better/nearest.toml").read_text()
    assert text.startswith("# The nearest, which does not keep p99_wait < 1ms: policy = nanomsg")
    assert "cluster file: better/nearest.toml" in capsys.readouterr().out


def test_what_misses_the_target_on_the_rest_has_the_status_of_what_misses_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"j{k},{k},{0.1 if k < 60 else 9}" for k in range(90)]
    (folder / "jobs.csv").write_text("\n".join(["id,time,service_time", *rows]) + "\n")
    given = ["--target", "p99_wait < 1s", "--vary", "readers of each * 1..2"]
    assert run([*COMMAND, *given]) == 3
    assert capsys.readouterr().out.startswith(
        "p99_wait < 1s: met on the traffic of the search, and missed on the rest; the nearest:\n"
    )
    page = (folder / "better/report.html").read_text()
    assert "missed on the traffic that the search never saw" in page
    assert "What comes nearest" in page


def test_readers_that_never_work_are_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "line.toml").write_text(
        'policy = "nanomsg"\n[[destination]]\nname = "a"\nreaders = 4\ncapacity = 2\n'
        '[[destination]]\nname = "b"\nreaders = 2\n'
    )
    line = (
        "readers is 4 at a, and capacity is 2: it never has more than 2 at a time, so 2 of them "
        "never work"
    )
    assert run(["check", "line.toml"]) == 0
    assert f"  warning: {line}\n" in capsys.readouterr().out
    given = ["jobs.csv", "-c", "line.toml", "-o", "out", "--engine", "memory", "--no-report"]
    assert run(["replay", *given]) == 0
    assert f"note: {line} (in line)\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (
            ["--target", "wait < 2s", "--vary", "policy"],
            "--target: found 'wait', allowed: p99_wait",
        ),
        (["--target", "p99_wait < 2s", "--vary", "weight of x"], "found no destination 'x'"),
        (
            ["--target", "p99_wait < 2s", "--vary", "weight of * 1..3"],
            "an attribute that the policy round-robin does not look at",
        ),
        (["--target", "p99_wait < 2s", "--vary", "policy", "--cost", "1 of x"], "--cost 1 of x"),
        (["--target", "p99_wait < 2s", "--vary", "policy", "--drop", "service_time"], "no column"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], given: list[str], line: str
) -> None:
    assert run([*COMMAND, *given]) == 2
    assert line in capsys.readouterr().err.splitlines()[-1]
    assert not (folder / "better").exists()


def test_several_clusters_and_policies_without_destinations_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--target", "p99_wait < 2s", "--vary", "policy"]
    (folder / "crews.toml").write_text(
        'policy = "smartsockets"\n[[message_type]]\nname = "t"\nmode = "sorted"\n'
        '[[subscriber]]\nname = "R"\nsubject = "/s"\n'
    )
    assert run([*COMMAND, *given]) == 2
    assert "allowed for recommend: one of [[destination]] tables" in capsys.readouterr().err
