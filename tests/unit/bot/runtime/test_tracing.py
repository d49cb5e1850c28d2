"""Traces of asks, as a collector on loopback receives them: one from the submission over the click to the webhook."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pydantic import SecretStr

from answerback.core.errors import StoreError
from answerback.ports.sender import SendResult
from answerback.ports.store_values import Delivery
from answerback.runtime.config import TracingSettings
from answerback.runtime.tracing import Tracing
from answerback_client import AsyncClient
from answerback_webhooks.settings import CallbackSettings
from tests.fakes.receiver import Answer, Receiver, hanging_up, receiving, status
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served
from tests.unit.bot.outbox_support import SECRET

GO: dict[str, Any] = {"question": "Deploy?", "answer_type": "boolean"}
AGENTS_TRACE = "0af7651916cd43dd8448eb211c80319c"
AGENTS_SPAN = "b7ad6b7169203331"
SAMPLED = f"00-{AGENTS_TRACE}-{AGENTS_SPAN}-01"


@dataclass(frozen=True)
class Span:
    """A span that reached the collector."""

    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, str]
    error: bool
    seconds: float


@dataclass
class Collector:
    """The spans that a collector has received, once the service has stopped."""

    receiver: Receiver
    services: set[str] = field(default_factory=set)

    def spans(self) -> list[Span]:
        """Return the spans, in the order in which they ended."""
        found = []
        for received in self.receiver.received:
            for of_service in ExportTraceServiceRequest.FromString(received.body).resource_spans:
                self.services |= {
                    each.value.string_value
                    for each in of_service.resource.attributes
                    if each.key == "service.name"
                }
                found += [
                    Span(
                        span.name,
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        {
                            each.key.removeprefix("answerback."): each.value.string_value
                            or str(each.value.int_value)
                            for each in span.attributes
                        },
                        span.status.code == span.status.STATUS_CODE_ERROR,
                        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                    )
                    for of_scope in of_service.scope_spans
                    for span in of_scope.spans
                ]
        return found

    def by_name(self) -> dict[str, Span]:
        """Return the spans by their names, each of which occurs once."""
        spans = self.spans()
        assert len({span.name for span in spans}) == len(spans)
        return {span.name: span for span in spans}


@pytest.fixture
async def collector() -> AsyncIterator[Collector]:
    async with receiving() as receiver:
        yield Collector(receiver)


@pytest.fixture
async def agent() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


@asynccontextmanager
async def traced(folder: Path, collector: Collector) -> AsyncIterator[Served]:
    tables: dict[str, Any] = {
        "tracing": TracingSettings(endpoint=collector.receiver.url),
        "callbacks": CallbackSettings(secret=(SecretStr(SECRET),)),
    }
    async with served(folder, **tables) as up:
        yield up


async def submit(up: Served, agent: Receiver, **headers: str) -> aiohttp.ClientResponse:
    """Submit an ask with a callback."""
    body = {"name": "ask_user", "arguments": GO, "callback": {"url": agent.url}}
    async with up.http.post(f"{up.url}/v1/asks", json=body, headers=headers) as response:
        assert response.status == 201, await response.text()
        await response.read()
        return response


async def answer(up: Served) -> str:
    """Answer the newest ask; return its id."""
    ask = await up.newest()
    await up.act(ask, action="answer", value=True)
    return ask.id


@pytest.mark.rule("TRACE-1", "TRACE-2")
async def test_one_trace_leads_from_the_agent_over_the_click_to_the_webhook(
    tmp_path: Path, collector: Collector, agent: Receiver
) -> None:
    async with traced(tmp_path, collector) as up:
        response = await submit(up, agent, traceparent=SAMPLED, tracestate="vendor=1")
        ask_id = await answer(up)
        [webhook] = await agent.until(1)
    spans = collector.by_name()
    assert spans.keys() == {"submit", "act", "wait", "webhook"}
    assert {span.trace for span in spans.values()} == {AGENTS_TRACE}
    first = spans.pop("submit")
    assert first.parent == AGENTS_SPAN
    assert {span.parent for span in spans.values()} == {first.id}
    assert {span.attributes["ask_id"] for span in (first, *spans.values())} == {ask_id}
    acted = spans["act"].attributes
    assert (acted["action"], acted["result"], acted["surface"]) == ("answer", "acted", "web")
    assert spans["webhook"].attributes["http.response.status_code"] == "204"
    assert response.headers["traceresponse"] == f"00-{AGENTS_TRACE}-{first.id}-01"
    assert webhook.headers["traceparent"] == f"00-{AGENTS_TRACE}-{spans['webhook'].id}-01"
    assert webhook.headers["tracestate"] == "vendor=1"
    assert collector.services == {"answerback"}


@pytest.mark.rule("TRACE-1")
async def test_an_ask_without_a_trace_begins_one_that_a_restart_continues(
    tmp_path: Path, collector: Collector, agent: Receiver
) -> None:
    async with traced(tmp_path, collector) as up:
        await submit(up, agent)
    async with traced(tmp_path, collector) as up:
        await answer(up)
        await agent.until(1)
    spans = collector.by_name()
    assert spans.keys() == {"submit", "act", "wait", "webhook"}
    assert len({span.trace for span in spans.values()}) == 1
    assert spans["submit"].parent == ""


@pytest.mark.rule("TRACE-2")
async def test_a_trace_that_the_agent_does_not_record_is_passed_on_and_not_sent(
    tmp_path: Path, collector: Collector, agent: Receiver
) -> None:
    async with traced(tmp_path, collector) as up:
        state = f"vendor={'x' * 250},other={'y' * 250},third={'z' * 20}"
        await submit(up, agent, traceparent=f"00-{AGENTS_TRACE}-{AGENTS_SPAN}-00", tracestate=state)
        await answer(up)
        [webhook] = await agent.until(1)
    assert webhook.headers["traceparent"].startswith(f"00-{AGENTS_TRACE}-")
    assert webhook.headers["traceparent"].endswith("-00")
    assert "tracestate" not in webhook.headers
    assert collector.spans() == []


@pytest.mark.rule("TRACE-2")
@pytest.mark.parametrize(("answers", "code"), [(status(500), "500"), (hanging_up, None)])
async def test_a_webhook_that_fails_is_an_error_in_its_trace(
    tmp_path: Path, collector: Collector, agent: Receiver, answers: Answer, code: str | None
) -> None:
    agent.always = answers
    async with traced(tmp_path, collector) as up:
        await submit(up, agent)
        await answer(up)
        await agent.until(1)
    spans = collector.by_name()
    assert spans["webhook"].error
    assert spans["webhook"].attributes.get("http.response.status_code") == code
    assert not spans["act"].error


@pytest.mark.rule("TRACE-2")
async def test_the_context_in_a_message_of_mcp_counts(tmp_path: Path, collector: Collector) -> None:
    async with traced(tmp_path, collector) as up:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {
                "name": "ask_user",
                "arguments": {"question": "Deploy?", "answer_type": "boolean", "mode": "async"},
                "_meta": {"traceparent": SAMPLED},
            },
        }
        accepts = {"Accept": "application/json, text/event-stream"}
        async with up.http.post(f"{up.url}/mcp", json=message, headers=accepts) as response:
            assert response.status == 200, await response.text()
            await response.read()
    assert [(span.name, span.trace) for span in collector.spans()] == [("submit", AGENTS_TRACE)]


@pytest.mark.rule("TRACE-2")
async def test_the_client_passes_its_callers_trace_on(tmp_path: Path, collector: Collector) -> None:
    parent = trace.SpanContext(
        int(AGENTS_TRACE, 16),
        int(AGENTS_SPAN, 16),
        is_remote=False,
        trace_flags=trace.TraceFlags(1),
    )
    async with traced(tmp_path, collector) as up, AsyncClient(up.url) as client:
        with trace.use_span(trace.NonRecordingSpan(parent)):
            await client.submit("ask_user", GO)
    assert collector.by_name()["submit"].parent == AGENTS_SPAN


@pytest.mark.rule("TRACE-3")
async def test_a_collector_that_is_away_delays_nothing(tmp_path: Path, agent: Receiver) -> None:
    async with receiving() as gone:
        pass
    async with traced(tmp_path, Collector(gone)) as up:
        await submit(up, agent)
        await answer(up)
        await agent.until(1)


@pytest.mark.rule("TRACE-3")
async def test_an_ask_that_began_before_traces_and_an_erased_one_have_none(
    tmp_path: Path, collector: Collector, agent: Receiver
) -> None:
    async with served(tmp_path, callbacks=CallbackSettings(secret=(SecretStr(SECRET),))) as up:
        response = await submit(up, agent, traceparent=SAMPLED)
        assert "traceresponse" not in response.headers
    async with traced(tmp_path, collector) as up:
        ask_id = await answer(up)
        [webhook] = await agent.until(1)
        assert "traceparent" not in webhook.headers
        back, late = {"action": "back"}, f"{up.url}/v1/asks/{ask_id}/actions"
        async with up.http.post(late, headers=up.acting, json=back) as response:
            assert response.status == 410
        await up.running.service.erase(ask_id)
        erased = await up.running.service.get(ask_id)
        assert erased is not None
        assert erased.request.trace == {}
    assert collector.spans() == []


@pytest.mark.rule("TRACE-3")
async def test_a_webhook_is_sent_without_a_trace_while_its_ask_cannot_be_read() -> None:
    sent: list[str] = []

    class Inner:
        async def send(self, delivery: Delivery, at: float) -> SendResult:
            sent.append(delivery.id)
            return SendResult(204, None)

    class Asks:
        async def get(self, ask_id: str) -> None:
            raise StoreError(ask_id)

    tracing: Any = await asyncio.to_thread(Tracing, "http://127.0.0.1:9/v1/traces")
    delivery = Delivery("msg_1", "ask_1", "ask.answered", "http://127.0.0.1:9", None, json.dumps({}), 0.0)  # fmt: skip
    assert (await tracing.traced(Inner(), Asks()).send(delivery, 0.0)).error is None
    assert sent == ["msg_1"]
    async with asyncio.timeout(WAIT):
        await tracing.stop()
