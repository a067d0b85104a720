"""n: conversations: beside the plain form of the same exchange, and with a million of them open."""

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.stores import server
from benchmarks.timing import Line
from fairlead import Store, StoreWork

CALLS = 200
BATCH = 100
OPEN = 1_000_000
BODY = "x" * 256
DECLARED = """
[[message_type]]
name = "Request"
[[message_type]]
name = "Reply"
[[contract]]
name = "Ask"
initiator = ["Request"]
target = ["Reply"]
[[service]]
name = "Asked"
queue = "asked"
contracts = ["Ask"]
[[service]]
name = "Asking"
queue = "asking"
"""
CROWD = {
    "sqlite": """
WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {count})
INSERT INTO fairlead_endpoints (id, handle, dialog, side, service, far_service, contract, queue,
  group_name, began)
SELECT -1 - 2 * i - side, lower(hex(randomblob(16))), -1 - i, side,
  CASE side WHEN 0 THEN 'Asking' ELSE 'Asked' END, CASE side WHEN 0 THEN 'Asked' ELSE 'Asking' END,
  'Ask', CASE side WHEN 0 THEN 'asking' ELSE 'asked' END, 'crowd-' || i || side, 0
FROM n, (SELECT 0 AS side UNION ALL SELECT 1)
""",
    "postgresql": """
INSERT INTO fairlead.endpoints (id, handle, dialog, side, service, far_service, contract, queue,
  group_name, began)
SELECT -1 - 2 * i - side, md5(random()::text) || i || side, -1 - i, side,
  CASE side WHEN 0 THEN 'Asking' ELSE 'Asked' END, CASE side WHEN 0 THEN 'Asked' ELSE 'Asking' END,
  'Ask', CASE side WHEN 0 THEN 'asking' ELSE 'asked' END, 'crowd-' || i || side, 0
FROM generate_series(0, {count} - 1) AS i, generate_series(0, 1) AS side
""",
}
"""Dialogs that are open, and in which nothing waits."""


def part_n(runs: int) -> list[Line]:
    """Seconds of the plain form by those of dialogs, so above 1 means that dialogs are faster."""
    lines = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fairlead-bench-")))
        declared = folder / "declared.toml"
        declared.write_text(DECLARED)
        url = stack.enter_context(server(folder / "pg"))
        for where, dialect, small, crowded in (
            ("SQLite, FULL", "sqlite", *(f"sqlite:///{folder}/{k}.db" for k in range(2))),
            ("PostgreSQL, fsync", "postgresql", url("dialogs"), url("crowded")),
        ):
            with Store.open(small, create=True) as few, Store.open(crowded, create=True) as many:
                few.declare(declared)
                many.declare(declared)
                crowd(many, dialect)
                lines += compare(where, few, many, runs)
    return lines


def crowd(store: Store, dialect: str) -> None:
    """Open very many dialogs, by hand: one by one it would take an hour."""
    with store.transaction() as tx:
        tx.execute(CROWD[dialect].format(count=OPEN))
    if dialect == "postgresql":
        with store.transaction() as tx:
            tx.execute("ANALYZE fairlead.endpoints")


def compare(where: str, few: Store, many: Store, runs: int) -> list[Line]:
    """Each exchange: plain, in dialogs, and in dialogs where a million others are open."""
    exchanges: dict[str, tuple[Callable[..., Any], Callable[..., Any], int]] = {
        "request, reply and end": (plain_exchange, exchange, CALLS),
        "send": (plain_send, send, CALLS),
        "take and settle": (plain_take, take, CALLS),
        f"send, x{BATCH}": (plain_sends, sends, 10),
    }
    times: dict[tuple[str, str], list[float]] = {}
    for run in range(1 + runs):
        for name, (plainly, spoken, calls) in exchanges.items():
            for contender, call, store in (
                ("plain", plainly, few),
                ("dialogs", spoken, few),
                ("a million open", spoken, many),
            ):
                took = seconds(call, store, calls)
                if run:
                    times.setdefault((name, contender), []).append(took)
    lines = []
    for name, (_, _, calls) in exchanges.items():
        median = {
            contender: statistics.median(times[name, contender])
            for contender in ("plain", "dialogs", "a million open")
        }
        for contender, took in median.items():
            print(f"    {where}: {name}: {contender}: {calls / took:,.0f}/s", flush=True)
        lines.append(
            Line("n", f"{where}: {name}", "plain", median["plain"] / median["dialogs"], "")
        )
        ratio = median["dialogs"] / median["a million open"]
        lines.append(Line("n", f"{where}: {name}, a million open", "few open", ratio, ">= 0.8"))
    return lines


def seconds(call: Callable[..., Any], store: Store, calls: int) -> float:
    """How long so many exchanges take."""
    began = time.perf_counter()
    call(store, calls)
    return time.perf_counter() - began


def plain_exchange(store: Store, calls: int) -> None:
    """A request, the reply that is sent with its settlement, and the reply taken."""
    for k in range(calls):
        store.send("plain", BODY, group=f"g{k}")
        asked = _taken(store, "plain")
        with asked.transaction() as tx:
            for message in asked:
                tx.send("replies", message.body, group=message.group)
            tx.accept()
        with _taken(store, "replies") as reply:
            list(reply)


def exchange(store: Store, calls: int) -> None:
    """The same in a dialog, which both sides end: one row more for each, and two notices."""
    for _ in range(calls):
        with store.transaction() as tx:
            tx.begin_dialog("Asking", "Asked").send("Request", BODY)
        asked = _taken(store, "asked")
        with asked.transaction() as tx:
            for message in asked:
                here = tx.conversation(message.conversation)
                here.send("Reply", message.body)
                here.end()
            tx.accept()
        reply = _taken(store, "asking")
        with reply.transaction() as tx:
            for message in reply:
                if message.type == "EndDialog":
                    tx.conversation(message.conversation).end()
            tx.accept()


def plain_send(store: Store, calls: int) -> None:
    """Send to one group, one message in each transaction."""
    for _ in range(calls):
        store.send("plain", BODY, group="one")


def send(store: Store, calls: int) -> None:
    """Send in one dialog, one message in each transaction."""
    dialog = store.begin_dialog("Asking", "Asked")
    for _ in range(calls):
        dialog.send("Request", BODY)


def plain_take(store: Store, calls: int) -> None:
    """Take and settle what `plain_send` has sent, and as much that is sent between."""
    for k in range(calls):
        if k:
            store.send("plain", BODY, group="one")
        with _taken(store, "plain") as work:
            list(work)


def take(store: Store, calls: int) -> None:
    """The same in a dialog."""
    with _taken(store, "asked") as work:
        conversation = [message.conversation for message in work][-1]
    for _ in range(calls - 1):
        conversation.send("Reply", BODY)
        with _taken(store, "asking") as work:
            list(work)
    conversation.end()
    with _taken(store, "asking") as work:
        [message] = work
        message.conversation.end()


def plain_sends(store: Store, calls: int) -> None:
    """Send many messages to one group in each transaction."""
    for _ in range(calls):
        with store.transaction() as tx:
            for _ in range(BATCH):
                tx.send("plain", BODY, group="many")
    with _taken(store, "plain") as work:
        list(work)


def sends(store: Store, calls: int) -> None:
    """The same in one dialog."""
    dialog = store.begin_dialog("Asking", "Asked")
    for _ in range(calls):
        with store.transaction() as tx:
            spoken = tx.conversation(dialog)
            for _ in range(BATCH):
                spoken.send("Request", BODY)
    with _taken(store, "asked") as work:
        last = [message.conversation for message in work][-1]
    last.end()
    dialog.end()


def _taken(store: Store, queue: str) -> StoreWork:
    work = store.take(queue)
    assert work is not None
    return work
