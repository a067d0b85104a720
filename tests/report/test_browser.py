"""The page as people see it: in a browser, on a desktop, on a phone, in the dark, offline."""

import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.report.browser import Tab, browser, program
from tests.report.comparisons import changes, large, replayed, scenario
from tests.report.summaries import full, small

from fairlead import report

PROGRAM = program()
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="not here: chromium")
pytestmark = needs_browser

DRAWN = """[...document.querySelectorAll('figure[data-chart]')].map(figure => ({
    state: figure.dataset.chart,
    marks: figure.querySelectorAll('.chart svg [class*=mark-] :is(path, text)').length,
    width: figure.querySelector('.chart svg')?.getBoundingClientRect().right ?? 1e9,
}))"""
POLICY = re.compile(r"<meta http-equiv=[^>]*>")
WIDE = "document.documentElement.scrollWidth"
INK = "getComputedStyle(document.querySelector('.chart svg text')).fill"
PAPER = "getComputedStyle(document.querySelector('section')).backgroundColor"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    assert PROGRAM is not None
    with browser(PROGRAM, tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    seconds = small()
    seconds["facts"]["over_time"] |= {"start": 0, "width": 1_000_000}
    seconds["facts"]["period"] = {"first": 0, "last": 2_500_000}
    empty = small(over_time=None, period=None) | {
        "read": 0,
        "rows": 0,
        "outcomes": {},
        "phases": [],
    }
    content = {"small": small(), "full": full(), "seconds": seconds, "empty": empty}
    for name, summary in content.items():
        (folder / name).with_suffix(".html").write_text(report.render(summary), encoding="utf-8")
    return {name: (folder / name).with_suffix(".html") for name in content}


@pytest.mark.costly
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    "name",
    ["full", *(pytest.param(n, marks=pytest.mark.slow) for n in ("small", "seconds", "empty"))],
)
def test_it_is_drawn_and_fits(tab: Tab, pages: dict[str, Path], name: str, width: int) -> None:
    tab.open(pages[name], width)
    charts = tab.run(DRAWN)
    assert len(charts) == {"small": 2, "full": 15, "seconds": 2, "empty": 0}[name]
    for chart in charts:
        assert chart["state"] == "drawn"
        assert chart["marks"] >= 3
        assert chart["width"] <= width
    assert tab.run(WIDE) <= width
    assert tab.said() == []
    assert tab.requests() == [pages[name].as_uri()]


def test_everything_unfolded_still_fits_a_phone(tab: Tab, pages: dict[str, Path]) -> None:
    tab.open(pages["full"], 390)
    tab.run("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert tab.run(WIDE) <= 390


@pytest.fixture(scope="module")
def replays(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("replays")
    down = scenario("down", 12.0, changes=changes((60, "A enabled → false")), waiting=3)
    content = {
        "one": replayed(scenario("pool", 8.0)),
        "two": replayed(scenario("pool", 8.0), down),
        "large": large(),
    }
    for name, found in content.items():
        page = report.render_comparison(found)
        (folder / name).with_suffix(".html").write_text(page, encoding="utf-8")
    return {name: (folder / name).with_suffix(".html") for name in content}


@pytest.mark.costly
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize(
    ("name", "charts"),
    [
        ("two", 10),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("one", 9), ("large", 18))),
    ],
)
def test_a_replay_is_drawn_and_fits(
    tab: Tab, replays: dict[str, Path], name: str, charts: int, width: int
) -> None:
    tab.open(replays[name], width)
    drawn = tab.run(DRAWN)
    assert [chart["state"] for chart in drawn] == ["drawn"] * charts
    assert all(chart["marks"] >= 3 and chart["width"] <= width for chart in drawn)
    tab.run("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert tab.run(WIDE) <= width
    assert tab.run("document.title") == "/data/calls.csv: Fairlead report"
    assert tab.said() == []
    assert tab.requests() == [replays[name].as_uri()]


def test_charts_take_the_colours_of_day_and_night(tab: Tab, pages: dict[str, Path]) -> None:
    seen = {}
    for dark in (False, True):
        tab.open(pages["small"], 1280, dark=dark)
        seen[dark] = (tab.run(INK), tab.run(PAPER))
    assert seen[False][0] == "rgb(28, 36, 48)"
    assert seen[False][1] == "rgb(255, 255, 255)"
    assert seen[True][0] == "rgb(228, 232, 238)"
    assert seen[True][1] == "rgb(26, 32, 41)"


def test_names_stay_text(tab: Tab, pages: dict[str, Path]) -> None:
    tab.open(pages["full"], 1280)
    assert tab.run("document.title") == "/data/calls.csv: Fairlead report"
    assert tab.run("document.querySelectorAll('img, b > b, body > script').length") == 1
    assert "<b>bold</b> & \\u202ereversed" in tab.run("document.body.innerText")


def test_nothing_can_be_sent(tab: Tab, tmp_path: Path) -> None:
    """Even a program that got into the page could not call anybody."""
    called = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            called.append(self.path)
            self.send_response(204)
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Listener) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}"
        page = tmp_path / "page.html"
        page.write_text(report.render(small()), encoding="utf-8")
        tab.open(page, 1280)
        sent = f"fetch('{place}/data', {{mode: 'no-cors'}}).then(() => 'sent', () => 'refused')"
        assert tab.run(sent) == "refused"
        tab.run(f"document.body.append(Object.assign(new Image(), {{src: '{place}/image'}}))")
        tab.run("document.body.insertAdjacentHTML('beforeend', '<b onclick=\"document.title=1\">')")
        tab.run("document.body.lastChild.click()")
        assert tab.run("document.title") == "/data/calls.csv: Fairlead report"
        page.write_text(POLICY.sub("", report.render(small())), encoding="utf-8")
        tab.open(page, 1280)
        assert tab.run(sent) == "sent", "the test itself would not notice"
        server.shutdown()
    assert called == ["/data"]
