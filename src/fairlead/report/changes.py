"""What changed, and what the times between are called by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from fairlead.results.summary import ChangeStep, Phase, Summary
from fairlead.text import moment, visible

LONGEST_CHANGE: Final = 100


def numbers(phases: Sequence[Phase]) -> list[int]:
    """The number of the latest change before each; changes of one time have one number."""
    return list(accumulate(p.since is not None and not p.follows for p in phases))


def titles(phases: Sequence[Phase]) -> list[str]:
    """What each time between two steps is called."""
    headings = []
    step = 0
    for k, phase in zip(numbers(phases), phases, strict=True):
        step = step + 1 if phase.follows else 0
        if phase.since is None:
            headings.append("from the beginning")
        elif phase.follows:
            headings.append(f"follow-up step {step} after change {k}, since {moment(phase.since)}")
        else:
            headings.append(f"after change {k}, since {moment(phase.since)}")
    return headings


@dataclass(frozen=True)
class ListedChanges:
    """(time, changes) in order, what is said of others, and how many steps were follow-ups."""

    steps: Sequence[tuple[str, str]]
    left: str
    followed: int = 0


def listed(run: Summary) -> ListedChanges:
    """The changes of a dispatch."""
    changes = run.for_report.changes
    left = changes.times - len(changes.first)
    return ListedChanges(
        [(moment(step.time), in_words(step)) for step in changes.first],
        f"… {left:,} more in manifest.json" if left else "",
        sum(phase.follows for phase in run.phases),
    )


def in_words(step: ChangeStep) -> str:
    """The changes of one time."""
    changes = ", ".join(visible(change, LONGEST_CHANGE) for change in step.changes)
    return changes + (f" and {step.more:,} more" if step.more else "")
