"""Places of results: which kind of delivery each takes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fairlead.pipeline.output.delivery import Delivery
from fairlead.pipeline.output.folder import FolderDelivery
from fairlead.pipeline.paths import local


def delivery_to(
    out: str, *, overwrite: bool, read: str = "", also_read: Sequence[Path] = ()
) -> Delivery:
    """A delivery to a path or a URI; refuses what can be refused before there is a session.

    `read`: where the messages are; `also_read`: files of this machine that the run reads, too.
    Raises OutputError.
    """
    if local(out) is not None:
        return FolderDelivery(out, overwrite=overwrite, read=read, also_read=also_read)
    from fairlead.pipeline.output.elsewhere import ElsewhereDelivery

    return ElsewhereDelivery(out, overwrite=overwrite, read=read)
