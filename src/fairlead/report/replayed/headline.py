"""The beginning of the page: who waits least, who most, by how much, and who is worst off."""

from __future__ import annotations

from typing import Final

from fairlead.balance.message import CONTROL, ROUTED
from fairlead.replay.words import AGAIN
from fairlead.report.headline import Head, short
from fairlead.report.replayed.shown import KINDS, LEFT_IN, Shown, called, waits_of
from fairlead.results.comparison import Comparison, ScenarioResult, Waits
from fairlead.text import LONGEST_NAME, length, percent, plural, visible
from fairlead.web.parts import Tile

MAX_WARNINGS: Final = 3


def headline(comparison: Comparison, shown: Shown) -> Head:
    """The headline of the page about a replay."""
    number = plural(len(comparison.scenarios), "scenario")
    return Head(
        "replay",
        f"{short(comparison.for_report.messages)} in {number}",
        _tiles(comparison, shown),
        " ".join(_sentences(shown)),
        _warnings(shown),
    )


def _tiles(comparison: Comparison, shown: Shown) -> list[Tile]:
    tiles = [Tile("messages in", f"{comparison.read:,}")]
    if comparison.rejected:
        tiles.append(Tile("rejected", f"{comparison.rejected:,}", "bad"))
    least, most = shown.least, shown.most
    if least is not None and most is not None and least is not most:
        tiles.append(
            Tile(f"least p99 wait: {shown.quoted(least)}", length(least.waits.p99), "good")
        )
        tiles.append(Tile(f"most p99 wait: {shown.quoted(most)}", length(most.waits.p99), "bad"))
    elif least is not None:
        tiles.append(Tile("p99 wait", length(least.waits.p99)))
        tiles.append(Tile("mean wait", length(least.waits.mean)))
    used = [
        scenario.utilisation
        for scenario in comparison.scenarios
        if scenario.utilisation is not None
    ]
    if used:
        span = percent(used[0]) if len(comparison.scenarios) == 1 else _span(min(used), max(used))
        tiles.append(Tile("readers' utilisation", span))
    return tiles


def _span(low: float, high: float) -> str:
    """Two parts of 1; one where they read alike."""
    a, b = f"{low:.0%}", f"{high:.0%}"
    return a if a == b else f"{a} to {b}"


def _sentences(shown: Shown) -> list[str]:
    least, most = shown.least, shown.most
    if least is None or most is None:
        return ["No message was started."]
    if len(shown.started) == 1:
        return [f"{shown.quoted(least)}: {_alone(least.waits)}.", *_worst_off(shown, least)]
    if least.waits.p99 == most.waits.p99:
        return [_all_the_same(shown, least.waits.p99), *_worst_off(shown, least)]
    sentences = [f"{_who(shown, least)} least at p99: {length(least.waits.p99)}{_less(shown)}."]
    sentences.append(f"{_who(shown, most)} most: {length(most.waits.p99)}{_more(least, most)}.")
    return [*sentences, *_worst_off(shown, most), *_worst_off(shown, least)]


def _alone(waits: Waits) -> str:
    """How long messages wait where nothing is to be held against it."""
    longest = length(waits.max)
    if not waits.max:
        return "no message waits"
    if waits.messages == 1:
        return f"its only message waits {longest}"
    if not waits.p99:
        return f"at most one message in a hundred waits; the longest wait is {longest}"
    if waits.p50 == waits.max:
        return f"at least half of the messages wait {longest}, and none of them longer"
    half = (
        f"half of all messages wait {length(waits.p50)} or longer"
        if waits.p50
        else "at least half of all messages do not wait"
    )
    # Of fewer than a hundred messages p99 is the longest wait.
    few = f", one in a hundred waits {length(waits.p99)} or longer" if waits.p99 < waits.max else ""
    return f"{half}{few}; the longest wait is {longest}"


def _all_the_same(shown: Shown, p99: float) -> str:
    """What is said where no scenario waits less at p99 than another."""
    every = len(shown.started) == len(shown.all)
    some = f"{len(shown.started)} scenarios in which messages were started"
    if p99:
        return f"At p99 {'all scenarios' if every else f'the {some}'} wait the same: {length(p99)}."
    where = "in any scenario" if every else f"in the {some}"
    longest = max(shown.started, key=lambda each: each.waits.max)
    if not longest.waits.max:
        return f"No message waits {where}."
    return (
        f"At p99 no message waits {where}; the longest wait is {length(longest.waits.max)}, in "
        f"{shown.quoted(longest)}."
    )


def _who(shown: Shown, scenario: ScenarioResult) -> str:
    """A scenario, those that wait as long at p99, and the verb."""
    same = [shown.quoted(peer) for peer in shown.started if peer.waits.p99 == scenario.waits.p99]
    if len(same) == 1:
        return f"{same[0]} waits"
    others = same[1] if len(same) == 2 else f"{len(same) - 1:,} more"
    return f"{same[0]} and {others} wait"


def _less(shown: Shown) -> str:
    """By how much the least is better than the first scenario."""
    least, first = shown.least, shown.all[0]
    if least is None or not first.waits.messages:
        return ""
    if least is first:
        return f"; {shown.quoted(first)} is the baseline"
    less = first.waits.p99 - least.waits.p99
    return f", {length(less)} ({_part(less / first.waits.p99)}) less than {shown.quoted(first)}"


def _part(part: float) -> str:
    """A part of 1 that is neither nothing nor, where it is not, all.

    >>> _part(0.5), _part(0.001), _part(0.999), _part(1.0)
    ('50%', 'under 1%', 'over 99%', '100%')
    """
    text = f"{part:.0%}"
    if text == "0%":
        return "under 1%"
    return "over 99%" if text == "100%" and part < 1 else text


def _more(least: ScenarioResult, most: ScenarioResult) -> str:
    if not least.waits.p99:
        return ""
    times = most.waits.p99 / least.waits.p99
    text = f"{times:,.3g}" if times < 1_000 else f"{times:,.0f}"
    return f", {text} times as long" if text != "1" else ""


def _worst_off(shown: Shown, scenario: ScenarioResult) -> list[str]:
    """Whose messages wait longest in a scenario, among several that do not wait alike."""
    names = {kind: waits_of(scenario, kind) for kind in KINDS}
    rows = [
        (waits.p99, kind, waits)
        for kind, by_name in names.items()
        if len({waits.p99 for waits in by_name.values()}) > 1
        for waits in by_name.values()
    ]
    if not rows:
        return []
    p99, kind, waits = max(rows, key=lambda found: found[0])
    whom = called(kind, visible(waits.name, LONGEST_NAME))
    where = f" in {shown.quoted(scenario)}" if len(shown.all) > 1 else ""
    return [f"Worst off{where}: {whom}, {length(p99)} at p99."]


def _warnings(shown: Shown) -> list[str]:
    """Scenarios in which messages have no wait at all: a short wait is no merit there."""
    warnings = [text for scenario in shown.all if (text := _unserved(shown, scenario))]
    more = len(warnings) - MAX_WARNINGS
    if more > 0:
        warnings[MAX_WARNINGS:] = [f"The same in {plural(more, 'more scenario')}: see {LEFT_IN}."]
    return warnings


def _unserved(shown: Shown, scenario: ScenarioResult) -> str:
    lost = {
        outcome: n
        for outcome, n in scenario.outcomes.items()
        if outcome not in {ROUTED, CONTROL, *AGAIN} and n
    }
    missing = [f"{n:,} {outcome}" for outcome, n in lost.items()]
    if scenario.waiting:
        missing.append(f"{scenario.waiting:,} not started")
    if not missing:
        return ""
    of = plural(scenario.messages, "message")
    return f"{shown.quoted(scenario)}: of {of} {', '.join(missing)}. Waits do not count them."
