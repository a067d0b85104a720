"""Which cases are drawn: a few of many, fewer of costly ones, and one database of two."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CASES = """
import pytest

both = pytest.mark.parametrize("database", ["sqlite", "postgresql"])

@pytest.mark.parametrize("k", range(50))
def test_many(k): pass

@pytest.mark.every
@pytest.mark.parametrize("k", range(50))
def test_every(k): pass

@pytest.mark.costly
@pytest.mark.parametrize("k", range(50))
def test_costly(k): pass

@both
@pytest.mark.parametrize("k", range(5))
def test_both(k, database): pass

@pytest.mark.parametrize("k", range(5))
def test_few(k): pass

def test_one(): pass
"""


def collected(folder: Path, seed: str, *flags: str) -> list[str]:
    """The cases that a run would have, in their order."""
    (folder / "test_cases.py").write_text(CASES)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  every\n  costly\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-p",
        "tests.drawing",
        *flags,
    ]
    done = subprocess.run(
        command,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "FAIRLEAD_DRAW": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]


def counts(cases: list[str]) -> dict[str, int]:
    return Counter(case.partition("[")[0].removeprefix("test_") for case in cases)


def test_few_of_many_are_drawn(tmp_path: Path) -> None:
    drawn = collected(tmp_path, "0", "--draw", "5")
    assert counts(drawn) == {"many": 10, "every": 50, "costly": 2, "both": 5, "few": 5, "one": 1}
    pairs = [case for case in drawn if "both" in case]
    assert len({case.replace("postgresql", "sqlite") for case in pairs}) == 5
    assert collected(tmp_path, "0", "--draw", "5") == drawn


def test_another_seed_draws_others_of_all(tmp_path: Path) -> None:
    every = collected(tmp_path, "0")
    assert counts(every) == {"many": 50, "every": 50, "costly": 50, "both": 10, "few": 5, "one": 1}
    first, other = (collected(tmp_path, seed, "--draw", "5") for seed in "01")
    assert counts(first) == counts(other)
    for name in ("many", "costly", "both"):
        assert {case for case in first if name in case} != {case for case in other if name in case}
    assert {*first, *other} < {*every}


@pytest.mark.parametrize(
    ("draw", "seed", "line"),
    [
        ("0", "0", "--draw: found 0, allowed: an integer from 1"),
        ("-1", "0", "--draw: found -1, allowed: an integer from 1"),
        ("5", "x", "FAIRLEAD_DRAW: found 'x', allowed: an integer from 0"),
    ],
)
def test_what_draws_nothing_is_refused(tmp_path: Path, draw: str, seed: str, line: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        collected(tmp_path, seed, "--draw", draw)
    assert line in refused.value.stderr
