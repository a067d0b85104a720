"""What a command prints, and what it means that nobody reads it, or that it cannot be written.

A command that changes something does so first, and says `acted()` before it prints: from then on
a standard output that is closed or full changes neither what was done nor the exit status. For one
that only looks, what it prints is what it is for: it ends there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EBADF, EPIPE
from typing import Any, Final, TextIO

import typer

STDERR: Final = 2
OPEN: Final = "allowed: one that is open and has room, as >/dev/null is"


class UnwrittenError(Exception):
    """The standard output took not all of what a command that only looks has to say.

    No OSError: what prints for us would end the process at one, with a status of its own.
    """

    def __init__(self, number: int) -> None:
        """`number`: of `errno`."""
        super().__init__(f"stdout: found {found(number)}, {OPEN}")
        self.number: Final = number

    @property
    def unread(self) -> bool:
        """Whether who read it had enough: `fairlead journal | head`."""
        return self.number == EPIPE


def found(number: int) -> str:
    """A fault of the output, in words."""
    return "it closed" if number == EBADF else os.strerror(number)


class Output:
    """The standard output as commands have it; all else is the stream's own."""

    def __init__(self, stream: TextIO | None) -> None:
        """`stream`: None where it was closed before the command began."""
        self.stream: Final = stream
        self.acted = False
        """Whether the command has done what it should, and only says so now."""
        self.fault: int | None = None if stream is not None else EBADF
        """Why no more is written."""
        self.lost = False
        """Whether something was not written."""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a stream has
        return getattr(self.stream, name)

    @property
    def buffer(self) -> _Bytes:
        """Where bytes are written."""
        return _Bytes(self)

    def isatty(self) -> bool:
        """Whether somebody looks at it."""
        return self.stream is not None and self.stream.isatty()

    def write(self, text: str) -> int:
        """Write a text. Raises UnwrittenError."""
        with self.writing(bool(text)) as stream:
            if stream is not None:
                stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what was held back. Raises UnwrittenError."""
        with self.writing(False) as stream:
            if stream is not None:
                stream.flush()

    @contextmanager
    def writing(self, something: bool) -> Iterator[TextIO | None]:
        """Write to the stream; None where nothing can be written any more."""
        if self.fault is None:
            try:
                yield self.stream
            except OSError as error:
                self.fault, something = error.errno or EPIPE, True
                self._forget()
        else:
            yield None
        if self.fault is not None and something:
            self.lost = True
            if not self.acted:
                raise UnwrittenError(self.fault)

    def _forget(self) -> None:
        """Let what the stream still holds go nowhere: it would fail again when Python ends."""
        with suppress(OSError, ValueError):
            if self.stream is not None:
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())


class _Bytes:
    """The bytes of an output."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def write(self, data: bytes) -> int:
        """Write bytes. Raises UnwrittenError."""
        with self._output.writing(bool(data)) as stream:
            if stream is not None:
                stream.buffer.write(data)
        return len(data)

    def flush(self) -> None:
        """Write what was held back. Raises UnwrittenError."""
        with self._output.writing(False) as stream:
            if stream is not None:
                stream.buffer.flush()


@contextmanager
def watched() -> Iterator[Output]:
    """The standard output of one command; all is written when it ends. Raises UnwrittenError."""
    before = sys.stdout
    output = Output(before)
    sys.stdout = output
    try:
        yield output
        output.flush()
    except BaseException:
        with suppress(UnwrittenError):  # what ends the command counts
            output.flush()
        raise
    finally:
        sys.stdout = before
    if output.lost and output.acted and output.fault not in (EPIPE, EBADF):
        why = found(output.fault or 0)
        line = f"fairlead: stdout: {why}; what was asked is done, but what it prints is lost"
        typer.echo(line, err=True)


def acted() -> None:
    """What was asked is done, or goes on for long: what comes now only says so."""
    if isinstance(sys.stdout, Output):
        sys.stdout.acted = True


def closed() -> bool:
    """Whether the standard output was closed before the command began."""
    return sys.stdout is None or (isinstance(sys.stdout, Output) and sys.stdout.stream is None)


def keep_standard_files() -> None:
    """Open what of the three standard files is closed.

    Else the next file that is opened, such as the connection to a database, takes its number, and
    what a process that we start prints goes there.
    """
    while (opened := os.open(os.devnull, os.O_RDWR)) <= STDERR:
        os.set_inheritable(opened, True)
    os.close(opened)
    if sys.stdin is None:
        sys.stdin = os.fdopen(0, encoding="utf-8")
    if sys.stderr is None:  # else what is said there would be printed
        sys.stderr = os.fdopen(STDERR, "w", encoding="utf-8")
