"""Only some of the events: the same as if all were read, and the rest left out."""

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from fairlead import Store
from fairlead.errors import MessageError
from fairlead.store.journal import events as journal
from tests.stores import Clock

SNIPPETS = Path(__file__).parents[2] / "docs" / "snippets"
SAID: dict[str, list[Any]] = {
    "queue": [None, "q", "other", "no such"],
    "group": [None, "a", "b"],
    "id": [None, "1", "no such"],
    "actor": [None, "clerk"],
    "kind": [None, "taken", "accepted", ("raised", "taken"), ["expired"]],
    "start": [None, 3, 5.5, "1970-01-01T00:00:07Z", 100],
    "end": [None, 6, 7.5],
}
NAMES = ("queue", "group", "id", "actor", "kind")


@pytest.fixture
def filled(url: str, opened: Callable[..., Store], clock: Clock) -> Store:
    clock.now = 0.0
    store = opened(url, clock=clock)
    for k in range(8):
        clock.now = float(k)
        store.send("q" if k % 3 else "other", k, group="abc"[k % 3], id=str(k))
        if k % 2:
            store.prioritise("q", "b", 200)
            work = store.take("q")
            if work is not None:
                with work:
                    assert [*work]
    return store


def _fits(wanted: Any, found: Any) -> bool:
    return wanted is None or found in (wanted if isinstance(wanted, list | tuple) else [wanted])


@pytest.mark.slow
def test_those_that_are_wanted_are_those_of_all_that_fit(
    filled: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "PAGE", 3)
    every = [*filled.journal()]
    assert {each.kind for each in every} >= {"sent", "taken", "accepted", "raised"}
    for values in product(*SAID.values()):
        which = dict(zip(SAID, values, strict=True))
        start = {None: 0, "1970-01-01T00:00:07Z": 7}.get(which["start"], which["start"])
        fit = [
            each
            for each in every
            if each.time >= start
            and (which["end"] is None or each.time < which["end"])
            and all(_fits(which[name], getattr(each, name)) for name in NAMES)
        ]
        assert [*filled.journal(**which)] == fit
        for back in (0, 1, 5):
            cursor = fit[-back - 1].cursor if back < len(fit) else None
            assert filled.latest(back, **which) == cursor


def test_of_a_cluster_only_its_own(store: Store) -> None:
    store.load_clusters(SNIPPETS / "gpus.toml")
    store.send("q", 1)
    (name,) = store.clusters()
    assert {each.cluster for each in store.journal(cluster=name)} == {name}


def test_what_comes_while_it_is_read_is_for_the_next_time(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "PAGE", 1)
    for k in range(3):
        store.send("q", k)
    found = []
    for event in store.journal():
        found.append(event)
        store.send("q", 0)
    assert len(found) == 3
    assert len([*store.journal(found[-1].cursor)]) == 3


@pytest.mark.parametrize(
    ("which", "line"),
    [
        ({"kind": "dead"}, "kind: found 'dead', allowed: accepted, "),
        ({"kind": {}}, "kind: found {}, allowed: accepted, "),
        ({"group": 1}, "group: found 1, allowed: a text"),
        ({"start": "noon"}, "start: found 'noon', allowed: "),
        ({"kinds": "sent"}, "journal: found the unknown key 'kinds', allowed: "),
    ],
)
def test_what_there_is_not_is_refused(which: dict[str, Any], line: str, store: Store) -> None:
    for verb in (lambda: [*store.journal(**which)], lambda: store.latest(**which)):
        with pytest.raises(MessageError) as refused:
            verb()
        assert line in str(refused.value)


def test_the_page_has_each_kind() -> None:
    page = (SNIPPETS.parent / "reference" / "store-journal.md").read_text("utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| `kind` |"))
    assert {*row.split("`")[1::2]} == {"kind", *journal.KINDS}


def test_up_to_an_event_and_not_further(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "PAGE", 3)
    every = [*filled.journal()]
    places = {None: 0} | {each.cursor: k + 1 for k, each in enumerate(every)}
    for since, until in product(places, places):
        end = len(every) if until is None else places[until]
        assert [*filled.journal(since, until=until)] == every[places[since] : end]
    with pytest.raises(MessageError, match=r"^until: found 'x', allowed: the cursor of an event"):
        next(filled.journal(until="x"))
