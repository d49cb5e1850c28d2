"""The client for code without asyncio, which runs an `AsyncClient` in a thread."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Concatenate, ParamSpec, Self, TypeVar

from answerback_client.async_client import PATIENCE, AsyncClient
from answerback_client.errors import ClientError

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    method: Callable[Concatenate[AsyncClient, P], Coroutine[object, object, T]],
) -> Callable[Concatenate[Client, P], T]:
    """Return the blocking version of a method."""

    @functools.wraps(method)
    def call(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(method(self._client, *args, **kwargs))

    return call


class Client:
    """The blocking version of `AsyncClient`. It may be used from several threads, and inside a running event loop."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8420",
        token: str | None = None,
        *,
        patience: float = PATIENCE,
        acknowledges: bool = True,
        token_name: str = "this token",
    ) -> None:
        self._client = AsyncClient(
            url, token, patience=patience, acknowledges=acknowledges, token_name=token_name
        )
        self._loop = asyncio.new_event_loop()
        self._submitting = threading.Lock()
        """Held while a call is handed to the client's thread, and while that is ended."""
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and end the client's thread; what still waits in other threads fails."""
        with self._submitting:
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()

    def _serve(self) -> None:
        """Run the calls until the client is closed."""
        self._loop.run_forever()
        self._loop.run_until_complete(self._end(asyncio.all_tasks(self._loop)))
        self._loop.close()

    async def _end(self, calls: set[asyncio.Task[object]]) -> None:
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self._client.close()

    ask = _blocking(AsyncClient.ask)
    submit = _blocking(AsyncClient.submit)
    upload = _blocking(AsyncClient.upload)
    file = _blocking(AsyncClient.file)
    get = _blocking(AsyncClient.get)
    wait = _blocking(AsyncClient.wait)
    answers = _blocking(AsyncClient.answers)
    acknowledge = _blocking(AsyncClient.acknowledge)
    report_no_answer = _blocking(AsyncClient.report_no_answer)
    receipt = _blocking(AsyncClient.receipt)
    consume = _blocking(AsyncClient.consume)
    add_context = _blocking(AsyncClient.add_context)
    withdraw = _blocking(AsyncClient.withdraw)
    retry = _blocking(AsyncClient.retry)
    open_asks = _blocking(AsyncClient.open_asks)
    act = _blocking(AsyncClient.act)
    call = _blocking(AsyncClient.call)
    prove_listener = _blocking(AsyncClient.prove_listener)

    def _run(self, work: Coroutine[object, object, T]) -> T:
        running: list[asyncio.Task[T]] = []

        async def call() -> T:
            running.append(self._loop.create_task(work))
            return await running[0]

        async def give_up() -> None:
            for task in running:
                task.cancel()

        try:
            with self._submitting:
                if self._loop.is_closed():
                    work.close()
                    raise ClientError("The client is closed. Create another.")
                result = asyncio.run_coroutine_threadsafe(call(), self._loop)
            return result.result()
        except CancelledError:
            raise ClientError("The client was closed before the call had ended.") from None
        except KeyboardInterrupt:
            # Not by cancelling the future: the signal may arrive once the call is running, before we have its future.
            asyncio.run_coroutine_threadsafe(give_up(), self._loop)
            raise
