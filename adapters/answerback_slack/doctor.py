"""Is Slack set up as Answerback needs it? Each thing with how to fix it. Posts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import aiohttp
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from answerback.core.errors import PlatformError
from answerback.core.labels import Labels
from answerback.ports.plugin import Finding
from answerback_chat.doctor_checks import FindingFactory
from answerback_slack import home_view
from answerback_slack.api_client import SlackApi, create_web_client
from answerback_slack.limits import SIGNATURE_SECONDS
from answerback_slack.manifest import AGENT_SCOPE, SCOPES
from answerback_slack.socket_mode_client import TOO_MANY_CODE, TOO_MANY_CONNECTIONS

_SLACK: Final = FindingFactory("Slack")
_GREETED: Final = 10.0
"""Seconds in which Slack greets a new connection."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What is configured. ``channels`` are the places that routes name, ``groups`` the responders' user groups."""

    bot_token: str
    app_token: str | None
    signing_secret: str | None
    public_url: str | None
    api_url: str | None
    channels: Sequence[str] = ()
    groups: Sequence[str] = ()


async def findings(setup: Setup, http: aiohttp.ClientSession) -> AsyncIterator[Finding]:
    """Looks at everything, one after the other."""
    calls = SlackApi(create_web_client(setup.bot_token, setup.api_url, http))
    kept: list[AsyncSlackResponse] = []

    async def who() -> AsyncSlackResponse:
        kept.append(await calls.client.auth_test())
        return kept[0]

    if not setup.bot_token.startswith(("xoxb-", "xoxe.xoxb-")):
        yield _SLACK.problem(
            "bot token",
            "slack.bot_token is no bot token",
            "Copy the Bot User OAuth Token, xoxb-…, from OAuth & Permissions.",
        )
        return
    try:
        told = await calls.call("auth.test", who)
    except PlatformError as error:
        yield _SLACK.call_failed("bot token", error)
        return
    headers = {name.lower(): str(value) for name, value in kept[0].headers.items()}
    yield _SLACK.ok(f"bot token, as {told.get('user')} in {told.get('team')}")
    yield _scopes(headers.get("x-oauth-scopes", ""))
    yield _sessions(headers.get("x-oauth-scopes", ""))
    yield _SLACK.check_clock(headers.get("date"), SIGNATURE_SECONDS)
    yield await _way_in(setup, calls, http)
    client = calls.client
    for finding in await _home(calls, str(told.get("user_id"))):
        yield finding
    for channel in dict.fromkeys(setup.channels):
        method, last = "conversations.history", partial(client.conversations_history, limit=1)
        reading = partial(calls.call, method, partial(last, channel=channel))
        yield await _SLACK.check_call(f"channel {channel}", reading)
    for group in dict.fromkeys(setup.groups):
        method, listed = "usergroups.users.list", client.usergroups_users_list
        reading = partial(calls.call, method, partial(listed, usergroup=group))
        yield await _SLACK.check_call(f"user group {group}", reading)


def _scopes(granted_scopes: str) -> Finding:
    """Slack names a token's scopes with every answer."""
    granted = {scope.strip() for scope in granted_scopes.split(",")}
    missing = [scope for scope in SCOPES if scope not in granted]
    if not missing:
        return _SLACK.ok("scopes")
    return _SLACK.problem(
        "scopes",
        f"missing: {', '.join(missing)}",
        "Paste the manifest again (`answerback manifest slack`: it has the scopes, and the events that the app"
        " subscribes to) under App Manifest, and install the app again.",
    )


def _sessions(granted_scopes: str) -> Finding:
    """Whether Slack shows what agents are at, which works without: only an app that is an agent has this scope."""
    if AGENT_SCOPE in {scope.strip() for scope in granted_scopes.split(",")}:
        return _SLACK.ok("agent sessions")
    hint = "`answerback manifest slack --mode socket-agent` has what they need"
    return _SLACK.ok(f"no agent sessions, which is optional: {hint}")


async def _home(calls: SlackApi, bot_user: str) -> list[Finding]:
    """Whether the Home tab is on, as far as Slack tells: found out with the bot's own Home, which nobody sees."""
    view = home_view.build_home_view((), (), Labels())
    publishing = partial(calls.client.views_publish, user_id=bot_user, view=view)
    try:
        await calls.call("views.publish", publishing)
    except PlatformError as error:
        if error.code != home_view.NOT_ENABLED_CODE:
            return []
        off = _SLACK.problem(
            "Home tab",
            "it is off, so nobody sees there what waits for them",
            "Switch it on under App Home, and subscribe to the event app_home_opened (the manifest has both).",
        )
        return [replace(off, warning=True)]
    return [_SLACK.ok("Home tab")]


async def _socket(calls: SlackApi, token: str, http: aiohttp.ClientSession) -> Finding:
    """Whether one more connection is taken; it is closed at once, so that no click comes over it."""
    opening = partial(calls.client.apps_connections_open, app_token=token)
    try:
        told = await calls.call("apps.connections.open", opening)
        async with asyncio.timeout(_GREETED), http.ws_connect(str(told.get("url"))) as socket:
            said = await socket.receive_json()
    except PlatformError as error:
        return _SLACK.call_failed("Socket Mode", error)
    except (aiohttp.ClientError, TimeoutError, TypeError, ValueError):
        return _SLACK.problem(
            "Socket Mode",
            "no connection could be made",
            "Have this machine's firewall and proxy let WebSockets out to wss-primary.slack.com.",
        )
    if said.get("reason") == TOO_MANY_CODE:
        return _SLACK.problem(
            "Socket Mode", "there are too many connections", f"{TOO_MANY_CONNECTIONS}."
        )
    others = said.get("num_connections", 1) - 1
    return _SLACK.ok(f"Socket Mode, {others} other connections of the ten that an app may have")


async def _way_in(setup: Setup, calls: SlackApi, http: aiohttp.ClientSession) -> Finding:
    """How clicks come in: a socket that can be opened, or an address and a secret."""
    token = setup.app_token
    if token is not None:
        if not token.startswith("xapp-"):
            return _SLACK.problem(
                "Socket Mode",
                "slack.app_token is no app-level token",
                "Make one with the scope connections:write under Basic Information, App-Level Tokens.",
            )
        return await _socket(calls, token, http)
    secret = setup.signing_secret or ""
    if len(secret) < 16 or secret.startswith("xox"):
        return _SLACK.problem(
            "signing secret",
            "slack.signing_secret does not look like one",
            "Copy the Signing Secret from Basic Information, App Credentials.",
        )
    if setup.public_url is None:
        return _SLACK.no_public_url(
            "request URL",
            "Set public.url, and enter it with /slack/events as the request URL of both events and interactivity.",
        )
    return _SLACK.ok(f"request URL, to be {setup.public_url.rstrip('/')}/slack/events")
