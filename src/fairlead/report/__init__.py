"""The report: one page about one run, made from the plain data that it left; no Spark in it."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from fairlead.errors import EnvironmentProblem

NAME: Final = "report.html"
NEEDS: Final = ("altair", "jinja2", "vl_convert")


def check_installed() -> None:
    """Raise EnvironmentProblem where a package that makes pages is missing; loads nothing."""
    missing = [name for name in NEEDS if find_spec(name) is None]
    if missing:
        raise EnvironmentProblem(
            f"the report needs packages that are not installed: {', '.join(missing)}; install "
            "fairlead anew (pip install fairlead), or use --no-report"
        )


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
