"""Notes that only one person sees, and reminders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import aiohttp

from answerback.core.ask import Ask
from answerback.core.errors import NotDoneError, PlatformError, PlatformUnavailableError
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import Person
from answerback.ports.commands import CommandAnswer
from answerback.ports.surface import Rejected
from answerback.presentation import text_fitting, wording
from answerback.presentation.attribution import AttributionFormat
from answerback_chat.control_codec import Verb, command_control
from answerback_chat.retry import min_retry_delay, retry
from answerback_slack import blocks as kit
from answerback_slack import limits, people_text
from answerback_slack.api_client import SlackApi
from answerback_slack.blocks import Block, escape, escape_within
from answerback_slack.parse import MessageLocation
from answerback_slack.people_text import is_id, mention, mentions
from answerback_slack.render import Message

_NOTE_ROOM: Final = 2_000
"""Units of a note without the names in it; a section holds both."""
MAX_REMINDED: Final = 40
"""The most responders that a reminder mentions, so that it stays one message: Slack splits longer texts."""
_REMINDER_ROOM: Final = 1_000
"""Units of a reminder's own text; names and the link have the rest of `limits.SECTION_TEXT`."""
_QUESTION_ROOM: Final = 300
"""Units of the question in a reminder."""
_NO_RESPONSE: Final = frozenset({"timeout", "connection"})
"""The codes of calls without a response, whose outcome is unknown."""


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
        response_url: str = "",
        blocks: Sequence[Block] | None = None,
    ) -> None:
        """Show a text (mrkdwn, escaped) to one person, where they acted; never twice.

        Slack takes each note that it gets for a new one, so one is sent again only if Slack did not take it.

        Raises:
            PlatformError: the note could not be shown, or it is unknown whether it was.
        """
        if response_url and await self._respond(response_url, text, where):
            return
        if where is None:
            return
        post = partial(
            self._calls.call,
            self._calls.client.chat_postEphemeral,
            channel=where.channel,
            user=user,
            text=text,
            thread_ts=where.thread,
            blocks=blocks,
        )
        await retry(post, passing=_untaken_delay)

    async def dismiss(self, response_url: str) -> None:
        """Delete the private message that was clicked."""
        await self._post(response_url, {"delete_original": True})

    async def replace(self, response_url: str, note: Block) -> None:
        """Replace the private message that was clicked."""
        await self._post(response_url, note | {"replace_original": True})

    async def _respond(self, url: str, text: str, where: MessageLocation | None) -> bool:
        """Respond at the click's ``response_url``; return False if Slack certainly did not take it."""
        body = {"response_type": "ephemeral", "replace_original": False, "text": text}
        if where is not None and where.thread:
            body["thread_ts"] = where.thread
        return await self._post(url, body)

    async def _post(self, url: str, body: Mapping[str, object]) -> bool:
        try:
            timeout = aiohttp.ClientTimeout(total=self._calls.timeout)
            async with self._http.post(
                url, json=body, timeout=timeout, allow_redirects=False
            ) as response:
                return response.status == 200
        except (aiohttp.ClientConnectorError, ValueError):
            return False
        except (aiohttp.ClientError, TimeoutError) as error:
            raise PlatformUnavailableError(
                f"It is unknown whether Slack accepted a note: {error!r}", code="connection"
            ) from error


def _untaken_delay(error: Exception) -> float | None:
    """The minimum delay before a note that Slack did not take is sent again; None if Slack may have taken it."""
    if isinstance(error, PlatformError) and error.code in _NO_RESPONSE:
        return 0.0 if isinstance(error, NotDoneError) else None
    return min_retry_delay(error)


def _person_mention(person: Person) -> str:
    return (
        mention(person.user_id) if person.surface == "slack" else people_text.person_mrkdwn(person)
    )


NOTE_MARKS: Final = AttributionFormat(
    lambda text: escape_within(text, _NOTE_ROOM), mention, _person_mention, kit.date_mrkdwn
)
"""The format of sentences and people in a note."""


def rejection_mrkdwn(
    rejected: Rejected, reader: Person, labels: Labels, copy: wording.ActedOnVersion | None = None
) -> str:
    """Explain as mrkdwn why nothing was changed. People are mentioned, which notifies nobody else.

    Args:
        copy: the version that the reader acted on, unless they typed.
    """
    return wording.rejection_note(rejected, labels, NOTE_MARKS, reader.user_id, copy)


def command_note(answer: CommandAnswer) -> Block:
    text = escape_within(answer.text, limits.MESSAGE_TEXT)
    buttons = [
        kit.button(each.label, f"{Verb.RUN}.{place}", command_control(each))
        for place, each in enumerate(answer.buttons)
    ]
    rows = [kit.actions_block("commands", buttons)] if buttons else []
    return {
        "response_type": "ephemeral",
        "text": text,
        "blocks": [*kit.sections(answer.text), *rows],
    }


def note_with_button(text: str, label: str, control: str, value: str) -> list[Block]:
    """A private message with one button.

    Args:
        control: the button's encoded control, which becomes the row's block_id.
        value: the button's own value.
    """
    return [*kit.sections(text), kit.actions_block(control, [kit.button(label, "use", value)])]


def reminder(ask: Ask, number: int, url: str | None, labels: Labels) -> Message:
    """A reminder: mentions, who is waiting, a link to the live message, and the question."""
    recipients, message = wording.reminder(ask, number, labels)
    text = escape_within(message, _REMINDER_ROOM)
    ids = [each for each in recipients if is_id(each)]
    link = [f"<{url}>"] if url else []
    first = kit.mrkdwn(" ".join([*mentions(ids, MAX_REMINDED), text, *link]))
    about = text_fitting.shorten(wording.subject(view_of(ask), labels), _QUESTION_ROOM)
    return Message(
        f"{text}\n{escape(about)}", [{"type": "section", "text": first}, kit.section(about)]
    )
