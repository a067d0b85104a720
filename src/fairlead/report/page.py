"""The page about a dispatch: what its template shows."""

from __future__ import annotations

from fairlead.report import changes, deviation, over_time
from fairlead.report.clusters import policies, streams
from fairlead.report.headline import headline
from fairlead.report.outcomes import outcomes
from fairlead.report.shares import shares
from fairlead.results.summary import Summary
from fairlead.text import ShortNames
from fairlead.web.pages import rendered


def whole(run: Summary) -> str:
    """The page as text."""
    facts = run.for_report
    names = ShortNames(with_cluster=facts.policies.number > 1)
    return rendered(
        "fairlead.report",
        "dispatch.html",
        run=run,
        made=facts.made,
        shares=shares(run, names),
        destinations=over_time.destinations(run, names),
        changes=changes.listed(run),
        levels=over_time.levels(run, names),
        outcomes=outcomes(run),
        groups=facts.groups,
        streams=streams(facts.streams),
        policies=policies(facts.policies),
        clusters=facts.policies.number,
        head=headline(run, names),
        nothing=deviation.NONE if run.decided else "No message was decided.",
    )
