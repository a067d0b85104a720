"""Outcomes and rejects, groups, streams, the policy in words, and how to make the run again."""

from __future__ import annotations

from typing import Final

from fairlead.balance.in_words import InWords
from fairlead.report.charts import PALETTE, Bar, bars
from fairlead.report.markup import Html, tag, together
from fairlead.report.over_time import outcomes as outcomes_over_time
from fairlead.report.parts import figure, numbers, section, table
from fairlead.results.summary import Summary
from fairlead.text import percent, plural, visible

MOST_REASONS: Final = 12
NAMELESS: Final = "(no name)"
NO_ORDER: Final = "order inside groups is not promised"


def outcomes(run: Summary) -> Html:
    """What became of the rows."""
    chart = outcomes_over_time(run)
    each = ", ".join(f"{n:,} {outcome}" for outcome, n in run.outcomes.items()) or "none"
    told = f"{run.read:,} messages in = {run.decided:,} decided + {run.rejected:,} rejected. "
    if run.several_each:
        told += f"{run.rows:,} rows of decisions, one for each destination of a message: {each}."
    else:
        told += f"Decided: {each}."
    return section(
        "outcomes",
        "Outcomes",
        tag("p", told),
        chart or "",
        _rejects(run) if run.rejected else "",
    )


def _rejects(run: Summary) -> Html:
    ordered = sorted(run.rejections.items(), key=lambda each: (-each[1], each[0]))
    rows = [Bar(visible(reason, 48), n, f"{n:,}") for reason, n in ordered[:MOST_REASONS]]
    listing = table(["reason", "rows"], [[visible(reason), f"{n:,}"] for reason, n in ordered])
    return figure(
        "Rejected rows by reason",
        "They stand in rejected/, each with what was found and what is allowed",
        bars(rows, PALETTE[3]),
        "Rejected rows by reason: " + ", ".join(f"{row.name} {row.label}" for row in rows),
        numbers(listing),
    )


def groups(run: Summary) -> Html | None:
    """Whether groups stayed together; None where there are none in the table."""
    found = run.told.groups
    if found is None:
        return None
    if not found.number:
        told = "The table has a column group, and no routed message names one."
        return section("groups", "Groups", tag("p", told))
    part = percent(found.spread / found.number)
    told = (
        f"{plural(found.number, 'group')}; {found.spread:,} of them ({part}) had messages on more "
        "than one destination"
    )
    if not found.spread:
        return section("groups", "Groups", tag("p", f"{told}."))
    warning = tag("p", f"{told}: ", tag("strong", NO_ORDER), ".", class_="warn")
    return section("groups", "Groups", warning)


def streams(run: Summary) -> Html:
    """The busiest streams."""
    found = run.told.streams
    about = "A stream is the messages of one cluster, and queue or subject: sequence counts them."
    if found.number < 2:
        told = f"{about} All messages are one stream." if found.number else about
        return section("streams", "Streams", tag("p", told))
    rows = [
        Bar(f"{k}. {visible(each.name, 40) or NAMELESS}", each.messages, f"{each.messages:,}")
        for k, each in enumerate(found.busiest, 1)
    ]
    shown = f"The {len(rows)} busiest of {found.number:,}" if len(rows) < found.number else "All"
    listing = table(
        ["stream", "messages"],
        [[visible(s.name) or NAMELESS, f"{s.messages:,}"] for s in found.busiest],
    )
    return section(
        "streams",
        "Busiest streams",
        figure(
            f"{shown} streams",
            about,
            bars(rows),
            f"Messages of {plural(len(rows), 'stream')} as bars, the busiest first.",
            numbers(listing),
        ),
    )


def policies(run: Summary) -> Html:
    """The effective policies, as `fairlead check` says them."""
    found = run.told.policies
    parts = [
        _in_words(words, total)
        for words, total in zip(found.shown, found.destinations, strict=True)
    ]
    left = found.number - len(parts)
    more = tag("p", f"… {left:,} more clusters in manifest.json", class_="soft") if left else ""
    return section("policy", "The policy in words", *parts, more)


def _in_words(words: InWords, total: int) -> Html:
    rows = [
        [
            visible(each.name if each.subject is None else f"{each.name}@{each.subject}"),
            visible(each.address),
            each.condition,
            "" if each.weight is None else f"{each.weight:,}",
            "" if each.share is None else percent(each.share),
        ]
        for each in words.destinations
    ]
    columns = ["destination", "address", "condition", "weight", "share"]
    listing = table(columns, rows, texts=3, total=total, left_in="manifest.json")
    return together(
        [
            tag("h3", f"{visible(words.cluster)}: {words.policy}"),
            tag("p", words.about),
            tag("ol", *(tag("li", visible(step)) for step in words.steps), class_="steps"),
            tag("p", visible(words.note)) if words.note else "",
            tag(
                "details",
                tag("summary", f"The {plural(total, 'destination')} at the beginning"),
                listing,
            ),
        ]
    )


def reproduce(run: Summary) -> Html:
    """How to make the same run again, and how to see that it is the same."""
    made = run.told.made
    rows = [
        ["messages", visible(made.messages)],
        ["messages in", f"{run.read:,}"],
        ["digest", run.digest],
        ["fairlead", made.fairlead],
        ["pyspark", made.pyspark],
        ["python", made.python],
        ["took", f"{run.seconds:,.1f} s, in {plural(run.blocks, 'block')}"],
    ]
    items = [tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in rows]
    return section(
        "reproduce",
        "The same again",
        tag("pre", tag("code", visible(made.command, 4_000))) if made.command else "",
        tag("p", "The same digest means the same decisions, message for message."),
        tag("div", tag("table", tag("tbody", *items)), class_="scroll"),
    )
