"""Contexts for `tls+tcp` from files: whom this machine is, and whom it trusts."""

from __future__ import annotations

import ssl
from pathlib import Path

from fairlead.errors import SocketError
from fairlead.sockets.options import refusal


def identity(
    certificate: str | Path, key: str | Path | None = None, clients: str | Path | None = None
) -> ssl.SSLContext:
    """For endpoints that bind: the certificate of this machine, with those above it, in PEM.

    `key`: its private key without a password, if it is not in the same file; `clients`: only who
    shows a certificate that one of these has signed may connect. Raises SocketError.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    show(context, certificate, key)
    if clients is not None:
        _check(clients)
        try:
            context.load_verify_locations(clients)
        except ssl.SSLError:
            raise _no_authority(clients) from None
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def show(
    context: ssl.SSLContext, certificate: str | Path, key: str | Path | None = None
) -> ssl.SSLContext:
    """Let a context show a certificate, from its next connection on. Raises SocketError."""
    for file in (certificate, *([] if key is None else [key])):
        _check(file)
    try:
        context.load_cert_chain(certificate, key, password="")  # else it asks at the terminal
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise SocketError(
                f"{key or certificate}: found the key of another certificate than that of "
                f"{certificate}, allowed: its own"
            ) from None
        where = f"{certificate} and {key}" if key else f"{certificate}"
        raise SocketError(
            f"{where}: found no certificate and key, allowed: both in PEM, without a password"
        ) from None
    return context


def authority(
    certificates: str | Path,
    certificate: str | Path | None = None,
    key: str | Path | None = None,
) -> ssl.SSLContext:
    """For endpoints that connect: trusts those whose certificate these have signed, nobody else.

    `certificates`: a file with one or more of them in PEM; `certificate`, `key`: of this machine,
    for a peer that asks who connects. Raises SocketError.
    """
    _check(certificates)
    try:
        context = ssl.create_default_context(cafile=certificates)
    except ssl.SSLError:
        raise _no_authority(certificates) from None
    return context if certificate is None else show(context, certificate, key)


def _no_authority(file: str | Path) -> SocketError:
    return SocketError(f"{file}: found no certificate, allowed: one or more in PEM")


def _check(file: object) -> None:
    if not isinstance(file, str | Path):
        raise refusal("tls", file, "the path of a file in PEM")
    try:
        Path(file).read_bytes()
    except OSError as error:
        raise SocketError(f"{file}: {error.strerror}, allowed: a file in PEM") from None
