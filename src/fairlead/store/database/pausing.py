"""Where a verb runs: in a thread, or on an event loop, where it must not keep others waiting."""

from __future__ import annotations

import sys
import time
from typing import Any


def on_loop() -> bool:
    """Whether a verb runs here on an event loop."""
    bridge = _bridge()
    return bridge is not None and bridge.owner() is not None


def pause(seconds: float) -> None:
    """Go on after so many seconds."""
    bridge = _bridge()
    if bridge is None or not bridge.pause(seconds):
        time.sleep(seconds)


def _bridge() -> Any:  # noqa: ANN401 - a module
    """What runs verbs on event loops; None: nobody has asked for that in this process."""
    return sys.modules.get("fairlead.store.database.bridge")
