"""slack-bolt's app: what is heard of Slack, by HTTP and over the socket alike, and what Slack is answered.

Owns the listeners, one a kind of payload: what a control does stands in the control itself, so no
question has a listener of its own. Whoever dispatches here (`front`, `sockets`) has made sure that the
payload is Slack's. Bolt answers when the listener is done, so what could not be stored is not
acknowledged (``process_before_response``: https://docs.slack.dev/tools/bolt-python/concepts/lazy-listeners).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final

from pydantic_core import to_json
from slack_bolt import BoltResponse
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.error import BoltUnhandledRequestError

from answerback.core.errors import PlatformError, StoreError
from answerback_slack.parse import Identity

logger = logging.getLogger(__name__)

Receive = Callable[[str, object], Awaitable[object]]
"""Takes a payload of a kind; gives what the acknowledgement says (None: nothing) once it is committed."""

_ANY: Final = re.compile(r"")


class Listeners:
    """Hears payloads.

    Args:
        token: the bot's; bolt hands it to every listener, and calls nobody with it by itself.
        identity: who we are.
        receive: where everything that is heard goes.
    """

    def __init__(self, token: str, identity: Identity, receive: Receive) -> None:
        self._receive = receive

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

    async def by_socket(self, payload: dict[str, Any]) -> BoltResponse:
        """Has bolt find who listens to a payload. 200: it is committed; 503: it is not taken, and may come again."""
        return await self._safely(self._routed(payload))

    async def by_http(self, payload: dict[str, Any]) -> BoltResponse:
        """The same for what came by HTTP and is verified and decoded already.

        A click goes past bolt's router: finding the one listener costs as much as the durable commit.
        """
        if payload.get("type") == "block_actions":
            return await self._safely(self._interactive(payload))
        return await self._safely(self._routed(payload))

    async def _routed(self, payload: dict[str, Any]) -> BoltResponse:
        # The mode says that the body is a payload as it is, and has no form to be decoded.
        return await self._app.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=payload))

    async def _safely(self, answering: Awaitable[BoltResponse]) -> BoltResponse:
        """The answer, whatever goes wrong on the way to it: one payload takes no other down."""
        try:
            return await answering
        except Exception:
            logger.exception("A payload could not be handled", extra={"action": "not_handled"})
            text = "an error of Answerback's"
            return BoltResponse(status=HTTPStatus.INTERNAL_SERVER_ERROR, body=text)

    async def _interactive(self, body: dict[str, Any]) -> BoltResponse:
        return await self._taken("interactive", body)

    async def _event(self, body: dict[str, Any]) -> BoltResponse:
        return await self._taken("events_api", body)

    async def _taken(self, kind: str, payload: object) -> BoltResponse:
        try:
            said = await self._receive(kind, payload)
        except (StoreError, PlatformError) as error:
            logger.warning("A payload could not be taken: %s", error, extra={"action": "not_taken"})
            status, text = HTTPStatus.SERVICE_UNAVAILABLE, "not taken; send it again"
            return BoltResponse(status=status, body=text)
        return BoltResponse(
            status=HTTPStatus.OK, body="" if said is None else to_json(said).decode()
        )

    async def _unheard(self, error: Exception) -> BoltResponse:
        """What no listener is for (a shortcut, say) is none of ours, and nothing that Slack should send again."""
        if isinstance(error, BoltUnhandledRequestError):
            return BoltResponse(status=HTTPStatus.OK)
        raise error
