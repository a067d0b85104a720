"""Run a device, and look at one that runs."""

from __future__ import annotations

import json
import signal
import ssl
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.live import Live
from rich.table import Table

from fairlead.cli.show import console, filled, print_table
from fairlead.errors import UserError
from fairlead.sockets.addresses import TLS, Address
from fairlead.sockets.device import Device
from fairlead.sockets.folder import JournalFolder
from fairlead.sockets.sender import cluster_of, differences
from fairlead.sockets.status import Status, address_for, asked
from fairlead.sockets.tls import authority, identity

PERIOD: Final = 0.5
"""Seconds between two looks at the journal."""
BETWEEN_LOOKS: Final = 1.0
"""Seconds, on a terminal unless another time is asked for."""
NUMBERS: Final = (
    "waiting",
    "received",
    "sent",
    "replied",
    "resent",
    "failed_over",
    "suspended",
    "tried",
    "lost",
    "too_far",
    "ignored",
)


class Files(NamedTuple):
    """For TLS, as given on the command line."""

    certificate: Path | None
    key: Path | None
    authority: Path | None

    def identity(self, urls: Sequence[str]) -> ssl.SSLContext | None:
        """The context of addresses to bind, if one of them needs it. Raises UserError."""
        secure = [url for url in urls if Address.of(url).kind == TLS]
        if secure and self.certificate is None:
            raise UserError(
                f"--certificate: found none for {secure[0]}, allowed: the file of one in PEM"
            )
        if self.certificate is None:
            if self.key is not None:
                raise UserError("--key: found no --certificate, allowed: both, or neither")
            return None
        if not secure:
            raise UserError(
                "--certificate: found no address that has one, allowed: with tls+tcp://HOST:PORT "
                "as --bind or --workers"
            )
        return identity(self.certificate, self.key)


def run_device(
    file: Path,
    bind: Sequence[str],
    workers: Sequence[str],
    *,
    name: str,
    max_ttl: int,
    attempts: int,
    journal: Path | None,
    files: Files,
) -> None:
    """Forward requests until a signal comes."""
    _refuse_folder(file)
    context = files.identity([*bind, *workers])
    trusted = authority(files.authority) if files.authority else None
    watched = _Watched(file, name)
    options: dict[str, Any] = {
        "max_ttl": max_ttl,
        "attempts": attempts,
        "journal": journal is not None,
        "tls": trusted,
    }
    with Device(watched.cluster, **options) as device:
        with Status(device, address_for(file)):
            lines = [
                f"{what}: {side.bind(url, tls=context if Address.of(url).kind == TLS else None)}"
                for what, side, urls in (
                    ("requests", device.front, bind),
                    ("workers", device.back, workers),
                )
                for url in urls
            ]
            # after all that can fail: a start that was in vain leaves no folder
            folder = JournalFolder(journal) if journal else None
            if folder is not None:
                lines.append(f"journal: {folder.place}")
            ended = threading.Event()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda *_: ended.set())
            print("\n".join(lines), flush=True)
            while not ended.wait(PERIOD):
                watched.look(device)
                _write(folder, device)
        device.close()
        _write(folder, device)


def _refuse_folder(file: Path) -> None:
    if file.is_dir():
        raise UserError(f"{file}: found a folder, allowed: a cluster file")


class _Watched:
    """A cluster file whose changes a device follows."""

    def __init__(self, file: Path, name: str) -> None:
        """Raises UserError for a file that cannot be read or used."""
        self._file = file
        self._name = name
        self._gone = True
        self._text = self._read()  # before it is used: what is changed after that is followed
        self.cluster = cluster_of(file, name)

    def _read(self) -> bytes:
        """What the file says; nothing where it cannot be read, which is said once."""
        try:
            text = self._file.read_bytes()
        except OSError as error:
            if not self._gone:
                _all_stays(f"{self._file}: {error.strerror}")
            self._gone = True
            return b""
        self._gone = False
        return text

    def look(self, device: Device) -> None:
        """Take over a change and say what it was, or why not."""
        text = self._read()
        if not text or text == self._text:  # an empty one is being written
            return
        self._text = text
        try:
            cluster = cluster_of(self._file, self._name)
        except UserError as error:
            _all_stays(str(error))
            return
        try:
            device.follow(cluster)
        except UserError as error:
            _all_stays(f"{self._file}: {error}")
            return
        print(f"{self._file}: {', '.join(differences(self.cluster, cluster))}", flush=True)
        self.cluster = cluster


def _all_stays(why: str) -> None:
    print(f"fairlead: all stays as it was: {why}", file=sys.stderr, flush=True)


def _write(folder: JournalFolder | None, device: Device) -> None:
    if folder is not None:
        journal = device.back.recorded()
        folder.write(device.back.cluster, journal)


def show_endpoints(file: Path, interval: float | None, *, once: bool, as_json: bool) -> None:
    """Show how it stands with a device, on a terminal until somebody says stop.

    `interval`: seconds between two looks; None: one on a terminal, else there is one look only.
    """
    _refuse_folder(file)
    to = console()
    once = once or (interval is None and not to.is_terminal)
    interval = interval or BETWEEN_LOOKS
    if once or as_json or not to.is_terminal:
        _print(to, asked(file), as_json=as_json)
        while not once:
            time.sleep(interval)
            _print(to, asked(file), as_json=as_json)
        return
    with Live(_table(asked(file)), console=to, auto_refresh=False, screen=True) as live:
        while True:
            live.update(_table(asked(file)), refresh=True)
            time.sleep(interval)


def _print(to: Console, rows: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        to.out("\n".join(map(json.dumps, rows)))
    elif rows:
        print_table(to, _table(rows))
    to.file.flush()


def _table(rows: list[dict[str, Any]]) -> Table:
    columns = ("side", "name", "address", "state", *NUMBERS, "trouble")
    texts = [{column: _text(row.get(column)) for column in columns} for row in rows]
    return filled(texts, right=NUMBERS) if texts else Table(title="no endpoints")


def _text(value: object) -> str:
    return "" if value in (None, 0, "") else str(value)
