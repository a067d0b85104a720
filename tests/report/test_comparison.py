"""The page about a replay, from plain data: what it says, its bounds, and texts that stay texts."""

from typing import Any

import pytest
from tests.report.comparisons import (
    changes,
    large,
    replayed,
    scenario,
    two,
    waits,
    worker,
)
from tests.report.reading import Page, marks, rows
from tests.report.summaries import EVIL, SECOND, START, Plain

from fairlead import report
from fairlead.errors import UserError

LARGEST_PAGE = 1_800_000
MAX_ROWS = 50
ALIKE: Plain = {
    "by_destination": [waits("A", 1.0), waits("B", 1.0)],
    "by_priority": [],
    "by_tenant": [],
}
PARTS = ["scenarios", "gains", "waits", "courses", "queues", "use", "outcomes", "reproduce"]


def page(comparison: Plain) -> Page:
    return Page(report.render_comparison(comparison))


def head(*scenarios: Plain) -> str:
    return page(replayed(*scenarios)).parts["header"]


def drawn(found: Page, part: str) -> list[dict[str, Any]]:
    """The rows of the first chart of a part."""
    return rows(found.specs[_figures(found).index(part)])


def _figures(found: Page) -> list[str]:
    """The part in which each figure stands."""
    inside, told = "", []
    for tag, given in found.tags:
        if tag == "section":
            inside = str(given["aria-labelledby"])
        if tag == "figure":
            told.append(inside)
    return told


@pytest.fixture(scope="module")
def largest() -> Page:
    return page(large())


# --- parts -----------------------------------------------------------------------------------


def test_two_scenarios_have_every_part() -> None:
    found = page(two())
    assert list(found.parts) == ["header", *PARTS]
    assert found.title == "/data/calls.csv: Fairlead report"
    assert "calls.csv in 2 scenarios" in found.parts["header"]
    assert "203 messages in = 200 replayed + 3 rejected." in found.parts["outcomes"]
    for told in (
        "fairlead replay /data/calls.csv -c pool.toml",
        "digest of more",
        "4.3.0",
        "4.5 s",
    ):
        assert told in found.parts["reproduce"]


def test_one_scenario_is_held_against_none() -> None:
    found = page(replayed(scenario("pool", 8.0)))
    assert list(found.parts) == ["header", *(each for each in PARTS if each != "gains")]
    told = (
        "“pool”: half of all messages wait 1 s or longer, one in a hundred waits 8 s or longer; "
        "the longest wait is 16 s."
    )
    assert told in found.parts["header"]


@pytest.mark.parametrize(
    ("messages", "p50", "p99", "longest", "told"),
    [
        (200, 0.0, 0.0, 0.0, "“pool”: no message waits."),
        (1, 0.0, 0.0, 0.0, "“pool”: no message waits."),
        (1, 5.0, 5.0, 5.0, "“pool”: its only message waits 5 s."),
        (200, 0.0, 0.0, 9.0, "at most one message in a hundred waits; the longest wait is 9 s."),
        (200, 0.0, 4.0, 9.0, "at least half of all messages do not wait, one in a hundred waits 4"),
        (20, 2.0, 9.0, 9.0, "“pool”: half of all messages wait 2 s or longer; the longest wait is"),
        (20, 9.0, 9.0, 9.0, "at least half of the messages wait 9 s, and none of them longer."),
    ],
)
def test_one_scenario_at_the_borders(
    messages: int, p50: float, p99: float, longest: float, told: str
) -> None:
    some = waits("", p99, messages) | {"p50": p50, "max": longest}
    found = head(scenario("pool", p99, waits=some, **ALIKE))
    assert told in found
    assert "Worst off" not in found, "all names wait alike"


def test_a_replay_of_nothing_has_a_page() -> None:
    nothing = {
        "messages": 0,
        "outcomes": {},
        "waits": waits("", 0.0, 0),
        "by_destination": [],
        "by_priority": [],
        "by_tenant": [],
        "workers": [worker("A", None)],
        "queue": None,
        "waits_over_time": None,
        "use": None,
    }
    found = page(replayed(scenario("pool", 1.0, **nothing), scenario("more", 1.0, **nothing)))
    assert "No message was started." in found.parts["header"]
    assert list(found.parts) == ["header", "scenarios", "outcomes", "reproduce"]


def test_what_is_measured_is_told_beside_it() -> None:
    told = page(two()).parts
    assert "A message waits from its time until its last attempt" in told["scenarios"]
    assert "Busy: the part of their time in which readers worked; " in told["scenarios"]
    assert "out of order if a later message started before an earlier one, at" in told["scenarios"]
    assert "readers count as available while their destination is down or" in told["use"]
    shared = scenario("pool", 8.0, groups=0, workers=[worker("A", None)])
    told = page(replayed(shared)).parts
    assert "Busy" not in told["scenarios"]
    assert "out of order" not in told["scenarios"]


def test_columns_of_the_table_in_which_nothing_stands_are_left_out() -> None:
    told = page(two()).parts["scenarios"]
    assert "scenariop99 waitmeanp50p90maxmessagesbusygroups out of order" in told
    assert "pool8 s2 s1 s4 s16 s200" in told
    again = scenario("pool", 8.0, waiting=1, redeliveries=2, failovers=3)
    assert "not startedredeliveredreleased" in page(replayed(again)).parts["scenarios"]


def test_what_a_scenario_differs_by_is_told() -> None:
    differs = ["gpu-3: readers 2", "<b>: failed from 10 s to 20 s"]
    found = page(replayed(scenario("pool", 8.0), scenario("more", 4.0, differs=differs)))
    told = found.parts["scenarios"]
    assert "poolnothing: the cluster file as it is" in told
    assert "moregpu-3: readers 2; <b>: failed from 10 s to 20 s" in told
    assert "differs by" not in page(two()).parts["scenarios"], "nobody said it of any"


def test_what_a_scenario_differs_by_is_bounded() -> None:
    many = scenario("more", 4.0, differs=[f"{'x' * 1_000}: weight {k}" for k in range(1_000)])
    told = page(replayed(many)).parts["scenarios"]
    assert "; … 988 more in comparison.json" in told
    assert len(told) < 5_000


def test_every_chart_has_words(largest: Page) -> None:
    figures = [given for tag, given in largest.tags if given.get("role") == "img"]
    assert len(figures) == len(largest.specs) >= 10
    assert all(len(given["aria-label"] or "") > 20 for given in figures)


def test_a_comparison_without_what_it_was_made_with_is_one_clear_line() -> None:
    plain = two()
    del plain["made"]
    with pytest.raises(UserError, match=r"comparison: found no made, allowed: .*--no-report"):
        report.render_comparison(plain)


def test_what_is_no_comparison_is_one_clear_line() -> None:
    with pytest.raises(UserError, match="comparison: Object missing required field `rejected`"):
        report.render_comparison({"read": 9})


# --- who waits least, who most, who is worst off ----------------------------------------------


def test_a_name_in_a_sentence_is_set_off() -> None:
    odd = scenario("a fifth more", 9.0, waiting=1, changes=changes((60, "A weight → 2")))
    found = page(replayed(scenario("as it is", 8.0), odd))
    for told in ("“a fifth more” waits most", "Worst off in “a fifth more”:", "wait: “as it is”"):
        assert told in found.parts["header"]
    assert "“a fifth more”: of 200 messages 1 not started" in found.parts["header"]
    assert "loses against “as it is”" in found.parts["gains"]
    assert "A weight → 2 (in “a fifth more”)" in found.parts["queues"]


def test_the_headline_says_by_how_much() -> None:
    told = head(scenario("pool", 8.0), scenario("more", 4.0), scenario("less", 20.0))
    assert "“more” waits least at p99: 4 s, 4 s (50%) less than “pool”." in told
    assert "“less” waits most: 20 s, 5 times as long." in told
    assert "Worst off in “less”: destination A, 30 s at p99." in told
    assert "Worst off in “more”: destination A, 6 s at p99." in told


@pytest.mark.parametrize(
    ("p99", "told"),
    [
        ((4.0, 8.0), "“a” waits least at p99: 4 s; “a” is the baseline. “b” waits most: 8 s"),
        ((3.0, 3.0), "At p99 all scenarios wait the same: 3 s."),
        ((0.0, 0.0), "No message waits in any scenario."),
        ((5.0, 0.0), "“b” waits least at p99: 0 s, 5 s (100%) less than “a”. “a” waits most: 5 s."),
        (
            (8.0, 4.0, 8.0),
            "“b” waits least at p99: 4 s, 4 s (50%) less than “a”. “a” and “c” wait most: 8 s",
        ),
    ],
)
def test_ties_and_waits_of_nothing(p99: tuple[float, ...], told: str) -> None:
    assert told in head(*(scenario("abc"[k], each) for k, each in enumerate(p99)))


def test_scenarios_at_the_borders() -> None:
    some = scenario("b", 0.0, waits=waits("", 0.0, 200) | {"max": 3.0})
    told = "At p99 no message waits in any scenario; the longest wait is 3 s, in “b”."
    assert told in head(scenario("a", 0.0), some)
    none = scenario("c", 0.0, waits=waits("", 0.0, 0))
    assert "At p99 the 2 scenarios in which messages were started wait the same: 3 s." in head(
        scenario("a", 3.0), scenario("b", 3.0), none
    )
    told = head(scenario("a", 4.0), scenario("b", 3.999), scenario("c", 4.0), scenario("d", 4.0))
    assert "“b” waits least at p99: 4 s, 1 ms (under 1%) less than “a”. " in told
    assert "“a” and 2 more wait most: 4 s. Worst" in told


def test_a_short_wait_of_few_is_no_merit() -> None:
    down = scenario(
        "down", 1.0, waiting=120, outcomes={"routed": 160, "lost": 40, "rolled-back": 9}
    )
    told = head(scenario("pool", 8.0), down)
    assert "“down”: of 200 messages 40 lost, 120 not started. Waits do not count them." in told
    assert "“pool”: of" not in told


def test_names_alone_in_their_kind_are_not_worst_off() -> None:
    alone = {"by_destination": [waits("A", 90.0)], "by_priority": [waits("", 90.0)]}
    assert "Worst off" not in head(scenario("pool", 8.0, **alone))


def test_gains_and_losses_are_signed() -> None:
    more = scenario("more", 4.0, by_destination=[waits("A", 2.0), waits("B", 16.5)])
    found = page(replayed(scenario("pool", 8.0), more))
    assert "Who gains and who loses against “pool”" in found.parts["gains"]
    counted = "2 destinations and 2 priorities: 2 shorter, 1 longer, 1 the same"
    assert counted in found.parts["gains"]
    assert [(row["s"], row["l"]) for row in drawn(found, "gains")] == [
        ("all messages", "-4 s"),
        ("destination A", "-10 s"),
        ("no priority", "-5 s"),
        ("priority 5", "±0"),
        ("destination B", "+12.5 s"),
    ]


def test_charts_of_gains_have_one_scale() -> None:
    more = scenario("more", 4.0, by_destination=[waits("A", 2.0), waits("B", 16.5)])
    less = scenario("less", 80.0)
    found = page(replayed(scenario("pool", 8.0), more, less))
    assert "shorter (green) or longer (red); all on one scale." in found.parts["gains"]
    scales = [
        spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
        for spec in found.specs
        if "datum.v < 0" in str(spec)
    ]
    assert len(scales) == 2
    assert scales[0] == scales[1]
    low, high = scales[0]
    assert low < -10
    assert high > 108


@pytest.mark.parametrize(
    ("whole", "a", "b", "told"),
    [
        (7.9, 13.0, 5.0, True),
        (8.0, 13.0, 5.0, True),
        (8.1, 11.0, 3.0, True),
        (8.1, 13.0, 5.0, False),
        (7.9, 11.0, 5.0, False),
        (7.9, 12.0, 4.0, False),
    ],
)
def test_all_messages_that_contradict_their_parts_are_explained(
    whole: float, a: float, b: float, *, told: bool
) -> None:
    alike = {"by_priority": []}
    more = scenario("more", whole, by_destination=[waits("A", a), waits("B", b)], **alike)
    found = page(replayed(scenario("pool", 8.0, **alike), more)).parts["gains"]
    assert ("All messages do not follow these: their p99 is" in found) is told


def test_a_name_that_one_scenario_has_not_is_held_against_none() -> None:
    other = scenario("more", 4.0, by_destination=[waits("A", 2.0), waits("C", 2.0)])
    told = page(replayed(scenario("pool", 8.0), other)).parts["gains"]
    assert "destination A" in told
    assert "destination B" not in told
    assert "destination C" not in told


# --- charts ----------------------------------------------------------------------------------


def test_a_wait_of_nothing_has_a_place_on_a_logarithmic_scale() -> None:
    found = page(replayed(scenario("pool", 1.0)))
    spec = found.specs[0]
    axis, scale = (spec["layer"][0]["encoding"]["x"][key] for key in ("axis", "scale"))
    places = {row["q"]: row["x"] for row in rows(spec) if "x" in row}
    assert scale["type"] == "log"
    assert places["p50"] == axis["values"][0] > scale["domain"][0] > 0
    assert places["p99"] == 1.0
    assert axis["labelExpr"].endswith("' d'")
    assert "? '0' :" in axis["labelExpr"]


@pytest.mark.parametrize("p99", [0.0, 1e-6, 0.02, 3.0, 100.0, 5e3, 1e5, 1e9])
def test_every_axis_of_waits_has_ticks(p99: float) -> None:
    axis = page(replayed(scenario("pool", p99))).specs[0]["layer"][0]["encoding"]["x"]
    low, high = axis["scale"]["domain"]
    assert len(axis["axis"]["values"]) >= 2
    assert all(low <= tick <= high for tick in axis["axis"]["values"])


def test_queues_are_steps_from_the_beginning_of_each_bin_to_its_end() -> None:
    found = page(two())
    points = [row for row in drawn(found, "queues") if row["c"] == "pool"]
    assert [row["n"] for row in points] == [3, 7, 0, 0]
    assert [row["t"] for row in points] == [START // 1_000 + 60_000 * k for k in range(4)]
    assert "2026-03-02 00:01 UTC" in found.parts["queues"]


def test_waits_over_time_leave_out_what_nobody_was_started_in() -> None:
    found = page(two())
    points = [row for row in drawn(found, "courses") if row["c"] == "pool"]
    assert [row["n"] for row in points] == [8.0, None, 4.0, 4.0]
    assert "“pool” 8 s at most" in report.render_comparison(two())
    used = rows(found.specs[_figures(found).index("use") + 1])
    assert [row["n"] for row in used if row["c"] == "pool"] == [0.5, 1.0, None, None]


def test_waits_in_named_times_have_a_table() -> None:
    window = {"name": "rush", "start": START, "end": START + 90 * SECOND}
    inside = scenario("pool", 8.0, by_window=[waits("rush", 9.0, 7)])
    found = page(replayed(inside, windows=[window]))
    told = "rush: 2026-03-02 00:00 UTC to 2026-03-02 00:01:30 UTC"
    assert told in found.parts["windows"]
    assert "rushpool9 s" in found.parts["windows"]


def test_a_mean_is_told_with_its_fraction() -> None:
    queue = {"start": 0, "width": 30 * SECOND, "waiting": [1 / 600, 2.5, 12_345.6]}
    found = page(replayed(scenario("pool", 8.0, queue=queue)))
    assert [row["n"] for row in drawn(found, "queues")][:2] == [0.00166667, 2.5]
    assert all(each in found.parts["queues"] for each in ("0.00167", "2.5", "12,346"))


def test_times_that_were_numbers_are_told_in_seconds() -> None:
    queue = {"start": 0, "width": 30 * SECOND, "waiting": [5]}
    found = page(replayed(scenario("pool", 8.0, queue=queue)))
    assert [row["t"] for row in drawn(found, "queues")] == [0, 30]
    assert "The mean of each 30 seconds" in found.parts["queues"]


def test_changes_that_all_have_are_told_once() -> None:
    same = changes((60, "A enabled → false"))
    several = changes((60, "A enabled → false"), (120, "B weight → 2"))
    found = page(
        replayed(scenario("pool", 8.0, changes=same), scenario("more", 4.0, changes=several))
    )
    told = found.parts["queues"]
    assert told.count("A enabled → false") == 1
    assert "2026-03-02 00:01 UTC: A enabled → false2026" in told
    assert "2026-03-02 00:02 UTC: B weight → 2 (in “more”)" in told
    assert [mark["text"] for mark in marks(found)] == [
        "1: A enabled → false",
        "2: B weight → 2 (in “more”)",
    ]
    assert "Nothing changed in the clusters." in page(two()).parts["queues"]


def test_a_cluster_that_is_named_by_its_file_is_the_same_in_all_scenarios() -> None:
    names = {row["s"] for row in drawn(page(two()), "use")}
    assert names == {"A", "B"}
    several = [worker("A", 0.5, "shop"), worker("A", 0.7, "lab"), worker("B", None, "lab")]
    found = page(replayed(scenario("pool", 8.0, workers=several)))
    assert [(row["s"], row["v"]) for row in drawn(found, "use")] == [
        ("shop / A", 0.5),
        ("lab / A", 0.7),
    ]


def test_outcomes_are_drawn_where_there_are_several() -> None:
    told = page(two())
    assert "scenariorouted" in told.parts["outcomes"]
    lost = scenario("down", 8.0, outcomes={"routed": 150, "lost": 50})
    found = drawn(page(replayed(scenario("pool", 8.0), lost)), "outcomes")
    assert [(row["s"], row["c"], row["a"], row["b"]) for row in found] == [
        ("pool", "routed", 0, 1),
        ("down", "routed", 0, 0.75),
        ("down", "lost", 0.75, 1),
    ]


# --- bounds ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("scenarios", "names"), [(1_000, 10), (3, 10_000)])
@pytest.mark.slow
def test_many_scenarios_or_destinations_make_no_large_page(scenarios: int, names: int) -> None:
    text = report.render_comparison(large(scenarios, names))
    assert len(text.encode()) < LARGEST_PAGE
    found = Page(text)
    assert max(found.rows) <= MAX_ROWS
    assert max(len(rows(spec)) for spec in found.specs) <= 8 * 151


def test_what_is_left_out_is_counted(largest: Page) -> None:
    assert "… 950 more in comparison.json" in largest.parts["scenarios"]
    assert "8 of 1,000 scenarios are drawn" in largest.parts["scenarios"]
    assert "of 10 destinations" in largest.parts["waits"]
    assert "The same in 997 more scenarios: see comparison.json." in largest.parts["header"]
    assert "more in each scenario's manifest.json" in largest.parts["queues"]


def test_those_that_wait_least_and_most_are_always_there() -> None:
    many = [scenario(f"S{k}", 5.0 + (k == 71) - (k == 93)) for k in range(100)]
    found = page(replayed(*many))
    names = list(dict.fromkeys(row["s"] for row in rows(found.specs[0])))
    assert names == ["S0", "S1", "S2", "S3", "S4", "S5", "S71", "S93"]
    assert "S71" in found.parts["scenarios"]
    assert "“S93” waits least at p99: 4 s, 1 s (20%) less than “S0”." in found.parts["header"]


# --- texts stay texts ------------------------------------------------------------------------


def test_users_texts_are_never_markup(largest: Page) -> None:
    assert not {tag for tag, _ in largest.tags} & {"img", "b>"}
    assert not [name for _, given in largest.tags for name in given if name.startswith("on")]
    assert len(largest.programs) == 1
    assert EVIL[1][:30] in largest.parts["scenarios"]
    assert "\\u202ereversed" in largest.parts["waits"]


def test_names_that_look_alike_when_cut_stay_apart() -> None:
    found = page(replayed(*(scenario(f"{'x' * 100}{k}", 4.0 + k) for k in range(3))))
    assert len({row["s"] for row in rows(found.specs[0])}) == 3
