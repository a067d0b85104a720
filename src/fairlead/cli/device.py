"""Run a device, and look at one that runs."""

from __future__ import annotations

import json
import logging
import signal
import ssl
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from rich.console import Console
from rich.live import Live
from rich.table import Table

from fairlead.cli.output import acted
from fairlead.cli.show import console, filled, print_table
from fairlead.errors import OutputError, UserError
from fairlead.sockets.addresses import TLS, Address
from fairlead.sockets.cluster_tables import cluster_of, differences
from fairlead.sockets.device import Device
from fairlead.sockets.folder import JournalFolder
from fairlead.sockets.metrics import SocketMetrics
from fairlead.sockets.status import DRAIN, RESUME, Status, address_for, asked
from fairlead.sockets.tls import authority, identity, show

PERIOD: Final = 0.5
"""Seconds between two looks at the journal."""
BETWEEN_LOOKS: Final = 1.0
"""Seconds, on a terminal unless another time is asked for."""
LOG: Final = logging.getLogger("fairlead.sockets.device")
FORMAT: Final = "%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s"
DAY: Final = "%Y-%m-%dT%H:%M:%S"
NUMBERS: Final = (
    "waiting",
    "held",
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
    clients: Path | None = None

    def identity(self, urls: Sequence[str]) -> ssl.SSLContext | None:
        """The context of addresses to bind, if one of them needs it. Raises UserError."""
        secure = [url for url in urls if Address.of(url).kind == TLS]
        if secure and self.certificate is None:
            raise UserError(
                f"--certificate: found none for {secure[0]}, allowed: the file of one in PEM"
            )
        if self.certificate is None:
            for name, path in (("--key", self.key), ("--clients", self.clients)):
                if path is not None:
                    raise UserError(f"{name}: found no --certificate, allowed: both, or neither")
            return None
        if not secure and self.authority is None:
            raise UserError(
                "--certificate: found no address that has one, allowed: with tls+tcp://HOST:PORT "
                "as --bind or --workers, or --authority for whom it is shown to"
            )
        return identity(self.certificate, self.key, self.clients)

    def trusted(self) -> ssl.SSLContext | None:
        """The context of destinations, if one was said. Raises UserError."""
        if self.authority is None:
            return None
        return authority(self.authority, self.certificate, self.key)


def run_device(
    file: Path,
    bind: Sequence[str],
    workers: Sequence[str],
    *,
    name: str,
    journal: Path | None,
    metrics: str | None,
    files: Files,
    options: dict[str, Any],
) -> None:
    """Forward requests until a signal comes. `options`: of a `Device`."""
    _refuse_folder(file)
    context = files.identity([*bind, *workers])
    watched = _Watched(file, name)
    with ExitStack() as stack:
        stack.enter_context(_logged())
        device = stack.enter_context(
            Device(watched.cluster, journal=journal is not None, tls=files.trusted(), **options)
        )
        stack.enter_context(Status(device, address_for(file)))
        lines = [
            f"{what}: {side.bind(url, tls=context if Address.of(url).kind == TLS else None)}"
            for what, side, urls in (
                ("requests", device.front, bind),
                ("workers", device.back, workers),
            )
            for url in urls
        ]
        if metrics is not None:
            lines.append(f"metrics: {stack.enter_context(SocketMetrics(device, metrics)).url}")
        # after all that can fail: a start that was in vain leaves no folder
        writer = _Journal(JournalFolder(journal)) if journal else None
        if writer is not None:
            lines.append(f"journal: {writer.folder.place}")
        ended, renewed = threading.Event(), threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: ended.set())
        signal.signal(signal.SIGHUP, lambda *_: renewed.set())
        acted()
        print("\n".join(lines), flush=True)
        LOG.info("event=started file=%s %s", json.dumps(str(file)), " ".join(map(_as_key, lines)))
        while not ended.wait(PERIOD):
            if renewed.is_set():
                renewed.clear()
                _renew(device, files, context)
            watched.look(device)
            if writer is not None:
                writer.write(device)
        device.close()
        if writer is not None:
            writer.end(device)
        LOG.info("event=ended file=%s", json.dumps(str(file)))


def _as_key(line: str) -> str:
    """`what: where` as the log has it."""
    what, _, where = line.partition(": ")
    return f"{what}={json.dumps(where)}"


@contextmanager
def _logged() -> Iterator[None]:
    """A line on the standard error for each event, with the time in UTC."""
    handler = logging.StreamHandler(sys.stderr)
    formatter = logging.Formatter(FORMAT, DAY)
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    log = logging.getLogger("fairlead.sockets")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)


def _renew(device: Device, files: Files, context: ssl.SSLContext | None) -> None:
    """Read the certificates again, for new connections; where that fails, all stays."""
    try:
        trusted = files.trusted()
        if context is not None and files.certificate is not None:
            show(context, files.certificate, files.key)
        if trusted is not None:
            device.back.renew(trusted)
    except UserError as error:
        _all_stays(str(error))
        return
    if context is not None or trusted is not None:
        print("the certificates were read again", flush=True)


class _Journal:
    """A journal that a device writes as it goes on, whether or not that can be written."""

    def __init__(self, folder: JournalFolder) -> None:
        """It can be written so far."""
        self.folder: Final = folder
        self._fails = False
        self._begun_anew = 0

    def write(self, device: Device) -> None:
        """Write what has happened; say once that it cannot be, and once that it can be again."""
        try:
            self._write(device)
        except OutputError as error:
            if not self._fails:
                _say(f"journal: {error}; all else goes on, and it is tried again")
            self._fails = True
            return
        if self._fails:
            missing = f", {self.folder.missing} rows are missing" if self.folder.missing else ""
            _say(f"journal: {self.folder.place}: it is written again{missing}")
            self._fails = False
        if self._begun_anew != self.folder.begun_anew:
            self._begun_anew = self.folder.begun_anew
            _say(
                f"journal: {self.folder.place}: it was removed, with its rows until now; it is "
                "begun anew"
            )

    def end(self, device: Device) -> None:
        """Write the last. Raises OutputError where rows are lost."""
        try:
            self._write(device)
        except OutputError as error:
            lost = self.folder.waiting + self.folder.missing
            raise OutputError(f"{error}; {lost} rows of the journal are lost") from None

    def _write(self, device: Device) -> None:
        self.folder.write(device.back.cluster, device.back.recorded())


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
    _say(f"all stays as it was: {why}")


def _say(what: str) -> None:
    """In the log, with the time; the operator should look at it."""
    LOG.warning(what)


def show_endpoints(
    file: Path,
    interval: float | None,
    *,
    once: bool,
    as_json: bool,
    drain: str | None = None,
    resume: str | None = None,
) -> None:
    """Show how it stands with a device, on a terminal until somebody says stop.

    `interval`: seconds between two looks; None: one on a terminal, else there is one look only;
    `drain`, `resume`: a peer that is to get nothing new, or work again; then there is one look.
    """
    _refuse_folder(file)
    to = console()
    command = {key: name for key, name in ((DRAIN, drain), (RESUME, resume)) if name is not None}
    if command:
        if interval is not None or len(command) > 1:
            raise UserError(
                "endpoints: found --drain with --resume or --interval, allowed: one of them"
            )
        rows = asked(file, command)
        acted()
        _print(to, rows, as_json=as_json)
        return
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
