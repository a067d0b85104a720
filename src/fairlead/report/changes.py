"""What changed, and what the times between are called by it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from fairlead.report.markup import Html, tag
from fairlead.results.summary import Phase, Step, Summary
from fairlead.text import moment, plural, visible

MOST_STEPS: Final = 8
"""Longer lists of changes are folded."""
LONGEST_CHANGE: Final = 100


def numbers(phases: Sequence[Phase]) -> list[int]:
    """The number of the latest change before each; changes of one time have one number."""
    return list(accumulate(p.since is not None and not p.follows for p in phases))


def titles(phases: Sequence[Phase]) -> list[str]:
    """What each time between two steps is called."""
    found = []
    step = 0
    for k, phase in zip(numbers(phases), phases, strict=True):
        step = step + 1 if phase.follows else 0
        if phase.since is None:
            found.append("from the beginning")
        elif phase.follows:
            found.append(f"follow-up step {step} after change {k}, since {moment(phase.since)}")
        else:
            found.append(f"after change {k}, since {moment(phase.since)}")
    return found


def listed(run: Summary) -> Html:
    """The changes as a numbered list."""
    changes = run.told.changes
    if not changes.first:
        return tag("p", "Nothing changed in the cluster.", class_="soft")
    items = [_step(step) for step in changes.first]
    folded = tag(
        "details",
        tag("summary", plural(len(items) - MOST_STEPS, "more change")),
        tag("ol", *items[MOST_STEPS:], class_="steps", start=MOST_STEPS + 1),
    )
    left = changes.times - len(items)
    followed = sum(phase.follows for phase in run.phases)
    of_itself = (
        f"{plural(followed, 'follow-up step')} came of that: parts of slow starts, or ends of "
        "fail-back delays."
    )
    return tag(
        "div",
        tag("h3", "What changed"),
        tag("ol", *items[:MOST_STEPS], class_="steps"),
        folded if len(items) > MOST_STEPS else "",
        tag("p", f"… {left:,} more in manifest.json", class_="soft") if left else "",
        tag("p", of_itself) if followed else "",
    )


def _step(step: Step) -> Html:
    changes = ", ".join(visible(change, LONGEST_CHANGE) for change in step.changes)
    more = f" and {step.more:,} more" if step.more else ""
    return tag("li", tag("b", moment(step.time)), f": {changes}{more}")
