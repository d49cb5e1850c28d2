"""The Python client of Answerback: `Client`, `AsyncClient` for asyncio, and `verify_webhook`."""

from answerback_client.client import AsyncClient, Client
from answerback_client.shapes import (
    Answers,
    Ask,
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
