"""Modals that are submitted with files: acknowledged first, then decided. A person is told if nothing came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from answerback.core.intents import Intent, WithFiles
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.surface import Acted, Asks, Rejected, RejectReason
from answerback.presentation import text_fitting, wording
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.pending_deliveries import PendingDeliveries
from answerback_chat.retry import retry
from answerback_chat.sent_files import FileTaker
from answerback_slack import blocks as kit
from answerback_slack import limits, modals, private_notes
from answerback_slack.parse import Submission
from answerback_slack.private_notes import PrivateNotes
from answerback_slack.sent_files import SentFiles

_TRIES: Final = 20
"""Times that a submission is tried while the database is away: it is acknowledged already."""
_MAX_SECTIONS: Final = 40
"""Sections of what was typed in a note that gives it back; a message has `limits.BLOCKS_PER_MESSAGE` blocks."""


@dataclass(frozen=True, eq=False)
class SubmittedFiles:
    asks: Asks
    notes: PrivateNotes
    later: BackgroundTasks
    labels: Labels
    files: SentFiles
    taker: FileTaker
    pending: PendingDeliveries
    now: Callable[[], float]

    async def take_later(
        self, used: Submission, on_acted: Callable[[Acted, Submission], Awaitable[object]]
    ) -> None:
        """Keep a submission, and take it in the background.

        Raises:
            StoreError: it is not kept, so it must not be acknowledged.
        """
        key = f"{used.control.ask_id}:{used.trigger_id}"
        await self.pending.change(key, lambda _: {**used.body})
        self.take(key, used, on_acted)

    def take(
        self, key: str, used: Submission, on_acted: Callable[[Acted, Submission], Awaitable[object]]
    ) -> None:
        """Take a submission that is kept."""
        work = partial(self._take, used, on_acted)
        self.later.spawn("files", self.pending.decide(key, work))

    async def _take(
        self, used: Submission, on_acted: Callable[[Acted, Submission], Awaitable[object]]
    ) -> None:
        result = await retry(lambda: self._apply(used), tries=_TRIES)
        if isinstance(result, Acted):
            await on_acted(result, used)
        else:
            await self._tell(result, used)

    async def _apply(self, used: Submission) -> Acted | Rejected:
        control = used.control
        intent = Intent(control.ask_id, None, control.revision, used.delivery)
        asked = await self.asks.apply(intent, used.actor)
        if isinstance(asked, Rejected) or asked.repeated:
            return asked
        action = modals.parse_submission(used, view_of(asked.ask, self.labels), self.labels)
        if not isinstance(action, WithFiles):
            return Rejected(RejectReason.STALE, asked.ask)
        sent = self.files.of(used.files)
        return await self.taker.apply(self.asks, intent._replace(wanted=action), used.actor, sent)

    async def _tell(self, rejected: Rejected, used: Submission) -> None:
        """Say why a submission was not taken, with what was typed: its modal is closed."""
        copy = wording.ActedOnVersion(used.control.revision, self.now())
        reason = private_notes.rejection_mrkdwn(rejected, used.person, self.labels, copy)
        typed = modals.text_to_give_back(used)
        text = text_fitting.shorten(reason, limits.SECTION_TEXT)
        shown: list[kit.Block] = [{"type": "section", "text": kit.mrkdwn(text), "expand": True}]
        if typed.strip():
            shown += [kit.small_text(self.labels.entered), *kit.sections(typed)[:_MAX_SECTIONS]]
        await self.notes.send(text, used.person.user_id, used.where, blocks=shown)
