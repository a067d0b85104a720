"""The page from plain data: its parts, its bounds, and texts that stay texts."""

import base64
import hashlib
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from tests.report.reading import Page, marks, rows
from tests.report.summaries import EVIL, HOUR, START, full, listed, series, share, small, words

import fairlead
from fairlead import report
from fairlead.errors import UserError

LARGEST_PAGE = 2_200_000
MAX_SERIES = 13
"""Twelve and the others."""
MAX_BINS = 150
MAX_ROWS = 50
PARTS = ["shares", "destinations", "outcomes", "streams", "policy", "reproduce"]


def page(summary: dict[str, Any]) -> Page:
    return Page(report.render(summary))


@pytest.fixture(scope="module")
def largest() -> Page:
    return page(full())


# --- parts -----------------------------------------------------------------------------------


def test_a_small_run_has_the_parts_that_say_something() -> None:
    found = page(small())
    assert list(found.parts) == ["header", *PARTS]
    assert "calls.csv under msmq" in found.parts["header"]
    assert "2026-03-02 00:00 UTC to 2026-03-02 02:59:59.999999 UTC" in found.parts["header"]
    assert "9 messages in = 9 decided + 0 rejected. Decided: 9 routed." in found.parts["outcomes"]
    assert "All messages are one stream." in found.parts["streams"]
    assert "Nothing changed in the cluster." in found.parts["destinations"]
    assert "disabled: destinations that are not enabled" in found.parts["policy"]
    for told in ("fairlead dispatch /data/calls.csv -c pool.toml", "6b8b1a0d", "4.3.0", "3.11.7"):
        assert told in found.parts["reproduce"]


def test_columns_in_which_nothing_stands_are_left_out() -> None:
    warm = {**listed("A", "", 1), "subject": "/news", "condition": "warm"}
    known = {**words(), "destinations": [warm]}
    found = page(small(policies={"number": 1, "shown": [known], "destinations": [1]}))
    assert "destinationconditionweightA@/newswarm1" in found.parts["policy"]
    assert "destinationaddressweightAhttp://a:11" in page(small()).parts["policy"]


def test_a_full_run_has_every_part(largest: Page) -> None:
    found = largest
    assert set(found.parts) == {"header", *PARTS, "levels", "groups"}
    assert "3,900 changes at 39 times" in found.parts["header"]
    assert "order inside groups is not promised" in found.parts["groups"]
    assert "The 20 busiest of 1,000,000 streams" in found.parts["streams"]
    assert "Around the changes" in found.parts["destinations"]
    assert "Rejected rows by reason" in found.parts["outcomes"]
    assert "280 more clusters in manifest.json" in found.parts["policy"]


def test_a_run_without_messages_has_a_page() -> None:
    nothing = small(over_time=None, period=None) | {
        "read": 0,
        "rows": 0,
        "outcomes": {},
        "phases": [],
    }
    found = page(nothing)
    assert "No message was decided." in found.parts["destinations"]
    assert found.specs == []


@pytest.mark.parametrize(
    ("number", "spread", "told"),
    [
        (3, 0, "3 groups; 0 of them (0.00%) had messages on more than one destination."),
        (3, 1, "destination: order inside groups is not promised."),
        (0, 0, "no routed message names one"),
    ],
)
def test_groups(number: int, spread: int, told: str) -> None:
    assert told in page(small(groups={"number": number, "spread": spread})).parts["groups"]


def test_every_chart_has_words_and_a_table_behind_it(largest: Page) -> None:
    found = largest
    figures = [given for tag, given in found.tags if tag == "figure"]
    drawn = [given for tag, given in found.tags if given.get("role") == "img"]
    assert len(figures) == len(drawn) == len(found.specs) == 15
    assert all(len(given["aria-label"] or "") > 20 for given in drawn)
    assert sum(tag == "details" for tag, _ in found.tags) >= 15


def test_one_of_anything_is_no_plural() -> None:
    policies = {"number": 2, "shown": [words()], "destinations": [1]}
    found = page(small(policies=policies) | {"read": 1, "rows": 1})
    assert "1 message in = 1 decided + 0 rejected." in found.parts["outcomes"]
    assert "… 1 more cluster in manifest.json" in found.parts["policy"]
    drawn = [str(given["aria-label"]) for _, given in found.tags if given.get("role") == "img"]
    assert "as stacked bars of 3 series, with 0 changes marked." in drawn[1]


def test_a_summary_without_facts_is_one_clear_line() -> None:
    plain = small()
    del plain["facts"]
    with pytest.raises(UserError, match="found no facts, allowed: "):
        report.render(plain)


def test_what_is_no_summary_is_one_clear_line() -> None:
    with pytest.raises(UserError, match="summary: Object missing required field `digest`"):
        report.render({"read": 9, "rejected": 0, "outcomes": {}, "rows": 9})


def test_a_stream_without_a_name_is_told_as_such() -> None:
    busiest = [{"name": "", "messages": 5}, {"name": "pool", "messages": 4}]
    found = page(small(streams={"number": 2, "busiest": busiest}))
    assert [row["s"] for row in rows(found.specs[2])] == ["1. (no name)", "2. pool"]
    assert "(no name)" in found.parts["streams"]


def test_destinations_beyond_those_listed_are_in_the_journal(largest: Page) -> None:
    assert "9,950 more in manifest.json" in largest.parts["policy"]


# --- the largest deviation -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ((4, 3, 2), "A got 44.44% where its weight says 33.33%: 11.11 points more, 1 message."),
        ((1, 1, 7), "C got 77.78% where its weight says 33.33%: 44.44 points more, 4 messages."),
        ((0, 4, 5), "A got 0.00% where its weight says 33.33%: 33.33 points less, 3 messages."),
        ((3, 3, 3), "Every share is what the weights say, to within one message."),
    ],
)
def test_the_largest_deviation_in_words(messages: tuple[int, ...], told: str) -> None:
    shares = [share(name, n, 9) for name, n in zip("ABC", messages, strict=True)]
    phases = [{"since": None, "follows": False, "messages": 9, "rows": 9, "shares": shares}]
    found = page(small() | {"phases": phases})
    assert told in found.parts["header"]
    assert told in found.parts["shares"]


def test_a_deviation_is_of_what_its_own_cluster_routed() -> None:
    """Others' messages, and those that went nowhere, are no part of it."""
    shares = [share(name, n, 9) for name, n in (("A", 4), ("B", 3), ("C", 2))]
    shares += [share(name, 3, 9, of="lab") for name in "DEF"]
    phases = [{"since": None, "follows": False, "messages": 25, "rows": 25, "shares": shares}]
    told = "got 44.44% where its weight says 33.33%: 11.11 points more, 1 message."
    assert told in page(small() | {"phases": phases}).parts["header"]


def test_less_than_a_message_is_no_deviation() -> None:
    shares = [share("A", 1, 2), share("B", 1, 2), share("C", 0, 2)]
    phases = [{"since": None, "follows": False, "messages": 2, "rows": 2, "shares": shares}]
    assert "to within one message" in page(small() | {"phases": phases}).parts["header"]


def test_policies_without_weights_are_not_held_against_any() -> None:
    unweighed = [{**share("A", 9, 9), "expected": None, "weight": None}]
    phases = [{"since": None, "follows": False, "messages": 9, "rows": 9, "shares": unweighed}]
    found = page(small() | {"phases": phases})
    assert "Shares are not compared with weights here" in found.parts["header"]
    assert "its share by weight" not in found.parts["shares"]


# --- over time -------------------------------------------------------------------------------


def test_bins_stand_where_they_are() -> None:
    found = page(small())
    drawn = [row for row in rows(found.specs[1]) if row["n"]]
    assert [(row["t"], row["s"], row["a"], row["b"]) for row in drawn] == [
        (START // 1_000, "A", 0, 2),
        (START // 1_000, "B", 2, 3),
        ((START + 2 * HOUR) // 1_000, "A", 0, 3),
        ((START + 2 * HOUR) // 1_000, "B", 3, 5),
        ((START + 2 * HOUR) // 1_000, "C", 5, 6),
    ]
    assert "Messages in each hour" in found.parts["destinations"]


def test_times_that_were_numbers_are_told_in_seconds() -> None:
    seconds = small()
    seconds["facts"]["over_time"] |= {"start": 0, "width": 500_000}
    seconds["facts"]["period"] = {"first": 0, "last": 1_250_000}
    found = page(seconds)
    assert "0 s to 1.25 s" in found.parts["header"]
    assert [row["t"] for row in rows(found.specs[1]) if row["n"]] == [0, 0, 1, 1, 1]
    assert "Messages in each 500 milliseconds" in found.parts["destinations"]


def test_each_outcome_of_a_decision_has_a_colour_of_its_own() -> None:
    outcomes = ("routed", "no-destination", "control", "refused", "lost")
    seen = small()["facts"]["over_time"]
    seen["outcomes"] = [series(outcome, [1, 0, 1]) for outcome in outcomes]
    scale = page(small(over_time=seen)).specs[2]["layer"][0]["encoding"]["color"]["scale"]
    assert scale["domain"] == [*outcomes]
    assert len(set(scale["range"])) == len(outcomes)


def phase(since: int, *, follows: bool = False) -> dict[str, Any]:
    return {
        "since": since,
        "follows": follows,
        "messages": 3,
        "rows": 3,
        "shares": [share("A", 3, 3)],
    }


def changed() -> dict[str, Any]:
    """Five changes at one time."""
    step = {"time": START + HOUR, "changes": ["A weight → 2", "B enabled → false"], "more": 3}
    plain = small(changes={"number": 5, "times": 1, "first": [step]})
    plain["phases"].append(phase(START + HOUR))
    return plain


def test_follow_up_steps_are_no_changes() -> None:
    plain = changed()
    plain["phases"] += [phase(START + (7 + k) * HOUR // 6, follows=True) for k in range(2)]
    found = page(plain)
    assert "through 5 changes at 1 time" in found.parts["header"]
    assert "Follow-up step 2 after change 1, since 2026-03-02 01:20 UTC" in found.parts["shares"]
    told = found.parts["destinations"]
    assert "2 follow-up steps came of that" in told
    assert "manifest.json" not in told
    assert [(mark["label"], mark["f"]) for mark in marks(found)] == [("1", False)]
    plain["phases"][1]["since"] -= 1
    assert [(mark["label"], mark["f"]) for mark in marks(page(plain))] == [("1", False), ("", True)]


def test_changes_that_are_left_out_are_counted() -> None:
    plain = changed()
    plain["facts"]["changes"]["times"] = 4
    assert "… 3 more in manifest.json" in page(plain).parts["destinations"]


def test_changes_are_marked_and_told() -> None:
    found = page(changed())
    listed = found.parts["destinations"]
    assert "2026-03-02 01:00 UTC: A weight → 2, B enabled → false and 3 more" in listed
    assert [(mark["t"], mark["label"]) for mark in marks(found)] == [((START + HOUR) // 1_000, "1")]


def test_changes_that_stand_close_share_their_numbers(largest: Page) -> None:
    found = largest
    drawn = marks(found)
    labels = [mark["label"] for mark in drawn if mark["label"]]
    assert len(drawn) == 39
    assert labels[0] == "1-5"
    assert len(labels) <= 12


def test_each_cluster_has_levels_of_its_own(largest: Page) -> None:
    figures = [given for tag, given in largest.tags if given.get("role") == "img"]
    told = [str(given["aria-label"]) for given in figures]
    assert [each.split(": Parts")[0] for each in told if ": Parts" in each] == [
        "shop: All the time",
        "shop: Around the changes",
        "lab<i>: All the time",
        "lab<i>: Around the changes",
    ]


def test_seconds_are_told_as_they_are() -> None:
    seconds = small()
    seconds["facts"]["over_time"] |= {"start": 0, "width": 5_000_000}
    axis = page(seconds).specs[1]["layer"][0]["encoding"]["x"]["axis"]
    assert "format" not in axis
    assert axis["labelExpr"] == "format(datum.value, ',')"


@pytest.mark.parametrize(
    ("got", "expected", "begins"), [(0.5, 0.6, 0.6), (0.5, 0.4, 0.5), (0.1, 0.9, 0.1)]
)
def test_a_label_stands_at_its_bar_and_not_on_the_mark(
    got: float, expected: float, begins: float
) -> None:
    shares = [{**share("A", 9, 9), "share": got, "expected": expected}, share("B", 0, 9)]
    phases = [{**small()["phases"][0], "shares": shares}]
    drawn = rows(page(small() | {"phases": phases}).specs[0])
    assert drawn[0]["f"] == begins


# --- bounds ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_ten_thousand_destinations_make_no_large_page() -> None:
    text = report.render(full())
    assert len(text.encode()) < LARGEST_PAGE
    found = Page(text)
    assert max(found.rows) <= MAX_ROWS
    for spec in found.specs:
        drawn = rows(spec)
        assert len({row["s"] for row in drawn}) <= max(MAX_SERIES, 20)
        assert len(drawn) <= MAX_SERIES * MAX_BINS + 2


def test_many_times_between_changes_are_a_table(largest: Page) -> None:
    found = largest
    assert "The 6 times with the most messages are drawn; all 40" in found.parts["shares"]


# --- texts stay texts ------------------------------------------------------------------------


def test_users_texts_are_never_markup(largest: Page) -> None:
    plain, evil = page(full(names=())), largest
    assert {tag for tag, _ in plain.tags} == {tag for tag, _ in evil.tags}
    assert "img" not in {tag for tag, _ in evil.tags}
    assert not [name for _, given in evil.tags for name in given if name.startswith("on")]
    assert len(evil.programs) == 1
    assert evil.title == "/data/calls.csv: Fairlead report"
    told = evil.parts["shares"]
    assert EVIL[1][:30] in told
    assert "a\\nb" in told
    assert "\\u202ereversed" in told


def test_an_evil_command_line_and_table_are_told_as_they_are() -> None:
    made = {**small()["facts"]["made"], "command": EVIL[0], "messages": f"x/{EVIL[1]}"}
    found = page(small(made=made, policies=_evil_policies()))
    assert EVIL[0] in found.parts["reproduce"]
    assert EVIL[0] in found.parts["policy"]
    assert found.title.startswith(f"x/{EVIL[1]}")
    assert len(found.programs) == 1


def _evil_policies() -> dict[str, Any]:
    return {"number": 1, "shown": [{**words(EVIL[0]), "about": EVIL[0]}], "destinations": [1]}


def test_names_that_look_alike_when_cut_stay_apart() -> None:
    long = [f"{'x' * 100}{k}" for k in range(3)]
    seen = small()["facts"]["over_time"]
    seen["destinations"] = [series(name, [1, 0, 1], of="pool") for name in long]
    found = page(small(over_time=seen))
    assert len({row["s"] for row in rows(found.specs[1])}) == 3


# --- alone -----------------------------------------------------------------------------------


def test_the_page_refers_to_nothing_and_may_load_nothing(largest: Page) -> None:
    found = largest
    for _, given in found.tags:
        assert not {"src", "href", "action", "srcset"} & set(given)
    policy = next(given["content"] for _, given in found.tags if "http-equiv" in given)
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert set(rules) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}
    digest = base64.b64encode(hashlib.sha256(found.programs[0].encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}'"


def test_the_style_loads_nothing() -> None:
    style = (files("fairlead.web") / "templates" / "page.css").read_text(encoding="utf-8")
    assert not re.search(r"url\(|@import", style)


def test_missing_packages_are_one_clear_line() -> None:
    source = Path(fairlead.__file__).parent.parent
    script = f"import sys; sys.path.insert(0, {str(source)!r}); from fairlead import report; "
    done = subprocess.run(
        [sys.executable, "-S", "-c", script + "report.check_installed()"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        "EnvironmentProblem: report: found no Altair, allowed: with it "
        '(pip install "fairlead[report]"), or no report (--no-report)'
    )


def test_messages_for_several_are_told_apart_from_rows() -> None:
    plain = small() | {"read": 4, "rows": 9}
    plain["phases"][0]["messages"] = 4
    found = page(plain)
    assert "decisions: routed" in found.parts["header"]
    assert "share of the decisions" in found.parts["shares"]
    assert "4 messages, 9 decisions." in found.parts["shares"]
    assert "Decisions in each hour" in found.parts["destinations"]
    assert "4 messages in = 4 decided + 0 rejected." in found.parts["outcomes"]
    assert "9 rows of decisions, one for each destination" in found.parts["outcomes"]
