"""The report: one page about one run, made from the plain data that it left; no Spark in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fairlead.extras import need

NAME: Final = "report.html"


def check_installed() -> None:
    """Raise EnvironmentProblem where a package that makes pages is missing; loads nothing."""
    need("report", "report", ", or no report (--no-report)")


def render(summary: Mapping[str, Any]) -> str:
    """The page about a run, from the plain data of its `summary.json`.

    Raises UserError where the data is another, or has no `facts`.
    """
    from fairlead.report.page import whole
    from fairlead.results.summary import Summary
    from fairlead.web.charts import unchecked

    with unchecked():
        return whole(Summary.from_dict(summary))


def render_comparison(comparison: Mapping[str, Any]) -> str:
    """The page about a replay, from the plain data of its `comparison.json`.

    Raises UserError where the data is another, or has no `made`.
    """
    from fairlead.report.replayed.page import whole
    from fairlead.results.comparison import Comparison
    from fairlead.web.charts import unchecked

    with unchecked():
        return whole(Comparison.from_dict(comparison))


def render_recommendation(recommendation: Mapping[str, Any]) -> str:
    """The page about a search, from the plain data of its `recommendation.json`.

    Raises UserError where the data is another, or has no `made`.
    """
    from fairlead.report.recommended.page import whole
    from fairlead.results.recommendation import Recommendation
    from fairlead.web.charts import unchecked

    with unchecked():
        return whole(Recommendation.from_dict(recommendation))
