"""Pass each payload to its handler, from HTTP and Socket Mode alike, and answer Slack when the handler is done.

So a payload that could not be stored is not acknowledged, and Slack may send it again. The callers (`http_endpoint`,
`socket_mode_client`) have verified that the payload is Slack's.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any

from answerback.core.errors import PlatformError, StoreError
from answerback_slack.interactions import Ack

logger = logging.getLogger(__name__)

PayloadCallback = Callable[[Mapping[str, Any]], Awaitable[Ack]]
"""Handles a payload; returns the answer to Slack, once the payload's action is committed."""
EventCallback = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Handles an event; raises StoreError or PlatformError if Slack should send it again."""


class PayloadDispatcher:
    """Dispatch payloads to the handlers of interactions and events."""

    def __init__(self, on_click: PayloadCallback, on_event: EventCallback) -> None:
        self._on_click = on_click
        self._on_event = on_event

    async def dispatch(self, payload: Mapping[str, Any]) -> Ack:
        """Handle a payload. 200: it is committed, or nobody needs it; 503: it was not saved and may be sent again."""
        try:
            match payload:
                case {"type": "block_actions" | "view_submission"}:
                    return await self._on_click(payload)
                case {"type": "event_callback", "event": {} as event}:
                    await self._on_event(event)
                case _:
                    pass  # a shortcut, say
        except (StoreError, PlatformError) as error:
            extra = {"action": "not_taken"}
            logger.warning("An event could not be handled: %s", error, extra=extra)
            return Ack(HTTPStatus.SERVICE_UNAVAILABLE)
        except Exception:  # one payload must not bring down others
            logger.exception("A payload could not be handled", extra={"action": "not_handled"})
            return Ack(HTTPStatus.INTERNAL_SERVER_ERROR)
        return Ack()
