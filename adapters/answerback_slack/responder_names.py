"""Name people: responders by a mention if they should be notified, all others by a name that notifies nobody.

A mention in a new message notifies; one in an edit does not. Without the scope ``users:read`` or ``usergroups:read``,
or if Slack does not respond in time, a name is left out, and the message says how many people may answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from answerback.core.errors import PlatformError
from answerback.core.view import View
from answerback.core.walker import Person
from answerback.presentation.attribution import MAX_NAMED
from answerback.presentation.text_fitting import shorten
from answerback_chat.coalesced_lookups import CoalescedLookups
from answerback_chat.control_codec import object_of, objects_of
from answerback_slack.api_client import SlackApi
from answerback_slack.blocks import escape
from answerback_slack.people_text import NAME_ROOM, is_id, mention, shown_name

NAME_TTL_SECONDS: Final = 3_600.0
"""Seconds for which a name is cached."""
MISSING_NAME_TTL_SECONDS: Final = 60.0
"""Seconds for which a name is not looked up again after a lookup found none."""
_ALL_GROUPS: Final = "@"
"""The lookup key for the list of all user groups."""
MAX_PEOPLE: Final = 20
"""The number of people who answered that are looked up for one message."""


class ResponderNames:
    """The names of people and user groups, cached for an hour; a message waits up to ``timeout`` seconds for them."""

    def __init__(self, calls: SlackApi, timeout: float) -> None:
        self._calls, self._timeout = calls, timeout
        self._lookups = CoalescedLookups("slack name of", self._fetch, _ttl_seconds)

    async def name_all(self, view: View) -> tuple[View, Mapping[str, str]]:
        """Return the view with the people in it named as its responders are, and the names of these, as mrkdwn by id.

        Payloads only have people's handles. Responders without a known name are left out.
        """
        responders = [each for each in view.responders[:MAX_NAMED] if is_id(each)]
        people = dict.fromkeys(each.user_id for each in _people(view) if _has_only_handle(each))
        named = [] if view.mention else responders
        names = await self._names([*dict.fromkeys([*named, *[*people][:MAX_PEOPLE]])])
        if view.mention:
            shown = {each: mention(each) for each in responders}
        else:
            shown = {
                each: escape(shorten(names[each], NAME_ROOM))
                for each in responders
                if each in names
            }
        return _rename_people(view, names) if people else view, shown

    async def _names(self, ids: Sequence[str]) -> Mapping[str, str]:
        """Look up people and groups by id; those without a known name are left out."""
        tasks = {}
        for each in ids:
            key = _ALL_GROUPS if each.startswith("@") else each
            tasks[each] = self._lookups.start(key)
        if tasks:
            await asyncio.wait(set(tasks.values()), timeout=self._timeout)
        found = {each: task.result().get(each) for each, task in tasks.items() if task.done()}
        return {each: name for each, name in found.items() if name}

    async def stop(self) -> None:
        await self._lookups.stop()

    async def _fetch(self, key: str) -> Mapping[str, str]:
        client = self._calls.client
        try:
            if key != _ALL_GROUPS:
                answer = await self._calls.call(client.users_info, user=key)
                return {key: shown_name(object_of(answer.get("user")))}
            answer = await self._calls.call(client.usergroups_list)
        except PlatformError:
            return {}
        groups = objects_of(answer.get("usergroups"))
        return {f"@{group.get('id')}": f"@{group.get('handle')}" for group in groups}


def _ttl_seconds(task: asyncio.Task[Mapping[str, str]]) -> float:
    return NAME_TTL_SECONDS if task.result() else MISSING_NAME_TTL_SECONDS


def _people(view: View) -> Iterator[Person]:
    """Yield the people who answered, ended or asked back."""
    given = (line.given.by for line in view.lines if line.given)
    asked = (aside.by for aside in view.prompt.asides) if view.prompt else ()
    ended = (view.outcome.ended_by,) if view.outcome else ()
    yield from filter(None, (*given, *asked, *ended))


def _has_only_handle(person: Person) -> bool:
    """Return True if a lookup can improve a name: it is a handle of this workspace, without the id of another in
    brackets."""
    return person.surface == "slack" and "(" not in (person.name or "")


def _rename_people(view: View, names: Mapping[str, str]) -> View:
    def renamed(person: Person | None) -> Person | None:
        name = names.get(person.user_id) if person and _has_only_handle(person) else None
        return replace(person, name=name) if person and name else person

    lines = [
        line._replace(
            by=renamed(line.by), given=line.given and replace(line.given, by=renamed(line.given.by))
        )
        for line in view.lines
    ]
    asides = (
        [replace(each, by=renamed(each.by)) for each in view.prompt.asides] if view.prompt else []
    )
    return view._replace(
        lines=tuple(lines),
        prompt=view.prompt and view.prompt._replace(asides=tuple(asides)),
        outcome=view.outcome and replace(view.outcome, ended_by=renamed(view.outcome.ended_by)),
    )
