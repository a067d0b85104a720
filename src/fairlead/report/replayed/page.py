"""The page about a replay: what its template shows."""

from __future__ import annotations

from fairlead.report.replayed import courses, gains, queues, scenarios, use, waits
from fairlead.report.replayed.headline import headline
from fairlead.report.replayed.outcomes import outcomes
from fairlead.report.replayed.shown import Shown
from fairlead.results.comparison import Comparison
from fairlead.text import moment
from fairlead.web.pages import rendered


def whole(comparison: Comparison) -> str:
    """The page as text."""
    shown = Shown(comparison.scenarios)
    return rendered(
        "fairlead.report",
        "replay.html",
        found=comparison,
        made=comparison.for_report,
        head=headline(comparison, shown),
        first=shown.quoted(shown.all[0]),
        left=shown.left,
        about=scenarios.about(shown),
        scenarios=shown.table([*scenarios.COLUMNS, *scenarios.MORE_COLUMNS], scenarios.cells),
        differences=scenarios.differences(shown),
        dots=scenarios.dots(shown),
        gains=gains.against_the_first(shown),
        waits=waits.by_name(shown),
        windows=waits.by_window(shown),
        named=[
            f"{window.name}: {moment(window.start)} to {moment(window.end)}"
            for window in comparison.windows
        ],
        phases=waits.by_phase(shown),
        courses=courses.waits(shown),
        queues=queues.over_time(shown),
        changes=queues.listed(shown),
        use=[*use.by_destination(shown), *courses.use(shown)],
        outcomes=outcomes(comparison, shown),
        digests=shown.table(["digest"], lambda scenario: [scenario.digest or ""], texts=2),
    )
