"""The slack-bolt app: passes each payload to its handler, from HTTP and Socket Mode alike, and answers Slack.

Owns the listeners, one per kind of payload; clicks pass it by. A control encodes its own action, so questions need no
listeners of their own. The callers (`http_endpoint`, `connection`) have verified that the payload is Slack's. Bolt
answers when the listener is done, so a payload that could not be stored is not acknowledged, and Slack may send it
again (``process_before_response``: https://docs.slack.dev/tools/bolt-python/concepts/lazy-listeners).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, Literal

import msgspec
from pydantic_core import from_json, to_json
from slack_bolt import BoltResponse
from slack_bolt.async_app import AsyncApp, AsyncBoltContext, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult

from answerback.core.errors import PlatformError, StoreError
from answerback_slack.interactions import Ack
from answerback_slack.parse import BotIdentity

logger = logging.getLogger(__name__)

PayloadCallback = Callable[[Mapping[str, Any]], Awaitable[Ack]]
"""Handles a payload; returns the answer to Slack, once the payload's action is committed."""
EventCallback = Callable[[Mapping[str, Any]], Awaitable[None]]
"""Handles an event; raises StoreError or PlatformError if Slack should send it again."""

_ANY: Final = re.compile(r"")
_RECEIVED: Final = "answerback_received"
"""The key, in bolt's context, of the payload as it was received."""


def _is_worth_logging(record: logging.LogRecord) -> bool:
    """Leave out bolt's warning that it ignores SLACK_BOT_TOKEN: the configuration reads that."""
    return "SLACK_BOT_TOKEN" not in record.getMessage()


class _Modal(msgspec.Struct, frozen=True):
    type: Literal["modal"]
    callback_id: str = ""


class _TypeOfEvent(msgspec.Struct, frozen=True):
    type: str


class _Submission(msgspec.Struct, frozen=True, tag_field="type", tag="view_submission"):
    view: _Modal


class _Event(msgspec.Struct, frozen=True, tag_field="type", tag="event_callback"):
    event: _TypeOfEvent


class _Command(msgspec.Struct, frozen=True):
    command: str


class BoltDispatcher:
    """Dispatch payloads to listeners through bolt.

    Bolt reads many fields of a payload before any listener does, and raises if they are odd. So it is given only the
    fields by which it routes, checked; the listeners get the whole payload.

    Args:
        token: the bot token. Bolt passes it to every listener, and makes no calls with it on its own.
        identity: the app's identity in the workspace.
    """

    def __init__(
        self, token: str, identity: BotIdentity, on_click: PayloadCallback, on_event: EventCallback
    ) -> None:
        # The identity is the one that Slack reported at startup: bolt's default would ask Slack again on the first
        # click.
        async def authorize() -> AuthorizeResult:
            return AuthorizeResult(
                enterprise_id=None,
                team_id=identity.team,
                bot_token=token,
                bot_id=identity.bot,
                bot_user_id=identity.bot_user,
            )

        async def handle_interaction(context: AsyncBoltContext) -> BoltResponse:
            status, answer = await on_click(context[_RECEIVED])
            body = "" if answer is None else to_json(answer).decode()
            return BoltResponse(status=status, body=body)

        async def handle_event(context: AsyncBoltContext) -> BoltResponse:
            await on_event(context[_RECEIVED]["event"])
            return BoltResponse(status=HTTPStatus.OK)

        async def handle_error(error: Exception) -> None:
            raise error

        self._on_click = on_click
        logging.getLogger("slack_bolt.AsyncApp").addFilter(_is_worth_logging)
        # `http_endpoint` checks signatures and answers challenges before anything is parsed.
        self._app = AsyncApp(
            name="slack_bolt.app",  # of its logger, whose level Bolt fixes to that of the root
            authorize=authorize,
            process_before_response=True,
            request_verification_enabled=False,
            ssl_check_enabled=False,
            url_verification_enabled=False,
            attaching_function_token_enabled=False,
            # Our own new messages do not matter, but we need to know when one of them is deleted.
            ignoring_self_events_enabled=False,
        )
        self._app.view(_ANY)(handle_interaction)
        self._app.command(_ANY)(handle_interaction)
        self._app.event(_ANY)(handle_event)
        self._app.error(handle_error)

    async def dispatch(self, payload: Mapping[str, Any]) -> Ack:
        """Handle a payload. 200: it is committed, or nobody needs it; 503: it was not saved and may be sent again."""
        if payload.get("type") == "block_actions":
            # Bolt's router takes as long to find the only listener for clicks as the commit takes.
            return await self._on_click(payload)
        try:
            kind = _Command if "command" in payload else _Submission | _Event
            routed: object = msgspec.convert(payload, kind)
        except msgspec.ValidationError as error:  # a shortcut, say
            logger.info("A payload is not for us: %s", error, extra={"action": "odd_payload"})
            return Ack()
        # This mode means that the body is the payload itself, not a form that has to be decoded.
        request = AsyncBoltRequest(
            mode="socket_mode", body=msgspec.to_builtins(routed), context={_RECEIVED: payload}
        )
        try:
            response = await self._app.async_dispatch(request)
        except (StoreError, PlatformError) as error:
            extra = {"action": "not_taken"}
            logger.warning("An event could not be handled: %s", error, extra=extra)
            return Ack(HTTPStatus.SERVICE_UNAVAILABLE)
        except Exception:  # one payload must not bring down others
            logger.exception("A payload could not be handled", extra={"action": "not_handled"})
            return Ack(HTTPStatus.INTERNAL_SERVER_ERROR)
        return Ack(response.status, from_json(response.body) if response.body else None)
