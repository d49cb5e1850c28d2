"""A scripted model on loopback for every agent: the Messages, Responses, Chat Completions and generateContent APIs.

Each agent gets the same script, in its own API, and the requests are kept for the tests to inspect.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

from tests.recipes.receiving import listening

_MAX_BODY: Final = 16 * 2**20
_LOOKS: Final = "list_mcp_resources"
"""A Codex tool, called until Codex offers the next step's tool: its first request does not wait for MCP servers."""
Json = dict[str, Any]


@dataclass(frozen=True)
class Says:
    """A text message, which ends the turn."""

    text: str


@dataclass(frozen=True)
class Calls:
    """A tool call."""

    tool: str
    arguments: Json
    id: str = field(default_factory=lambda: f"call_{secrets.token_hex(8)}")
    before: str = ""
    """A text before it, in the Messages API."""

    @property
    def server(self) -> str:
        """The name that Codex knows it by: the server of an MCP tool, or the tool itself."""
        return self.tool.partition("/")[0]


Step = Says | Calls
Scripted = Step | Callable[[Json], Step]
"""A step, or one that depends on the request: a host may say in it where a file has to be."""


@dataclass
class Model:
    """The script, and the requests that were received."""

    steps: list[Scripted]
    url: str = ""
    requests: list[Json] = field(default_factory=list)
    """The bodies of the requests that were answered with a step."""
    tools: set[str] = field(default_factory=set)
    """The names of the tools that were offered."""

    def sent(self) -> str:
        """Everything in the last request except its tools, as JSON."""
        rest = {key: value for key, value in self.requests[-1].items() if key != "tools"}
        return json.dumps(rest, ensure_ascii=False)

    async def asked(self, times: int) -> None:
        """Return once the model has been asked for the given number of steps."""
        while len(self.requests) < times:  # noqa: ASYNC110 - for tests of an agent that does not end
            await asyncio.sleep(0.05)

    def app(self) -> web.Application:
        """Serve the four APIs, each where its clients look for it."""
        app = web.Application(client_max_size=_MAX_BODY)
        app.router.add_post("/v1/messages", self._messages)
        app.router.add_post("/v1/responses", self._responses)
        app.router.add_post("/v1/chat/completions", self._completions)
        app.router.add_get("/v1/models", self._models)
        app.router.add_post("/{version}/models/{call}", self._generate)
        return app

    def _next(self, body: Json) -> Step:
        """Return the next step; a request with no choice of tools (for a title) gets a text outside the script."""
        tools, choice = body.get("tools") or [], body.get("tool_choice")
        if not tools or (isinstance(choice, dict) and choice.get("type") == "function"):
            return Says("A title")
        offered = set(_names(tools))
        self.tools |= offered
        planned = self.steps[0] if self.steps else Says("Done.")
        step = planned if isinstance(planned, Says | Calls) else planned(body)
        if _LOOKS in offered and isinstance(step, Calls) and step.server not in offered:
            return Calls(_LOOKS, {})
        self.requests.append(body)
        self.steps[:1] = []
        return step

    async def _models(self, _request: web.Request) -> web.Response:
        return web.json_response(
            {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
        )

    async def _messages(self, request: web.Request) -> web.Response:
        body = await request.json()
        events = [
            (event["type"], event) for event in _messages_events(body["model"], self._next(body))
        ]
        return _stream(events)

    async def _responses(self, request: web.Request) -> web.Response:
        step = self._next(await request.json())
        return _stream([(event["type"], event) for event in _responses_events(step)])

    async def _completions(self, request: web.Request) -> web.Response:
        body = await request.json()
        step = self._next(body)
        if not body.get("stream"):
            return web.json_response(_completion(step))
        return _stream([(None, chunk) for chunk in _chunks(step)], end="data: [DONE]\n\n")

    async def _generate(self, request: web.Request) -> web.Response:
        body = await request.json()
        if request.match_info["call"].endswith(":countTokens"):
            return web.json_response({"totalTokens": 1})
        answer = _generated(self._next(body))
        if request.query.get("alt") == "sse":
            return _stream([(None, answer)])
        return web.json_response(answer)


def _names(tools: list[Json]) -> Iterator[str]:
    for tool in tools:
        declared = tool.get("functionDeclarations") or [tool.get("function") or tool]
        yield from (str(tool.get("name", tool.get("type"))) for tool in declared)


def _stream(events: list[tuple[str | None, Json]], end: str = "") -> web.Response:
    text = "".join(
        (f"event: {name}\n" if name else "") + f"data: {json.dumps(data)}\n\n"
        for name, data in events
    )
    return web.Response(text=text + end, content_type="text/event-stream")


def _messages_events(model: str, step: Step) -> Iterator[Json]:
    block: Json
    texts = [step.before] if isinstance(step, Calls) and step.before else []
    if isinstance(step, Says):
        block, stop = {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": step.text}
    else:
        block, stop = (
            {"type": "tool_use", "id": f"toolu_{step.id}", "name": step.tool, "input": {}},
            "tool_use",
        )
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}
    message: Json = {
        "id": "msg_scripted", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    yield {"type": "message_start", "message": message}
    blocks = [
        ({"type": "text", "text": ""}, {"type": "text_delta", "text": text}) for text in texts
    ]
    for index, (begin, part) in enumerate([*blocks, (block, delta)]):
        yield {"type": "content_block_start", "index": index, "content_block": begin}
        yield {"type": "content_block_delta", "index": index, "delta": part}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def _responses_events(step: Step) -> Iterator[Json]:
    item: Json
    if isinstance(step, Says):
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        item = {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    else:
        # An MCP tool is called by its name within the server's namespace.
        space, name = step.tool.rsplit("/", 1) if "/" in step.tool else (None, step.tool)
        item = {
            "type": "function_call", "id": "fc_1", "call_id": step.id, "name": name, "status": "completed",
            "arguments": json.dumps(step.arguments), **({"namespace": space} if space else {}),
        }  # fmt: skip
    usage = {
        "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2,
    }  # fmt: skip
    response = {"id": "resp_1", "object": "response", "model": "scripted", "output": []}
    yield {"type": "response.created", "response": {**response, "status": "in_progress"}}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    done = {**response, "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.completed", "response": done}


def _call(step: Calls) -> Json:
    function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
    return {"index": 0, "id": step.id, "type": "function", "function": function}


def _completion(step: Step) -> Json:
    message: Json = {"role": "assistant", "content": None}
    if isinstance(step, Says):
        message["content"], reason = step.text, "stop"
    else:
        message["tool_calls"], reason = [_call(step)], "tool_calls"
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }  # fmt: skip


def _chunks(step: Step) -> Iterator[Json]:
    whole = _completion(step)
    [choice] = whole["choices"]
    chunk = {**whole, "object": "chat.completion.chunk"}
    yield {**chunk, "choices": [{"index": 0, "delta": choice["message"], "finish_reason": None}]}
    yield {
        **chunk,
        "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}],
    }


def _generated(step: Step) -> Json:
    if isinstance(step, Says):
        part: Json = {"text": step.text}
    else:
        part = {"functionCall": {"id": step.id, "name": step.tool, "args": step.arguments}}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return {
        "candidates": [{"index": 0, "content": content, "finishReason": "STOP"}],
        "usageMetadata": usage,
        "modelVersion": "scripted",
    }


@asynccontextmanager
async def scripted(*steps: Scripted) -> AsyncIterator[Model]:
    """Run a model that takes these steps, in turn."""
    model = Model([*steps])
    async with listening(model.app()) as url:
        model.url = url
        yield model
