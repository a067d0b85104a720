"""The text of a file that a user wrote."""

from __future__ import annotations

from pathlib import Path
from stat import S_ISDIR, S_ISFIFO, S_ISREG
from typing import Final

from fairlead.balance.objects import repr_of
from fairlead.errors import UserError

MIB: Final = 1 << 20
OF_SHELLS: Final = ("/dev/", "/proc/")
"""Where pipes are that a shell has given to this process: `<(…)`, or its input."""


def is_other(path: Path) -> bool:
    """Whether there is something that is neither a file nor a folder: it may never end."""
    try:
        kind = path.stat().st_mode
    except (OSError, ValueError):
        return False
    shell_pipe = S_ISFIFO(kind) and str(path).startswith(OF_SHELLS)
    return not (S_ISREG(kind) or S_ISDIR(kind) or shell_pipe)


def text_of(path: str | Path, error: type[UserError], most: int | None = None) -> str:
    """All of a file in UTF-8, with or without a byte order mark. Raises `error`.

    `most`: bytes that it may have.
    """
    if is_other(Path(path)):
        raise error(f"{path}: found a pipe or a device, allowed: a file")
    try:
        with Path(path).open("rb") as file:
            content = file.read() if most is None else file.read(most + 1)
        if most is not None and len(content) > most:
            raise error(f"{path}: found more than {most // MIB} MiB, allowed: up to {most // MIB}")
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        raise error(f"{path}: no such file") from None
    except UnicodeDecodeError as wrong:
        line = wrong.object[: wrong.start].count(b"\n") + 1
        raise error(f"{path}:{line}: cannot be read: not a text in UTF-8") from None
    except ValueError as wrong:  # no name of a file has such a character
        raise error(f"{repr_of(str(path))}: cannot be looked at: {wrong}") from None
    except OSError as wrong:
        raise error(f"{path}: cannot be read: {wrong.strerror}") from None
