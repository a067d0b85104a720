"""w: the console's pages over a million waiting groups, and what an open overview costs."""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import httpx
from tests.console.running import RunningConsole, running

from benchmarks.stores import server
from benchmarks.timing import Line
from fairlead import Store

GROUPS: Final = 1_000_000
EVENTS: Final = 10_000_000
HOURS: Final = 2
"""In which all events have happened, up to now."""
ASKED: Final = 100
"""So often each page is asked for."""
OPEN: Final = 300
"""Seconds for which an overview is open."""
ROWS: Final = """
INSERT INTO fairlead.groups (id, queue, name, tenant, fair, state, k1, k2, head, arrived)
SELECT 100 + k, 1, 'customer-' || k, '', 0, 1, 0, 100 + k, 100 + k, {now} - {groups} + k FROM n
WHERE k <= {groups};
INSERT INTO fairlead.messages (id, queue, group_id, key, arrived, cost, format, body)
SELECT 100 + k, 1, 100 + k, 'm-' || k, {now} - {groups} + k, 1, 1, {body} FROM n
WHERE k <= {groups};
INSERT INTO fairlead.dead (id, queue, died, reason, attempt, tenant, key, cost, format, body)
SELECT 100 + {groups} + k, 1, {now}, 'reason ' || (k % 20), 1, '', 'x-' || k, 1, 1, {body} FROM n
WHERE k <= {groups} / 5;
INSERT INTO fairlead.delayed (id, queue, due, tenant, key, cost, format, body)
SELECT 100 + 2 * {groups} + k, 1, {now} + 1000000000 + k, '', 'd-' || k, 1, 1, {body} FROM n
WHERE k <= {groups} / 5;
INSERT INTO fairlead.journal (id, {transaction}time, kind, queue, group_name, key, tenant, actor)
SELECT 100 + 3 * {groups} + k, {xid}{now} - ({events} - k) * {each},
  CASE k % 3 WHEN 0 THEN 'sent' WHEN 1 THEN 'taken' ELSE 'accepted' END,
  'big', 'g' || (k % 1000), 'm-' || k, '', 'a' FROM n;
"""
PAGES: Final = {
    "overview": "/",
    "order": "/queue?name=big",
    "order at the half": f"/queue?name=big&after=0.{100 + GROUPS // 2}",
    "names": "/queue?name=big&begins=customer-12345",
    "a raise near the first": "/promote?name=big&group=customer-100&priority=50",
    "a raise of the last": f"/promote?name=big&group=customer-{GROUPS}&priority=50",
    "in work": "/queue/held?name=big",
    "dead letters": "/queue/dead?name=big",
    "of a reason": "/queue/dead?name=big&reason=reason%207",
    "not yet": "/queue/later?name=big",
    "find": "/find?name=customer-777",
}


def part_w(_: int) -> list[Line]:
    """The p99 of each page by 200 ms, and the part of the time for which an overview counts."""
    lines = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairlead-bench-")))
        made = stack.enter_context(server(folder / "pg"))
        for where, url in (
            ("SQLite", f"sqlite:///{folder}/big.db"),
            ("PostgreSQL", made("big")),
        ):
            with Store.open(url, create=True) as store, _console(store, folder) as console:
                fill(store)
                lines += _pages(where, console)
                lines.append(_open(where, console))
    return lines


def fill(store: Store) -> None:
    """Insert it all by hand: one by one it would take hours."""
    import psycopg

    store.send("big", "first")
    store.accept([work for work in [store.take("big")] if work is not None and [*work]])
    on_server = not store.has_one_writer
    text = ROWS.format(
        now=int(time.time() * 1_000_000),
        groups=GROUPS,
        events=EVENTS,
        each=HOURS * 3600 * 1_000_000 // EVENTS,
        body="convert_to(repeat('b', 100), 'UTF8')" if on_server else "zeroblob(100)",
        transaction="transaction, " if on_server else "",
        xid="(3 + k / 100000)::text::xid8, " if on_server else "",
    )
    numbers = "WITH RECURSIVE n (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < {})"
    if on_server:
        numbers = "WITH n AS (SELECT generate_series(1, {}::bigint) AS k)"
    else:
        text = text.replace("fairlead.", "fairlead_")
    for statement in text.split(";")[:-1]:
        count = EVENTS if "journal" in statement else GROUPS
        with store.transaction() as tx:
            if on_server:
                tx.execute("SELECT setval('fairlead.numbers', %s)", (4 * GROUPS + 2 * EVENTS,))
            tx.execute(f"{numbers.format(count)} {statement}")
    if on_server:
        with psycopg.connect(store.url, autocommit=True) as connection:
            connection.execute("VACUUM ANALYZE")
    else:
        with store.transaction() as tx:
            tx.execute("ANALYZE")


@contextmanager
def _console(store: Store, folder: Path) -> Iterator[RunningConsole]:
    with running(store, folder) as console:
        yield console


def _pages(where: str, console: RunningConsole) -> list[Line]:
    client = console.as_("dora").client
    while "It is counted" in client.get("/").text:
        time.sleep(1)
    lines = []
    for name, path in PAGES.items():
        times = sorted(_seconds(client, path) for _ in range(ASKED))
        p99 = times[ASKED * 99 // 100]
        note = f"p50 {1000 * times[ASKED // 2]:.0f} ms, p99 {1000 * p99:.0f} ms"
        lines.append(Line("w", f"{where}: {name}, p99", "200 ms", p99 / 0.2, "≤ 1", note))
    return lines


def _seconds(client: httpx.Client, path: str) -> float:
    began = time.perf_counter()
    assert client.get(path).status_code == 200, path
    return time.perf_counter() - began


def _open(where: str, console: RunningConsole) -> Line:
    """An overview is open; how long its counts take together."""
    client = console.as_("victor").client
    counts = console.console.state.counts
    took: dict[float, float] = {}

    def listen() -> None:
        with (
            suppress(httpx.HTTPError),
            client.stream("GET", "/live/overview", timeout=60) as answer,
        ):
            for _ in answer.iter_lines():
                pass

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    first: Any = counts.get("overview", lambda: None, 0)
    ends = time.monotonic() + OPEN
    while time.monotonic() < ends:
        last: Any = counts.get("overview", lambda: None, 0)
        if last is not None and first is not None and last.at != first.at:
            took[last.at] = last.took
        time.sleep(0.5)
    part = sum(took.values()) / OPEN
    note = f"{len(took)} counts of up to {max(took.values(), default=0):.1f} s in {OPEN} s"
    return Line("w", f"{where}: time that an open overview counts", "2 %", part / 0.02, "≤ 1", note)
