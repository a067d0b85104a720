"""Charts that hold scenarios against each other: specifications as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from fairlead.report.replayed.labels import labels
from fairlead.report.replayed.wait_axis import wait_axis
from fairlead.text import length
from fairlead.web.charts import (
    PALETTE,
    ROW,
    TEXT,
    Bar,
    Layer,
    Mark,
    Spec,
    finished,
    marked,
    time_axis,
)

if TYPE_CHECKING:
    import altair as alt

SIZES: Final = {"p50": 28, "p90": 50, "p99": 90}
"""Areas of the dots, in square pixels."""
OPACITIES: Final = {"p50": 0.45, "p90": 0.7, "p99": 1.0}
LANE: Final = 9
"""Height of a scenario's line beside those of others, in pixels."""
GAP: Final = 12
LESS: Final = PALETTE[2]
MORE: Final = PALETTE[3]
WIDEST: Final = 200
"""Of a label, in pixels: only one of wide letters is cut by it, at its end."""
LABEL: Final = 0.45
"""The room of a label on a phone, in lengths of all bars."""


@dataclass(frozen=True)
class PlotRow:
    """What a scenario has under one name: by what it is, its value."""

    name: str
    scenario: str
    values: dict[str, float]


def _named(rows: Sequence[PlotRow]) -> int:
    return len({row.name for row in rows})


def _height(rows: Sequence[PlotRow], lanes: int) -> int:
    return _named(rows) * max(ROW, LANE * lanes + GAP)


def _down() -> alt.Y:
    import altair as alt

    axis = alt.Axis(title=None, labelLimit=WIDEST, ticks=False, domain=False, labelPadding=6)
    return alt.Y("s:N", sort=None, axis=axis, scale=alt.Scale(paddingInner=0.15, paddingOuter=0.1))


def _colour(drawn: Sequence[Layer]) -> alt.Color:
    import altair as alt

    return alt.Color(
        "c:N",
        legend=None,
        scale=alt.Scale(
            domain=[layer.name for layer in drawn], range=[layer.colour for layer in drawn]
        ),
    )


def waits(rows: Sequence[PlotRow], drawn: Sequence[Layer], *, lanes: bool) -> Spec:
    """Dots on a line for each row: its waits in seconds, on a logarithmic scale.

    `lanes`: whether the scenarios of one name stand below each other.
    """
    import altair as alt

    short = labels([row.name for row in rows])
    axis = wait_axis([value for row in rows for value in row.values.values()])
    place = {layer.name: k if lanes else 0 for k, layer in enumerate(drawn)}
    values: list[dict[str, Any]] = []
    for row in rows:
        ends = (min(row.values.values()), max(row.values.values()))
        common = {"s": short[row.name], "w": row.name, "c": row.scenario, "o": place[row.scenario]}
        lines = {"a": axis.place(ends[0]), "b": axis.place(ends[1])}
        values.append({**common, **lines, "q": "line"})
        for what, value in row.values.items():
            values.append({**common, "q": what, "x": axis.place(value), "l": length(value)})
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=_down(), yOffset=alt.YOffset("o:O"), color=_colour(drawn)
    )
    along = alt.X("x:Q", axis=axis.axis, scale=axis.scale)
    tooltip = [
        alt.Tooltip("w:N", title="name"),
        *([alt.Tooltip("c:N", title="scenario")] if lanes else []),
        alt.Tooltip("q:N", title="wait"),
        alt.Tooltip("l:N", title="is"),
    ]
    line = (
        base.transform_filter("datum.q === 'line'")
        .mark_rule(strokeWidth=2, opacity=0.5, aria=False)
        .encode(x=alt.X("a:Q", axis=axis.axis, scale=axis.scale), x2="b")
    )
    dots = [
        base.transform_filter(f"datum.q === '{what}'")
        .mark_point(
            filled=True,
            size=SIZES[what] * (0.6 if lanes else 1),
            opacity=OPACITIES[what],
            aria=False,
        )
        .encode(x=along, tooltip=tooltip)
        for what in SIZES
        if any(what in row.values for row in rows)
    ]
    longest = (
        base.transform_filter("datum.q === 'max'")
        .mark_tick(thickness=2, height=ROW * 0.6, aria=False)
        .encode(x=along, tooltip=tooltip)
    )
    several = [longest] if any("max" in row.values for row in rows) else []
    return finished(_height(rows, len(drawn) if lanes else 1), line, *several, *dots)


def parts(rows: Sequence[PlotRow], drawn: Sequence[Layer], what: str) -> Spec:
    """Bars of parts of 1, those of one name below each other."""
    import altair as alt

    short = labels([row.name for row in rows])
    place = {layer.name: k for k, layer in enumerate(drawn)}
    values = [
        {
            "s": short[row.name],
            "w": row.name,
            "c": row.scenario,
            "o": place[row.scenario],
            "v": row.values[what],
        }
        for row in rows
    ]
    top = max([1.0, *(row.values[what] for row in rows)])
    axis = alt.Axis(title=None, format=".0%", tickCount=5, labelFlush=True, labelOverlap="greedy")
    base = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar(aria=False)
        .encode(
            y=_down(),
            yOffset=alt.YOffset("o:O"),
            color=_colour(drawn),
            x=alt.X("v:Q", axis=axis, scale=alt.Scale(domain=[0, top], nice=False)),
            tooltip=[
                alt.Tooltip("w:N", title="name"),
                alt.Tooltip("c:N", title="scenario"),
                alt.Tooltip("v:Q", title=what, format=".1%"),
            ],
        )
    )
    return finished(_height(rows, len(drawn)), base)


def stacks(layers: Sequence[Layer], names: Sequence[str]) -> Spec:
    """A bar for each name, divided into the layers' parts of it."""
    import altair as alt

    short = labels(names)
    totals = [sum(layer.counts[k] for layer in layers) for k in range(len(names))]
    values = []
    for k, name in enumerate(names):
        below = 0
        for layer in layers:
            n = layer.counts[k]
            if n:
                a, b = below / totals[k], (below + n) / totals[k]
                values.append(
                    {"s": short[name], "w": name, "c": layer.name, "a": a, "b": b, "n": n}
                )
                below += n
    axis = alt.Axis(title=None, format=".0%", tickCount=5, labelFlush=True, labelOverlap="greedy")
    base = (
        alt.Chart(alt.InlineData(values=values))
        .mark_bar(height=alt.RelativeBandSize(0.7), aria=False)
        .encode(
            y=_down(),
            color=_colour(layers),
            x=alt.X("a:Q", axis=axis, scale=alt.Scale(domain=[0, 1], nice=False)),
            x2="b",
            tooltip=[
                alt.Tooltip("w:N", title="scenario"),
                alt.Tooltip("c:N", title="outcome"),
                alt.Tooltip("n:Q", title="rows", format=","),
            ],
        )
    )
    return finished(ROW * len(names), base)


def differences(rows: Sequence[Bar], reach: Sequence[float]) -> Spec:
    """Horizontal bars to the left (less) or right (more) of nothing, each with its label.

    `reach`: the values that the scale has room for; charts that are compared have the same.
    """
    import altair as alt

    short = labels([row.name for row in rows])
    values = [{"s": short[row.name], "w": row.name, "v": row.value, "l": row.label} for row in rows]
    low, high = min(0.0, *reach), max(0.0, *reach)
    room = ((high - low) or 1.0) * LABEL
    right = any(value >= 0 for value in reach)
    ends = [low - room if low < 0 else low, high + room if right else high]
    across = alt.Scale(domain=ends, nice=False)
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=_down(),
        tooltip=[alt.Tooltip("w:N", title="name"), alt.Tooltip("l:N", title="p99")],
    )
    filled = base.mark_bar(height=alt.RelativeBandSize(0.62), aria=False).encode(
        x=alt.X("v:Q", axis=None, scale=across),
        color=alt.condition("datum.v < 0", alt.value(LESS), alt.value(MORE)),
    )
    middle = (
        alt.Chart(alt.InlineData(values=[{"v": 0}]))
        .mark_rule(color=TEXT, opacity=0.4, aria=False)
        .encode(x=alt.X("v:Q", scale=across))
    )
    beyond = base.encode(x=alt.X("v:Q", scale=across), text="l:N")
    texts = (
        beyond.transform_filter("datum.v < 0").mark_text(
            align="right", dx=-6, color=TEXT, fontSize=12, aria=False
        ),
        beyond.transform_filter("datum.v >= 0").mark_text(
            align="left", dx=6, color=TEXT, fontSize=12, aria=False
        ),
    )
    return finished(ROW * len(rows), filled, middle, *texts)


@dataclass(frozen=True)
class PlotLine:
    """A series over time: (place on the axis, value from there on); None where there is none."""

    name: str
    points: Sequence[tuple[float, float | None]]


@dataclass(frozen=True)
class Up:
    """What lines over time show upwards."""

    what: str
    """What the value is called beside it."""
    told: str
    """A value in words: an expression of `datum.n`."""
    axis: alt.Axis
    scale: alt.Scale


def lines(
    series: Sequence[PlotLine],
    drawn: Sequence[Layer],
    marks: Sequence[Mark],
    up: Up,
    *,
    dates: bool,
) -> Spec:
    """A line of steps for each series."""
    import altair as alt

    kind, scale, along = time_axis(dates=dates)
    values = [
        {
            "t": at,
            "c": curve.name,
            "n": value,
            "f": curve.name == drawn[0].name,
        }
        for curve in series
        for at, value in curve.points
    ]
    base = (
        alt.Chart(alt.InlineData(values=values))
        .transform_calculate(
            when="utcFormat(datum.t, '%Y-%m-%d %H:%M:%S') + ' UTC'"
            if dates
            else "format(datum.t, ',') + ' s'",
            told=up.told,
        )
        .encode(
            x=alt.X(f"t:{kind}", scale=scale, axis=along),
            y=alt.Y("n:Q", axis=up.axis, scale=up.scale),
            color=_colour(drawn),
        )
    )
    # The first is wider, so that it is seen below another one that is the same.
    line = base.mark_line(aria=False, interpolate="step-after").encode(
        strokeWidth=alt.condition("datum.f", alt.value(3), alt.value(1.5))
    )
    # A line tells only of its first point: these are not seen, and tell of theirs.
    points = base.mark_point(filled=True, size=60, opacity=0, aria=False).encode(
        tooltip=[
            alt.Tooltip("when:N", title="from"),
            alt.Tooltip("c:N", title="scenario"),
            alt.Tooltip("told:N", title=up.what),
        ]
    )
    return finished(260, line, points, *(marked(marks, kind) if marks else ()))
