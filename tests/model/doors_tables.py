"""Doors to whole histories: tables in memory, the command line, Spark; many as clusters of one."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from fairlead import Change
from fairlead.cli.app import run
from tests import engines
from tests.engines import Decided, Row
from tests.replay.engines import Attempt, oracle

from .histories import decide
from .history_worlds import History


def expected(history: History) -> Decided:
    """What the model decides."""
    return [(each.destination, each.outcome, each.sequence) for each in decide(*history)[0]]


def expected_attempts(history: History) -> list[Attempt]:
    """What a plain replay tells, where the live balancer says who."""
    return oracle(*history)


def toml(value: Any) -> str:
    """A value as a file of TOML has it, on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def written(folder: Path, histories: Sequence[History]) -> tuple[Path, Path, Path]:
    """Messages, clusters and changes of all histories, as files."""
    _, rows, changes = engines.together(histories)
    plain = [{**cluster, "name": f"case-{k}"} for k, (cluster, _, _) in enumerate(histories)]
    messages, clusters = folder / "messages.parquet", folder / "clusters.toml"
    pq.write_table(engines.table(rows[::-1]), messages)
    clusters.write_text("\n".join(f"[[cluster]]\n{body(each)}" for each in plain))
    happened = folder / "changes.jsonl"
    happened.write_text("\n".join(json.dumps(line(change)) for change in changes) + "\n")
    return messages, clusters, happened


def body(plain: Row) -> str:
    return "\n".join(f"{key} = {toml(value)}" for key, value in plain.items())


def line(change: Change) -> Row:
    found = {"time": float(change.time), "target": change.target, "attribute": change.attribute}
    value = change.value
    said = str(value).lower() if isinstance(value, bool) else value
    return {**found, "value": "" if said is None else str(said)}


def commanded(
    folder: Path, histories: Sequence[History], command: str, engine: str = "memory"
) -> list[Row]:
    """The rows that the command line writes."""
    messages, clusters, changes = written(folder, histories)
    out = folder / f"{command}-{engine}"
    arguments = [command, str(messages), "-c", str(clusters), "--changes", str(changes)]
    arguments += ["-o", str(out), "--engine", engine, "--no-report", "--format", "parquet"]
    assert not run(arguments)
    files = sorted(out.rglob("decisions/*.parquet"))
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def by_history(rows: Sequence[Row], histories: Sequence[History]) -> list[dict[str, list[Row]]]:
    """The rows of each history, by the message's own id."""
    found: list[dict[str, list[Row]]] = [{} for _ in histories]
    for row in rows:
        case, _, own = row["id"].partition("/")
        found[int(case)].setdefault(own, []).append(row)
    return found


def dispatched(folder: Path, histories: Sequence[History], engine: str) -> list[Decided]:
    """The decisions of `fairlead dispatch`, for each history."""
    answers = []
    rows = by_history(commanded(folder, histories, "dispatch", engine), histories)
    for (_, messages, _), own in zip(histories, rows, strict=True):
        found: Decided = []
        for message in engines.in_order(messages):
            copies = sorted(own[message["id"]], key=lambda row: (row["destination"] or "").encode())
            found += [(row["destination"], row["outcome"], row["sequence"]) for row in copies]
        answers.append(found)
    return answers


def replayed(
    folder: Path, histories: Sequence[History], engine: str
) -> list[list[tuple[Any, ...]]]:
    """The attempts of `fairlead replay`, for each history."""
    rows = by_history(commanded(folder, histories, "replay", engine), histories)
    return [sorted(attempt(each) for row in own.values() for each in row) for own in rows]


def attempt(row: Row) -> tuple[Any, ...]:
    """As far as times do not matter."""
    name = row["id"].partition("/")[2]
    known = (row["outcome"], row["sequence"], row["reader"])
    found = (-1 if each is None else each for each in known)
    return (name, row["attempt"], row["destination"] or "", *found)


def told(attempts: Sequence[Attempt]) -> list[tuple[Any, ...]]:
    """The same of what a plain replay tells."""
    return sorted(
        attempt({**each._asdict(), "id": f"/{each.id}", "sequence": each.sequence})
        for each in attempts
    )
