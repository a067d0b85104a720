"""Draw changes, try each, and print which survive."""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from random import Random

from . import python_changes, sql_changes
from .change import ROOMS, ROOT, Change, differing, files
from .covering import FOLDER, Covering
from .trial import Copy, Outcome


def main() -> int:
    """The status: 0 if all that was drawn is caught, 1 if something survives."""
    asked = _asked()
    if asked.cover or not FOLDER.exists():
        _cover(asked.jobs, asked.draw)
    covering = Covering()
    if asked.patches:
        drawn, name = patched(asked.patches), asked.patches.name
        print(f"{len(drawn)} changes, from {asked.patches}", flush=True)
    else:
        drawn, name = draw(asked.count, asked.seed, asked.room), str(asked.seed)
        print(f"{len(drawn)} changes, drawn by seed {asked.seed}", flush=True)
    outcomes = list(_tried(drawn, covering, asked, FOLDER / f"outcomes-{name}.jsonl"))
    _print(outcomes)
    return int(any(not each.caught_by for each in outcomes))


def draw(count: int, seed: int, rooms: list[str] | None = None) -> list[Change]:
    """So many changes, no two of one line: lines are drawn alike, then one change of each."""
    random = Random(seed)  # noqa: S311 - not a secret
    spots = []
    for room in rooms or ROOMS:
        for path in files(room):
            language = sql_changes if path.suffix == ".sql" else python_changes
            found = language.places((ROOT / path).read_text())
            spots += [(path, line) for line in sorted({place[0] for place in found})]
    random.shuffle(spots)
    drawn: list[Change] = []
    for path, line in spots:
        if len(drawn) == count:
            break
        change = _of_line(random, path, line)
        if change:
            drawn.append(change)
    return drawn


def patched(folder: Path) -> list[Change]:
    """The changes that somebody wrote: `*.patch`, each of one file of the source."""
    return [_of_patch(patch) for patch in sorted(folder.glob("*.patch"))]


def _of_patch(patch: Path) -> Change:
    lines = patch.read_text().splitlines()
    path = next(line.split()[1] for line in lines if line.startswith("+++ ")).partition("/")[2]
    before = (ROOT / path).read_text()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path
        copy.parent.mkdir(parents=True)
        copy.write_text(before)
        git = ["git", "apply", "--recount", "-C1", str(patch.resolve())]
        subprocess.run(git, cwd=folder, check=True)
        after = copy.read_text()
    line, old, new = differing(before, after)
    return Change(path, line, patch.name, old, new, after)


def _of_line(random: Random, path: Path, line: int) -> Change | None:
    """One change of a line, that makes another program."""
    text = (ROOT / path).read_text()
    if path.suffix == ".sql":
        spots = [place for place in sql_changes.places(text) if place[0] == line]
        return sql_changes.changed(str(path), text, random.choice(spots))
    found = [place for place in python_changes.places(text) if place[0] == line]
    return python_changes.changed(str(path), text, random.choice(found))


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many changes to draw")
    parser.add_argument("--seed", type=int, default=1, help="what they are drawn by")
    parser.add_argument("--room", action="append", choices=list(ROOMS), help="only of this room")
    parser.add_argument("--patches", type=Path, help="a folder of *.patch instead, none is drawn")
    parser.add_argument("--jobs", type=int, default=2, help="how many are tried at once")
    parser.add_argument("--no-spark", action="store_true", help="run no tests that start Spark")
    parser.add_argument(
        "--draw", type=int, default=1, help="one in N cases, as `make test` has them"
    )
    parser.add_argument("--cover", action="store_true", help="learn anew which tests run a line")
    return parser.parse_args()


def _cover(jobs: int, draw: int) -> None:
    """Run the tests once, and write down what each of them runs."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "--timeout=1800"]
    command += ["-n", str(jobs), "--dist", "loadgroup", "-p", "tests.mutants.covering"]
    command += ["--draw", str(draw)]
    print("learning which tests run a line: one run of the tests under coverage", flush=True)
    subprocess.run(command, cwd=ROOT, check=False)


def _tried(
    drawn: list[Change], covering: Covering, asked: argparse.Namespace, kept: Path
) -> list[Outcome]:
    """Try each; what came out is kept line by line, so that a run that was ended goes on."""
    known = {}
    if kept.exists():
        for line in kept.read_text().splitlines():
            change, *rest = json.loads(line)
            known[tuple(change)] = Outcome(Change(*change), *rest)
    with tempfile.TemporaryDirectory(prefix="fairlead-mutants-") as folder:
        copies: Queue[Copy] = Queue()
        for k in range(asked.jobs):
            copies.put(Copy(Path(folder) / str(k), spark=not asked.no_spark, draw=asked.draw))

        def tried(change: Change) -> Outcome:
            if change in known:
                return known[change]
            copy = copies.get()
            try:
                tests = covering.tests(change.path, change.line)
                outcome = copy.tried(change, tests, covering.seconds)
            finally:
                copies.put(copy)
            with kept.open("a") as file:
                file.write(json.dumps(outcome) + "\n")
            print(_line(outcome), flush=True)
            return outcome

        with ThreadPoolExecutor(asked.jobs) as threads:
            return list(threads.map(tried, drawn))


def _line(outcome: Outcome) -> str:
    change = outcome.change
    caught = f"caught by {outcome.caught_by}" if outcome.caught_by else "SURVIVES"
    patch = f"{change.what}: " if change.what.endswith(".patch") else ""
    return f"{patch}{change.path}:{change.line}: {change.before} -> {change.after}: {caught}"


def _print(outcomes: list[Outcome]) -> None:
    """A table by room, then what survives."""
    drawn, caught = Counter[str](), Counter[str]()
    for outcome in outcomes:
        room = _room(outcome.change.path)
        drawn[room] += 1
        caught[room] += bool(outcome.caught_by)
    print(f"\n{'room':<20}{'drawn':>7}{'caught':>8}")
    for room in drawn:
        print(f"{room:<20}{drawn[room]:>7}{caught[room]:>8}")
    print(f"{'all':<20}{drawn.total():>7}{caught.total():>8}\n")
    for outcome in outcomes:
        if not outcome.caught_by:
            print(f"{_line(outcome)} ({outcome.tests} tests cover it)")


def _room(path: str) -> str:
    return next((room for room in ROOMS if Path(path) in files(room)), "elsewhere")


if __name__ == "__main__":
    raise SystemExit(main())
