"""The beginning of the page: who waits least, who most, by how much, and who is worst off."""

from __future__ import annotations

from typing import Final

from fairlead.balance.message import CONTROL, ROUTED
from fairlead.comparison import Comparison, Scenario
from fairlead.replay.words import AGAIN
from fairlead.report.headline import short, tile
from fairlead.report.markup import Html, tag, together
from fairlead.report.replayed.shown import KINDS, LEFT_IN, Shown, called, waits_of
from fairlead.report.words import LONGEST_NAME, length, percent, plural, visible

MOST_WARNINGS: Final = 3


def headline(found: Comparison, shown: Shown) -> Html:
    """What a reader should know who reads nothing else."""
    number = plural(len(found.scenarios), "scenario")
    return tag(
        "header",
        tag("p", "Fairlead replay report", class_="soft"),
        tag("h1", f"{short(found.told.messages)} in {number}"),
        _tiles(found, shown),
        tag("p", " ".join(_told(shown)), class_="lead"),
        _warnings(shown),
    )


def _tiles(found: Comparison, shown: Shown) -> Html:
    tiles = [tile("messages in", f"{found.read:,}")]
    if found.rejected:
        tiles.append(tile("rejected", f"{found.rejected:,}", "bad"))
    least, most = shown.least, shown.most
    if least is not None and most is not None and least is not most:
        tiles.append(
            tile(f"least p99 wait: {shown.quoted(least)}", length(least.waits.p99), "good")
        )
        tiles.append(tile(f"most p99 wait: {shown.quoted(most)}", length(most.waits.p99), "bad"))
    elif least is not None:
        tiles.append(tile("p99 wait", length(least.waits.p99)))
        tiles.append(tile("mean wait", length(least.waits.mean)))
    used = [each.utilisation for each in found.scenarios if each.utilisation is not None]
    if used:
        span = percent(used[0]) if len(found.scenarios) == 1 else _span(min(used), max(used))
        tiles.append(tile("readers' utilisation", span))
    return tag("dl", *tiles, class_="tiles")


def _span(low: float, high: float) -> str:
    """Two parts of 1; one where they are told alike."""
    a, b = f"{low:.0%}", f"{high:.0%}"
    return a if a == b else f"{a} to {b}"


def _told(shown: Shown) -> list[str]:
    least, most = shown.least, shown.most
    if least is None or most is None:
        return ["No message was begun with."]
    if shown.begun == 1:
        return [_alone(shown, least), *_worst_off(shown, least)]
    if least.waits.p99 == most.waits.p99:
        told = [f"At p99 all scenarios wait the same: {length(least.waits.p99)}."]
        return [*told, *_worst_off(shown, least)]
    told = [f"{shown.quoted(least)} waits least at p99: {length(least.waits.p99)}{_less(shown)}."]
    told.append(f"{shown.quoted(most)} waits most: {length(most.waits.p99)}{_more(least, most)}.")
    return [*told, *_worst_off(shown, most), *_worst_off(shown, least)]


def _alone(shown: Shown, only: Scenario) -> str:
    waits = only.waits
    return (
        f"{shown.quoted(only)}: one message in a hundred waits longer than {length(waits.p99)}, half "
        f"of them longer than {length(waits.p50)}; the longest wait is {length(waits.max)}."
    )


def _less(shown: Shown) -> str:
    """By how much the least is better than the first scenario."""
    least, first = shown.least, shown.all[0]
    if least is None or not first.waits.messages:
        return ""
    if least is first:
        return ", and is the first scenario"
    less = first.waits.p99 - least.waits.p99
    if not less:
        return f", as does {shown.quoted(first)}"
    return f", {length(less)} ({less / first.waits.p99:.0%}) less than {shown.quoted(first)}"


def _more(least: Scenario, most: Scenario) -> str:
    if not least.waits.p99:
        return ""
    times = most.waits.p99 / least.waits.p99
    return f", {times:,.3g} times as long" if times < 1_000 else f", {times:,.0f} times as long"


def _worst_off(shown: Shown, scenario: Scenario) -> list[str]:
    """Whose messages wait longest in a scenario, among several."""
    names = {kind: waits_of(scenario, kind) for kind in KINDS}
    each = [
        (waits.p99, kind, waits)
        for kind, own in names.items()
        if len(own) > 1
        for waits in own.values()
    ]
    if not each:
        return []
    p99, kind, waits = max(each, key=lambda found: found[0])
    whom = called(kind, visible(waits.name, LONGEST_NAME))
    where = f" in {shown.quoted(scenario)}" if len(shown.all) > 1 else ""
    return [f"Worst off{where}: {whom}, {length(p99)} at p99."]


def _warnings(shown: Shown) -> Html | str:
    """Scenarios in which messages have no wait at all: a short wait is no merit there."""
    told = [told for each in shown.all if (told := _unserved(shown, each))]
    more = len(told) - MOST_WARNINGS
    if more > 0:
        told[MOST_WARNINGS:] = [f"So in {plural(more, 'more scenario')}, see {LEFT_IN}."]
    return together(tag("p", each, class_="warn") for each in told)


def _unserved(shown: Shown, scenario: Scenario) -> str:
    lost = {
        outcome: n
        for outcome, n in scenario.outcomes.items()
        if outcome not in {ROUTED, CONTROL, *AGAIN} and n
    }
    told = [f"{n:,} {outcome}" for outcome, n in lost.items()]
    if scenario.waiting:
        told.append(f"{scenario.waiting:,} not begun with")
    if not told:
        return ""
    of = plural(scenario.messages, "message")
    return f"{shown.quoted(scenario)}: of {of} {', '.join(told)}. Waits do not count them."
