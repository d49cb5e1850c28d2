"""The Python client for Answerback: `Client`, `AsyncClient` for asyncio, and `verify_webhook`."""

from answerback_client.async_client import AsyncClient
from answerback_client.models import (
    Answers,
    Ask,
    AskedBackError,
    ClientError,
    EndedError,
    Envelope,
    Event,
    InvalidCallError,
    NotFoundError,
    Origin,
    RefusedError,
    StaleError,
    StillOpenError,
    ToolResult,
    TooManyAsksError,
    UnauthorizedError,
    UnreachableError,
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
    "StaleError",
    "StillOpenError",
    "TooManyAsksError",
    "ToolResult",
    "UnauthorizedError",
    "UnreachableError",
    "WebhookError",
    "verify_webhook",
]
