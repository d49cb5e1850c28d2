"""Check that Slack is set up as Answerback needs it; each problem comes with its fix. Posts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

import aiohttp
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from answerback.core.errors import PlatformError
from answerback.core.labels import Labels
from answerback.ports.commands import COMMAND
from answerback.ports.plugin import DoctorContext, Finding
from answerback_chat.doctor_checks import FindingFactory
from answerback_slack import inbox_view
from answerback_slack.api_client import SlackApi, create_web_client
from answerback_slack.connection import TOO_MANY_CODE, TOO_MANY_CONNECTIONS
from answerback_slack.limits import SIGNATURE_SECONDS
from answerback_slack.manifest import AGENT_SCOPE, COMMAND_SCOPE, SCOPES
from answerback_slack.plugin import SlackSettings, reveal

_SLACK: Final = FindingFactory("Slack")
_HELLO_TIMEOUT: Final = 10.0
"""Seconds to wait for Slack's hello on a new connection."""


@dataclass(frozen=True, slots=True)
class Setup:
    """The configuration to check. ``channels`` are those that routes name, ``groups`` the responders' user groups."""

    bot_token: str
    app_token: str | None
    signing_secret: str | None
    public_url: str | None
    api_url: str | None
    channels: Sequence[str] = ()
    groups: Sequence[str] = ()
    commands: bool = False
    """Whether there are commands to offer."""


def findings(settings: SlackSettings, checkup: DoctorContext) -> AsyncIterator[Finding]:
    """See `answerback_chat.chat_plugin`."""
    setup = Setup(
        bot_token=settings.token,
        app_token=reveal(settings.app_token),
        signing_secret=reveal(settings.signing_secret),
        public_url=checkup.public_url,
        api_url=settings.api_url,
        channels=checkup.channels,
        groups=settings.groups(checkup),
        commands=bool(checkup.commands),
    )
    return check(setup, checkup.http)


async def check(setup: Setup, http: aiohttp.ClientSession) -> AsyncIterator[Finding]:
    """Run all checks, one after the other."""
    calls = SlackApi(create_web_client(setup.bot_token, setup.api_url, http))
    responses: list[AsyncSlackResponse] = []

    async def auth_test() -> AsyncSlackResponse:
        responses.append(await calls.client.auth_test())
        return responses[0]

    if not setup.bot_token.startswith(("xoxb-", "xoxe.xoxb-")):
        yield _SLACK.problem(
            "bot token",
            "slack.bot_token is not a bot token",
            "Copy the Bot User OAuth Token, xoxb-…, from OAuth & Permissions.",
        )
        return
    try:
        answer = await calls.call("auth.test", auth_test)
    except PlatformError as error:
        yield _SLACK.call_failed("bot token", error)
        return
    headers = {name.lower(): str(value) for name, value in responses[0].headers.items()}
    yield _SLACK.ok(f"bot token, as {answer.get('user')} in {answer.get('team')}")
    yield _scopes(headers.get("x-oauth-scopes", ""))
    yield _sessions(headers.get("x-oauth-scopes", ""))
    if setup.commands:
        yield _commands(headers.get("x-oauth-scopes", ""))
    yield _SLACK.check_clock(headers.get("date"), SIGNATURE_SECONDS)
    yield await _delivery(setup, calls, http)
    client = calls.client
    for finding in await _home(calls, str(answer.get("user_id"))):
        yield finding
    for channel in setup.channels:
        method, read = "conversations.history", partial(client.conversations_history, limit=1)
        call = partial(calls.call, method, partial(read, channel=channel))
        yield await _SLACK.check_call(f"channel {channel}", call)
    if setup.groups:
        for finding in await _groups(calls, setup.groups):
            yield finding


async def _groups(calls: SlackApi, groups: Sequence[str]) -> list[Finding]:
    """Check that somebody is in each user group, and say since when: an on-call tool may keep it in step.

    https://docs.slack.dev/reference/methods/usergroups.list
    """
    list_groups = partial(calls.client.usergroups_list, include_count=True, include_disabled=True)
    try:
        answer = await calls.call("usergroups.list", list_groups)
    except PlatformError as error:
        return [_SLACK.call_failed("user groups", error)]
    listed = answer.get("usergroups")
    rows = listed if isinstance(listed, list) else []
    known = {str(each.get("id")): each for each in rows if isinstance(each, dict)}
    return [_group(group, known.get(group)) for group in dict.fromkeys(groups)]


def _group(group: str, found: Mapping[str, object] | None) -> Finding:
    what = f"user group {group}"
    if found is None:
        fix = "Copy the id, S…, from the group's page in Slack; it may belong to another workspace."
        return _SLACK.problem(what, "there is no such user group", fix)
    what = f"{what} (@{found.get('handle')})"
    if found.get("date_delete"):
        fix = (
            "Enable it in Slack, or name another one. Some on-call tools disable a group while nobody is on call: name"
            " somebody on standby as well."
        )
        return _SLACK.problem(what, "it is disabled, so nobody in it can act", fix)
    count = int(str(found.get("user_count") or 0))
    if count == 0:
        fix = (
            "Add people in Slack, or check the on-call tool that keeps it in step. For the time between shifts, name"
            " somebody on standby as well."
        )
        wrong = "nobody is in it, so questions that only it may answer fail"
        return replace(_SLACK.problem(what, wrong, fix), warning=True)
    changed = found.get("date_update")
    since = f", last changed {_day(changed)}" if isinstance(changed, int) and changed else ""
    return _SLACK.ok(f"{what}, {count} member{'' if count == 1 else 's'}{since}")


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _scopes(granted_scopes: str) -> Finding:
    """Check the token's scopes, which Slack lists in a header of every response."""
    granted = {scope.strip() for scope in granted_scopes.split(",")}
    missing = [scope for scope in SCOPES if scope not in granted]
    if not missing:
        return _SLACK.ok("scopes")
    return _SLACK.problem(
        "scopes",
        f"missing: {', '.join(missing)}",
        "Paste the output of `answerback manifest slack` (it has the scopes and the event subscriptions)"
        " under App Manifest again, and reinstall the app.",
    )


def _sessions(granted_scopes: str) -> Finding:
    """Report whether the app has agent sessions, which are optional: only an app that is an agent has the scope."""
    if AGENT_SCOPE in {scope.strip() for scope in granted_scopes.split(",")}:
        return _SLACK.ok("agent sessions")
    hint = "to enable them, use the manifest of `answerback manifest slack --mode socket-agent`"
    return _SLACK.ok(f"no agent sessions (optional): {hint}")


def _commands(granted_scopes: str) -> Finding:
    """Check for the scope of commands, which apps made from an older manifest lack."""
    what = f"command /{COMMAND}"
    if COMMAND_SCOPE in {scope.strip() for scope in granted_scopes.split(",")}:
        return _SLACK.ok(what)
    problem = _SLACK.problem(
        what,
        f"the app lacks the scope {COMMAND_SCOPE}, so people cannot type it",
        "Paste the output of `answerback manifest slack` under App Manifest again, and reinstall the app.",
    )
    return replace(problem, warning=True)


async def _home(calls: SlackApi, bot_user: str) -> list[Finding]:
    """Check that the Home tab is on, by publishing the bot's own Home, which nobody sees."""
    view = inbox_view.build_home_view((), (), Labels())
    publish = partial(calls.client.views_publish, user_id=bot_user, view=view)
    try:
        await calls.call("views.publish", publish)
    except PlatformError as error:
        if error.code != inbox_view.NOT_ENABLED_CODE:
            return []
        problem = _SLACK.problem(
            "Home tab",
            "it is off, so people cannot see there what is waiting for them",
            "Switch it on under App Home, and subscribe to the event app_home_opened (the manifest has both).",
        )
        return [replace(problem, warning=True)]
    return [_SLACK.ok("Home tab")]


async def _socket(calls: SlackApi, token: str, http: aiohttp.ClientSession) -> Finding:
    """Check that Slack accepts one more connection. It is closed at once, so that it receives no clicks."""
    open_connection = partial(calls.client.apps_connections_open, app_token=token)
    try:
        opened = await calls.call("apps.connections.open", open_connection)
        async with (
            asyncio.timeout(_HELLO_TIMEOUT),
            http.ws_connect(str(opened.get("url"))) as socket,
        ):
            hello = await socket.receive_json()
    except PlatformError as error:
        return _SLACK.call_failed("Socket Mode", error)
    except (aiohttp.ClientError, TimeoutError, TypeError, ValueError):
        return _SLACK.problem(
            "Socket Mode",
            "no connection could be made",
            "Allow outgoing WebSockets to wss-primary.slack.com in this machine's firewall and proxy.",
        )
    if hello.get("reason") == TOO_MANY_CODE:
        return _SLACK.problem(
            "Socket Mode", "there are too many connections", f"{TOO_MANY_CONNECTIONS}."
        )
    others = hello.get("num_connections", 1) - 1
    return _SLACK.ok(f"Socket Mode, {others} other connections of the ten that an app may have")


async def _delivery(setup: Setup, calls: SlackApi, http: aiohttp.ClientSession) -> Finding:
    """Check how clicks arrive: over a socket that can be opened, or with a public URL and a signing secret."""
    token = setup.app_token
    if token is not None:
        if not token.startswith("xapp-"):
            return _SLACK.problem(
                "Socket Mode",
                "slack.app_token is not an app-level token",
                "Generate one with the scope connections:write under Basic Information, App-Level Tokens.",
            )
        return await _socket(calls, token, http)
    secret = setup.signing_secret or ""
    if len(secret) < 16 or secret.startswith("xox"):
        return _SLACK.problem(
            "signing secret",
            "slack.signing_secret does not look like a signing secret",
            "Copy the Signing Secret from Basic Information, App Credentials.",
        )
    if setup.public_url is None:
        return _SLACK.no_public_url(
            "request URL",
            "Set public.url, and enter it with /slack/events as the request URL of both events and interactivity.",
        )
    return _SLACK.ok(f"request URL, which must be {setup.public_url.rstrip('/')}/slack/events")
