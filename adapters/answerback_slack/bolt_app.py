"""slack-bolt's app: what is heard of Slack, by HTTP and over the socket alike, and what Slack is answered.

Owns the listeners, one a kind of payload: what a control does stands in the control itself, so no
question has a listener of its own. Whoever dispatches here (`front`, `sockets`) has made sure that the
payload is Slack's. Bolt answers when the listener is done, so what could not be stored is not
acknowledged (``process_before_response``: https://docs.slack.dev/tools/bolt-python/concepts/lazy-listeners).
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
"""Takes an interactive payload; gives what Slack is answered, once it is committed."""
EventCallback = Callable[[dict[str, Any]], Awaitable[None]]
"""Takes the payload of an event; raises StoreError or PlatformError where Slack is to send it again."""

_ANY: Final = re.compile(r"")


class BoltDispatcher:
    """Hears payloads.

    Args:
        token: the bot's; bolt hands it to every listener, and calls nobody with it by itself.
        identity: who we are.
    """

    def __init__(
        self, token: str, identity: BotIdentity, clicked: ClickCallback, happened: EventCallback
    ) -> None:
        self._clicked = clicked
        self._happened = happened

        # No method, because bolt counts a method's self as an argument. Who we are is as Slack told at
        # the start: bolt's own way would ask again with the first click.
        async def authorized() -> AuthorizeResult:
            return AuthorizeResult(
                enterprise_id=None,
                team_id=identity.team,
                bot_token=token,
                bot_id=identity.bot,
                bot_user_id=identity.bot_user,
            )

        # Signatures are checked, and a challenge is met, by `front` before anything is parsed.
        self._app = AsyncApp(
            name="answerback",
            authorize=authorized,
            process_before_response=True,
            request_verification_enabled=False,
            ssl_check_enabled=False,
            url_verification_enabled=False,
            attaching_function_token_enabled=False,
            # Our own messages tell nothing, and that one of them was deleted does.
            ignoring_self_events_enabled=False,
            raise_error_for_unhandled_request=True,
        )
        self._app.action(_ANY)(self._interactive)
        self._app.view(_ANY)(self._interactive)
        self._app.event(_ANY)(self._event)
        self._app.error(self._unheard)

    async def dispatch(self, payload: dict[str, Any]) -> BoltResponse:
        """Has bolt find who listens to a payload. 200: it is committed; 503: it is not taken, and may come again."""
        try:
            # The mode says that the body is a payload as it is, and has no form to be decoded.
            request = AsyncBoltRequest(mode="socket_mode", body=payload)
            return await self._app.async_dispatch(request)
        except Exception:  # one payload takes no other down
            logger.exception("A payload could not be handled", extra={"action": "not_handled"})
            text = "an error of Answerback's"
            return BoltResponse(status=HTTPStatus.INTERNAL_SERVER_ERROR, body=text)

    async def _interactive(self, body: dict[str, Any]) -> BoltResponse:
        status, said = await self._clicked(body)
        return BoltResponse(status=status, body="" if said is None else to_json(said).decode())

    async def _event(self, body: dict[str, Any]) -> BoltResponse:
        try:
            await self._happened(body)
        except (StoreError, PlatformError) as error:
            logger.warning("An event could not be taken: %s", error, extra={"action": "not_taken"})
            text = "not taken; send it again"
            return BoltResponse(status=HTTPStatus.SERVICE_UNAVAILABLE, body=text)
        return BoltResponse(status=HTTPStatus.OK)

    async def _unheard(self, error: Exception) -> BoltResponse:
        """What no listener is for (a shortcut, say) is none of ours, and nothing that Slack should send again."""
        if isinstance(error, BoltUnhandledRequestError):
            return BoltResponse(status=HTTPStatus.OK)
        raise error
