"""The page about a replay: its sections."""

from __future__ import annotations

from fairlead.report.frame import framed
from fairlead.report.replayed import gains, queues, rest, scenarios, use, waits
from fairlead.report.replayed.headline import headline
from fairlead.report.replayed.shown import Shown
from fairlead.results.comparison import Comparison


def whole(found: Comparison) -> str:
    """The page as text."""
    shown = Shown(found.scenarios)
    sections = (
        scenarios.side_by_side(shown),
        gains.against_the_first(shown),
        waits.by_name(shown),
        queues.over_time(shown),
        use.by_destination(shown),
        rest.outcomes(found, shown),
        rest.reproduce(found, shown),
    )
    return framed(found.told, headline(found, shown), sections)
