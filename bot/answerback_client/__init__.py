"""The Python client for Answerback: `Client`, `AsyncClient` for asyncio, and `verify_webhook`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from answerback_client.async_client import AsyncClient
    from answerback_client.errors import (
        ClientError,
        NotFoundError,
        RefusedError,
        TooManyAsksError,
        UnauthorizedError,
        UnreachableError,
    )
    from answerback_client.models import (
        Answers,
        Ask,
        AskedBackError,
        EndedError,
        Envelope,
        Event,
        InvalidCallError,
        Origin,
        Retry,
        StaleError,
        StillOpenError,
        ToolResult,
        WebhookError,
        verify_webhook,
    )
    from answerback_client.sync_client import Client

__all__ = [
    "Answers",
    "Ask",
    "AskedBackError",
    "AsyncClient",
    "Client",
    "ClientError",
    "EndedError",
    "Envelope",
    "Event",
    "InvalidCallError",
    "NotFoundError",
    "Origin",
    "RefusedError",
    "Retry",
    "StaleError",
    "StillOpenError",
    "TooManyAsksError",
    "ToolResult",
    "UnauthorizedError",
    "UnreachableError",
    "WebhookError",
    "verify_webhook",
]
_MODULES = {
    "AsyncClient": "async_client",
    "Client": "sync_client",
    "ClientError": "errors",
    "NotFoundError": "errors",
    "RefusedError": "errors",
    "TooManyAsksError": "errors",
    "UnauthorizedError": "errors",
    "UnreachableError": "errors",
}


if not TYPE_CHECKING:  # where it would allow every name

    def __getattr__(name: str) -> object:
        """Import a name once it is used: `blocking_connection` alone needs neither aiohttp nor Pydantic."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_MODULES.get(name, 'models')}")
        globals()[name] = found = getattr(module, name)
        return found


def __dir__() -> list[str]:
    return __all__
