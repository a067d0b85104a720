"""A stream that is killed again and again decides as one dispatch: nothing lost, nothing twice."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.spark]

POOL = """
policy = "weighted"
[options]
affinity = "group"
[[destination]]
name = "a"
weight = 3
[[destination]]
name = "b"
weight = 2
[[destination]]
name = "c"
"""
CHANGES = "time,target,attribute,value\n900,a,enabled,false\n2100,a,enabled,true\n"
COMMAND = [sys.executable, "-m", "fairlead", "dispatch"]
PLACES = ("in", "-c", "pool.toml", "--changes", "changes.csv", "--horizon", "1h")
ROWS = 50
"""Messages of a file, one a second of recorded time."""


def bring(folder: Path, number: int, *, more: bool = False) -> None:
    """A file of messages, whole; groups come back in later files.

    `more`: with a column that the stream did not begin with.
    """
    rows = [
        {"id": f"m{k}", "time": k, "group": f"g{k * 7919 % 400}"} | ({"size": 1} if more else {})
        for k in range(number * ROWS, (number + 1) * ROWS)
    ]
    hidden = folder / f".{number:05}"
    hidden.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    os.utime(hidden, (1_700_000_000 + number,) * 2)
    hidden.rename(folder / f"{number:05}.json")


@pytest.mark.parametrize(
    ("files", "pause", "life"),
    [(60, (0.5, 2.0), (8.0, 25.0)), (3600, (0.5, 0.5), (55.0, 65.0))],
    ids=["three minutes", "half an hour at a hundredfold speed, a kill each minute"],
)
def test_killed_again_and_again(
    tmp_path: Path, files: int, pause: tuple[float, float], life: tuple[float, float]
) -> None:
    """With kill -9 of all its processes, or of a Python worker, while files come in.

    `pause`, `life`: seconds between two files, and until the next kill; from, to.
    """
    random = Random(3)  # noqa: S311
    source = tmp_path / "in"
    source.mkdir()
    (tmp_path / "pool.toml").write_text(POOL, encoding="utf-8")
    (tmp_path / "changes.csv").write_text(CHANGES, encoding="utf-8")
    follow = [*COMMAND, *PLACES, "-o", "out", "--follow", "--files-a-batch", str(files // 15)]
    follow.append("--no-report")
    came, kills = 0, 0
    while came < files:
        with subprocess.Popen(
            [*follow, "--every", "100s" if kills == 0 else "0.1s"],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            until = time.monotonic() + random.uniform(*life)
            while time.monotonic() < until and process.poll() is None:
                if came < files:
                    bring(source, came)
                    came += 1
                time.sleep(random.uniform(*pause))
            if random.random() < 0.3:
                _kill_a_worker(process.pid)
                time.sleep(random.uniform(0, 3))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            kills += 1
    to_the_end = [*follow, "--available-now"]
    subprocess.run(to_the_end, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    _nothing_and_other_columns(source, files, to_the_end)
    subprocess.run(
        [*COMMAND, *PLACES, "-o", "one", "--no-report"],
        cwd=tmp_path,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    stream, one = (
        json.loads((tmp_path / name / "summary.json").read_text(encoding="utf-8"))
        for name in ("out", "one")
    )
    assert kills > 3
    assert stream["read"] == one["read"] == (files + 1) * ROWS
    assert stream["digest"] == one["digest"]
    written = [
        row["arrival"]
        for place in (tmp_path / "out/decisions").glob("batch=*/*.parquet")
        for row in pq.read_table(place, columns=["arrival"]).to_pylist()
    ]
    assert sorted(written) == list(range((files + 1) * ROWS))


def _nothing_and_other_columns(source: Path, number: int, command: list[str]) -> None:
    """Files without a row are no news; other columns end it until that file is taken away."""
    run = partial(subprocess.run, cwd=source.parent, capture_output=True, text=True)
    (source / "empty.json").touch()
    run(command, check=True)
    bring(source, number, more=True)
    ended = run(command, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "other columns than the stream began with (new: size" in ended.stderr
    assert "Traceback" not in ended.stderr
    (source / f"{number:05}.json").unlink()
    run(command, check=True)
    bring(source, number)
    (source / f"{number:05}.json").rename(source / f"{number:05}-mended.json")
    run(command, check=True)


def _kill_a_worker(session: int) -> None:
    """One of the Python processes that Java has started, if there is one."""
    mine = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (each / "cmdline").read_bytes()
            if b"pyspark.daemon" in words and os.getsid(int(each.name)) == session:
                mine.append(int(each.name))
    if mine:
        os.kill(max(mine), signal.SIGKILL)
