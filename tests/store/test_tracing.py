"""A message carries the trace of its sender, and its handler goes on with it."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from fairlead import AsyncStore, Service, Store
from fairlead.store.workers.handlers import Handler, function
from fairlead.store.workers.handling import Handling, handle
from fairlead.store.workers.serving import of_service
from tests.store.test_service import DECLARED
from tests.store.test_worker import both
from tests.stores import made_url

trace = pytest.importorskip("opentelemetry.trace")
sdk = pytest.importorskip("opentelemetry.sdk.trace")


@pytest.fixture(scope="module")
def provider() -> Any:
    """That of this process: there can be one."""
    found = sdk.TracerProvider()
    trace.set_tracer_provider(found)
    return found


@pytest.fixture
def spans(provider: Any) -> Iterator[Any]:
    """Those that have ended, in their order."""
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter.get_finished_spans
    exporter.shutdown()


def handled(store: Store, queue: str, handler: Handler) -> None:
    work = store.take(queue)
    assert work is not None
    handle(store, work, handler, Handling())


@both
def test_a_trace_leads_through_two_queues(dialect: str, spans: Any) -> None:
    tracer = trace.get_tracer("a program")
    with Store.open(made_url(dialect)) as store:
        with tracer.start_as_current_span("request") as request:
            store.send("q", "x", group="g")
        store.send("q", "y", group="g")  # in no span
        handled(store, "q", function("here", lambda message, tx: tx.send("r", message.body) and 0))
        handled(store, "r", function("here", lambda message: None))
        actors = {event.id: event.actor for event in store.journal() if event.kind == "sent"}
    found = spans()
    assert [each.name for each in found] == ["request", "process q", "process q", "process r"]
    first, second, third = found[1:]
    assert first.parent.span_id == request.get_span_context().span_id
    assert first.context.trace_id == request.get_span_context().trace_id
    assert second.parent is None
    assert third.parent.span_id == first.context.span_id
    assert third.kind is trace.SpanKind.CONSUMER
    assert third.attributes["messaging.destination.name"] == "r"
    assert sum(" 00-" in each for each in actors.values()) == 3


@both
def test_a_handler_that_fails_is_a_span_that_failed(dialect: str, spans: Any) -> None:
    def fails(message: Any) -> None:
        raise ZeroDivisionError

    with Store.open(made_url(dialect)) as store:
        store.send("q", "x")
        handled(store, "q", function("here", fails))
    (span,) = spans()
    assert span.status.status_code is trace.StatusCode.ERROR


def test_coroutines_and_what_they_return_are_in_the_span_of_their_message(
    spans: Any, tmp_path: Any
) -> None:
    (tmp_path / "shop.toml").write_text(DECLARED)
    shop = Service("Orders/Shop")
    inside: list[int] = []

    @shop.on("Order")
    async def order(message: Any) -> Any:
        await asyncio.sleep(0)
        inside.append(trace.get_current_span().get_span_context().span_id)

        async def answer(tx: Any) -> None:
            here = await tx.conversation(message.conversation)
            inside.append(trace.get_current_span().get_span_context().span_id)
            await here.send("Confirmation", "x")

        return answer

    with Store.open(made_url("sqlite")) as store:
        store.declare(tmp_path / "shop.toml")
        store.begin_dialog("Orders/Client", "Orders/Shop").send("Order", "book")
        handled(store, "shop", of_service(shop).handler)
    (span,) = spans()
    assert inside == [span.context.span_id] * 2


@both
def test_a_task_sends_in_its_span(dialect: str, spans: Any) -> None:
    url = made_url(dialect)

    async def story() -> None:
        async with await AsyncStore.open(url) as store:
            with trace.get_tracer("a program").start_as_current_span("request"):
                await asyncio.gather(store.send("q", "x"), store.send("q", "y"))

    asyncio.run(story())
    with Store.open(url) as store:
        for _ in range(2):
            handled(store, "q", function("here", lambda message: None))
    request, *others = spans()
    assert [each.parent.span_id for each in others] == [request.context.span_id] * 2
