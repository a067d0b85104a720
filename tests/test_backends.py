"""Above the adapters nobody asks which database it is: ports answer, and a third one could."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from fairlead.store.backends.port import Backend
from fairlead.store.clusters.engine import ClusterEngine
from fairlead.store.database.port import Database
from fairlead.store.dialogs.engine import DialogEngine
from fairlead.store.queues.engine import QueueEngine
from fairlead.store.queues.hearing import Hearing
from fairlead.store.queues.lease_holders import Liveness

SOURCE: Final = Path(__file__).parent.parent / "src" / "fairlead"
ADAPTER: Final = re.compile(r"(^|/)\w*(sqlite|postgresql)\w*\.py$|^store/database/")
"""The files of one database, and the room of connections."""
NAMES: Final = re.compile(r"(^|[._])(sqlite|postgresql|psycopg|sqlite3)($|[._])")
"""What is a database's, in the name of a module."""
WORDS: Final = re.compile(r"(sqlite|postgres(ql)?)(:///?)?", re.IGNORECASE)
ASKED: Final = {"dialect", "has_one_writer"}
"""What says which database it is."""
MAY: Final = {
    "store/backends/urls.py": "it looks up whose a URL is",
    "store/queues/engine.py": "it looks up whose verbs a connection has",
    "store/aio/opening.py": "it looks up how a loop waits for a database",
    "store/aio/sessions.py": "so a loop waits for the session of PostgreSQL",
    "store/aio/thread.py": "so a loop waits for SQLite",
    "store/aio/joining.py": "so a loop waits for SQLite on the user's own connection",
    "store/clusters/staging.py": "of clusters whose turns can be reserved, as an engine says",
    "store/journal/export.py": "rows are put in order in a file of SQLite's, whatever the store is",
    "store/store.py": "it tells a server that one writes at a time",
    "serve/loop.py": "it is told that one writes at a time, and takes in turn with its writes",
    "pipeline/output/copy_out.py": "executors copy into the table of a staged run by themselves",
}
"""Who names a database all the same, and why."""
PORTS: Final = (*(Backend, ClusterEngine, Database, DialogEngine, Hearing, Liveness, QueueEngine),)
STANDS: Final = {"idle", "lost", "undone", "hung_up"}
"""How a connection stands now."""


def named_in(text: str) -> Iterator[str]:
    """The lines of a file in which it names a database, or asks for it."""
    for node in ast.walk(ast.parse(text)):
        words: tuple[str, ...] = ()
        if isinstance(node, ast.ImportFrom):
            words = (f"from {node.module}",) if NAMES.search(node.module or "") else ()
        elif isinstance(node, ast.Import):
            words = tuple(alias.name for alias in node.names if NAMES.search(alias.name))
        elif isinstance(node, ast.Attribute):
            words = (node.attr,) if node.attr in ASKED else ()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = (node.value,) if WORDS.fullmatch(node.value) else ()
        yield from (f"{node.lineno}: {word}" for word in words)


def test_nobody_asks_which_database_it_is() -> None:
    asking = {}
    for file in sorted(SOURCE.rglob("*.py")):
        place = str(file.relative_to(SOURCE))
        lines = [*named_in(file.read_text(encoding="utf-8"))]
        if lines and not ADAPTER.search(place):
            asking[place] = lines
    assert {place: lines for place, lines in asking.items() if place not in MAY} == {}
    assert set(MAY) <= set(asking)


@pytest.mark.parametrize(
    "line",
    [
        "from fairlead.store.database.postgresql import PostgreSQL",
        "from fairlead.store.queues.lease_holders_sqlite import LockFiles",
        "def f():\n    import psycopg",
        "url.startswith('postgresql://')",
        "kind == 'SQLite'",
        "ENGINES[database.dialect]",
        "if store.has_one_writer: pass",
    ],
)
def test_a_question_is_seen(line: str) -> None:
    assert [*named_in(line)]


@pytest.mark.parametrize(
    "line", ["from fairlead.store.database.port import Database", "'on SQLite: it is so'"]
)
def test_what_is_none_is_not(line: str) -> None:
    assert not [*named_in(line)]


def test_a_port_has_verbs_and_no_capabilities() -> None:
    """Whoever asks for one branches on it; the adapter can do what he would do then."""
    truths = {
        f"{port.__name__}.{name}"
        for port in PORTS
        for name, kind in _values(port).items()
        if kind == "bool"
    }
    assert truths == {f"Database.{name}" for name in STANDS} | {"Backend.has_one_writer"}


def _values(port: type) -> dict[str, str]:
    """The values of a port, and their types."""
    plain = {name: str(kind) for name, kind in port.__annotations__.items()}
    properties = {
        name: str(value.fget.__annotations__["return"])
        for name, value in vars(port).items()
        if isinstance(value, property) and value.fget
    }
    return plain | properties
