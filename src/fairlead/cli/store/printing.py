"""Rows of a store: a table for people, or JSON lines for programs."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from fairlead.store.message import Message
from fairlead.text import to_the_second

SHOWN: Final = 60
"""Characters of a body in a table."""


def print_json(rows: Iterable[Mapping[str, Any]]) -> None:
    """One JSON object on each line. Bytes are base64, and `encoding` says so."""
    for line in json_lines(rows):
        print(line)


def json_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The same lines, without their ends."""
    for row in rows:
        plain = dict(row)
        if isinstance(plain.get("body"), bytes):
            plain["body"] = base64.b64encode(plain["body"]).decode()
            plain["encoding"] = "base64"
        yield json.dumps(plain, ensure_ascii=False)


def print_rows(
    rows: Sequence[Mapping[str, Any]], right: tuple[str, ...] = (), spare: tuple[str, ...] = ()
) -> None:
    """A table without the columns in which nothing stands; nothing where there are no rows.

    `right`: columns of numbers. `spare`: those that go first where there is no room, in this order.
    """
    from fairlead.cli.show import console, filled, print_table, printable

    if rows:
        texts = [
            {name: "" if value is None else printable(str(value)) for name, value in row.items()}
            for row in rows
        ]
        print_table(console(), filled(texts, right, spare))


def say_if_cut(all_shown: bool, shown: str, most: int) -> None:
    """Say on stderr that a list goes on. `shown`: which are shown, such as `oldest`."""
    if not all_shown:
        sys.stdout.flush()
        print(f"only the {shown} {most:,} are shown; --most N shows more", file=sys.stderr)


def when(seconds: float) -> str:
    """A moment, to the second."""
    return to_the_second(int(seconds) * 1_000_000)


def short(body: object) -> str:
    """The beginning of a body, on one line."""
    text = f"{len(body)} bytes" if isinstance(body, bytes) else as_text(body).decode()
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def as_text(body: object) -> bytes:
    """A body as it is written to a file: as it was sent; data is JSON."""
    if isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode()
    return json.dumps(body, ensure_ascii=False).encode()


def message_row(message: Message) -> dict[str, Any]:
    """A message as JSON says it."""
    names = ("id", "group", "type", "tenant", "cost", "sent", "body")
    return {name: getattr(message, name) for name in names}


def print_bodies(messages: Iterable[Message], *, as_json: bool) -> None:
    """Bodies as they were sent, each followed by a line's end, or messages as JSON lines."""
    sys.stdout.flush()
    if as_json:
        print_json(map(message_row, messages))
    else:
        for message in messages:
            sys.stdout.buffer.write(as_text(message.body) + b"\n")
        sys.stdout.buffer.flush()
    sys.stdout.flush()
