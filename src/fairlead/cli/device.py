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
from fairlead.sockets.sender import cluster_of
from fairlead.sockets.status import Status, address_for, asked
from fairlead.sockets.tls import authority, identity

PERIOD: Final = 0.5
"""Seconds between two looks at the journal."""
NUMBERS: Final = (
    "waiting",
    "received",
    "sent",
    "replied",
    "resent",
    "failed_over",
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
    context = files.identity([*bind, *workers])
    trusted = authority(files.authority) if files.authority else None
    folder = JournalFolder(journal) if journal else None
    watched = _Watched(file, name)  # before it is read: what is changed after that is followed
    options: dict[str, Any] = {
        "max_ttl": max_ttl,
        "attempts": attempts,
        "journal": folder is not None,
        "tls": trusted,
    }
    with Device.from_cluster(file, cluster=name, **options) as device:
        with Status(device, address_for(file)):
            to = console()
            for what, side, urls in (
                ("requests", device.front, bind),
                ("workers", device.back, workers),
            ):
                for url in urls:
                    tls = context if Address.of(url).kind == TLS else None
                    to.out(f"{what}: {side.bind(url, tls=tls)}")
            for each in device.back.endpoints():
                to.out(f"worker {each.name}: {each.address}")
            to.file.flush()
            ended = threading.Event()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, lambda *_: ended.set())
            while not ended.wait(PERIOD):
                watched.look(device)
                _write(folder, device)
        device.close()
        _write(folder, device)


class _Watched:
    """A cluster file whose changes a device follows."""

    def __init__(self, file: Path, name: str) -> None:
        self._file = file
        self._name = name
        self._text = self._read()

    def _read(self) -> bytes:
        try:
            return self._file.read_bytes()
        except OSError:
            return b""  # it is being written, or was taken away: all stays as it is

    def look(self, device: Device) -> None:
        """Take over a change, or say why not."""
        text = self._read()
        if not text or text == self._text:
            return
        self._text = text
        try:
            device.follow(cluster_of(self._file, self._name))
        except UserError as error:
            print(f"fairlead: all stays as it was: {error}", file=sys.stderr, flush=True)


def _write(folder: JournalFolder | None, device: Device) -> None:
    if folder is not None:
        journal = device.back.recorded()
        folder.write(device.back.cluster, journal)


def show_endpoints(file: Path, interval: float, *, once: bool, as_json: bool) -> None:
    """Show how it stands with a device until somebody says stop."""
    to = console()
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
