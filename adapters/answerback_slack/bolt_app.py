"""The slack-bolt app: receives payloads, from HTTP and Socket Mode alike, and answers Slack.

Owns the listeners, one per kind of payload. A control encodes its own action, so questions need no listeners of their
own. The callers (`http_endpoint`, `socket_mode_client`) have verified that the payload is Slack's. Bolt answers when
the listener is done, so a payload that could not be stored is not acknowledged (``process_before_response``:
https://docs.slack.dev/tools/bolt-python/concepts/lazy-listeners).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from pydantic_core import to_json
from slack_bolt import BoltResponse
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.error import BoltUnhandledRequestError

from answerback.core.errors import PlatformError, StoreError
from answerback_slack.interactions import Ack
from answerback_slack.parse import BotIdentity

logger = logging.getLogger(__name__)

ClickCallback = Callable[[Mapping[str, Any]], Awaitable[Ack]]
"""Handles an interactive payload; returns the answer to Slack, once the payload's action is committed."""
EventCallback = Callable[[dict[str, Any]], Awaitable[None]]
"""Handles the payload of an event; raises StoreError or PlatformError if Slack should send it again."""

_ANY: Final = re.compile(r"")


class BoltDispatcher:
    """Dispatch payloads to listeners through bolt.

    Args:
        token: the bot token. Bolt passes it to every listener, and makes no calls with it on its own.
        identity: the app's identity in the workspace.
    """

    def __init__(
        self, token: str, identity: BotIdentity, on_click: ClickCallback, on_event: EventCallback
    ) -> None:
        self._on_click = on_click
        self._on_event = on_event

        # Not a method, because bolt counts a method's self as an argument. The identity is the one that Slack
        # reported at startup: bolt's default would ask Slack again on the first click.
        async def authorize() -> AuthorizeResult:
            return AuthorizeResult(
                enterprise_id=None,
                team_id=identity.team,
                bot_token=token,
                bot_id=identity.bot,
                bot_user_id=identity.bot_user,
            )

        # `http_endpoint` checks signatures and answers challenges before anything is parsed.
        self._app = AsyncApp(
            name="answerback",
            authorize=authorize,
            process_before_response=True,
            request_verification_enabled=False,
            ssl_check_enabled=False,
            url_verification_enabled=False,
            attaching_function_token_enabled=False,
            # Our own new messages do not matter, but we need to know when one of them is deleted.
            ignoring_self_events_enabled=False,
            raise_error_for_unhandled_request=True,
        )
        self._app.action(_ANY)(self._handle_interaction)
        self._app.view(_ANY)(self._handle_interaction)
        self._app.event(_ANY)(self._handle_event)
        self._app.error(self._handle_error)

    async def dispatch(self, payload: dict[str, Any]) -> BoltResponse:
        """Pass a payload to its listener. 200: it is committed; 503: it was not saved and may be sent again."""
        try:
            # This mode means that the body is the payload itself, not a form that has to be decoded.
            request = AsyncBoltRequest(mode="socket_mode", body=payload)
            return await self._app.async_dispatch(request)
        except Exception:  # one payload must not bring down others
            logger.exception("A payload could not be handled", extra={"action": "not_handled"})
            text = "an internal error in Answerback"
            return BoltResponse(status=HTTPStatus.INTERNAL_SERVER_ERROR, body=text)

    async def _handle_interaction(self, body: dict[str, Any]) -> BoltResponse:
        status, answer = await self._on_click(body)
        return BoltResponse(status=status, body="" if answer is None else to_json(answer).decode())

    async def _handle_event(self, body: dict[str, Any]) -> BoltResponse:
        try:
            await self._on_event(body)
        except (StoreError, PlatformError) as error:
            logger.warning(
                "An event could not be handled: %s", error, extra={"action": "not_taken"}
            )
            text = "not saved; send it again"
            return BoltResponse(status=HTTPStatus.SERVICE_UNAVAILABLE, body=text)
        return BoltResponse(status=HTTPStatus.OK)

    async def _handle_error(self, error: Exception) -> BoltResponse:
        """Acknowledge a payload that has no listener (a shortcut, say), so that Slack does not send it again."""
        if isinstance(error, BoltUnhandledRequestError):
            return BoltResponse(status=HTTPStatus.OK)
        raise error
