"""What cannot be undone is done only from the page that asks whether the user is sure."""

from __future__ import annotations

import html
import re
import time
from pathlib import Path
from typing import Final

import pytest

import fairlead.console
from fairlead import Store
from tests.console.running import Browser, RunningConsole

TEMPLATES: Final = Path(fairlead.console.__file__).parent / "templates"
FORM: Final = re.compile(r'<form method="post" action="([^"]+)".*?</form>', re.DOTALL)
FIELD: Final = re.compile(r'<input[^>]* name="([^"]+)"(?: value="([^"]*)")?')
PATIENCE: Final = 30.0
"""Seconds."""
ASKS: Final = {
    "/dead-letters/chosen": "discarded",
    "/dead-letters/all": "discarded",
    "/purge": "discarded",
    "/take-back": "released",
}
"""Path → the event of what it does."""


@pytest.fixture
def dora(console: RunningConsole, store: Store) -> Browser:
    """A browser of an operator: one message is dead, one is held, one waits."""
    store.send_many("orders", [{"body": "o", "group": f"g{k}", "id": f"m{k}"} for k in range(3)])
    dead, _ = store.take_many("orders", 2)
    list(dead)
    dead.reject("broken")
    return console.as_("dora")


def asking(dora: Browser, store: Store, path: str) -> str:
    """The page that asks."""
    if path == "/dead-letters/chosen":
        return dora.post(path, name="orders", id="m0", do="discard")
    (held,) = store.held("orders")
    return dora.get(path, name="orders", do="discard", token=str(held.token))


@pytest.mark.parametrize("path", ASKS)
def test_it_is_done_only_by_whoever_was_asked(
    dora: Browser, store: Store, console: RunningConsole, path: str
) -> None:
    form = next(form for form in FORM.finditer(asking(dora, store, path)) if form[1] == path)
    fields = {name: html.unescape(text) for name, text in FIELD.findall(form[0])}
    fields["do"] = "discard"
    sure = fields.pop("sure") or "orders"
    before = list(store.journal())
    dora.client.post(path, data=fields, follow_redirects=True)
    assert not console.console.state.jobs.every()
    assert list(store.journal()) == before
    dora.client.post(path, data={**fields, "sure": sure})
    ends = time.monotonic() + PATIENCE
    while not list(store.journal(kind=[ASKS[path]])):  # it is done in the background
        assert time.monotonic() < ends
        time.sleep(0.05)


def test_each_button_of_danger_asks_first() -> None:
    asked = set()
    for template in TEMPLATES.glob("*.html"):
        for form in FORM.finditer(template.read_text()):
            buttons = re.findall(r"<button[^>]*danger[^>]*>([^<]*)", form[0])
            leads_on = all(text.endswith("…") for text in buttons)
            if buttons and not leads_on and form[1] != "/switch":  # which is switched on again
                assert 'name="sure"' in form[0], template.name
                asked.add(form[1])
    assert asked == set(ASKS)
