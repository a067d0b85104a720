"""Reads the golden cases (`golden/*.toml`) and holds decisions against them.

A case has the keys

    name       what it shows
    cluster    exactly what stands in a user's cluster file
    messages   a count, or a list of tables of attributes; `time` (seconds) is by default the
               running number of the message, `id` m000000, m000001, …; `repeat = n` is n alike
    changes    a list of tables: time, target, attribute, value
    expect     picks      destinations in order, from position `from` (0) on: a list of names, or a
                          text in which blanks mean nothing, a dash is a message that got none, and
                          any other letter is looked up in `letters` (by default it is the name)
               counts     destination -> how many of all messages it got; nothing else got any
               outcomes   of all messages, in order; "routed*3" stands for three
               sequences  of all messages, in order
               receives   destination -> the sequences of the messages that it got; nothing else
                          got any (for messages that go to several)
               factors    (ibm-mq) channel -> its sequence factor at the end, as an exact fraction

"In order" is the order of routing: by time, then by id.
"""

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

SYSTEMS = ("msmq", "ibm-mq", "smartsockets", "nanomsg")
EVERYDAY = (
    "round-robin",
    "weighted",
    "fewest-pending",
    "hot-standby",
    "broadcast",
    "rendezvous",
    "priority-failover",
    "composed",
)
POLICIES = (*SYSTEMS, *EVERYDAY)
FILES = (*SYSTEMS, "everyday")
GOLDEN = Path(__file__).parent / "golden"

CASE_KEYS = {"name", "cluster", "messages", "changes", "expect"}
EXPECT_KEYS = {"picks", "from", "letters", "counts", "outcomes", "sequences", "receives", "factors"}


@dataclass(frozen=True)
class Case:
    """One golden case, its messages and changes written out."""

    name: str
    cluster: dict[str, Any]
    messages: list[dict[str, Any]]
    changes: list[dict[str, Any]]
    expect: dict[str, Any]

    def __str__(self) -> str:
        return self.name


def cases(system: str) -> list[Case]:
    """The golden cases of one file, in its order."""
    with (GOLDEN / f"{system}.toml").open("rb") as file:
        tables = tomllib.load(file)["case"]
    found = [_case(table) for table in tables]
    twice = [name for name, n in Counter(case.name for case in found).items() if n > 1]
    if twice:
        raise ValueError(f"{system}: several cases are called {twice[0]!r}")
    return found


def check(
    case: Case,
    decisions: Sequence[tuple[str | None, str, int]],
    factors: Mapping[str, Fraction] | None = None,
) -> None:
    """Assert what the case expects of its decisions (destination, outcome, sequence), in order.

    An engine that knows the sequence factors passes those, too; `factors` are held against the
    case only then."""
    destinations = [destination for destination, _, _ in decisions]
    expect = case.expect
    if "receives" in expect:
        got: dict[str, list[int]] = {}
        for name, _, sequence in decisions:
            if name is not None:
                got.setdefault(name, []).append(sequence)
        assert got == expect["receives"], f"{case.name}: wanted {expect['receives']}, got {got}"
    else:
        assert len(decisions) == len(case.messages), (
            f"{case.name}: {len(case.messages)} messages, but {len(decisions)} decisions"
        )
    if "picks" in expect:
        wanted = _picks(expect)
        start = expect.get("from", 0)
        _same_list(case, "destination", wanted, destinations[start : start + len(wanted)], start)
    if "counts" in expect:
        counts = Counter(name for name in destinations if name is not None)
        assert dict(counts) == expect["counts"], (
            f"{case.name}: wanted counts {expect['counts']}, got {dict(counts)}"
        )
    if "outcomes" in expect:
        _same_list(case, "outcome", _runs(expect["outcomes"]), [row[1] for row in decisions])
    if "sequences" in expect:
        _same_list(case, "sequence", expect["sequences"], [row[2] for row in decisions])
    if "factors" in expect and factors is not None:
        for channel, factor in expect["factors"].items():
            assert factors[channel] == Fraction(factor), (
                f"{case.name}: wanted factor {factor} of {channel}, got {factors[channel]}"
            )


def _case(table: dict[str, Any]) -> Case:
    name = table["name"]
    expect = table["expect"]
    unknown = (set(table) - CASE_KEYS) | (set(expect) - EXPECT_KEYS)
    if unknown:
        raise ValueError(f"{name}: unknown keys {sorted(unknown)}")
    if not set(expect) - {"from", "letters"}:
        raise ValueError(f"{name}: expects nothing")
    messages = table["messages"]
    changes = [
        {**change, "time": Fraction(str(change["time"]))} for change in table.get("changes", [])
    ]
    return Case(name, table["cluster"], _messages(messages), changes, expect)


def _messages(given: int | list[dict[str, Any]]) -> list[dict[str, Any]]:
    rows = [{"repeat": given}] if isinstance(given, int) else given
    messages: list[dict[str, Any]] = []
    for row in rows:
        attributes = {key: value for key, value in row.items() if key != "repeat"}
        for _ in range(row.get("repeat", 1)):
            running = len(messages)
            time = Fraction(str(row.get("time", running)))
            messages.append({"id": f"m{running:06d}", **attributes, "time": time})
    return messages


def _picks(expect: Mapping[str, Any]) -> list[str | None]:
    picks = expect["picks"]
    if isinstance(picks, list):
        return [None if name == "-" else name for name in picks]
    letters = expect.get("letters", {})
    return [
        None if letter == "-" else letters.get(letter, letter)
        for letter in picks
        if not letter.isspace()
    ]


def _runs(outcomes: list[str]) -> list[str]:
    written_out = []
    for outcome in outcomes:
        word, _, times = outcome.partition("*")
        written_out += [word] * int(times or 1)
    return written_out


def _same_list(
    case: Case, what: str, wanted: Sequence[object], got: Sequence[object], start: int = 0
) -> None:
    for place, (one, other) in enumerate(zip(wanted, got, strict=False)):
        assert one == other, (
            f"{case.name}: message {start + place}: wanted {what} {one!r}, got {other!r}\n"
            f"  wanted {list(wanted)}\n  got    {list(got)}"
        )
    assert len(wanted) == len(got), (
        f"{case.name}: wanted {len(wanted)} {what}s from message {start} on, got {len(got)}"
    )
