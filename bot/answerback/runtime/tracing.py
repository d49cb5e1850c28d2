"""Sends traces of asks to an OpenTelemetry collector: from the submission over what people do to the webhook.

Imported only if `tracing.endpoint` is set. The context of an ask's trace is stored with it, so whichever process
handles a click or a webhook continues the same trace, however much later. Spans hold ids and kinds, never content.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final

from aiohttp import web
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from answerback.core.ask import Ask
from answerback.core.errors import StoreError
from answerback.ports.sender import Sender, SendResult
from answerback.ports.store import AskStore
from answerback.ports.store_values import Delivery
from answerback.service.notify import Hooks
from answerback_base.version import VERSION

_W3C: Final = TraceContextTextMapPropagator()
_EXPORT_SECONDS: Final = 3.0
_LONGEST_TRACESTATE: Final = 512
"""https://www.w3.org/TR/trace-context/#tracestate-limits: what has to be passed on."""


@dataclass
class _Arrival:
    """A request of an agent, until its ask is submitted."""

    context: Context
    at: int = field(default_factory=time.time_ns)
    begun: Mapping[str, str] = field(default_factory=dict)


_ARRIVAL: Final[ContextVar[_Arrival | None]] = ContextVar("arrival", default=None)


class Tracing:
    """Makes the spans of asks.

    Args:
        endpoint: the collector's address for traces by OTLP over HTTP, as ``http://127.0.0.1:4318/v1/traces``.
    """

    def __init__(self, endpoint: str) -> None:
        named = {} if "OTEL_SERVICE_NAME" in os.environ else {"service.name": "answerback"}
        resource = Resource.create({**named, "service.version": VERSION})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        exporter = OTLPSpanExporter(endpoint=endpoint, timeout=_EXPORT_SECONDS)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("answerback", VERSION)

    async def stop(self) -> None:
        """Send what is left, for a few seconds at most."""
        await asyncio.to_thread(self._provider.shutdown)

    def hooks(self) -> Hooks:
        hooks = Hooks(self._begin)
        hooks.acted.listen(self._on_action)
        hooks.shown.listen(lambda ask, seconds: self._note("show", ask, seconds))
        hooks.ended.listen(lambda ask: self._note("wait", ask, time.time() - ask.created_at))
        return hooks

    @web.middleware
    async def middleware(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Take the agent's context from a request; the response has that of the ask which it submitted."""
        arrival = _Arrival(_W3C.extract(request.headers))
        token = _ARRIVAL.set(arrival)
        try:
            response = await handler(request)
        finally:
            _ARRIVAL.reset(token)
        if arrival.begun and not response.prepared:
            response.headers["traceresponse"] = arrival.begun["traceparent"]
        return response

    @staticmethod
    def headers(context: Context | None = None) -> dict[str, str]:
        """Return the headers that pass a trace on; by default the current one."""
        headers: dict[str, str] = {}
        _W3C.inject(headers, context)
        if len(headers.get("tracestate", "")) > _LONGEST_TRACESTATE:
            del headers["tracestate"]
        return headers

    def traced(self, sender: Sender, asks: AskStore) -> Sender:
        """Return a sender whose attempts are spans of their asks' traces."""
        return _TracedSender(sender, asks, self._tracer)

    def _begin(self, ask_id: str) -> dict[str, str]:
        """Begin the trace of an ask, within its agent's."""
        arrival = _ARRIVAL.get() or _Arrival(Context())
        current = trace.get_current_span()  # of a message of MCP, whose `_meta` has the context
        within = current.get_span_context().is_valid
        span = self._tracer.start_span(
            "submit",
            context=trace.set_span_in_context(current) if within else arrival.context,
            kind=SpanKind.SERVER,
            start_time=arrival.at,
            attributes={"answerback.ask_id": ask_id},
        )
        span.end()
        arrival.begun = begun = self.headers(trace.set_span_in_context(span))
        return begun

    def _on_action(
        self, surface: str, action: str, result: str, seconds: float, ask: Ask | None
    ) -> None:
        more = {"surface": surface, "action": action, "result": result}
        self._note("act", ask, seconds, more)

    def _note(
        self, name: str, ask: Ask | None, seconds: float, more: Mapping[str, str] | None = None
    ) -> None:
        """Add a span that ends now to the trace of an ask."""
        if ask is None or not ask.request.trace:
            return
        span = self._tracer.start_span(
            name,
            context=_W3C.extract(ask.request.trace),
            start_time=time.time_ns() - int(seconds * 1e9),
            attributes=_attributes(ask, more or {}),
        )
        span.end()


@dataclass(frozen=True, slots=True)
class _TracedSender:
    """Sends webhooks within the traces of their asks."""

    inner: Sender
    asks: AskStore
    tracer: trace.Tracer

    async def send(self, delivery: Delivery, at: float) -> SendResult:
        try:
            ask = await self.asks.get(delivery.ask_id)
        except StoreError:  # the webhook matters more than its trace
            ask = None
        if ask is None or not ask.request.trace or delivery.is_push:
            return await self.inner.send(delivery, at)
        with self.tracer.start_as_current_span(
            "webhook",
            context=_W3C.extract(ask.request.trace),
            kind=SpanKind.CLIENT,
            attributes=_attributes(ask, {"type": delivery.type}),
        ) as span:
            sent = await self.inner.send(delivery, at)
            status = {} if sent.status is None else {"http.response.status_code": sent.status}
            span.set_attributes(status)
            if sent.error is not None:
                span.set_status(StatusCode.ERROR, sent.error)
            return sent


def _attributes(ask: Ask, more: Mapping[str, str]) -> dict[str, str]:
    about = {
        "ask_id": ask.id,
        "dialect": ask.request.dialect,
        "surface": ask.placement.destination.surface,
        "status": ask.status.value,
        **more,
    }
    return {f"answerback.{name}": value for name, value in about.items()}
