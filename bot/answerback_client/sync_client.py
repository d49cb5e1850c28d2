"""The client for code without asyncio: the same calls, on a loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from types import TracebackType
from typing import Self, TypeVar, Unpack

from pydantic import JsonValue

from answerback_client.async_client import PATIENCE, AsyncClient
from answerback_client.models import Answers, Ask, Envelope

T = TypeVar("T")


class Client:
    """The same for code without asyncio; it may be used from several threads, and inside a running loop."""

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
        """Closes the connections and ends the client's thread."""
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
        """Asks, and waits until the ask has ended; see `AsyncClient.ask`."""
        return self._run(self._client.ask(name, arguments, key=key, timeout=timeout, **envelope))

    def submit(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        key: str | None = None,
        **envelope: Unpack[Envelope],
    ) -> Ask:
        """Asks, and returns at once; see `AsyncClient.submit`."""
        return self._run(self._client.submit(name, arguments, key=key, **envelope))

    def get(self, ask_id: str) -> Ask:
        """The ask as it stands."""
        return self._run(self._client.get(ask_id))

    def wait(self, ask_id: str, *, timeout: float | None = None) -> Ask:
        """The ask once it has ended; see `AsyncClient.wait`."""
        return self._run(self._client.wait(ask_id, timeout=timeout))

    def answers(self, conversation: str | None = None, *, after: int | None = None) -> Answers:
        """Late answers; see `AsyncClient.answers`."""
        return self._run(self._client.answers(conversation, after=after))

    def add_context(self, ask_id: str, text: str) -> Ask:
        """Explains what somebody asked back; see `AsyncClient.add_context`."""
        return self._run(self._client.add_context(ask_id, text))

    def withdraw(self, ask_id: str) -> Ask:
        """Takes an ask back; see `AsyncClient.withdraw`."""
        return self._run(self._client.withdraw(ask_id))

    def _run(self, work: Coroutine[object, object, T]) -> T:
        under_way: list[asyncio.Task[T]] = []

        async def call() -> T:
            under_way.append(self._loop.create_task(work))
            return await under_way[0]

        async def give_up() -> None:
            for task in under_way:
                task.cancel()

        try:
            return asyncio.run_coroutine_threadsafe(call(), self._loop).result()
        except KeyboardInterrupt:
            # Not by the call's future: the signal may come when the call is under way, and that not ours yet.
            asyncio.run_coroutine_threadsafe(give_up(), self._loop)
            raise
