"""How responders are called: by mention where they are to be notified, else by a name that notifies nobody.

A mention in a post notifies, and one in an edit does not. Without the scope ``users:read`` or ``usergroups:read``, or
where Slack does not tell in time, a name is left out, and the message says how many may answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from answerback.core.errors import PlatformError
from answerback.core.view import View
from answerback_chat.attribution import MAX_NAMED
from answerback_chat.shared_lookups import SharedLookups
from answerback_chat.text_fitting import shorten
from answerback_slack.api_client import SlackApi
from answerback_slack.blocks import escape
from answerback_slack.mentions import is_id, mention
from answerback_slack.record_text import NAME_ROOM

NAME_TTL_SECONDS: Final = 3_600.0
"""How long a name is kept."""
MISSING_NAME_TTL_SECONDS: Final = 60.0
"""How long none is looked up again where Slack did not tell it."""
LOOKUP_TIMEOUT_SECONDS: Final = 1.0
"""How long a message waits for the names in it."""
_GROUPS: Final = "@"
"""Stands for the list of all user groups."""


class ResponderNames:
    """The names of people and user groups, looked up once an hour."""

    def __init__(self, calls: SlackApi) -> None:
        self._calls = calls
        self._asking = SharedLookups("slack name of", self._look, _kept)

    async def look_up(self, view: View) -> Mapping[str, str]:
        """The responders of a view that can be named, as mrkdwn by id."""
        asked = [who for who in view.responders[:MAX_NAMED] if is_id(who)]
        if view.mention:
            return {who: mention(who) for who in asked}
        keys = {who: _GROUPS if who.startswith("@") else who for who in asked}
        tasks = {key: self._asking.start(key) for key in keys.values()}
        if tasks:
            await asyncio.wait(tasks.values(), timeout=LOOKUP_TIMEOUT_SECONDS)
        found = {
            who: tasks[key].result().get(who) for who, key in keys.items() if tasks[key].done()
        }
        return {who: escape(shorten(name, NAME_ROOM)) for who, name in found.items() if name}

    async def stop(self) -> None:
        """Gives up what is being looked up."""
        await self._asking.stop()

    async def _look(self, key: str) -> Mapping[str, str]:
        client = self._calls.client
        try:
            if key != _GROUPS:
                told = await self._calls.call("users.info", lambda: client.users_info(user=key))
                return {key: _name(told.get("user"))}
            told = await self._calls.call("usergroups.list", client.usergroups_list)
        except PlatformError:
            return {}
        groups = told.get("usergroups")
        listed = groups if isinstance(groups, list) else []
        return {f"@{g.get('id')}": f"@{g.get('handle')}" for g in listed if isinstance(g, dict)}


def _kept(task: asyncio.Task[Mapping[str, str]]) -> float:
    return NAME_TTL_SECONDS if task.result() else MISSING_NAME_TTL_SECONDS


def _name(user: object) -> str:
    """The name by which Slack shows a person: https://docs.slack.dev/reference/objects/user-object"""
    person = user if isinstance(user, dict) else {}
    profile = person.get("profile")
    shown = profile if isinstance(profile, dict) else {}
    return str(shown.get("display_name") or shown.get("real_name") or person.get("name") or "")
