"""Nothing waits without a bound, or `docs/reference/waits.md` says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "fairlead"
PAGE = ROOT / "docs" / "reference" / "waits.md"
VERBS: Final = {
    *("accept", "acquire", "communicate", "get", "join", "poll", "recv", "recv_into"),
    *("result", "select", "wait", "waitid", "waitpid"),
}
"""Methods that wait for ever where they are called without a time."""
NONE_WAITS: Final = {("cli/show.py", "print_table", "capture.get")}
"""What has the name of a wait, and is none."""
SETTLED: Final = {"left", "self", "tx", "work"}
"""Whose `accept` settles work."""
BOUNDS: Final = {"timeout", "ssl_handshake_timeout", "linger"}

# What waits, and the row of the page that says for how long: who waits there, or what it waits for.
ALLOWED: Final = {
    ("channels/channel.py", "ChannelRunner._more", "asyncio.wait"): "something to send",
    ("channels/channel.py", "ChannelRunner._more", "asyncio.gather"): "something to send",
    ("channels/channel.py", "ChannelRunner._more", "ended"): "something to send",
    ("channels/channel.py", "ChannelRunner._more", "woken.result"): "something to send",
    ("channels/channel.py", "_bounded", "waiting"): "which takes a batch in",
    ("channels/manager.py", "QueueManager._for_ever", "step"): "a channel",
    ("channels/manager.py", "QueueManager.in_thread", "run_in_executor"): "as a statement",
    ("channels/manager.py", "QueueManager.stop", "asyncio.gather"): "`serve` that is told to stop",
    ("cli/serve.py", "_serve_at", "telling"): "`serve` that is told to stop",
    ("cli/serve.py", "_until", "asyncio.wait"): "a signal",
    ("cli/serve.py", "_until", "event.wait"): "a signal",
    ("cli/store/messages.py", "_run", "process.communicate"): "a command of `--exec`",
    ("cli/store/metrics.py", "metrics", "stops.get"): "a signal",
    ("cli/forward.py", "_forward", "asyncio.wait"): "a signal",
    ("cli/forward.py", "_forward", "stop.wait"): "a signal",
    ("cli/forward.py", "forwarding", "running"): "`forward` that is told to stop",
    ("cli/forward.py", "forwarding", "store.keep_clusters"): "a statement",
    ("forward/forwarder.py", "Forwarder._end", "asyncio.gather"): "`forward` that is told to stop",
    ("forward/forwarder.py", "Forwarder._report", "self._store.report_health"): "a statement",
    ("forward/forwarder.py", "Forwarder._look_at_health", "self._store.unwell"): "a statement",
    ("forward/forwarder.py", "Forwarder._wake_at", "stop.wait"): "a signal",
    ("forward/forwarder.py", "Forwarder._end", "telling"): "`forward` that is told to stop",
    ("forward/forwarder.py", "Forwarder._renew", "asyncio.gather"): "a statement",
    ("forward/forwarder.py", "Forwarder._targets", "self._store.pool"): "a statement",
    ("forward/forwarder.py", "Forwarder._tell", "self._store.stopping"): "a statement",
    ("forward/http.py", "HttpService._asked", "response.aclose"): "a service outside",
    ("forward/lane.py", "OutsideLane._delay", "self._store.retry"): "a statement",
    ("forward/lane.py", "OutsideLane.stop", "asyncio.wait"): "`forward` that is told to stop",
    ("forward/lane.py", "_next", "anext"): "a statement",
    ("forward/settling.py", "Settler._settle", "asyncio.gather"): "a message that has left",
    ("forward/settling.py", "Settler.accept", "told"): "a message that has left",
    ("forward/settling.py", "Settler.settle.settled", "getattr(tx, how)"): "a statement",
    ("forward/settling.py", "Settler.settle.settled", "getattr(work, how)"): "a statement",
    ("forward/settling.py", "until_there", "what"): "a message that has left",
    ("console/console.py", "Console.__call__", "response"): "who reads a page of `console`",
    ("console/console.py", "Console._answer", "route.answer"): "a page of `console`",
    ("console/live.py", "_LiveResponse._news", "self._stream.numbers"): "a page of `console`",
    ("console/server.py", "serve_until", "asyncio.wait"): "a signal",
    ("console/server.py", "serve_until", "stop.wait"): "a signal",
    ("console/server.py", "serve_until", "task"): "`console` that is told to stop",
    ("console/visit.py", "Visit._asked", "calls"): "a page of `console`",
    ("console/visit.py", "Visit.wait_for", "self.state.looks"): "a page of `console`",
    ("memory/replay.py", "_each", "future.result"): "a replay in several processes",
    ("pool/request.py", "PoolRequest.come", "waiter.future"): "a pool's caller",
    ("pool/waiter.py", "TaskWaiter.come", "self.future"): "a pool's caller",
    ("pool/waiter.py", "ThreadWaiter.__init__", "self._lock.acquire"): "a pool's caller",
    ("prometheus.py", "MetricsServer.close", "self._thread.join"): "who asks for `/metrics`",
    ("recommend/ahead.py", "Ahead.__call__", "result"): "a search",
    ("serve/initiator.py", "Initiator._enter", "asyncio.open_connection"): "to connect",
    ("serve/initiator.py", "Initiator._until", "self._came.wait"): "to agree",
    ("serve/loop.py", "Server.begin", "loop.create_server"): "a peer of `serve`",
    ("serve/loop.py", "Server.stop", "asyncio.gather"): "`serve` that is told to stop",
    ("serve/loop.py", "Server._for_ever", "step"): "as a statement",
    ("serve/loop.py", "Server._hear", "self._changed.wait"): "a receiver of `serve`",
    ("serve/loop.py", "Server.left_alone", "self._alone.wait"): "a signal",
    ("serve/login_queue.py", "LoginQueue.turn", "mine"): "whoever says a password",
    ("sockets/base.py", "Socket._wait", "waiter.result"): "`send`, `recv`, `request` of a socket",
    ("sockets/base.py", "Socket._await", "waiter.result"): "`send`, `recv`, `request` of a socket",
    ("sockets/base.py", "Socket.close", "shut.wait"): "`close` of a socket",
    ("sockets/closing.py", "Closing.__aexit__", "asyncio.to_thread"): "`close` of a socket",
    ("sockets/endpoints.py", "Listener._accept", "self._end.accept"): "a socket that connects",
    (
        "sockets/receiver.py",
        "ReceivingSocket._abandon",
        "waiter.result",
    ): "`send`, `recv`, `request`",
    ("sockets/rep.py", "Rep.serve", "self.recv"): "`serve` of a `Rep`",
    ("sockets/rep.py", "Rep.aserve", "handler"): "`serve` of a `Rep`",
    ("sockets/status.py", "Status.close", "self._thread.join"): "`serve` of a `Rep`",
    ("sockets/waiter.py", "Waiter.__init__", "self._lock.acquire"): "`send`, `recv`, `request`",
    ("store/aio/joining.py", "unwrapped", "layer.connection"): "on a connection that you join",
    ("store/aio/joining.py", "unwrapped", "layer.get_raw_connection"): "that you join",
    ("store/aio/loop.py", "OnLoop.close", "self._endings.wait"): "`close` of a store",
    ("store/aio/lots.py", "LoopLots._pass_on", "told.result"): "a task that takes or settles",
    ("store/aio/running.py", "Endings.to_the_end.all_of_it", "what"): "a task that is cancelled",
    ("store/aio/running.py", "Endings.to_the_end", "asyncio.shield"): "a task that is cancelled",
    ("store/aio/running.py", "Endings.to_the_end", "asyncio.wait"): "a task that is cancelled",
    ("store/aio/running.py", "Endings.to_the_end", "task.result"): "a task that is cancelled",
    ("store/aio/running.py", "Endings.wait", "asyncio.wait"): "`close` of a store",
    ("store/aio/sessions.py", "LoopSessionLocks.check", "self._mine.acquire"): "the session by",
    ("store/aio/thread.py", "OnThread.close", "self._endings.wait"): "`close` of a store",
    ("store/aio/thread.py", "OnThread.joining", "stack.enter_async_context"): "another task",
    ("store/aio/thread.py", "OnThread._run", "run_in_executor"): "the disk",
    ("store/aio/handles.py", "AsyncTransaction.do", "self._within"): "a statement",
    ("store/aio/handles.py", "AsyncCursor.fetchone", "self._do"): "a statement",
    ("store/aio/handles.py", "AsyncCursor.fetchmany", "self._do"): "a statement",
    ("store/aio/handles.py", "AsyncCursor.fetchall", "self._do"): "a statement",
    ("store/aio/waking.py", "LoopWaker.close", "asyncio.gather"): "`close` of a store",
    ("store/database/bridge.py", "run_verb", "answer"): "a statement",
    ("store/database/joining.py", "Joining._on_sqlite", "database.join"): "another writer",
    ("store/database/postgresql_async.py", "_close", "connecting.result"): "a connection",
    ("store/workers/coroutines.py", "ServingThread.result_of", "self._asked.get"): "the coroutine",
    ("store/workers/coroutines.py", "ServingThread.result_of", "future.result"): "the coroutine",
    ("store/workers/coroutines.py", "ServingThread.run", "answer"): "a statement",
    ("store/workers/coroutines.py", "_outcome", "call"): "the coroutine of its handler",
    ("store/workers/held.py", "Renewals.close", "self._thread.join"): "that renews leases",
    ("store/workers/lease_renewal.py", "renewed", "thread.join"): "that renews leases",
    ("store/workers/supervisor.py", "Child.hear", "self._end.recv"): "a supervisor",
    ("store/workers/supervisor.py", "_hear", "end.poll"): "a signal",
}


def test_nothing_waits_without_a_bound_that_the_docs_do_not_explain() -> None:
    found = set(unbounded())
    assert found - set(ALLOWED) == set(), "a bound, or a row of the page and a line here"
    assert set(ALLOWED) - found == set(), "these are gone"


def test_the_page_has_a_row_for_each_wait() -> None:
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert [each for each in ALLOWED.values() if not any(each in row for row in rows)] == []


def test_waits_are_found() -> None:
    found = {
        text
        for text in (
            "lock.acquire()",
            "lock.acquire(timeout=None)",
            "thread.join()",
            "queue.get()",
            "await asyncio.wait(every)",
            "await future",
        )
        if list(waits(ast.parse(f"async def f(): {text}"), set()))
    }
    assert len(found) == 6
    for text in (
        "lock.acquire(timeout=1)",
        "lock.acquire(blocking=False)",
        "thread.join(2)",
        "names.get('a')",
        "await ours()",
        "await asyncio.sleep(1)",
    ):
        assert not list(waits(ast.parse(f"async def f(): {text}"), {"ours"}))


def unbounded() -> Iterator[tuple[str, str, str]]:
    """File, function and name of each wait of the project that has no bound of its own."""
    every = {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
    ours = {
        node.name
        for tree in every.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.AsyncFunctionDef)
    }
    for path, tree in every.items():
        for where, name in waits(tree, ours):
            found = path.relative_to(SOURCE).as_posix(), where, name
            if found not in NONE_WAITS:
                yield found


def waits(node: ast.AST, ours: set[str], where: str = "") -> Iterator[tuple[str, str]]:
    """The function and the name of each wait below a node; `ours`: coroutine functions."""
    for each in ast.iter_child_nodes(node):
        name = where
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{where}.{each.name}".lstrip(".")
        if isinstance(each, ast.AsyncWith) and "asyncio.timeout(" in ast.unparse(each.items[0]):
            continue
        if isinstance(each, ast.Await):
            if not _is_bounded(each.value, ours):
                yield name, _name_of(each.value)
            if isinstance(each.value, ast.Call):
                for given in each.value.args:
                    yield from waits(given, ours, name)
            continue
        if isinstance(each, ast.Call) and _waits_for_ever(each):
            yield name, _name_of(each)
        yield from waits(each, ours, name)


def _is_bounded(value: ast.expr, ours: set[str]) -> bool:
    """A coroutine function of the project's, whose own waits are found, or one with a time."""
    if not isinstance(value, ast.Call):
        return False
    name = _name_of(value)
    if name == "asyncio.sleep" or _has_time(value):
        return True
    is_ours = name.rpartition(".")[2] in ours and not name.startswith("asyncio.")
    return is_ours and not _waits_for_ever(value)


def _waits_for_ever(call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in VERBS:
        return False
    if isinstance(call.func.value, ast.Name):
        if call.func.attr == "accept" and call.func.value.id in SETTLED:
            return False
        if call.func.value.id == "select" and call.func.attr == "poll":
            return False  # makes one
    if call.func.attr == "get" and call.args:
        return False  # of a mapping
    times = [] if call.func.attr == "communicate" else call.args
    return all(_is_none(each) for each in times) and not _has_time(call)


def _has_time(call: ast.Call) -> bool:
    return any(
        (each.arg in BOUNDS and not _is_none(each.value)) or each.arg == "blocking"
        for each in call.keywords
    )


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _name_of(value: ast.expr) -> str:
    """As short as it tells which one it is."""
    if isinstance(value, ast.Call):
        value = value.func
    is_long = isinstance(value, ast.Attribute) and isinstance(value.value, ast.Call)
    return value.attr if is_long and isinstance(value, ast.Attribute) else ast.unparse(value)
