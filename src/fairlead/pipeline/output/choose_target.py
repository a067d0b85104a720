"""Places of results: which kind of delivery each takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairlead.errors import OutputError
from fairlead.pipeline.output.folder_tables import FolderTables
from fairlead.pipeline.output.tables_delivery import TablesDelivery
from fairlead.runs.paths import TABLE, local


def delivery_to(
    out: str,
    *,
    overwrite: bool,
    read: str = "",
    also_read: Sequence[Path] = (),
    tables: bool = False,
) -> TablesDelivery:
    """A delivery to a path, a URI or a table; refuses what can be refused without a session.

    `read`: where the messages are; `also_read`: files of this machine that the run reads, too;
    `tables`: whether it can be a table of the session's catalog. Raises OutputError.
    """
    if local(out) is not None:
        return FolderTables(out, overwrite=overwrite, read=read, also_read=also_read)
    if out.startswith(TABLE):
        if not tables:
            raise OutputError(f"{out}: found a table, allowed: a folder")
        from fairlead.pipeline.output.catalog import CatalogDelivery

        return CatalogDelivery(out, overwrite=overwrite, read=read)
    from fairlead.pipeline.output.uri_target import UriDelivery

    return UriDelivery(out, overwrite=overwrite, read=read)
