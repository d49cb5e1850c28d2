"""What a control shows on Discord, or takes in: modals and their pages, long lists, what is selected in them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace

from pydantic import JsonValue

from answerback.core import clarification
from answerback.core.ask import Ask
from answerback.core.errors import Problem
from answerback.core.form import AnswerType
from answerback.core.intents import Choose, RequestedAction
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback.core.walker import Action, Answer, Other
from answerback.ports.surface import Asks, Rejected, RejectReason
from answerback_chat.control_codec import Control, Verb, parse_index
from answerback_discord import (
    long_lists,
    modal_inputs,
    modal_values,
    modals,
    option_controls,
    private_notes,
    render,
    show_in_full,
)
from answerback_discord.components import Json
from answerback_discord.interaction_responses import (
    InteractionResponse,
    InteractionResponseType,
    ResponseBuilder,
    note_response,
    update_response,
)
from answerback_discord.markdown_text import escape
from answerback_discord.modal_pages import ModalSpec
from answerback_discord.option_controls import ListState
from answerback_discord.parse import Interaction

MODAL_VERBS = frozenset(
    {Verb.WRITE, Verb.OTHER, Verb.NOTE, Verb.FILL, Verb.REPLY, Verb.ASK_BACK, Verb.SEARCH}
)
"""What opens a modal."""


class FormDraft:
    """What a person has entered so far in a form of several pages, kept beside the ask."""

    def __init__(self, asks: Asks, used: Interaction) -> None:
        self._asks = asks
        self._used = used

    async def of(self, verb: Verb | None = None) -> dict[str, JsonValue]:
        """What was entered by this control, or by the one with another verb."""
        kept = await self._asks.draft(self._key(verb))
        return kept if isinstance(kept, dict) else {}

    async def load_across_revisions(self, ask: Ask) -> dict[str, JsonValue]:
        """What was entered so far, also before the question was asked back or explained."""
        for revision in clarification.open_question_revisions(ask):
            kept = await self._asks.draft(self._key(revision=revision))
            if isinstance(kept, dict):
                if revision != ask.revision:
                    await self.keep(kept)
                return kept
        return {}

    async def merged_values(self) -> dict[str, JsonValue]:
        """What was entered on all pages, this one included."""
        return {**(await self.of()), **self._used.inputs}

    async def keep(self, values: dict[str, JsonValue] | None) -> None:
        """Keeps, or with None drops, what was entered."""
        await self._asks.save_draft(self._key(), values)

    def _key(self, verb: Verb | None = None, revision: int | None = None) -> str:
        ask_id, seen, used, _ = self._used.control
        at = seen if revision is None else revision
        return f"{ask_id}:{at}:{verb or used}:{self._used.actor.person.user_id}"


class ControlHandler:
    """One interaction with the ask it is about."""

    def __init__(
        self, asks: Asks, replies: ResponseBuilder, labels: Labels, used: Interaction, ask: Ask
    ) -> None:
        self._asks = asks
        self._replies = replies
        self._selections = replies.selections
        self._labels = labels
        self._used = used
        self._control: Control = used.control
        self._ask = ask
        self._view: View = view_of(ask)
        self._drafts = FormDraft(asks, used)

    async def read_page(self) -> InteractionResponse:
        """A page of what a message of ours has not shown, or of what this person had entered."""
        entry, _, page = self._control.argument.partition(".")
        if entry not in MODAL_VERBS:
            verb, number = self._control.verb, self._control.number or 0
            look = ListState(chosen=await self._selected())
            return self._private(show_in_full.page(self._view, verb, number, self._labels, look))
        of = self._control._replace(verb=Verb(entry))
        entered = private_notes.TypedInput(
            modal_values.typed_text(await self._drafts.of(of.verb)), of
        )
        return self._private(
            private_notes.typed_input_note(entered, parse_index(page) or 0, self._labels)
        )

    async def handle(self) -> RequestedAction | InteractionResponse:
        """What an interaction shows that says nothing by itself; or what is wanted by what was entered or selected."""
        if self._used.is_modal_submit:
            return await self._entered()
        verb, page = self._control.verb, self._control.number or 0
        if verb in MODAL_VERBS:
            return await self._open(page)
        match verb:
            case Verb.CHOOSE if self._is_several():
                return await self._select()
            case Verb.CHOOSE:
                return Choose(self._used.places or None)
            case Verb.SUBMIT_SELECTION if self._is_several():
                return await self._take()
            case Verb.PAGE:
                return await self._list(ListState(page=page))
            case Verb.END_TURN if self._control.argument == private_notes.KEEP_GOING:
                return self._private(private_notes.end_turn_declined_note(self._ask, self._labels))
            case Verb.END_TURN:
                return self._private(private_notes.confirm_end_turn(self._view, self._labels))
            case _:
                return await self._not_found()

    def _mistakes(self, problems: Sequence[Problem], sheet: ModalSpec) -> InteractionResponse:
        return self._private(
            problems_note(self._view, self._control, problems, sheet, self._labels)
        )

    async def _not_found(self) -> InteractionResponse:
        return await self._replies.rejected(Rejected(RejectReason.NOT_FOUND, self._ask), self._used)

    def _private(self, message: Json) -> InteractionResponse:
        return note_response(message, self._used)

    def _is_several(self) -> bool:
        """Whether several options may be selected."""
        prompt = self._view.prompt
        return prompt is not None and prompt.question.answer_type is AnswerType.MULTI_SELECT

    # --- entering --------------------------------------------------------------------------------

    async def _open(self, page: int) -> InteractionResponse:
        verb, selected = self._control.verb, await self._beside()
        sheet = modal_inputs.modal_spec(self._view, verb, self._labels, selected)
        if sheet is None:
            return await self._not_found()
        page = page if page < len(sheet.pages()) else 0
        values = await self._drafts.load_across_revisions(self._ask)
        nonce = f"{secrets.token_hex(4)}.{option_controls.selection_digest(selected)}"
        data = modals.modal(self._view, sheet, verb, page, values, nonce, self._labels)
        return InteractionResponse({"type": int(InteractionResponseType.MODAL), "data": data})

    async def _entered(self) -> RequestedAction | InteractionResponse:
        verb, page = self._control.verb, self._control.number or 0
        sheet = modal_inputs.modal_spec(self._view, verb, self._labels)
        if sheet is None:
            return await self._not_found()
        if verb is Verb.SEARCH:
            return await self._search(modal_values.typed_text(self._used.inputs))
        several = len(sheet.pages()) > 1
        values = (
            {**(await self._drafts.of()), **self._used.inputs}
            if several
            else dict(self._used.inputs)
        )
        if page + 1 < len(sheet.pages()):
            await self._drafts.keep(values)
            if wrong := modal_values.page_problems(sheet, page, values):
                return self._mistakes(wrong, sheet)
            following = private_notes.continue_note(
                self._view, verb, page + 1, len(sheet.pages()), self._labels
            )
            return self._private(following)
        found = modal_values.parse_values(self._view.prompt, sheet, verb, values)
        if isinstance(found, Other) and self._is_several():
            found = await self._with_selection(found)
        if isinstance(found, tuple):
            await self._drafts.keep(values)
            return self._mistakes(found, sheet)
        return found

    # --- looking through long lists --------------------------------------------------------------

    async def _select(self) -> InteractionResponse:
        prompt = self._view.prompt
        if prompt is None:
            return await self._not_found()
        before = await self._selections.load(self._ask)
        offered = {
            place for value in self._used.offered if (place := parse_index(value)) is not None
        }
        kept = set(option_controls.selected_indexes(prompt, ListState(chosen=before))) - offered
        every = range(len(prompt.question.options))
        chosen = tuple(i for i in every if i in kept | {*self._used.places})
        await self._selections.save(self._ask, chosen)
        found = tuple(sorted(offered)) if self._control.argument == "found" else None
        look = ListState(self._control.number or 0, chosen, found)
        if self._used.private:
            return (await self._turned(look))._replace(selected=self._ask)
        latest = await self._latest()
        if isinstance(latest, Rejected):
            return await self._replies.rejected(latest, self._used)
        return update_response(render.message(view_of(latest), self._labels, look), latest)

    async def _take(self) -> Action | InteractionResponse:
        prompt = self._view.prompt
        if prompt is None:
            return await self._not_found()
        chosen = await self._selections.load(self._ask)
        selected = option_controls.selected_indexes(prompt, ListState(chosen=chosen))
        if self._control.argument != option_controls.selection_digest(selected):
            # The selection that is kept is not the one that this person saw: the answer that was to show
            # them is lost or on its way, or somebody else has changed them.
            changed = self._labels.selection_changed.format(submit=self._labels.submit)
            if self._used.private:
                return await self._turned(
                    ListState(option_controls.initial_page(prompt), chosen), changed
                )
            return await self._replies.redraw(
                self._ask, self._used, private_notes.note(escape(changed))
            )
        return Answer(value=self._values(selected))

    async def _list(self, look: ListState, note: str = "") -> InteractionResponse:
        return await self._turned(replace(look, chosen=await self._selected()), note)

    async def _beside(self) -> tuple[int, ...]:
        """What is selected beside the words of "Something else…" now."""
        prompt = self._view.prompt
        if prompt is None or not self._is_several():
            return ()
        return option_controls.selected_indexes(prompt, ListState(chosen=await self._selected()))

    async def _with_selection(self, words: Other) -> Other | tuple[Problem, ...]:
        """Words of one's own with what is selected, if that is what their modal named."""
        selected = await self._beside()
        if self._control.argument.endswith(option_controls.selection_digest(selected)):
            return replace(words, value=self._values(selected))
        message = self._labels.selection_changed.format(submit=self._labels.answer)
        return (Problem(pointer="", code="unknown_value", message=message),)

    def _values(self, selected: Sequence[int]) -> list[JsonValue]:
        options = self._view.prompt.question.options if self._view.prompt else ()
        return [options[i].value for i in selected]

    async def _selected(self) -> tuple[int, ...] | None:
        return await self._selections.load(self._ask) if self._is_several() else None

    async def _search(self, words: str) -> InteractionResponse:
        prompt = self._view.prompt
        found = option_controls.search_options(prompt.question, words) if prompt else ()
        if not found:
            return await self._list(
                ListState(), self._labels.nothing_found.format(words=words[:100])
            )
        return await self._list(ListState(found=found, words=words))

    async def _turned(self, look: ListState, note: str = "") -> InteractionResponse:
        """The list, for this person alone."""
        latest = await self._latest()
        if isinstance(latest, Rejected):
            return await self._replies.rejected(latest, self._used)
        return self._private(
            long_lists.render_option_list(view_of(latest), self._labels, look, note)
        )

    async def _latest(self) -> Ask | Rejected:
        """The ask, still as this person saw it; nothing is awaited after it, since later commits are shown later."""
        latest = await self._asks.get(self._ask.id) or self._ask
        if latest.revision == self._ask.revision:
            return latest
        return Rejected(RejectReason.STALE if latest.open else RejectReason.ENDED, latest)


def problems_note(
    view: View, control: Control, problems: Sequence[Problem], sheet: ModalSpec, labels: Labels
) -> Json:
    """What is wrong with an entry, and a button that opens it again at the page of the first mistake."""
    page = sheet.page_with(problems[0].pointer.removeprefix("/value"))
    label = labels.fill_in if control.verb is Verb.FILL else labels.answer
    own = {Verb.REPLY: labels.reply, Verb.ASK_BACK: labels.ask_back}
    label = own.get(control.verb, label)
    return private_notes.problems_note(view, problems, (control.verb, page), label, labels)
