"""Agents that speak AG-UI and A2A, made with their own packages. Prints their address on loopback.

`/approval` is a Pydantic AI agent over AG-UI, with a gated tool. `/form` is a bare AG-UI agent, which asks for a typed
answer and for a text, and repeats them; with `?rounds=2` it asks both again, under the same ids. `/` is an A2A agent,
whose task requires input twice.
Usage: serve_protocols.py MODEL_URL.
"""

import json
import socket
import sys
import uuid
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from a2a.helpers import get_message_text, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, Role
from ag_ui import core
from ag_ui.encoder import EventEncoder
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import DeferredToolRequests
from pydantic_ai.ui.ag_ui import AGUIAdapter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

ASKED: list[dict[str, Any]] = [
    {"message": "How many hosts?", "response_schema": {"type": "integer", "minimum": 1}},
    {"message": "Who watches?"},
]


def approval_of(model_url: str) -> Route:
    """An agent whose tool needs approval."""
    provider = OpenAIProvider(base_url=f"{model_url}/v1", api_key="scripted")
    model = OpenAIChatModel("scripted", provider=provider)
    agent = Agent(model, output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def release(version: str) -> str:
        """Releases a version."""
        return f"Version {version} is out."

    async def run(request: Request) -> Response:
        return await AGUIAdapter.dispatch_request(request, agent=agent)

    return Route("/approval", run, methods=["POST"])


async def form(request: Request) -> Response:
    """Say what was answered, and ask as often as the query says."""
    given = core.RunAgentInput.model_validate_json(await request.body())
    answered = sum(each.role == "assistant" for each in given.messages) + bool(given.resume)
    encoder = EventEncoder()
    names = {"thread_id": given.thread_id, "run_id": given.run_id}

    async def events() -> AsyncIterator[str]:
        yield encoder.encode(core.RunStartedEvent(**names))
        if given.resume:
            text = json.dumps([[entry.status, entry.payload] for entry in given.resume])
            message = {"message_id": str(uuid.uuid4())}
            yield encoder.encode(core.TextMessageStartEvent(**message, role="assistant"))
            yield encoder.encode(core.TextMessageContentEvent(**message, delta=text))
            yield encoder.encode(core.TextMessageEndEvent(**message))
        if answered == int(request.query_params.get("rounds", 1)):
            yield encoder.encode(core.RunFinishedEvent(**names))
        else:
            pending = [
                core.Interrupt(id=f"i{i}", reason="input", **asked) for i, asked in enumerate(ASKED)
            ]
            outcome = core.RunFinishedInterruptOutcome(type="interrupt", interrupts=pending)
            yield encoder.encode(core.RunFinishedEvent(**names, outcome=outcome))

    return StreamingResponse(events(), media_type=encoder.get_content_type())


class Release(AgentExecutor):  # type: ignore[misc]
    """An agent whose task requires input: a version, and a day."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Ask what is missing; complete the task with what was said."""
        task = context.current_task
        if task is None:
            task = new_task_from_user_message(context.message)
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        messages = {each.message_id: each for each in [*task.history, context.message]}
        said = [get_message_text(each) for each in messages.values() if each.role == Role.ROLE_USER]
        questions = ["Which version?", "On which day?"]
        if len(said) <= len(questions):
            question = new_text_part(questions[len(said) - 1])
            await updater.requires_input(updater.new_agent_message([question]))
        else:
            await updater.complete(updater.new_agent_message([new_text_part(" ".join(said[1:]))]))

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """End the task."""
        assert context.task_id is not None
        assert context.context_id is not None
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def a2a_of(url: str) -> list[Any]:
    """The A2A agent and its card."""
    card = AgentCard(
        name="releases",
        description="Releases versions.",
        version="1",
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
    handler = DefaultRequestHandler(Release(), InMemoryTaskStore(), card)
    return [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")]


listener = socket.create_server(("127.0.0.1", 0))
address = f"http://127.0.0.1:{listener.getsockname()[1]}"
app = Starlette(
    routes=[approval_of(sys.argv[1]), Route("/form", form, methods=["POST"]), *a2a_of(address)]
)
sys.stdout.write(f"{json.dumps(address)}\n")
sys.stdout.flush()
uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])
