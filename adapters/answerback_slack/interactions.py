"""Handle people's interactions on Slack, over Socket Mode and HTTP alike, and answer Slack.

Nothing here waits for Slack's API before the acknowledgement: modals are opened, and notes are sent, after it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from answerback.core.ask import Ask
from answerback.core.errors import PlatformError
from answerback.core.intents import RequestedAction
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.commands import CommandAnswer
from answerback.ports.surface import Acted, Asks, Rejected, RejectReason
from answerback.presentation import wording
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.control_codec import BATCH_VERBS, Verb, object_of, text_of
from answerback_chat.retry import retry
from answerback_chat.selection_drafts import SelectionDrafts
from answerback_slack import inbox_view, modals, parse, private_notes, show_in_full
from answerback_slack.api_client import SlackApi
from answerback_slack.blocks import Block, escape
from answerback_slack.inbox import HomeTabs
from answerback_slack.parse import BotIdentity, Click, Submission, selected_indexes
from answerback_slack.posting import delete_message, is_double
from answerback_slack.private_notes import PrivateNotes
from answerback_slack.submitted_files import SubmittedFiles
from answerback_slack.typed_messages import TypedMessageListener

_TRIGGER_SECONDS: Final = 2.5
"""Seconds after a click in which a modal may be opened: Slack accepts the click's trigger for three seconds.

https://docs.slack.dev/interactivity/handling-user-interaction
"""

_MAX_REMOVED: Final = 1_000
"""The number of second messages that were removed and are remembered."""


class Ack(NamedTuple):
    """The answer to Slack. 503: the payload was not saved and may be sent again."""

    status: int = HTTPStatus.OK
    body: Block | None = None


_ACKNOWLEDGED: Final = Ack()


@dataclass(eq=False)
class InteractionHandler:
    asks: Asks
    calls: SlackApi
    notes: PrivateNotes
    later: BackgroundTasks
    labels: Labels
    identity: BotIdentity
    listener: TypedMessageListener
    homes: HomeTabs
    selections: SelectionDrafts
    files: SubmittedFiles
    now: Callable[[], float]

    def __post_init__(self) -> None:
        self.parse = partial(parse.parse_interaction, identity=self.identity)
        self._removed: set[tuple[str, str]] = set()

    def lock_for(self, used: Click | Submission) -> AbstractAsyncContextManager[None]:
        """No lock is needed, because the selection is part of the message itself."""
        return contextlib.nullcontext()

    async def respond_to_unknown(self, payload: Mapping[str, Any]) -> Ack:
        """Handle a control of a Home tab; say that any other is unknown, and give back what was entered in a modal."""
        if await self.homes.handle_click(payload):
            return _ACKNOWLEDGED
        text = escape(self.labels.not_found)
        if payload.get("type") == "view_submission":
            typed = "\n".join(parse.entered_lines(object_of(payload.get("view"))))
            return _update(modals.rejected_submission_modal(None, text, typed, self.labels))
        url, user = text_of(payload.get("response_url")), parse.user_id_of(payload)
        if url and user is not None:
            self.later.spawn("note", self.notes.send(text, user, None, url))
        return _ACKNOWLEDGED

    async def respond_to_acted(self, acted: Acted, used: Click | Submission) -> Ack:
        """Mark a typed message that was used as the answer. The ask's message is updated elsewhere."""
        if isinstance(used, Click) and used.control.verb is Verb.USE_MESSAGE:
            self.later.spawn("mark", retry(lambda: self.listener.mark_taken(used)))
            self.later.spawn("note", self.notes.dismiss(used.response_url))
        self._remove_double(acted.ask, used)
        return _ACKNOWLEDGED

    async def respond_to_rejected(self, rejected: Rejected, used: Click | Submission) -> Ack:
        """Send a private note. A modal shows errors at its inputs, or why it was rejected and what was typed."""
        if isinstance(used, Click) and used.control.verb is Verb.USE_MESSAGE:
            self._send_note(self.listener.refusal(rejected, used), used)
            return _ACKNOWLEDGED
        ask = rejected.ask
        if (
            isinstance(used, Submission)
            and rejected.why is RejectReason.INVALID
            and ask is not None
            and (errors := modals.errors_by_block(used, ask, rejected.problems, self.labels))
        ):
            return _errors(errors)
        if ask is not None and rejected.why in {RejectReason.STALE, RejectReason.ENDED}:
            # They saw an outdated version of the message.
            self.later.spawn("refresh", retry(lambda: self.asks.show_again(ask.id)))
            self._remove_double(ask, used)
        copy = wording.ActedOnVersion(used.control.revision, self.now())
        reason = private_notes.rejection_mrkdwn(rejected, used.person, self.labels, copy)
        if isinstance(used, Submission):
            typed = modals.text_to_give_back(used)
            entry = used.control.entry
            return _update(modals.rejected_submission_modal(entry, reason, typed, self.labels))
        self._send_note(reason, used)
        return _ACKNOWLEDGED

    async def respond_to_failure(self, error: Exception, used: Click | Submission | None) -> Ack:
        """Notify the person; a modal keeps what was typed. A payload that is not acknowledged may be sent again."""
        sentence = self.labels.save_error_message(error)
        if isinstance(used, Submission) and used.values:
            return _errors({next(iter(used.values)): sentence})
        if isinstance(used, Click):
            self._send_note(escape(sentence), used)
        return Ack(HTTPStatus.SERVICE_UNAVAILABLE)

    # --- modals ----------------------------------------------------------------------------------

    async def respond_with_view(self, ask: Ask, used: Click | Submission) -> RequestedAction | Ack:
        """Open a modal, or parse a submitted one."""
        if isinstance(used, Submission):
            parsed = modals.parse_submission(used, view_of(ask, self.labels), self.labels)
            if parsed is None:
                return await self.respond_to_rejected(Rejected(RejectReason.STALE, ask), used)
            if isinstance(parsed, dict):
                return _errors(parsed)
            return await self._take_later(used) if used.files else parsed
        if used.control.verb is Verb.USE_MESSAGE:
            self.later.spawn("use", self._find_and_use(ask, used))
            return _ACKNOWLEDGED
        return await self._open_modal(ask, used)

    async def _take_later(self, used: Submission) -> Ack:
        """Close the modal, and then read its files."""
        await self.files.take_later(used, self.respond_to_acted)
        return _ACKNOWLEDGED

    async def respond_to_read_only(self, ask: Ask | None, used: Click | Submission) -> Ack:
        """Open a modal with what does not fit in the message, or turn its pages; or decide about several asks."""
        if used.control.verb in BATCH_VERBS:
            return await self._decide_several(used)
        if ask is None or isinstance(used, Submission):
            return await self.respond_to_rejected(Rejected(RejectReason.NOT_FOUND), used)
        if used.control.verb is Verb.PAGE:
            return await self._turn_page(ask, used)
        if used.control.verb is Verb.PREVIEW and not ask.open:
            return await self.respond_to_rejected(Rejected(RejectReason.ENDED, ask), used)
        if used.control.verb is Verb.PREVIEW and ask.revision != used.control.revision:
            return await self.respond_to_rejected(Rejected(RejectReason.STALE, ask), used)
        return await self._open_modal(ask, used)

    async def respond_to_command(self, answer: CommandAnswer, used: Click | Submission) -> Ack:
        """Answer a command with the acknowledgement, and a button by replacing the message that it is in."""
        note = private_notes.command_note(answer)
        if not (isinstance(used, Click) and used.response_url):
            return Ack(body=note)
        self.later.spawn("note", self.notes.replace(used.response_url, note))
        return _ACKNOWLEDGED

    async def _open_modal(self, ask: Ask, click: Click) -> Ack:
        metadata = click.where.encode() if click.where else ""
        selected = selected_indexes(click.control, click.values)
        modal = modals.build_modal(
            view_of(ask),
            click.control,
            self.labels,
            metadata,
            selected,
            takes_files=self.identity.reads_files,
        )
        if modal is None:
            return await self.respond_to_rejected(Rejected(RejectReason.STALE, ask), click)
        if click.control.verb is Verb.ASK_BACK and selected is not None:
            # Asking back edits the message, and Slack then loses the selection in it.
            await self.selections.save(ask, tuple(selected))
        self._open_later(click, modal)
        return _ACKNOWLEDGED

    async def _decide_several(self, used: Click | Submission) -> Ack:
        """Open the modal in which several permissions are ticked, or decide about them."""
        labels = self.labels
        if not isinstance(used, Submission):
            modal = await self.homes.batch_modal(used)
            self._open_later(used, modal or inbox_view.batch_notice(labels.not_found, labels))
            return _ACKNOWLEDGED
        left = await self.homes.decide_batch(used)
        notice = inbox_view.batch_notice(labels.batch_left.format(count=left), labels)
        return _update(notice) if left else _ACKNOWLEDGED

    def _open_later(self, click: Click, modal: Block) -> None:
        call = partial(self.calls.client.views_open, trigger_id=click.trigger_id, view=modal)
        until = click.received_at + _TRIGGER_SECONDS

        def open_view() -> Awaitable[object]:
            left = max(until - time.monotonic(), 0.0)
            return self.calls.send("views.open", call, timeout=left)

        self.later.spawn("modal", self._show_modal(click, open_view))

    async def _turn_page(self, ask: Ask, click: Click) -> Ack:
        metadata = click.where.encode() if click.where else ""
        view = show_in_full.full_text_modal(
            view_of(ask, self.labels), self.labels, click.control.number or 0, metadata
        )
        update, view_id = self.calls.client.views_update, click.view_id
        call = partial(self.calls.call, update, view_id=view_id, hash=click.view_hash, view=view)
        self.later.spawn("page", self._show_modal(click, call))
        return _ACKNOWLEDGED

    async def _show_modal(self, click: Click, show: Callable[[], Awaitable[object]]) -> None:
        """Show a modal after the acknowledgement; if Slack fails, ask the person to press again."""
        try:
            await show()
        except PlatformError:
            self._send_note(escape(self.labels.press_again), click)
            raise

    # --- typed messages that a person chooses to use ---------------------------------------------

    async def _find_and_use(self, ask: Ask, click: Click) -> None:
        """Use a typed message as the answer that the button could not carry."""
        result = await self.listener.use_offered_message(ask, click)
        if result is None:
            self._send_note(escape(self.labels.text_not_saved), click)
            return
        if isinstance(result, Rejected):
            await self.respond_to_rejected(result, click)
        else:
            await self.respond_to_acted(result, click)

    def _remove_double(self, ask: Ask, used: Click | Submission) -> None:
        """Remove a second message of an ask, which is left if a post took effect after it was repeated."""
        where = used.where
        if (
            where is not None
            and used.control.verb is not Verb.USE_MESSAGE
            and is_double(ask, where.ts)
            and (where.channel, where.ts) not in self._removed
        ):
            self.later.spawn("double", self._remove_once(where.channel, where.ts))

    async def _remove_once(self, channel: str, ts: str) -> None:
        """Delete a message, which further clicks that were made on it meanwhile do not delete again."""
        if len(self._removed) >= _MAX_REMOVED:
            self._removed.clear()
        self._removed.add((channel, ts))
        try:
            await retry(partial(delete_message, self.calls, channel, ts))
        except PlatformError:
            self._removed.discard((channel, ts))
            raise

    def _send_note(self, text: str, click: Click) -> None:
        where = click.used_message if click.control.verb is Verb.USE_MESSAGE else click.where
        user = click.person.user_id
        self.later.spawn("note", self.notes.send(text, user, where, click.response_url))


def _errors(errors: dict[str, str]) -> Ack:
    """The acknowledgement that shows errors at the inputs of a modal."""
    return Ack(body={"response_action": "errors", "errors": errors})


def _update(view: Block) -> Ack:
    """The acknowledgement that replaces a modal."""
    return Ack(body={"response_action": "update", "view": view})
