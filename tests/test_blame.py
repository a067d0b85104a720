"""Who is blamed when work does not end well: each cell of docs/explanation/blame.md is so.

In each story one failure is enough for a dead letter, and each is told once more in a queue that
does not count its cause: then nothing is blamed.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import ExitStack, closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest

from fairlead import AsyncStore
from tests.blame import elsewhere, failed, innocent
from tests.blame.cells import (
    AMQP,
    ASYNC,
    BESIDE,
    CAUSES,
    CELLS,
    GROUP,
    SQL,
    STORE,
    Cell,
    World,
)
from tests.blame.elsewhere import TOLD
from tests.stores import made_url

PAGE = Path(__file__).parent.parent / "docs/explanation/blame.md"
assert failed
assert innocent
assert elsewhere
EVERY = [
    pytest.param(each, kind, id=f"{each.named} [{kind}]") for each in CELLS for kind in each.on
]


def rows() -> set[tuple[str, str]]:
    """What happened, and at which door, as the page's tables say it."""
    found = []
    heads: list[str] = []
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [each.strip() for each in line.strip("|").split(" | ")]
        if not line.startswith("|"):
            heads = []
        elif not heads:
            heads = cells
        elif not line.startswith("|---"):
            found += [(cells[0], door) for door in re.split(r", ", cells[heads.index("door")])]
    assert len(found) == len(set(found))
    return set(found)


def test_each_cell_of_the_page_is_told_and_nothing_else_is() -> None:
    told = [(each.what, each.door) for each in CELLS] + [*TOLD]
    assert len(told) == len(set(told))
    assert {*told} == rows(), {*told} ^ rows()


@pytest.mark.parametrize("cell", TOLD, ids=lambda cell: f"{cell[1]}: {cell[0]}")
def test_what_is_told_elsewhere_is_there(cell: tuple[str, str]) -> None:
    file, _, name = TOLD[cell].partition("::")
    text = Path(__file__).parent.joinpath(file).read_text("utf-8")
    assert re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE)


@pytest.mark.parametrize(("cell", "kind"), EVERY)
def test_it_is_so(cell: Cell, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if cell.door == AMQP and find_spec("cproton_ffi") is None:
        pytest.skip("not here: python-qpid-proton (make amqp)")
    turns = [(CAUSES, cell.dead)]
    if cell.cause:
        turns.append((CAUSES - {cell.cause}, ()))
    for counts, dead in turns:
        world = World(made_url(kind), tmp_path, real=cell.real)
        with closing(world.store):
            world.declare(counts)
            world.send(*GROUP)
            world.send(BESIDE, group=None)
            tell(cell, world, monkeypatch)
            world.is_left(dead=dead, done=cell.done)


def tell(cell: Cell, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it happen at its door."""
    clock = None if world.real else world.clock
    if cell.door == ASYNC:

        async def story() -> None:
            async with await AsyncStore.open(world.url, clock=clock) as store:
                await cell.tell(world, store)

        asyncio.run(story())
        return
    with ExitStack() as stack, monkeypatch.context() as patched:
        given: Any = world.url
        if cell.door == SQL:
            given = stack.enter_context(psycopg.connect(world.url, autocommit=True))
            now = str(int(world.clock.now * 10**6))
            given.execute("SELECT set_config('fairlead.clock', %s, false)", [now])
        elif cell.door == STORE:
            given = stack.enter_context(world.open())
        elif cell.door == AMQP:
            from tests.serve.serving import serving

            given = stack.enter_context(serving(stack.enter_context(world.open())))
        else:
            patched.setenv("FAIRLEAD_STORE", world.url)
        cell.tell(world, given)
