"""Which database a URL names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fairlead.balance.objects import shown
from fairlead.errors import StoreError
from fairlead.store.backends.port import BackendKind
from fairlead.store.backends.postgresql import SCHEMES, PostgresqlBackend
from fairlead.store.backends.sqlite import SCHEME, SqliteBackend

BACKENDS: Final[Mapping[str, BackendKind]] = {
    SCHEME: SqliteBackend,
    **dict.fromkeys(SCHEMES, PostgresqlBackend),
}
"""How a URL begins → what a store has of such a database."""
ALLOWED: Final = "postgresql://USER@HOST/DATABASE"


def backend_of(url: str) -> BackendKind:
    """What a store has of the database of a URL. Raises StoreError for what names none."""
    if "\0" in str(url) or str(url).encode(errors="ignore").decode() != str(url):
        raise StoreError(
            "store: found a URL with a character that no name can have, allowed: sqlite:///FILE, "
            f"or {ALLOWED}"
        )
    for scheme, backend in BACKENDS.items():
        if str(url).startswith(scheme):
            return backend
    kind = str(url).partition(":")[0]
    slashes = " with three slashes" if SCHEME.startswith(f"{kind}:") else ""
    raise StoreError(f"store: found {shown(kind)}, allowed: sqlite:///FILE{slashes}, or {ALLOWED}")
