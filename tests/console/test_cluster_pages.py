"""Clusters in the console: shares, a change that is looked at, previewed and made."""

import html
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from fairlead import Cluster, Store
from fairlead.console.jobs import ConsoleJob
from fairlead.console.pages import cluster as pages
from tests.console.running import Browser, RunningConsole, seen

MACHINES = [{"name": name, "weight": weight} for name, weight in (("a", 1), ("b", 1), ("c", 2))]
MARKUP = "\"'><script>alert(1)</script>&amp;"
FIELD = re.compile(r'<input type="hidden"(?: form="change")? name="([^"]+)" value="([^"]*)">')


@pytest.fixture(autouse=True)
def clusters(store: Store) -> None:
    store.keep_clusters(
        [
            Cluster.of("msmq", name="pool", destination=MACHINES),
            Cluster.of("fewest-pending", name="few", destination=[{"name": "x"}, {"name": "y"}]),
        ]
    )


def fields(page: str) -> dict[str, str]:
    """The hidden fields of the last form of a page, by name."""
    found = {name: html.unescape(value) for name, value in FIELD.findall(page)}
    return {key: value for key, value in found.items() if key != "token"}


def form(store: Store, name: str = "pool", **more: Any) -> dict[str, Any]:
    """The form of a cluster as its page has it, with what somebody has typed."""
    machines = store.pool(name).machines
    fields = {
        "name": name,
        "version": str(store.pool(name).version),
        "target": [machine.name for machine in machines],
        "weight": [str(machine.attributes.get("weight", "")) for machine in machines],
        "enabled": [machine.name for machine in machines if machine.attributes["enabled"]],
        "draining": [machine.name for machine in machines if machine.attributes["draining"]],
    }
    return {**fields, **more}


def rows(page: str, table: int = 0) -> list[str]:
    body = page.split("<tbody>")[table + 1].partition("</tbody>")[0]
    return [seen(row) for row in body.split("<tr>")[1:]]


def test_shares_against_weights_and_the_last_choices(console: RunningConsole, store: Store) -> None:
    for _ in range(9):
        store.next_destination("pool")
    victor = console.as_("victor")
    assert [row.split() for row in rows(victor.get("/clusters"))] == [
        ["few", "fewest-pending", "2", "2", "0", "0"],
        ["pool", "msmq", "3", "3", "9", "0"],
    ]
    page = victor.get("/cluster", name="pool")
    got = {machine.name: machine.sent for machine in store.pool("pool").machines}
    assert rows(page) == [
        f"{name} gets messages {weight} {got[name]} {got[name] / 9:.2%} {weight / 4:.2%} "
        f"{got[name] - weight * 9 / 4:+.1f}"
        for name, weight in (("a", 1), ("b", 1), ("c", 2))
    ]
    assert rows(page, 1)[2] == f"c {got['c']} 4.5 {got['c'] - 4.5:+.1f}"
    store.change("pool", "c", "draining", value=True)
    page = victor.get("/cluster", name="pool")
    assert "c draining is true 2" in rows(page)[2]
    assert "The cluster has changed since: none of them was made as it is now" in seen(page)
    assert [row.split()[:2] for row in rows(page, 1)] == [[name, f"{got[name]}"] for name in "abc"]
    assert "few" in victor.get("/cluster", 400, name="no such")


def test_what_is_pending_is_shown_where_it_decides(console: RunningConsole, store: Store) -> None:
    for _ in range(3):
        store.next_destination("few")
    page = console.as_("victor").get("/cluster", name="few")
    assert "Pending" in page
    assert [row.split()[-1] for row in rows(page)] == ["2", "1"]


def test_an_open_page_is_told_of_choices_and_changes(console: RunningConsole, store: Store) -> None:
    client = console.as_("victor").client

    def first() -> dict[str, str]:
        with client.stream("GET", "/live/cluster", params={"name": "pool"}) as answer:
            line = next(line for line in answer.iter_lines() if line)
        numbers: dict[str, str] = json.loads(line.removeprefix("data: "))["set"]
        return numbers

    store.next_destination("pool")
    store.change("pool", "a", "weight", 2)
    numbers = first()
    assert (numbers["list"], numbers["choices"], numbers["sent:c"]) == ("1", "1", "1")
    assert numbers["off:c"] == "+0.6"


def test_a_change_is_looked_at_and_made_by_name(console: RunningConsole, store: Store) -> None:
    dora = console.as_("dora")
    typed = form(store, weight=["7", "1", "2"], enabled=["a", "c"], draining=["c"])
    page = dora.post("/cluster/change", **typed)
    for line in (
        "weight of a: 1 becomes 7",
        "enabled of b: true becomes false",
        "draining of c: false becomes true",
    ):
        assert line in seen(page)
    assert store.pool("pool").version == 0
    page = dora.post("/cluster/apply", **fields(page))
    assert "Done; it counts from the next choice on." in seen(page)
    assert store.pool("pool").version == 1
    changed = [*store.journal(kind="changed")]
    assert {event.actor for event in changed} == {"dora"}
    page = console.as_("victor").get("/cluster/changes", name="pool")
    told = [row.split("UTC ")[1] for row in rows(page)]
    assert [line.partition(" dora")[0] for line in told[:3]] == [
        "1 draining of c became true",
        "1 enabled of b became false",
        "1 weight of a became 7",
    ]
    assert told[3].startswith("0 cluster pool began anew with a file")


def test_who_joins_and_who_leaves(console: RunningConsole, store: Store) -> None:
    dora = console.as_("dora")
    new = {"new_name": "d", "new_weight": "5", "new_address": "10.0.0.4", "removed": ["a"]}
    page = dora.post("/cluster/change", **form(store, **new))
    assert "d is added with weight 5, address 10.0.0.4" in seen(page)
    assert "a is removed for good; what was published to it stays in its queue" in seen(page)
    dora.post("/cluster/apply", **fields(page))
    machines = {each.name: each for each in store.pool("pool").machines}
    assert [*machines] == ["b", "c", "d"]
    assert machines["d"].address == "10.0.0.4"
    assert machines["d"].attributes["weight"] == 5


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ({}, "That changes nothing: the cluster is so already"),
        ({"weight": ["x", "1", "2"]}, "weight of a: found 'x', allowed: a whole number from 0 on"),
        ({"weight": ["-1", "1", "2"]}, "weight of a: found '-1', allowed"),
        ({"new_weight": "5"}, "The destination that you would add has no name"),
        ({"new_name": "a", "new_weight": "5"}, "found 'a' twice"),
        ({"removed": ["a", "b", "c"]}, "destination"),
        ({"version": "x"}, "version: found 'x'"),
        ({"weight": ["1"]}, "The form does not have a weight for each destination"),
    ],
)
def test_what_cannot_be_is_refused_before_it_is_asked(
    typed: dict[str, Any], line: str, console: RunningConsole, store: Store
) -> None:
    page = console.as_("dora").post("/cluster/change", 400, **form(store, **typed))
    assert line in seen(page)
    assert store.pool("pool").version == 0


def test_a_stale_page_changes_nothing_and_says_what_others_did(
    console: RunningConsole, store: Store
) -> None:
    dora = console.as_("dora")
    old = form(store, weight=["7", "1", "2"])
    page = dora.post("/cluster/change", **old)
    store.change("pool", "a", "weight", 3)
    for path, sent in (("/cluster/apply", fields(page)), ("/cluster/change", old)):
        refused = seen(dora.post(path, 409, **sent))
        assert "Cluster pool has changed since you looked: weight of a became 3 (by " in refused
        assert "Nothing was done" in refused
    assert store.pool("pool").machines[0].attributes["weight"] == 3


def test_either_all_of_a_change_is_made_or_nothing(console: RunningConsole, store: Store) -> None:
    proposal = {"changes": [["a", "weight", 9], ["b", "weight", -1]], "added": [], "removed": []}
    sent = {"name": "pool", "version": "0", "proposal": json.dumps(proposal)}
    dora = console.as_("dora")
    assert "-1" in dora.post("/cluster/apply", 400, **sent)
    for odd in ("{", "[]", '{"changes": 1}', '{"changes": [[1, 2, 3]]}', '{"added": [1]}'):
        refused = dora.post("/cluster/apply", 400, **{**sent, "proposal": odd})
        assert "The form does not say what is to be changed" in refused
    assert store.pool("pool").version == 0


def ended(job: ConsoleJob) -> bool:
    """Whether a job ends, which it does soon."""
    until = time.monotonic() + 10
    while job.ended is None and time.monotonic() < until:
        time.sleep(0.05)
    return job.ended is not None


def previewed(browser: Browser, page: str) -> str:
    """The page of a preview when it is done."""
    (link,) = set(re.findall(r"/live/preview\?id=([\w-]+)", page)) or {""}
    ends = time.monotonic() + 60
    while "It is being made" in page and time.monotonic() < ends:
        time.sleep(0.2)
        page = browser.get("/cluster/preview", id=link)
    return page


@pytest.mark.costly
def test_a_preview_tells_what_the_last_hour_would_have_been(
    console: RunningConsole, store: Store
) -> None:
    for k in range(40):
        store.publish("pool", k, id=f"p-{k}")
    settled = store.take("a")
    assert settled is not None
    with settled:
        assert [*settled]
    dora = console.as_("dora")
    page = dora.post("/cluster/change", **form(store, weight=["5", "1", "2"]))
    begun = dora.post("/cluster/preview", **fields(page), hours="1")
    page = previewed(dora, begun)
    assert rows(page) == ["a 10 10 25 +15", "b 10 10 5 -5", "c 20 20 10 -10"]
    assert "40 messages, decided again" in seen(page)
    assert "Of the 1 message of which the store knows how long they took" in seen(page)
    assert rows(page, 1) == ["As now 0 s 0 s 0 s 0 s 0", "With it 0 s 0 s 0 s 0 s 0"]
    assert store.pool("pool").version == 0
    (job,) = console.console.state.jobs.every()
    assert ended(job)
    assert job.result == "40 messages were decided again"
    assert "done" in seen(dora.get("/jobs"))
    assert "Change it now" not in console.as_("victor").get("/cluster/preview", id=id_of(begun))
    dora.post("/cluster/apply", **fields(page))
    page = dora.get("/cluster/preview", id=id_of(begun))
    assert "The cluster has been changed since" in page
    assert "weight of a: 1 becomes 5" in seen(page)


def id_of(page: str) -> str:
    found = re.search(r"/live/preview\?id=([\w-]+)", page)
    assert found is not None
    return found[1]


@pytest.mark.costly
def test_a_preview_without_anything_recorded_says_so(console: RunningConsole, store: Store) -> None:
    dora = console.as_("dora")
    page = dora.post("/cluster/change", **form(store, weight=["5", "1", "2"]))
    sent = fields(page)
    page = previewed(dora, dora.post("/cluster/preview", **sent, hours="0.25"))
    assert "found no decision of cluster 'pool' in that time" in html.unescape(page)
    store.publish("pool", 1, id="p-1")
    page = previewed(dora, dora.post("/cluster/preview", **fields(page), hours="24"))
    assert "1 message, decided again" in seen(page)
    assert "hours: found '7'" in html.unescape(
        dora.post("/cluster/preview", 400, **sent, hours="7")
    )
    assert "not remembered any more" in dora.get("/cluster/preview", 404, id="no-such")


def test_only_so_many_previews_are_made_at_one_time(
    console: RunningConsole, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "RUNNING", 0)
    dora = console.as_("dora")
    sent = fields(dora.post("/cluster/change", **form(store, weight=["5", "1", "2"])))
    assert "are being made already" in dora.post("/cluster/preview", 503, **sent)


@pytest.mark.parametrize("path", ["/cluster/change", "/cluster/apply", "/cluster/preview"])
def test_a_viewer_and_another_site_change_nothing(
    path: str, console: RunningConsole, store: Store
) -> None:
    proposal = json.dumps({"changes": [["a", "weight", 9]], "added": [], "removed": []})
    sent = {**form(store, weight=["9", "1", "2"]), "proposal": proposal, "hours": "1"}
    victor = console.as_("victor")
    assert "victor is a viewer" in victor.post(path, 403, **sent)
    page = victor.get("/cluster", name="pool")
    assert 'name="weight"' not in page
    assert "Look at what that changes" not in page
    dora = console.as_("dora").client
    assert dora.post(path, data=sent).status_code == 403
    assert dora.post(path, data={**sent, "token": "forged"}).status_code == 403
    assert dora.get(path, params={"id": "x"}).status_code in {404, 405}
    assert (store.pool("pool").version, console.console.state.jobs.every()) == (0, [])


@pytest.mark.costly
def test_names_of_others_are_never_markup(console: RunningConsole, store: Store) -> None:
    destination = [{"name": MARKUP, "weight": 1, "address": MARKUP, "queue": MARKUP}]
    store.keep_clusters([Cluster.of("msmq", name=MARKUP, destination=destination)])
    store.publish(MARKUP, 1)
    dora = console.as_("dora")
    change = dora.post("/cluster/change", **form(store, MARKUP, weight=["3"]))
    found = [dora.get("/clusters"), dora.get("/cluster", name=MARKUP), change]
    sent = fields(change)
    assert sent["name"] == MARKUP
    found.append(previewed(dora, dora.post("/cluster/preview", **sent)))
    found.append(dora.post("/cluster/apply", **sent))
    found.append(dora.post("/cluster/apply", 409, **sent))
    found.append(dora.get("/cluster/changes", name=MARKUP))
    found.append(dora.get("/cluster", 400, name=f"no {MARKUP}"))
    assert store.pool(MARKUP).machines[0].attributes["weight"] == 3
    for page in found:
        assert "<script>alert" not in page
        assert "alert(1)" in page


SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets"


def test_who_has_the_name_of_another_one_is_told_apart(
    console: RunningConsole, store: Store
) -> None:
    many = [{"name": "s", "subject": subject} for subject in ("/a", "/b")]
    store.keep_clusters([Cluster.of("smartsockets", name="news", subscriber=many)])
    dora = console.as_("dora")
    page = dora.get("/cluster", name="news")
    assert [row.split(" as messages say")[0] for row in rows(page)] == ["s of /a", "s of /b"]
    typed = {"name": "news", "version": "0", "target": ["subscriber:s@/a", "subscriber:s@/b"]}
    page = dora.post("/cluster/change", **typed, removed=["subscriber:s@/b"])
    dora.post("/cluster/apply", **fields(page))
    assert [machine.ref for machine in store.pool("news").machines] == ["subscriber:s@/a"]


@pytest.mark.parametrize("file", ["hangars", "newyork", "two-sites", "canary", "slow-start"])
def test_clusters_of_each_kind_have_a_page(
    file: str, console: RunningConsole, store: Store
) -> None:
    names = store.load_clusters(SNIPPETS / f"{file}.toml")
    for role in ("dora", "victor"):
        browser = console.as_(role)
        browser.get("/clusters")
        for name in names:
            page = browser.get("/cluster", name=name)
            assert len(rows(page)) == len(store.pool(name).machines)
