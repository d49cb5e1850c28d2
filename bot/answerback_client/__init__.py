"""The Python client of Answerback: `Client`, `AsyncClient` for asyncio, and `verify_webhook`."""

from answerback_client.blocking import Client
from answerback_client.client import AsyncClient
from answerback_client.shapes import (
    Answers,
    Ask,
    AskedBackError,
    ClientError,
    EndedError,
    Envelope,
    Event,
    InvalidCallError,
    NotFoundError,
    RefusedError,
    StaleError,
    StillOpenError,
    ToolResult,
    UnauthorizedError,
    UnreachableError,
    WebhookError,
    verify_webhook,
)

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
    "RefusedError",
    "StaleError",
    "StillOpenError",
    "ToolResult",
    "UnauthorizedError",
    "UnreachableError",
    "WebhookError",
    "verify_webhook",
]
