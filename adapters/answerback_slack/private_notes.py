"""What one person is told privately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import aiohttp

from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import Person
from answerback.ports.surface import Rejected
from answerback_chat import wording
from answerback_slack import record_text
from answerback_slack.api_client import CALL_SECONDS, SlackApi
from answerback_slack.blocks import Block, actions_block, button, escape_within, sections
from answerback_slack.mentions import mentions
from answerback_slack.parse import MessageLocation

_MOST_NAMED: Final = 10
_NOTE_ROOM: Final = 2_000
"""Units of a note but for the names in it: a section holds both."""


class PrivateNotes:
    """Private messages to the person who acted."""

    def __init__(self, calls: SlackApi, http: aiohttp.ClientSession) -> None:
        self._calls = calls
        self._http = http

    async def send(
        self,
        text: str,
        user: str,
        where: MessageLocation | None,
        response_url: str | None = None,
        blocks: Sequence[Block] | None = None,
    ) -> None:
        """Shows a text (mrkdwn, escaped) to one person, where they acted.

        Raises:
            PlatformError: it could not be shown.
        """
        if response_url and await self._answered(response_url, text, where):
            return
        if where is None:
            return
        client = self._calls.client
        await self._calls.call(
            "chat.postEphemeral",
            lambda: client.chat_postEphemeral(
                channel=where.channel,
                user=user,
                text=text,
                thread_ts=where.thread,
                blocks=blocks,
            ),
            where.channel,
        )

    async def dismiss(self, response_url: str) -> None:
        """Takes away the private message that was clicked."""
        await self._sent(response_url, {"delete_original": True})

    async def _answered(self, url: str, text: str, where: MessageLocation | None) -> bool:
        """Answers at the click's own address; whether that was taken."""
        body = {"response_type": "ephemeral", "replace_original": False, "text": text}
        if where is not None and where.thread:
            body["thread_ts"] = where.thread
        return await self._sent(url, body)

    async def _sent(self, url: str, body: Mapping[str, object]) -> bool:
        try:
            timeout = aiohttp.ClientTimeout(total=CALL_SECONDS)
            async with self._http.post(
                url, json=body, timeout=timeout, allow_redirects=False
            ) as response:
                return response.status == 200
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return False


def rejection_mrkdwn(
    rejected: Rejected, reader: Person, labels: Labels, copy: wording.ActedOnVersion | None = None
) -> str:
    """Why nothing was changed, as mrkdwn: people without a name by their mention, which notifies nobody here.

    Args:
        copy: what the reader acted on, unless they typed.
    """
    ask = rejected.ask
    view = view_of(ask) if ask else None
    note = wording.rejection_note(rejected, view, labels, "{who}", reader.user_id, copy)
    text = escape_within(note, _NOTE_ROOM)
    if ask is None:
        return text
    named = [ask.acted_by, ask.outcome.ended_by if ask.outcome else None]
    for person in named:
        if person is not None and person.name is None:
            text = text.replace(person.user_id, record_text.person_mrkdwn(person))
    return text.replace("{who}", ", ".join(mentions(ask.responders, _MOST_NAMED)))


def note_with_button(said: str, label: str, control: str, value: str) -> list[Block]:
    """A private message with one button.

    Args:
        control: what the button does; it stands with the row, because ``value`` is what it carries.
    """
    return [*sections(said), actions_block(control, [button(label, "use", value)])]
