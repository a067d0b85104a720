"""Pages of runs in which nothing, one or all of something has been decided, routed or started."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from rich.console import Console
from tests.report.comparisons import changes, replayed, scenario, waits, worker
from tests.report.reading import Page
from tests.report.summaries import HOUR, START, Plain, series, share, small

from fairlead import report
from fairlead.cli.diff import _print as print_diff
from fairlead.cli.dispatch import print_summary
from fairlead.cli.replay import print_comparison
from fairlead.cli.whatif import _print as print_whatif
from fairlead.results.comparison import Comparison
from fairlead.results.diff import Balance, Diff, Move
from fairlead.results.summary import Summary
from fairlead.results.whatif import RaiseEffect, Shift

OTHERS = ("no-destination", "control", "refused")
STEP = {"time": START + HOUR, "changes": ["A enabled → true"], "more": 0}


def dispatched(routed: int, others: int, *, weighed: bool = True, changed: bool = False) -> Plain:
    """A run of one destination: so many messages went there, and so many of each outcome did not.

    `changed`: those with another outcome came before a change, and the routed ones after it.
    """
    n = routed + others * len(OTHERS)
    before = n if not changed else others * len(OTHERS)
    one = share("A", 0, 1) if weighed else share("A", 0, 1) | {"expected": None, "weight": None}
    got = one | {"messages": routed, "share": 1.0 if routed else 0.0}
    # A destination that has no weight stands in no phase in which it got nothing.
    phases = [(None, before, one if changed else got), (START + HOUR, n - before, got)]
    bins = [[n, 0], [0, 0]] if not changed else [[before, 0], [0, n - before]]
    outcomes = {**({"routed": routed} if routed else {}), **dict.fromkeys(OTHERS[: 3 * others], 1)}
    seen: Plain | None = {
        "start": START,
        "width": HOUR,
        "destinations": [series("A", [0, routed], of="pool")] if routed else [],
        "outcomes": [series(name, bins[name == "routed"]) for name in outcomes],
        "levels": [series("1", [0, routed], of="pool")] if routed else [],
    }
    happened = {"number": 1, "times": 1, "first": [STEP]} if changed else None
    facts = {"changes": happened} if happened else {}
    plain = small(
        over_time=seen if n else None,
        around_changes=seen if n and changed else None,
        period={"first": START, "last": START + 2 * HOUR - 1} if n else None,
        streams={"number": min(n, 1), "busiest": [{"name": "pool", "messages": n}][: min(n, 1)]},
        groups={"number": min(routed, 1), "spread": 0},
        **facts,
    )
    return plain | {
        "read": n + 1,
        "rejected": 1,
        "rejections": {"time": 1},
        "outcomes": outcomes,
        "rows": n,
        "phases": [
            {
                "since": since,
                "follows": False,
                "messages": messages,
                "rows": messages,
                "shares": [each] if weighed or each["messages"] else [],
            }
            for since, messages, each in phases[: 1 + changed]
        ],
    }


def every_dispatch() -> Iterator[Plain]:
    for routed, others, weighed, changed in product(
        (0, 1, 5), (0, 1), (True, False), (True, False)
    ):
        yield dispatched(routed, others, weighed=weighed, changed=changed)


@pytest.mark.parametrize("plain", [*every_dispatch()])
def test_every_run_has_a_page_and_a_summary(
    plain: Plain, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Page(report.render(plain))
    assert "rejected" in found.parts["outcomes"]
    assert all(rows for spec in found.specs for rows in spec["datasets"].values()), "an empty chart"
    print_summary(Summary.from_dict(plain), "out")
    assert (
        f"in {plain['read']} = decided {plain['read'] - 1} + rejected 1" in capsys.readouterr().out
    )


@pytest.mark.parametrize("weighed", [True, False])
def test_where_nothing_is_routed_no_chart_and_no_share_is_shown(weighed: bool) -> None:
    found = Page(report.render(dispatched(0, 1, weighed=weighed)))
    none = "No message has a destination."
    assert none in found.parts["header"]
    assert none in found.parts["shares"]
    assert none in found.parts["destinations"]
    assert "weight" not in found.parts["header"]
    drawn = [str(given["aria-label"]) for _, given in found.tags if given.get("role") == "img"]
    assert [each.partition(":")[0] for each in drawn] == [
        "Outcomes over time",
        "Rejected rows by reason",
    ]


def test_a_time_in_which_nothing_is_routed_is_told_and_not_drawn() -> None:
    told = Page(report.render(dispatched(5, 1, changed=True))).parts["shares"]
    assert "After change 1, since 2026-03-02 01:00 UTC" in told
    assert "The times in which a message has a destination are drawn; all 2" in told
    assert "from the beginningNo message has a destination.3" in told


def every_scenario() -> Iterator[Plain]:
    """Waits of none, one and several; readers that are shared, idle or at work; one bin or more."""
    for started, used, queue in product((0, 1, 5), (None, 0.0, 1.0), (None, [0], [0.0, 2.5])):
        given: Plain = {
            "messages": 5,
            "outcomes": {"routed": started, "no-destination": 5 - started} if started else {},
            "waits": waits("", 0.0, started),
            "by_destination": [waits("A", 0.0, started)] if started else [],
            "by_priority": [],
            "by_tenant": [],
            "workers": [worker("A", used)],
            "queue": queue and {"start": START, "width": HOUR, "waiting": queue},
            "groups": 0,
            "changes": changes((60, "A enabled → false")),
        }
        yield scenario(f"{started} {used} {queue}", 0.0, **given)


@pytest.mark.parametrize("number", [1, 2, 18])
@pytest.mark.slow
def test_every_replay_has_a_page_and_a_summary(
    number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    every = list(every_scenario())
    for k in range(0, len(every), number):
        plain = replayed(*every[k : k + number])
        found = Page(report.render_comparison(plain))
        assert all(rows for spec in found.specs for rows in spec["datasets"].values())
        print_comparison(Console(width=1_000), Comparison.from_dict(plain), "out")
        assert "in 203 = replayed 200 + rejected 3" in capsys.readouterr().out


@pytest.mark.parametrize("both", [0, 1, 5])
@pytest.mark.parametrize("moved", [0, 1])
def test_every_comparison_of_runs_is_printed(
    both: int, moved: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    moved = min(both, moved)
    found = Diff(
        *(both, both, both, 0, 0, moved, moved, 0, 0, 0),
        started=both,
        destinations=[Balance("A", both, both - moved), Balance(None, 0, moved)][: both + moved],
        moves=[Move("A", None, moved)][:moved],
    )
    print_diff(found, str(tmp_path), str(tmp_path))
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith(f"moved: {moved} of {both}")
    assert ("destination  before  after  gains" in lines) == bool(both), "headings of nothing"


@pytest.mark.parametrize("waiting", [0, 1, 2])
@pytest.mark.parametrize("hurt", [0, 1])
def test_every_what_if_is_printed(
    waiting: int, hurt: int, capsys: pytest.CaptureFixture[str]
) -> None:
    raised = [Shift(f"m{k}", 1, 2.0, -1.0) for k in range(waiting)]
    print_whatif(
        RaiseEffect("g", waiting, raised, hurt, hurt, hurt, [Shift("h", 1, 1.0, 1.0)][:hurt], 0)
    )
    told = capsys.readouterr().out
    assert told.startswith("g: " + ("nothing of it" if not waiting else f"{waiting} message"))
