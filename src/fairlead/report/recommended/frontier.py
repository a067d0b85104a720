"""The frontier: what it costs to wait less."""

from __future__ import annotations

from fairlead.report.replayed.wait_axis import wait_axis
from fairlead.results.recommendation import Recommendation
from fairlead.text import length, visible
from fairlead.web.charts import MARK, OTHERS, PALETTE, Layer, finished
from fairlead.web.parts import Figure, table

MET, MISSED = "meets the target", "misses it"
HEIGHT = 300
NOW = "as in the file"


def frontier(recommendation: Recommendation) -> Figure | None:
    """Cost against the target's measure, of what was tried to the end; None: too few of them."""
    import altair as alt

    whole = [trial for trial in recommendation.tried if trial.seen >= 1]
    if len(whole) < 2:
        return None
    axis = wait_axis([recommendation.limit, *(trial.value for trial in whole)])
    chosen = min(whole, key=lambda each: (each.said != recommendation.said, each.cost))
    rows = [
        {
            "x": trial.cost,
            "y": axis.place(trial.value),
            "met": MET if trial.met else MISSED,
            "on": trial.frontier,
            "said": ", ".join(map(visible, trial.said)) or NOW,
            "wait": length(trial.value),
            "label": recommendation.then.name if trial is chosen else NOW if not trial.said else "",
        }
        for trial in whole
    ]
    colours = alt.Scale(domain=[MET, MISSED], range=[PALETTE[2], OTHERS])
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("x:Q", axis=alt.Axis(title="cost", tickCount=6), scale=alt.Scale(zero=False)),
        y=alt.Y("y:Q", scale=axis.scale, axis=axis.axis),
        tooltip=[
            alt.Tooltip("said:N", title="sets"),
            alt.Tooltip("x:Q", title="cost"),
            alt.Tooltip("wait:N", title="wait"),
        ],
    )
    line = base.transform_filter("datum.on").mark_line(
        interpolate="step-after", color=PALETTE[0], strokeWidth=1.5, aria=False
    )
    dots = base.mark_circle(size=50, opacity=0.8, aria=False).encode(
        color=alt.Color("met:N", scale=colours, legend=None)
    )
    rings = base.transform_filter("datum.label != ''").mark_point(
        size=180, color=MARK, strokeWidth=2, aria=False
    )
    names = base.transform_filter("datum.label != ''").mark_text(
        dx=14, align="left", fontSize=12, color=MARK, aria=False
    )
    limit = (
        alt.Chart(
            alt.InlineData(
                values=[{"y": axis.place(recommendation.limit), "t": recommendation.target}]
            )
        )
        .mark_rule(strokeDash=[4, 3], color=MARK, aria=False)
        .encode(y=alt.Y("y:Q", scale=axis.scale), tooltip=alt.Tooltip("t:N", title="target"))
    )
    labelled = names.encode(text="label:N")
    on = [trial for trial in whole if trial.frontier]
    numbers = table(
        ["cost", "wait", "what is set"],
        [
            [f"{trial.cost:g}", length(trial.value), ", ".join(map(visible, trial.said)) or NOW]
            for trial in sorted(on, key=lambda each: each.cost)
        ],
        texts=3,
        left_in="recommendation.json",
    )
    return Figure(
        "Cost against wait",
        "Each dot is a cluster that was tried on the traffic of the search; on the line nothing "
        "cheaper waits less. Dashed: the target",
        finished(HEIGHT, limit, line, dots, rings, labelled),
        "Clusters as dots by cost and wait. The table has those on the line.",
        [Layer(MET, PALETTE[2], ()), Layer(MISSED, OTHERS, ())],
        numbers,
    )
