"""The client for code without asyncio, which runs an `AsyncClient` in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Self, TypeVar, Unpack

from pydantic import JsonValue

from answerback_client.async_client import PATIENCE, AsyncClient
from answerback_client.models import Answers, Ask, Envelope, Json

T = TypeVar("T")


class Client:
    """The blocking version of `AsyncClient`. It may be used from several threads, and inside a running event loop."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8420",
        token: str | None = None,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self._client = AsyncClient(url, token, patience=patience)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and end the client's thread."""
        if self._loop.is_closed():
            return
        self._run(self._client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def ask(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        key: str | None = None,
        timeout: float | None = None,
        **envelope: Unpack[Envelope],
    ) -> Ask:
        """Submit an ask, and wait until it has ended; see `AsyncClient.ask`."""
        return self._run(self._client.ask(name, arguments, key=key, timeout=timeout, **envelope))

    def submit(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        key: str | None = None,
        **envelope: Unpack[Envelope],
    ) -> Ask:
        """Submit an ask, and return at once; see `AsyncClient.submit`."""
        return self._run(self._client.submit(name, arguments, key=key, **envelope))

    def get(self, ask_id: str) -> Ask:
        """Fetch the current state of an ask."""
        return self._run(self._client.get(ask_id))

    def wait(self, ask_id: str, *, timeout: float | None = None) -> Ask:
        """Wait until an ask has ended; see `AsyncClient.wait`."""
        return self._run(self._client.wait(ask_id, timeout=timeout))

    def answers(self, conversation: str | None = None, *, after: int | None = None) -> Answers:
        """Fetch late answers; see `AsyncClient.answers`."""
        return self._run(self._client.answers(conversation, after=after))

    def report_no_answer(self, ask_id: str) -> Ask:
        """Report that an approval's host is about to be told no; see `AsyncClient.report_no_answer`."""
        return self._run(self._client.report_no_answer(ask_id))

    def receipt(self, ask_id: str) -> dict[str, JsonValue]:
        """Fetch the receipt of an ask that has ended; see `AsyncClient.receipt`."""
        return self._run(self._client.receipt(ask_id))

    def consume(self, ask_id: str) -> Ask:
        """Consume an approval, once; see `AsyncClient.consume`."""
        return self._run(self._client.consume(ask_id))

    def add_context(self, ask_id: str, text: str) -> Ask:
        """Answer what somebody asked back; see `AsyncClient.add_context`."""
        return self._run(self._client.add_context(ask_id, text))

    def withdraw(self, ask_id: str) -> Ask:
        """Withdraw an ask; see `AsyncClient.withdraw`."""
        return self._run(self._client.withdraw(ask_id))

    def retry(
        self, ask_id: str, text: str | None = None, *, actor: Mapping[str, JsonValue] | None = None
    ) -> Ask:
        """Tell the agent, as a responder, to try again; see `AsyncClient.retry`."""
        return self._run(self._client.retry(ask_id, text, actor=actor))

    def open_asks(self, limit: int = 50) -> list[Ask]:
        """Fetch the newest open asks that the caller may see."""
        return self._run(self._client.open_asks(limit))

    def act(
        self, ask_id: str, action: Mapping[str, JsonValue], *, revision: int | None = None,
        actor: Mapping[str, JsonValue] | None = None,
    ) -> Ask:  # fmt: skip
        """Act as a responder; see `AsyncClient.act`."""
        return self._run(self._client.act(ask_id, action, revision=revision, actor=actor))

    def call(
        self,
        method: str,
        path: str,
        *,
        json: object = None,
        headers: Mapping[str, str] | None = None,
        repeat: bool = True,
    ) -> Json:
        """Call the API; see `AsyncClient.call`."""
        return self._run(self._client.call(method, path, json=json, headers=headers, repeat=repeat))

    def _run(self, work: Coroutine[object, object, T]) -> T:
        running: list[asyncio.Task[T]] = []

        async def call() -> T:
            running.append(self._loop.create_task(work))
            return await running[0]

        async def give_up() -> None:
            for task in running:
                task.cancel()

        try:
            return asyncio.run_coroutine_threadsafe(call(), self._loop).result()
        except KeyboardInterrupt:
            # Not by cancelling the future: the signal may arrive once the call is running, before we have its future.
            asyncio.run_coroutine_threadsafe(give_up(), self._loop)
            raise
