"""Open files: each connection needs one, and a process and a machine may have only so many."""

from __future__ import annotations

import errno
import resource
import socket

from fairlead.errors import SocketError


def reason(error: OSError, otherwise: str = "") -> str:
    """Why a socket could not be had, in the words of an error line.

    `otherwise`: what is allowed, where it was not for want of files.
    """
    # perhaps only as no file was left to ask for a name with; with some resolvers that is EBUSY
    if isinstance(error, socket.gaierror) or error.errno == errno.EBUSY:
        error = _shortage() or error
    if error.errno == errno.EMFILE:
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return f"found {most} open files, allowed: at most {most} (ulimit -n)"
    if error.errno == errno.ENFILE:
        return "found no file left on this machine, allowed: fewer open files (fs.file-max)"
    return (error.strerror or str(error)) + (f", {otherwise}" if otherwise else "")


def check(what: str) -> None:
    """Raises SocketError where not one more file can be opened.

    For what does not say so itself: a TLS context that cannot read whom to trust trusts nobody.
    """
    error = _shortage()
    if error is not None:
        raise SocketError(f"{what}: {reason(error)}")


def _shortage() -> OSError | None:
    """The error with which a file cannot be opened, if it cannot."""
    try:
        socket.socket(socket.AF_UNIX).close()
    except OSError as error:
        return error
    return None
