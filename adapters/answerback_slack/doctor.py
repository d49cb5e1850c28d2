"""Check that Slack is set up as Answerback needs it; each problem comes with its fix. Posts nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from functools import partial
from typing import Final

import aiohttp

from answerback.core.errors import PlatformError
from answerback.core.labels import Labels
from answerback.ports.commands import COMMAND
from answerback.ports.plugin import DoctorContext, Finding
from answerback.ports.store_values import Page
from answerback.presentation.attribution import utc_time
from answerback_chat.control_codec import objects_of
from answerback_chat.doctor_checks import FindingFactory
from answerback_slack import inbox_view
from answerback_slack.api_client import SlackApi, create_web_client, granted_scopes
from answerback_slack.connection import TOO_MANY_CODE, TOO_MANY_CONNECTIONS
from answerback_slack.limits import SIGNATURE_SECONDS
from answerback_slack.manifest import AGENT_SCOPE, COMMAND_SCOPE, FILES_SCOPE, READ_SCOPE, SCOPES
from answerback_slack.plugin import SlackSettings, reveal

_SLACK: Final = FindingFactory("Slack")
_HELLO_TIMEOUT: Final = 10.0
"""Seconds to wait for Slack's hello on a new connection."""


async def findings(settings: SlackSettings, checkup: DoctorContext) -> AsyncIterator[Finding]:
    calls = SlackApi(create_web_client(settings.token, settings.api_url, checkup.http))
    if not settings.token.startswith(("xoxb-", "xoxe.xoxb-")):
        yield _SLACK.problem(
            "bot token",
            "slack.bot_token is not a bot token",
            "Copy the Bot User OAuth Token, xoxb-…, from OAuth & Permissions.",
        )
        return
    try:
        answer, headers = await calls.sign_in()
    except PlatformError as error:
        yield _SLACK.call_failed("bot token", error)
        return
    yield _SLACK.ok(f"bot token, as {answer.get('user')} in {answer.get('team')}")
    granted = granted_scopes(headers)
    yield _scopes(granted)
    only_named = "pictures that agents send are only named"
    yield _added_scope(granted, FILES_SCOPE, "pictures", only_named)
    refused = "answers with files are refused"
    yield _added_scope(granted, READ_SCOPE, "files that people send", refused)
    yield _sessions(granted)
    if checkup.commands:
        yield _added_scope(granted, COMMAND_SCOPE, f"command /{COMMAND}", "people cannot type it")
    yield _SLACK.check_clock(headers.get("date"), SIGNATURE_SECONDS)
    yield await _delivery(settings, calls, checkup)
    yield await _home(calls, str(answer.get("user_id")))
    for channel in checkup.channels:
        call = partial(calls.call, calls.client.conversations_history, channel=channel, limit=1)
        yield await _SLACK.check_call(f"channel {channel}", call)
    if groups := settings.groups(checkup):
        for finding in await _groups(calls, groups):
            yield finding


async def _groups(calls: SlackApi, groups: Sequence[str]) -> list[Finding]:
    """Check that each user group has members, and say since when: an on-call tool may keep it in step.

    https://docs.slack.dev/reference/methods/usergroups.list
    """
    list_groups = calls.client.usergroups_list
    try:
        answer = await calls.call(list_groups, include_count=True, include_disabled=True)
    except PlatformError as error:
        return [_SLACK.call_failed("user groups", error)]
    known = {str(each.get("id")): each for each in objects_of(answer.get("usergroups"))}
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
            " a person on standby as well."
        )
        return _SLACK.problem(what, "it is disabled, so nobody in it can act", fix)
    count = int(str(found.get("user_count") or 0))
    if count == 0:
        fix = (
            "Add people in Slack, or check the on-call tool that keeps it in step. For the time between shifts, name"
            " a person on standby as well."
        )
        wrong = "nobody is in it, so questions that only it may answer fail"
        return _SLACK.problem(what, wrong, fix, warning=True)
    changed = found.get("date_update")
    since = f", last changed {utc_time(changed)}" if isinstance(changed, int) and changed else ""
    return _SLACK.ok(f"{what}, {count} member{'' if count == 1 else 's'}{since}")


def _scopes(granted: Collection[str]) -> Finding:
    missing = [scope for scope in SCOPES if scope not in granted]
    if not missing:
        return _SLACK.ok("scopes")
    return _SLACK.problem(
        "scopes",
        f"missing: {', '.join(missing)}",
        "Paste the output of `answerback manifest slack` (it has the scopes and the event subscriptions)"
        " under App Manifest again, and reinstall the app.",
    )


def _sessions(granted: Collection[str]) -> Finding:
    """Report whether the app has agent sessions, which are optional: only an app that is an agent has the scope."""
    if AGENT_SCOPE in granted:
        return _SLACK.ok("agent sessions")
    hint = "to enable them, use the manifest of `answerback manifest slack --mode socket-agent`"
    return _SLACK.ok(f"no agent sessions (optional): {hint}")


def _added_scope(granted: Collection[str], scope: str, what: str, without: str) -> Finding:
    """Check for a scope that apps made from an older manifest lack.

    Args:
        what: it is for.
        without: what follows without it, as the end of a sentence.
    """
    if scope in granted:
        return _SLACK.ok(what)
    return _SLACK.problem(
        what,
        f"the app lacks the scope {scope}, so {without}",
        "Paste the output of `answerback manifest slack` under App Manifest again, and reinstall the app.",
        warning=True,
    )


async def _home(calls: SlackApi, bot_user: str) -> Finding:
    """Check that the Home tab is on, by publishing the bot's own Home, which nobody sees."""
    view = inbox_view.build_home_view(Page((), None), (), Labels())
    try:
        await calls.call(calls.client.views_publish, user_id=bot_user, view=view)
    except PlatformError as error:
        if error.code != inbox_view.NOT_ENABLED_CODE:
            return _SLACK.call_failed("Home tab", error, warning=True)
        return _SLACK.problem(
            "Home tab",
            "it is off, so people cannot see there what is waiting for them",
            "Switch it on under App Home, and subscribe to the event app_home_opened (the manifest has both).",
            warning=True,
        )
    return _SLACK.ok("Home tab")


async def _socket(calls: SlackApi, token: str, http: aiohttp.ClientSession) -> Finding:
    """Check that Slack accepts one more connection. It is closed at once, so that it receives no clicks."""
    try:
        opened = await calls.call(calls.client.apps_connections_open, app_token=token)
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


async def _delivery(settings: SlackSettings, calls: SlackApi, checkup: DoctorContext) -> Finding:
    """Check how clicks arrive: over a socket that can be opened, or with a public URL and a signing secret."""
    token = reveal(settings.app_token)
    if token is not None:
        if not token.startswith("xapp-"):
            return _SLACK.problem(
                "Socket Mode",
                "slack.app_token is not an app-level token",
                "Generate one with the scope connections:write under Basic Information, App-Level Tokens.",
            )
        return await _socket(calls, token, checkup.http)
    secret = reveal(settings.signing_secret) or ""
    if len(secret) < 16 or secret.startswith("xox"):
        return _SLACK.problem(
            "signing secret",
            "slack.signing_secret does not look like a signing secret",
            "Copy the Signing Secret from Basic Information, App Credentials.",
        )
    if checkup.public_url is None:
        return _SLACK.no_public_url(
            "request URL",
            "Set public.url, and enter it with /slack/events as the request URL of both events and interactivity.",
        )
    return _SLACK.ok(f"request URL, which must be {checkup.public_url.rstrip('/')}/slack/events")
