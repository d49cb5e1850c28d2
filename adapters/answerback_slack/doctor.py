"""Is Slack set up as Answerback needs it? Each thing with how to fix it. Posts nothing."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Final

import aiohttp
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from answerback.core.errors import PlatformError
from answerback.ports.plugin import Finding
from answerback_slack.calls import Calls, client_of
from answerback_slack.limits import SIGNATURE_SECONDS
from answerback_slack.manifest import SCOPES

_CLOCK_SECONDS: Final = SIGNATURE_SECONDS / 5


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
    calls = Calls(client_of(setup.bot_token, setup.api_url, http))
    kept: list[AsyncSlackResponse] = []

    async def who() -> AsyncSlackResponse:
        kept.append(await calls.client.auth_test())
        return kept[0]

    if not setup.bot_token.startswith(("xoxb-", "xoxe.xoxb-")):
        yield Finding(
            "Slack: bot token",
            "slack.bot_token is no bot token",
            "Copy the Bot User OAuth Token, xoxb-…, from OAuth & Permissions.",
        )
        return
    try:
        told = await calls.do("auth.test", who)
    except PlatformError as error:
        yield _failed("Slack: bot token", error)
        return
    yield Finding(f"Slack: bot token, as {told.get('user')} in {told.get('team')}")
    yield _scopes(kept[0])
    yield _clock(kept[0])
    yield await _way_in(setup, calls)
    for channel in dict.fromkeys(setup.channels):
        yield await _membership(channel, calls)
    for group in dict.fromkeys(setup.groups):
        yield await _group(group, calls)


def _scopes(response: AsyncSlackResponse) -> Finding:
    """Slack names a token's scopes with every answer."""
    header = next((v for k, v in response.headers.items() if k.lower() == "x-oauth-scopes"), "")
    granted = {scope.strip() for scope in str(header).split(",")}
    missing = [scope for scope in SCOPES if scope not in granted]
    if not missing:
        return Finding("Slack: scopes")
    return Finding(
        "Slack: scopes",
        f"missing: {', '.join(missing)}",
        "Paste the manifest again (`answerback manifest slack`: it has the scopes, and the events that the app"
        " subscribes to) under App Manifest, and install the app again.",
    )


def _clock(response: AsyncSlackResponse) -> Finding:
    """Requests that seem older than five minutes are refused, so the clock matters in HTTP mode."""
    date = next((v for k, v in response.headers.items() if k.lower() == "date"), None)
    if date is None:
        return Finding("Slack: clock")
    off = abs(parsedate_to_datetime(str(date)).timestamp() - time.time())
    if off < _CLOCK_SECONDS:
        return Finding("Slack: clock")
    return Finding(
        "Slack: clock",
        f"this machine's clock is {off:.0f} s away from Slack's",
        "Set it by NTP; from five minutes on, every click would be refused.",
    )


async def _way_in(setup: Setup, calls: Calls) -> Finding:
    """How clicks come in: a socket that can be opened, or an address and a secret."""
    token = setup.app_token
    if token is not None:
        if not token.startswith("xapp-"):
            return Finding(
                "Slack: Socket Mode",
                "slack.app_token is no app-level token",
                "Make one with the scope connections:write under Basic Information, App-Level Tokens.",
            )
        try:
            await calls.do(
                "apps.connections.open",
                lambda: calls.client.apps_connections_open(app_token=token),
            )
        except PlatformError as error:
            return _failed("Slack: Socket Mode", error)
        return Finding("Slack: Socket Mode")
    secret = setup.signing_secret or ""
    if len(secret) < 16 or secret.startswith("xox"):
        return Finding(
            "Slack: signing secret",
            "slack.signing_secret does not look like one",
            "Copy the Signing Secret from Basic Information, App Credentials.",
        )
    if setup.public_url is None:
        return Finding(
            "Slack: request URL",
            "public.url is not set, so nobody can say which address Slack has to call",
            "Set public.url, and enter it with /slack/events as the request URL of both events and interactivity.",
        )
    return Finding(f"Slack: request URL, to be {setup.public_url.rstrip('/')}/slack/events")


async def _membership(channel: str, calls: Calls) -> Finding:
    try:
        await calls.do(
            "conversations.history",
            lambda: calls.client.conversations_history(channel=channel, limit=1),
        )
    except PlatformError as error:
        return _failed(f"Slack: channel {channel}", error)
    return Finding(f"Slack: channel {channel}")


async def _group(group: str, calls: Calls) -> Finding:
    try:
        await calls.do(
            "usergroups.users.list", lambda: calls.client.usergroups_users_list(usergroup=group)
        )
    except PlatformError as error:
        return _failed(f"Slack: user group {group}", error)
    return Finding(f"Slack: user group {group}")


def _failed(what: str, error: PlatformError) -> Finding:
    wrong, _, fix = str(error).partition(": ")
    return Finding(what, wrong, fix[:1].upper() + fix[1:] if fix else "Try again in a minute.")
