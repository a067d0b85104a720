"""Charts, drawn by Vega-Lite in the page: specifications as plain data, made with Altair.

Text and lines take the page's own colour (`currentColor`), and areas are of middle tones, so a
chart is right on light, dark and paper. Legends stand in the page, where they can wrap.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import altair as alt

PALETTE: Final = (
    "#4e79c4", "#f0a030", "#3fa66b", "#e0645c", "#9b72cf", "#35a7b5",
    "#d9609f", "#a5895a", "#8fb03e", "#7d9be0", "#c77b30", "#5f8f8b",
)  # fmt: skip
"""Colours that differ on white and on black."""
OTHERS: Final = "#969ba3"
BAR: Final = PALETTE[0]
MARK: Final = "#e0645c"
TEXT: Final = "currentColor"
ROW: Final = 24
"""Height of a bar with its name, in pixels."""
LONGEST_LABEL: Final = 150
ROOM: Final = 1.3
"""The width of a chart of bars, in lengths of the longest."""
LABEL: Final = 0.35
"""The width of a bar's label on a phone, in lengths of the longest bar."""
HOURS: Final = {"hours": "%H:%M", "minutes": "%H:%M"}
"""How a time axis writes hours; Vega writes days and longer times."""

Spec = dict[str, Any]


@contextmanager
def unchecked() -> Iterator[None]:
    """Make charts without a look at Vega-Lite's schema for each part, to which tests hold them."""
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):
        yield


@dataclass(frozen=True)
class Layer:
    """A series of a stacked chart."""

    name: str
    colour: str
    counts: Sequence[int]


@dataclass(frozen=True)
class Mark:
    """A vertical line at a time; `label` stands above it, "" where there is no room."""

    at: float
    label: str
    text: str
    follows: bool = False
    """Whether it is a follow-up step: a fainter line."""


@dataclass(frozen=True)
class Axis:
    """Where the bins begin: milliseconds since the epoch (`dates`), or seconds."""

    starts: Sequence[float]
    width: float
    dates: bool


def stacked(
    layers: Sequence[Layer], axis: Axis, marks: Sequence[Mark], what: str, *, parts: bool
) -> Spec:
    """Bars over time, one on another; `parts`: as parts of the whole of each bin.

    `what`: what is counted.
    """
    import altair as alt

    kind, scale, along = time_axis(dates=axis.dates)
    label = f"format(datum.value, '{'.0%' if parts else '~s'}')"
    colours = alt.Scale(
        domain=[layer.name for layer in layers], range=[layer.colour for layer in layers]
    )
    bars = (
        alt.Chart(alt.InlineData(values=_stacked_rows(layers, axis, parts=parts)))
        .transform_calculate(
            end=f"datum.t + {axis.width!r}",
            when="utcFormat(datum.t, '%Y-%m-%d %H:%M:%S') + ' UTC'"
            if axis.dates
            else "format(datum.t, ',') + ' s'",
        )
        .mark_rect(aria=False)
        .encode(
            x=alt.X(f"t:{kind}", scale=scale, axis=along),
            x2="end",
            y=alt.Y("a:Q", axis=alt.Axis(title=None, labelExpr=label, tickCount=4)),
            y2="b",
            color=alt.Color("s:N", legend=None, scale=colours),
            tooltip=[
                alt.Tooltip("when:N", title="from"),
                alt.Tooltip("s:N", title="name"),
                alt.Tooltip("n:Q", title=what, format=","),
            ],
        )
    )
    return finished(260, bars, *(marked(marks, kind) if marks else ()))


def time_axis(*, dates: bool) -> tuple[str, alt.Scale, alt.Axis]:
    """The kind, scale and axis of a time."""
    import altair as alt

    scale = alt.Scale(nice=False, **({"type": "utc"} if dates else {"zero": False}))
    along = alt.Axis(
        title=None if dates else "seconds",
        tickCount=alt.ExprRef("max(2, width / 110)"),
        # Numbers as they are: what Vega would make of "g" is 1e+1 for 10.
        **({"format": HOURS} if dates else {"labelExpr": "format(datum.value, ',')"}),
        grid=False,
        labelFlush=True,
        labelOverlap="greedy",
    )
    return ("T" if dates else "Q"), scale, along


def _stacked_rows(layers: Sequence[Layer], axis: Axis, *, parts: bool) -> list[dict[str, Any]]:
    # A domain of dates would be an expression that Vega's interpreter reads as years. So rows of
    # no height span all bins, also those at the ends that are empty.
    ends = (axis.starts[0], axis.starts[-1])
    rows = [{"t": at, "s": layers[0].name, "n": 0, "a": 0, "b": 0} for at in ends]
    for k, start in enumerate(axis.starts):
        total = sum(layer.counts[k] for layer in layers)
        below = 0
        for layer in layers:
            n = layer.counts[k]
            if n:
                low, high = (
                    (below, below + n)
                    if not parts
                    else (round(below / total, 4), round((below + n) / total, 4))
                )
                rows.append({"t": start, "s": layer.name, "n": n, "a": low, "b": high})
                below += n
    return rows


def marked(marks: Sequence[Mark], kind: str) -> list[alt.Chart]:
    """The lines and their numbers; `kind`: of the axis."""
    import altair as alt

    rows = [
        {"t": mark.at, "label": mark.label, "text": mark.text, "f": mark.follows} for mark in marks
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=f"t:{kind}",
        tooltip=alt.Tooltip("text:N", title="change"),
    )
    lines = base.mark_rule(color=TEXT, strokeWidth=1.5, aria=False).encode(
        strokeDash=alt.condition("datum.f", alt.value([1, 3]), alt.value([4, 3])),
        opacity=alt.condition("datum.f", alt.value(0.6), alt.value(0.8)),
    )
    numbers = base.mark_text(y=-8, color=TEXT, fontWeight="bold", fontSize=12, aria=False).encode(
        text="label:N"
    )
    return [lines, numbers]


@dataclass(frozen=True)
class Bar:
    """A row of a chart of bars; `mark` is where its weight says it should end."""

    name: str
    value: float
    label: str
    mark: float | None = None


def _label_at(row: Bar, longest: float) -> float:
    """Where the label begins: at the end of its bar, unless it would lie on the mark."""
    if row.mark is None or row.mark < row.value or row.mark - row.value > longest * LABEL:
        return row.value
    return row.mark


def bars(rows: Sequence[Bar], colour: str = BAR) -> Spec:
    """Horizontal bars with their values, the first on top."""
    import altair as alt

    longest = max((max(row.value, row.mark or 0) for row in rows), default=0)
    values = [
        {"s": row.name, "v": row.value, "l": row.label, "m": row.mark, "f": _label_at(row, longest)}
        for row in rows
    ]
    base = alt.Chart(alt.InlineData(values=values)).encode(
        y=alt.Y(
            "s:N",
            sort=None,
            axis=alt.Axis(
                title=None, labelLimit=LONGEST_LABEL, ticks=False, domain=False, labelPadding=6
            ),
        ),
        tooltip=[alt.Tooltip("s:N", title="name"), alt.Tooltip("l:N", title="got")],
    )
    across = alt.Scale(domain=[0, longest * ROOM or 1], nice=False)
    filled = base.mark_bar(color=colour, height=alt.RelativeBandSize(0.62), aria=False).encode(
        x=alt.X("v:Q", axis=None, scale=across)
    )
    labels = base.mark_text(align="left", dx=6, color=TEXT, fontSize=12, aria=False).encode(
        x=alt.X("f:Q", scale=across), text="l:N"
    )
    ticks = (
        base.transform_filter("isValid(datum.m)")
        .mark_tick(color=TEXT, thickness=2, height=ROW * 0.8, aria=False)
        .encode(x=alt.X("m:Q", scale=across))
    )
    return finished(ROW * len(rows), filled, ticks, labels)


def finished(height: int, *layers: alt.Chart) -> Spec:
    """Layers as one chart in the page's style; `height` in pixels."""
    import altair as alt

    small = {"labelFontSize": 12, "labelColor": TEXT, "titleColor": TEXT, "titleFontSize": 12}
    spec: Spec = (
        alt.LayerChart(layer=list(layers))
        .properties(
            width="container",
            height=height,
            background="transparent",
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
            padding={"left": 2, "right": 2, "top": 4, "bottom": 2},
        )
        .configure(font="system-ui, sans-serif")
        .configure_view(stroke=None)
        .configure_axis(
            domainColor=TEXT,
            domainOpacity=0.4,
            tickColor=TEXT,
            tickOpacity=0.4,
            gridColor=TEXT,
            gridOpacity=0.12,
            titleFontWeight="normal",
            **small,
        )
        .to_dict(validate=False)
    )
    return spec


def program(draw: str) -> str:
    """Vega, Vega-Lite and what draws the page's charts, as one program.

    `draw`: JavaScript that knows the function `vegaEmbed`.
    """
    import altair as alt
    import vl_convert

    newest = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
    bundle: str = vl_convert.javascript_bundle(draw, vl_version=newest)
    # Inside a string of JavaScript both spellings are one; as HTML the first would end the script.
    return bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
