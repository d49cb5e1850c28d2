"""Handle what people do with buttons, and what they type where a button asked for it.

A click is answered at once, with a note if there is one; whatever else follows is done afterwards, and the message
itself is brought up to date by the service, so that ticks and pages share the limits of edits.
https://core.telegram.org/bots/api#callbackquery
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.clarification import walk_revision
from answerback.core.errors import LeaseLostError
from answerback.core.handing_over import people_to_choose
from answerback.core.intents import Choose, RequestedAction
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback.ports.commands import CommandAnswer
from answerback.ports.surface import Acted, Asks, Rejected, RejectReason
from answerback.presentation import wording
from answerback.presentation.option_controls import is_several, selection_digest
from answerback_chat.bot_listener import is_resent
from answerback_chat.control_codec import KEEP_GOING, Verb
from answerback_chat.live_message import known_messages
from answerback_chat.selection_drafts import SelectionDrafts
from answerback_chat.typed_entries import Effect
from answerback_telegram import keyboards, private_notes, show_in_full
from answerback_telegram.form_inputs import TypedRequests
from answerback_telegram.helper_messages import REFUSED, TAKEN, HelperMessages
from answerback_telegram.html_text import escape
from answerback_telegram.keyboards import Json
from answerback_telegram.option_controls import ListState
from answerback_telegram.parse import SURFACE, Click, parse_click
from answerback_telegram.people_text import note_marks
from answerback_telegram.posting import found_key
from answerback_telegram.render import compose
from answerback_telegram.responder_names import ResponderNames


class ClickResponse(NamedTuple):
    """The answer to a click, and what follows it, in this order."""

    note: str = ""
    """A note that only this person is shown."""
    after: tuple[Effect, ...] = ()
    sends: bool = False
    """True if this sends all that the person gets to see, so that they are told if it cannot be sent."""
    keeps_files: bool = False
    """True if the files of an entry are kept for the action that a later one completes."""


@dataclass(eq=False)
class ClickHandler:
    """Handle clicks on Telegram for `answerback_chat.interactions`.

    Args:
        use_inbox: handles a click on an inbox, and returns what follows.
        now: seconds since the epoch.
    """

    asks: Asks
    helpers: HelperMessages
    entries: TypedRequests
    names: ResponderNames
    labels: Labels
    use_inbox: Callable[[Click], Awaitable[Effect]]
    now: Callable[[], float]

    def __post_init__(self) -> None:
        self._selections = SelectionDrafts(self.asks)
        # A lock exists for as long as something holds it or waits for it.
        self._showing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def list_state(self, ask: Ask) -> ListState:
        """Return what people have done to the list of an ask's open question, or of its review."""
        page = await self.asks.draft(_page_key(ask))
        several = is_several(view_of(ask, self.labels).prompt)
        chosen = await self._selections.load(ask) if several else None
        return ListState(page if isinstance(page, int) else None, chosen)

    def parse(self, payload: Mapping[str, Any]) -> Click | None:
        """Read an update, or a typed entry or a command that stands for a click."""
        typed = payload.get("typed")
        return typed if isinstance(typed, Click) else parse_click(payload)

    def lock_for(self, used: Click) -> AbstractAsyncContextManager[None]:
        """Serialise the changes to an ask's selection and its submission."""
        return self._selections.lock_for(used.control)

    async def respond_to_unknown(self, payload: Mapping[str, Any]) -> ClickResponse:
        return ClickResponse(private_notes.click_note(self.labels.not_found))

    async def respond_to_failure(self, error: Exception, used: Click | None) -> ClickResponse:
        """Ask the person to try again, unless Telegram sends the update again."""
        sentence = self.labels.save_error_message(error)
        if isinstance(error, LeaseLostError):
            raise error
        if used is None or used.typed is None:
            return ClickResponse(private_notes.click_note(sentence))
        if is_resent(error):
            raise error
        return ClickResponse(after=(lambda: self._reply(used, escape(sentence)),))

    async def respond_to_read_only(self, ask: Ask | None, used: Click) -> ClickResponse:
        """Show a page of the person's inbox, or of everything in full."""
        if used.control.argument == keyboards.CLOSE and used.is_helper:
            return ClickResponse(after=(lambda: self.helpers.delete(used.message),))
        if used.is_on_inbox and used.is_about:
            return ClickResponse(after=(await self.use_inbox(used),))
        is_shown = ask is not None and (used.is_about or used.message in _message_ids(ask))
        if ask is None or used.is_on_inbox or not is_shown:
            return await self.respond_to_rejected(Rejected(RejectReason.NOT_FOUND), used)
        view = view_of(ask, self.labels)
        page = show_in_full.page(view, used.control.verb, used.control.number or 0, self.labels)
        if used.is_helper:
            return ClickResponse(after=(lambda: self.helpers.edit(used.message, page),))
        return ClickResponse(after=(lambda: self._show_full(ask, used, page),), sends=True)

    async def _show_full(self, ask: Ask, used: Click, page: Json) -> None:
        """Show a page in the message of this place that shows it already, if there is one: however often people press,
        it is one.
        """
        key = f"{ask.id}:{SURFACE}:{used.control.verb}:{used.chat}:{used.place.thread or ''}"
        async with self._showing.setdefault(key, asyncio.Lock()):
            shown = await self.asks.draft(key)
            if isinstance(shown, str) and await self.helpers.replace(shown, page):
                return
            sent = await self.helpers.send(used.place, page, used.message)
            await self.asks.save_draft(key, sent)

    async def respond_to_acted(self, acted: Acted, used: Click) -> ClickResponse:
        """Mark what was typed, and remove the message that asked for it."""
        if acted.repeated:
            return ClickResponse()
        # First: a mark says that what is typed next is no reply to that request any more.
        after: list[Effect] = [lambda: self.entries.forget(used)]
        if (typed := used.typed) is not None:
            after.append(lambda: self.helpers.mark(typed, TAKEN))
        if used.is_helper:
            after.append(lambda: self.helpers.delete(used.message))
        if used.has_files and not used.files:
            after.append(lambda: self._reply(used, escape(self.labels.files_left_out)))
        return ClickResponse(after=(*after, *self._use_or_retire(acted.ask, used)))

    async def respond_to_rejected(self, rejected: Rejected, used: Click) -> ClickResponse:
        """Say why nothing was changed; an outdated message is shown again."""
        ask, reader = rejected.ask, used.actor.person.user_id
        names = self.names.known(ask.waits_for if ask else ())
        outdated = ask is not None and not (used.control.revision == ask.revision and ask.open)
        after: list[Effect] = []
        if ask is not None and outdated:
            after.append(lambda: self.asks.show_again(ask.id))
            after += self._close(used).after if used.is_helper else ()
            after += self._use_or_retire(ask, used)
        if (typed := used.typed) is None:
            version = wording.ActedOnVersion(used.control.revision, self.now())
            marks = note_marks(names)
            text = wording.rejection_note(rejected, self.labels, marks, reader, version)
            return ClickResponse(private_notes.click_note(text), tuple(after))
        message = private_notes.rejection_text(rejected, self.labels, reader, names)
        mark: Effect = lambda: self.helpers.mark(typed, REFUSED)  # noqa: E731
        return ClickResponse(after=(mark, lambda: self._reply(used, message), *after))

    async def respond_to_command(self, answer: CommandAnswer, used: Click) -> ClickResponse:
        """Answer where only this person sees it; a button changes the message that it is in."""
        note = private_notes.command_note(answer)
        if used.typed is None and used.is_about:
            return ClickResponse(after=(lambda: self.helpers.edit(used.message, note),))
        user_id = used.actor.person.user_id

        def send() -> Awaitable[object]:
            return self.helpers.send_privately(user_id, note, used.place, used.typed)

        return ClickResponse(after=(send,))

    async def respond_with_view(self, ask: Ask, used: Click) -> RequestedAction | ClickResponse:
        """Respond with a request to type, a confirmation, or the list as it is now; or return what was entered."""
        control = used.control
        if used.entry is not None:
            return await self._read_entry(ask, used)
        if control.argument == keyboards.CLOSE and used.is_helper:
            closed = self._close(used)
            if (typed := used.typed) is None:
                return closed
            return ClickResponse(after=(*closed.after, lambda: self.helpers.mark(typed, TAKEN)))
        if control.entry is not None and control.verb is not Verb.CHOOSE:
            return await self._open_entry(ask, used)
        match control.verb:
            case Verb.CHOOSE:
                return await self._toggle(ask, used)
            case Verb.SUBMIT_SELECTION:
                return await self._submit_selection(ask, used)
            case Verb.PAGE:
                await self.asks.save_draft(_page_key(ask), control.number or 0)
                return self._shown_again(ask)
            case Verb.END_TURN if control.argument == KEEP_GOING and used.is_helper:
                note = private_notes.click_note(self.labels.kept_going)
                return self._close(used)._replace(note=note)
            case Verb.END_TURN:
                confirm = private_notes.confirm_end_turn(view_of(ask, self.labels), self.labels)
                return ClickResponse(
                    after=(lambda: self.helpers.send(used.place, confirm, used.message),),
                    sends=True,
                )
            case _:
                return await self.respond_to_rejected(Rejected(RejectReason.NOT_FOUND, ask), used)

    def _close(self, used: Click) -> ClickResponse:
        """Remove a message beside an ask's own, and what it asked for."""
        forget = lambda: self.entries.forget(used)  # noqa: E731
        return ClickResponse(after=(forget, lambda: self.helpers.delete(used.message)))

    # --- entries ---------------------------------------------------------------------------------

    async def _open_entry(self, ask: Ask, used: Click) -> RequestedAction | ClickResponse:
        if used.control.verb is Verb.EDIT_CALL:  # a typed message allows nothing
            return ClickResponse(private_notes.click_note(self.labels.edit_elsewhere))
        if used.is_helper and used.control.argument:
            entry = await self.entries.find(used.message, is_new=True)
            return await self._read_entry(ask, used._replace(entry=entry))
        view = self._view_with_people(ask)
        selected = await self._selections.selected(ask, view.prompt)
        spec = self.entries.plan(view, used.control, selected)
        if spec is None:
            return await self.respond_to_rejected(Rejected(RejectReason.NOT_FOUND, ask), used)
        page = self.entries.first_page(spec)

        async def ask_for() -> None:
            names = await self.names.look_up(view.recipients or (), used.place)
            await self.entries.ask_for(used, ask, view, spec, page, selected, names)

        return ClickResponse(after=(ask_for,), sends=True)

    def _view_with_people(self, ask: Ask) -> View:
        """Return the view of an ask with all those among whom a person chooses to hand it over."""
        people = people_to_choose(ask, self.asks.people)
        return view_of(ask, self.labels)._replace(recipients=people)

    async def _read_entry(self, ask: Ask, used: Click) -> RequestedAction | ClickResponse:
        view = self._view_with_people(ask)
        selected = await self._selections.selected(ask, view.prompt)
        action, after, is_kept = await self.entries.read(used, ask, view, selected)
        if action is not None:
            return action
        if not after:
            return await self.respond_to_rejected(Rejected(RejectReason.NOT_FOUND, ask), used)
        if is_kept and used.has_files and not used.files:
            after = (*after, lambda: self._reply(used, escape(self.labels.files_left_out)))
        return ClickResponse(after=after, keeps_files=is_kept)

    # --- lists -----------------------------------------------------------------------------------

    async def _toggle(self, ask: Ask, used: Click) -> ClickResponse:
        index = used.control.number
        prompt = view_of(ask, self.labels).prompt
        if prompt is None or index is None or index >= len(prompt.question.options):
            return await self.respond_to_rejected(Rejected(RejectReason.NOT_FOUND, ask), used)
        await self._selections.change(ask, prompt, lambda selected: selected ^ {index})
        return self._shown_again(ask)

    async def _submit_selection(self, ask: Ask, used: Click) -> RequestedAction | ClickResponse:
        selected = await self._selections.selected(ask, view_of(ask, self.labels).prompt)
        if used.control.argument == selection_digest(selected):
            return Choose(selected)
        changed = self.labels.selection_changed.format(submit=self.labels.submit)
        return self._shown_again(ask)._replace(note=private_notes.click_note(changed))

    def _shown_again(self, ask: Ask) -> ClickResponse:
        return ClickResponse(after=(lambda: self.asks.show_again(ask.id, deleted=True),))

    # --- what follows ----------------------------------------------------------------------------

    def _use_or_retire(self, ask: Ask, used: Click) -> tuple[Effect, ...]:
        """Use a message whose post had an unknown outcome, or remove it if the ask has another by now.

        Until the live message's id is stored, any message may be the live one.
        """
        is_here = used.is_about and ask.placement.destination.surface == SURFACE
        if used.typed or used.is_helper or not is_here or used.message in _message_ids(ask):
            return ()
        match ask.placement.message:
            case {"id": _}:
                return (lambda: self.helpers.delete(used.message),)
            case {"channel": used.chat}:
                return (lambda: self._use(ask.id, used),)
            case _:
                return ()

    async def _use(self, ask_id: str, used: Click) -> None:
        await self.asks.save_draft(found_key(ask_id, used.chat), used.message, ask_id)
        ask = await self.asks.get(ask_id)
        match ask and ask.placement.message:
            case {"id": message} if message != used.message:
                await self.helpers.delete(used.message)
            case _:
                await self.asks.show_again(ask_id, found=True)

    async def _reply(self, used: Click, text: str) -> None:
        await self.helpers.send(used.place, compose([text], []), used.typed or used.message)


def _message_ids(ask: Ask) -> frozenset[JsonValue]:
    return frozenset(each["id"] for each in known_messages(ask) if "id" in each)


def _page_key(ask: Ask) -> str:
    return f"{ask.id}:{walk_revision(ask)}:page"
