"""The trace in which something is done, where the program uses OpenTelemetry.

It stands behind who did it, in each event of the journal; so a message carries that of its sender.
"""

from __future__ import annotations

import re
import sys
from typing import Final

API: Final = "opentelemetry.trace"
BEHIND: Final = re.compile(r" (00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2})$")


def is_used() -> bool:
    """Whether this program has loaded OpenTelemetry; nothing of ours does."""
    return API in sys.modules


def with_trace(actor: str) -> str:
    """Who does something, and the context of the span in which he does, as W3C writes it."""
    if not is_used():
        return actor
    from opentelemetry.trace import get_current_span

    span = get_current_span().get_span_context()
    if not span.is_valid:
        return actor
    return f"{actor} 00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags):02x}"


def trace_of(actor: str) -> str | None:
    """The context of the span in which somebody did something; None: it was in none."""
    match = BEHIND.search(actor)
    return None if match is None else match[1]
