"""Send messages, take them and look at them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import suppress
from errno import EBADF
from typing import Any, Final

from fairlead.balance.objects import shown
from fairlead.cli import stopping
from fairlead.cli.output import UnwrittenError, acted, closed
from fairlead.cli.store.printing import as_text, message_row, print_bodies, print_json, say_if_cut
from fairlead.errors import MessageError, UserError
from fairlead.store.arguments import MAX_TAKEN
from fairlead.store.leasing import StoreWork
from fairlead.store.message import Message
from fairlead.store.store import Store
from fairlead.store.workers.lease_renewal import renewed

STDIN: Final = "-"
DONE, NOTHING_THERE, FAILED = 0, 3, 4


def send(store: Store, queue: str, body: str | None, *, lines: bool, **more: Any) -> None:  # noqa: ANN401
    """Send a message, or one for each line of the input, in one transaction; print the ids."""
    if lines and body == STDIN:
        body = None
    if lines == (body is not None):
        raise UserError("send: found both or neither, allowed: BODY (- reads it), or --lines")
    for name in ("delay", "expires"):
        more[name] = _time(more[name])
    attributes = {name: value for name, value in more.items() if value is not None}
    if store.opened_queue(queue).goes_by_cluster:
        every = [*_of_lines()] if lines else [{"body": _read() if body == STDIN else body}]
        ids = _put(store, queue, [attributes | message for message in every])
    elif lines:
        ids = store.send_many(queue, (attributes | message for message in _of_lines()))
    else:
        ids = [store.send(queue, _read() if body == STDIN else body, **attributes)]
    acted()
    for message_id in ids:
        print(message_id)


def _put(store: Store, queue: str, messages: list[dict[str, Any]]) -> list[str]:
    """Put messages to a queue that may be at several queue managers: it is open for all of them."""
    opener = uuid.uuid4().hex
    ids: list[str] = []
    with store.transaction() as tx:
        for message in messages:
            body = message.pop("body", None)
            ids += tx.put(queue, body, {"producer": opener}, **message).messages
        tx.close_opener(queue, opener)
    return ids


def take(
    store: Store,
    queue: str,
    *,
    group: str | None,
    wait: float,
    lease: float,
    run: str | None,
    as_json: bool,
) -> int:
    """Take a group, print its messages or give them to a command, and accept it."""
    if run is not None and as_json:
        raise UserError("take: found --exec and --json, allowed: one of them")
    _check_output()
    work = store.take(queue, group=group, lease=lease)
    if work is None:
        try:
            store.check_queue(queue)
        except MessageError as error:
            if not wait:
                raise
            print(f"fairlead: {error}; waiting for it", file=sys.stderr, flush=True)
        work = store.take(queue, wait, group=group, lease=lease)
    if work is None:
        return NOTHING_THERE
    with work, renewed(work, lease):
        if run is not None:
            return _give(work, run)
        try:
            print_bodies(work, as_json=as_json)
        except UnwrittenError as error:  # no fault of the messages
            work.release()
            print(
                f"fairlead: take {work.queue}: {work.named}: {error}; the group was released",
                file=sys.stderr,
            )
            return FAILED
    return DONE


def peek(store: Store, queue: str, group: str | None, most: int, *, as_json: bool) -> None:
    """Print the first messages of a group; nobody takes them."""
    _check_output()
    every = store.peek(queue, group, min(most + 1, MAX_TAKEN))
    messages = every[:most]
    if group is not None and not messages:
        raise UserError(f"peek {queue}: found no group {group!r}, allowed: one that lives")
    if as_json:
        print_json(map(message_row, messages))
    else:
        print_bodies(messages, as_json=False)
    say_if_cut(len(every) == len(messages), "first", most)


def _give(work: StoreWork, command: str) -> int:
    """Run the command for each message, its body as input; what was before a failure is done."""
    for done, message in enumerate(work):
        status = _run(command, message, work)
        if status:
            how = f"status {status}" if status > 0 else f"signal {-status}"
            work.release(error=f"the command ended with {how}", done=done)
            print(
                f"fairlead: take {work.queue}: {work.named}: the command ended with {how} at "
                f"message {message.id}; the group was released",
                file=sys.stderr,
            )
            return FAILED
    return DONE


def _check_output() -> None:
    """Nothing is taken for an output that is closed."""
    if closed():
        raise UnwrittenError(EBADF)


def _run(command: str, message: Message, work: StoreWork) -> int:
    environment = {
        "FAIRLEAD_QUEUE": work.queue,
        "FAIRLEAD_GROUP": work.group,
        "FAIRLEAD_ID": message.id,
        "FAIRLEAD_TYPE": message.type or "",
        "FAIRLEAD_TENANT": message.tenant,
        "FAIRLEAD_ATTEMPT": str(work.attempt),
    }
    sys.stdout.flush()
    with stopping.at_the_end():
        process = subprocess.Popen(  # noqa: S603 - the user's own command
            ["/bin/sh", "-c", command], stdin=subprocess.PIPE, env=os.environ | environment
        )
    with process:
        process.communicate(as_text(message.body))
    return process.returncode


def _read() -> str | bytes:
    body = sys.stdin.buffer.read()
    with suppress(UnicodeDecodeError):
        return body.decode()
    return body


def _of_lines() -> Iterator[dict[str, Any]]:
    for number, line in enumerate(sys.stdin.buffer, 1):
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except ValueError as error:
            raise UserError(f"send --lines: line {number}: found no JSON: {error}") from None
        if not isinstance(message, dict):
            raise UserError(
                f"send --lines: line {number}: found {shown(message)}, allowed: an object with "
                "body, and perhaps group, priority, id, type, tenant, cost, delay, expires"
            )
        yield message


def _time(value: str | None) -> float | str | None:
    """Seconds, or a timestamp."""
    if value is not None:
        with suppress(ValueError):
            return float(value)
    return value
