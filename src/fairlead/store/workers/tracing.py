"""Spans of handlers, where the user's own code has loaded OpenTelemetry.

The span of a handler is a child of the one in which its message was sent, so a trace leads from a
request through all queues that it passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from fairlead.errors import FairleadError
from fairlead.store.database import tracing
from fairlead.store.message import Message
from fairlead.store.store import Store
from fairlead.store.workers.handlers import Handler


def traced(store: Store, queue: str, handler: Handler) -> Handler:
    """The same handler, in a span for each message."""
    if not tracing.is_used():
        return handler
    spans = Spans(store, queue)
    before = handler.before and partial(spans.before, handler.before)
    return handler._replace(call=partial(spans.call, handler.call), before=before)


class Spans:
    """Those of a queue's messages."""

    def __init__(self, store: Store, queue: str) -> None:
        """`store`: whose journal knows in which span a message was sent."""
        self._store = store
        self._queue = queue

    def call(self, handler: Callable[..., object], message: Message, *tx: object) -> object:
        """Call a handler in a span; what it returns to be called later is, in the same one."""
        with self._span(message) as span:
            result = handler(message, *tx)
        return partial(_later, span, result) if callable(result) else result

    def before(
        self, before: Callable[[Message], Callable[[Message], object] | None], message: Message
    ) -> Callable[[Message], object] | None:
        """What works on a message before its transaction begins, in a span."""
        function = before(message)
        return None if function is None else partial(self.call, function)

    @contextmanager
    def _span(self, message: Message) -> Iterator[Any]:
        from opentelemetry import trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        parent = None
        with suppress(FairleadError):  # who may not read the journal begins a trace of his own
            parent = self._store.trace_of(message.number)
        carried = {"traceparent": parent} if parent else {}
        with trace.get_tracer("fairlead").start_as_current_span(
            f"process {self._queue}",
            context=TraceContextTextMapPropagator().extract(carried),
            kind=trace.SpanKind.CONSUMER,
            attributes={
                "messaging.system": "fairlead",
                "messaging.operation.type": "process",
                "messaging.destination.name": self._queue,
                "messaging.message.id": message.id,
            },
        ) as span:
            yield span


def _later(span: Any, call: Callable[..., object], *given: object) -> object:  # noqa: ANN401
    from opentelemetry import trace

    with trace.use_span(span):
        return call(*given)
