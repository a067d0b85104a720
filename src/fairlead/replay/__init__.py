"""What recorded traffic would have met: who waits for whom, and for how long.

`from fairlead.replay import replay`. It is loaded when it is first asked for, as is all that
`fairlead` itself exports; in there it would have this package's name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlead.replay.table import replay

__all__ = ["replay"]


def __getattr__(name: str) -> object:
    if name == "replay":
        from fairlead.extras import need

        need("tables", "fairlead.replay.replay")
        from fairlead.replay.table import replay

        return replay
    raise AttributeError(f"module 'fairlead.replay' has no attribute {name!r}")
