"""The bridge between a client and ``pi --mode rpc``: people get extensions' dialogs, everything else passes through.

Messages are lines of JSON. Shapes: docs/rpc.md and docs/rpc-extension-ui.md in @earendil-works/pi-coding-agent 1.6.0.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Final

from answerback_agents.bridges.ask_people import (
    Request,
    RequestAsker,
    is_needed_by_its_run,
    structured_result,
    words_for_model,
)
from answerback_agents.bridges.pending_requests import PendingRequests
from answerback_agents.bridges.server_bridge import Report
from answerback_agents.pipe.json_rpc import Json, as_object, parse_message
from answerback_client import Ask, ClientError
from answerback_hosts.pi.about import DIALOG, DIALOGS

_RESPONSE: Final = "extension_ui_response"
_SHOWN: Final = ("method", "title", "message", "options", "placeholder", "prefill")
"""The fields that people see."""
_MILLISECONDS: Final = 1000


@dataclass(eq=False)
class PiBridge:
    """One client and one pi."""

    people: RequestAsker
    to_pi: Callable[[bytes], object]
    """Sends a line to pi."""
    to_client: Callable[[bytes], object]
    """Sends a line to the client."""
    report: Report
    folder: str

    def __post_init__(self) -> None:
        self._own = secrets.token_hex(8)
        """The beginning of the ids of commands of our own: their responses are not for the client."""
        self._session: str | None = None
        self._commands = 0
        self._tasks = asyncio.TaskGroup()
        self._pending = PendingRequests(self.people, self._tasks)

    async def run(self, client: AsyncIterator[bytes], pi: AsyncIterator[bytes]) -> None:
        """Relay until pi ends: its open dialogs then end as well."""
        await self.people.withdraw_stale_asks([], is_needed_by_its_run)
        async with self._tasks:
            self._command("get_state")
            from_client = self._tasks.create_task(self._relay_from_client(client))
            async for line in pi:
                self._relay_from_pi(line)
            from_client.cancel()
            self._pending.end()

    async def _relay_from_client(self, lines: AsyncIterator[bytes]) -> None:
        async for line in lines:
            self.to_pi(line)

    def _relay_from_pi(self, line: bytes) -> None:
        match message := parse_message(line):
            case {"type": "extension_ui_request", "id": str(key), "method": str(method)} if (
                method in DIALOGS
            ):
                self._forward(key, message, line)
            case {"type": "response", "id": str(own)} if own.startswith(self._own):
                session = as_object(message.get("data")).get("sessionId")
                self._session = session if isinstance(session, str) else self._session
            case _:
                self.to_client(line)

    def _forward(self, key: str, asked: Json, line: bytes) -> None:
        async def answer(ask: Ask) -> None:
            if not ask.end_turn and (text := words_for_model(ask)) is not None:
                # First, so that the model reads them with the result, and does not act on that alone.
                self._command("steer", message=text)
            self._send({"type": _RESPONSE, "id": key, **(structured_result(ask) or _CANCELLED)})
            if ask.end_turn:
                self._command("abort")

        def refused(error: ClientError) -> None:
            self._pending.mark_gone(key)
            self.report(f"Passed a dialog on to pi's own client: {error}")
            self.to_client(line)

        request = Request(
            id=f"{self._own}:{key}",
            name=DIALOG,
            dialect="pi",
            arguments={name: asked[name] for name in _SHOWN if asked.get(name) is not None},
            conversation=self._session,
            folder=self.folder,
            process=os.getpid(),
        )
        self._pending.forward(key, request, answer, refused)
        timeout = asked.get("timeout")
        if isinstance(timeout, int | float) and timeout > 0:
            # pi itself ends the dialog then.
            loop = asyncio.get_running_loop()
            loop.call_later(timeout / _MILLISECONDS, self._pending.mark_gone, key)

    def _command(self, kind: str, **more: str) -> None:
        self._commands += 1
        self._send({"id": f"{self._own}:{self._commands}", "type": kind, **more})

    def _send(self, message: Json) -> None:
        self.to_pi(json.dumps(message).encode() + b"\n")


_CANCELLED: Final[Json] = {"cancelled": True}
