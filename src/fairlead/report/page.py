"""The page about a dispatch: its sections."""

from __future__ import annotations

from fairlead.report import over_time, rest
from fairlead.report.frame import framed
from fairlead.report.headline import headline
from fairlead.report.shares import shares
from fairlead.results.summary import Summary
from fairlead.text import Names


def whole(run: Summary) -> str:
    """The page as text."""
    names = Names(with_cluster=run.told.policies.number > 1)
    sections = (
        shares(run, names),
        over_time.destinations(run, names),
        over_time.levels(run, names),
        rest.outcomes(run),
        rest.groups(run),
        rest.streams(run),
        rest.policies(run),
        rest.reproduce(run),
    )
    return framed(run.told.made, headline(run, names), sections)
