"""How to name responders: by a mention if they should be notified, else by a name that notifies nobody.

A mention in a new message notifies; one in an edit does not. Without the scope ``users:read`` or ``usergroups:read``,
or if Slack does not respond in time, a name is left out, and the message says how many people may answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from answerback.core.errors import PlatformError
from answerback.core.view import View
from answerback.presentation.attribution import MAX_NAMED
from answerback.presentation.text_fitting import shorten
from answerback_chat.coalesced_lookups import CoalescedLookups
from answerback_slack.api_client import SlackApi
from answerback_slack.blocks import escape
from answerback_slack.mentions import is_id, mention
from answerback_slack.record_text import NAME_ROOM

NAME_TTL_SECONDS: Final = 3_600.0
"""How long a name is cached."""
MISSING_NAME_TTL_SECONDS: Final = 60.0
"""How long a name is not looked up again after a lookup found none."""
LOOKUP_TIMEOUT_SECONDS: Final = 1.0
"""How long a message waits for the names in it."""
_ALL_GROUPS: Final = "@"
"""The lookup key for the list of all user groups."""


class ResponderNames:
    """The names of people and user groups, cached for an hour."""

    def __init__(self, calls: SlackApi) -> None:
        self._calls = calls
        self._lookups = CoalescedLookups("slack name of", self._fetch, _ttl_seconds)

    async def look_up(self, view: View) -> Mapping[str, str]:
        """Look up the names of a view's responders, as mrkdwn by id. Responders without a known name are left out."""
        ids = [responder for responder in view.responders[:MAX_NAMED] if is_id(responder)]
        if view.mention:
            return {responder: mention(responder) for responder in ids}
        keys = {
            responder: _ALL_GROUPS if responder.startswith("@") else responder for responder in ids
        }
        tasks = {key: self._lookups.start(key) for key in keys.values()}
        if tasks:
            await asyncio.wait(tasks.values(), timeout=LOOKUP_TIMEOUT_SECONDS)
        names = {
            responder: tasks[key].result().get(responder)
            for responder, key in keys.items()
            if tasks[key].done()
        }
        return {
            responder: escape(shorten(name, NAME_ROOM)) for responder, name in names.items() if name
        }

    async def stop(self) -> None:
        """Cancel running lookups."""
        await self._lookups.stop()

    async def _fetch(self, key: str) -> Mapping[str, str]:
        client = self._calls.client
        try:
            if key != _ALL_GROUPS:
                answer = await self._calls.call("users.info", lambda: client.users_info(user=key))
                return {key: _name(answer.get("user"))}
            answer = await self._calls.call("usergroups.list", client.usergroups_list)
        except PlatformError:
            return {}
        groups = answer.get("usergroups")
        listed = groups if isinstance(groups, list) else []
        return {f"@{g.get('id')}": f"@{g.get('handle')}" for g in listed if isinstance(g, dict)}


def _ttl_seconds(task: asyncio.Task[Mapping[str, str]]) -> float:
    return NAME_TTL_SECONDS if task.result() else MISSING_NAME_TTL_SECONDS


def _name(user: object) -> str:
    """The name under which Slack shows a person: https://docs.slack.dev/reference/objects/user-object"""
    person = user if isinstance(user, dict) else {}
    profile = person.get("profile")
    shown = profile if isinstance(profile, dict) else {}
    return str(shown.get("display_name") or shown.get("real_name") or person.get("name") or "")
