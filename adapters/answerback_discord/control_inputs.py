"""Handle the controls that show or take input on Discord: modals and their pages, long lists, and selections."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from answerback.core import clarification
from answerback.core.actions import Action, Other
from answerback.core.ask import Ask
from answerback.core.errors import Problem
from answerback.core.intents import Choose, RequestedAction, WithFiles
from answerback.core.labels import Labels
from answerback.core.view import Prompt, View, view_of
from answerback.ports.surface import Asks, Rejected, RejectReason
from answerback.presentation import form_values
from answerback.presentation.option_controls import is_several, selected_indexes, selection_digest
from answerback_chat import message_texts
from answerback_chat.control_codec import KEEP_GOING, Control, Verb, object_of, parse_index
from answerback_chat.selection_drafts import check_selection, with_selected
from answerback_discord import (
    form_inputs,
    long_lists,
    modals,
    option_controls,
    pictures,
    private_notes,
    render,
    show_in_full,
)
from answerback_discord.components import ButtonStyle, Json
from answerback_discord.form_inputs import ModalSpec
from answerback_discord.interaction_responses import (
    InteractionResponse,
    InteractionResponseType,
    ResponseBuilder,
    note_response,
    update_response,
)
from answerback_discord.markdown_text import escape
from answerback_discord.option_controls import ListState
from answerback_discord.parse import Interaction
from answerback_discord.people_text import MARKUP

MODAL_VERBS = frozenset(
    {
        *(Verb.WRITE, Verb.OTHER, Verb.NOTE, Verb.FILL),
        *(Verb.REPLY, Verb.OBJECT, Verb.ASK_BACK, Verb.HAND_OVER, Verb.SEARCH, Verb.TRY_AGAIN),
        *(Verb.GRANT, Verb.EDIT_CALL),
    }
)
"""The controls that open a modal."""


class FormDraft:
    """The entries of a person so far in a form of several pages, stored next to the ask."""

    def __init__(self, asks: Asks, used: Interaction) -> None:
        self._asks = asks
        self._used = used

    async def of(self, verb: Verb | None = None) -> dict[str, JsonValue]:
        """Return what was entered through this control, or through the one with another verb."""
        return object_of(await self._asks.draft(self._key(verb)))

    async def load_across_revisions(self, ask: Ask) -> dict[str, JsonValue]:
        """Return what was entered so far, including before the question was asked back or explained."""
        for revision in clarification.open_question_revisions(ask):
            draft = await self._asks.draft(self._key(revision=revision))
            if isinstance(draft, dict):
                return draft if revision == ask.revision else await self._change(draft, {})
        return {}

    async def merged_values(self) -> dict[str, JsonValue]:
        """Return what was entered on all pages, including this one."""
        return {**(await self.of()), **self._used.inputs}

    async def keep(self) -> dict[str, JsonValue]:
        """Save what was entered on this page, and return what was on all."""
        return await self._change({}, self._used.inputs)

    async def delete(self) -> None:
        await self._asks.save_draft(self._key(), None)

    async def _change(
        self, below: Mapping[str, JsonValue], above: Mapping[str, JsonValue]
    ) -> dict[str, JsonValue]:
        """Add values to the draft, however many pages arrive at the same time, here and at other processes."""
        return object_of(
            await self._asks.change_draft(
                self._key(), lambda draft: {**below, **object_of(draft), **above}
            )
        )

    def _key(self, verb: Verb | None = None, revision: int | None = None) -> str:
        ask_id, seen_revision, used_verb, _ = self._used.control
        at = seen_revision if revision is None else revision
        return f"{ask_id}:{at}:{verb or used_verb}:{self._used.actor.person.user_id}"


class ControlHandler:
    """Handles one interaction with an ask."""

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
        self._view: View = view_of(ask, self._labels)
        self._drafts = FormDraft(asks, used)

    async def read_page(self) -> InteractionResponse:
        """Respond with a page of the full text of a message, or of what this person had entered."""
        entry, _, page = self._control.argument.partition(".")
        if entry not in MODAL_VERBS:
            verb, number = self._control.verb, self._control.number or 0
            list_state = ListState(chosen=await self._stored_selection())
            return self._private_response(
                show_in_full.page(self._view, verb, number, self._labels, list_state)
            )
        entry_control = self._control._replace(verb=Verb(entry))
        entered = private_notes.TypedInput(
            form_inputs.typed_text(await self._drafts.of(entry_control.verb)), entry_control
        )
        return self._private_response(
            private_notes.typed_input_note(entered, parse_index(page) or 0, self._labels)
        )

    async def handle(self) -> RequestedAction | InteractionResponse:
        """Respond to an interaction that is not an action in itself, or return the action entered or selected."""
        if self._used.is_modal_submit:
            return await self._read_modal()
        verb, page = self._control.verb, self._control.number or 0
        if verb in MODAL_VERBS:
            return await self._open_modal(page)
        several = self._view.prompt if self._is_several() else None
        match verb:
            case Verb.CHOOSE if several is not None:
                return await self._select(several)
            case Verb.SUBMIT_SELECTION if several is not None:
                return await self._submit_selection(several)
            case Verb.PAGE:
                return await self._show_list(ListState(page=page))
            case Verb.END_TURN if self._control.argument == KEEP_GOING:
                return self._private_response(
                    private_notes.end_turn_declined_note(self._ask, self._labels)
                )
            case Verb.END_TURN:
                return self._private_response(
                    private_notes.confirm_end_turn(self._view, self._labels)
                )
            case _:
                return await self._not_found()

    def _problems_response(
        self, problems: Sequence[Problem], spec: ModalSpec
    ) -> InteractionResponse:
        return self._private_response(
            problems_note(self._view, self._control, problems, spec, self._labels)
        )

    async def _not_found(self) -> InteractionResponse:
        return await self._replies.rejected(Rejected(RejectReason.NOT_FOUND, self._ask), self._used)

    def _private_response(self, message: Json) -> InteractionResponse:
        return note_response(message, self._used)

    def _is_several(self) -> bool:
        return is_several(self._view.prompt)

    # --- entering --------------------------------------------------------------------------------

    async def _open_modal(self, page: int) -> InteractionResponse:
        verb = self._control.verb
        selected = await self._selections.selected(self._ask, self._view.prompt)
        shown = selected if self._is_several() else None
        spec = form_inputs.modal_spec(self._view, verb, self._labels, shown)
        if spec is None:
            return await self._not_found()
        page = page if page < len(spec.pages()) else 0
        values = await self._drafts.load_across_revisions(self._ask)
        nonce = f"{secrets.token_hex(4)}.{selection_digest(selected)}"
        data = modals.modal(self._view, spec, verb, page, values, nonce, self._labels)
        return InteractionResponse({"type": int(InteractionResponseType.MODAL), "data": data})

    async def _read_modal(self) -> RequestedAction | InteractionResponse:
        verb, page = self._control.verb, self._control.number or 0
        spec = form_inputs.modal_spec(self._view, verb, self._labels)
        if spec is None:
            return await self._not_found()
        if verb is Verb.SEARCH:
            return await self._search(form_inputs.typed_text(self._used.inputs))
        if page + 1 < len(spec.pages()):
            entered = form_inputs.decode_values(await self._drafts.keep())
            problems = form_values.page_problems(spec.form, spec.page_size, page, entered)
            if problems:
                return self._problems_response(problems, spec)
            next_page = private_notes.continue_note(
                self._view, verb, page + 1, len(spec.pages()), self._labels
            )
            return self._private_response(next_page)
        is_divided = len(spec.pages()) > 1
        values = await self._drafts.merged_values() if is_divided else dict(self._used.inputs)
        entered = form_inputs.decode_values(values)
        action = form_values.read_form(spec.form, entered, self._view.prompt)
        if isinstance(action, Other) and self._view.prompt and self._is_several():
            action = await self._with_selection(action, self._view.prompt)
        if isinstance(action, tuple):
            await self._drafts.keep()
            return self._problems_response(action, spec)
        files = self._used.files
        return replace(action, files=files) if isinstance(action, WithFiles) and files else action

    # --- long lists ------------------------------------------------------------------------------

    async def _select(self, prompt: Prompt) -> InteractionResponse:
        offered = {
            index for value in self._used.offered if (index := parse_index(value)) is not None
        }
        every = range(len(prompt.question.options))
        picked = {*self._used.places}.intersection(every)
        chosen = await self._selections.change(
            self._ask, prompt, lambda selected: (selected - offered) | picked
        )
        results = tuple(sorted(offered)) if self._control.argument == "found" else None
        list_state = ListState(self._control.number or 0, chosen, results)
        if self._used.private:
            return (await self._list_response(list_state))._replace(reselected=self._ask)
        latest = await self._unchanged_ask()
        if isinstance(latest, Rejected):
            return await self._replies.rejected(latest, self._used)
        return update_response(
            render.message(
                view_of(latest, self._labels), self._labels, list_state, pictures.shown(latest)
            ),
            latest,
        )

    async def _submit_selection(self, prompt: Prompt) -> RequestedAction | InteractionResponse:
        chosen = await self._selections.load(self._ask)
        selected = selected_indexes(prompt, chosen)
        if self._control.argument != selection_digest(selected):
            # The stored selection is not the one that this person saw: the response that would have shown it
            # was lost or is on its way, or another person has changed the selection.
            changed = self._labels.selection_changed.format(submit=self._labels.submit)
            if self._used.private:
                return await self._list_response(
                    ListState(option_controls.initial_page(prompt), chosen), changed
                )
            return await self._replies.redraw(
                self._ask, self._used, private_notes.note(escape(changed))
            )
        return Choose(selected)

    async def _show_list(self, list_state: ListState, note: str = "") -> InteractionResponse:
        return await self._list_response(
            replace(list_state, chosen=await self._stored_selection()), note
        )

    async def _with_selection(self, other: Other, prompt: Prompt) -> Action | tuple[Problem, ...]:
        changed = self._labels.selection_changed.format(submit=self._labels.answer)
        selected = await self._selections.selected(self._ask, prompt)
        unseen = check_selection(selected, self._control.argument, changed)
        return unseen or with_selected(other, prompt, selected)

    async def _stored_selection(self) -> tuple[int, ...] | None:
        return await self._selections.load(self._ask) if self._is_several() else None

    async def _search(self, query: str) -> InteractionResponse:
        prompt = self._view.prompt
        results = option_controls.search_options(prompt.question, query) if prompt else ()
        if not results:
            return await self._show_list(
                ListState(), self._labels.nothing_found.format(text=query[:100])
            )
        return await self._show_list(ListState(found=results, query=query))

    async def _list_response(self, list_state: ListState, note: str = "") -> InteractionResponse:
        """Respond with the list, for this person only."""
        latest = await self._unchanged_ask()
        if isinstance(latest, Rejected):
            return await self._replies.rejected(latest, self._used)
        return self._private_response(
            long_lists.render_option_list(
                view_of(latest, self._labels), self._labels, list_state, note
            )
        )

    async def _unchanged_ask(self) -> Ask | Rejected:
        """Return the ask if it is still at the revision that this person saw.

        Nothing is awaited after this: later commits are shown after this response.
        """
        latest = await self._asks.get(self._ask.id) or self._ask
        if latest.revision == self._ask.revision:
            return latest
        return Rejected(RejectReason.STALE if latest.open else RejectReason.ENDED, latest)


def problems_note(
    view: View, control: Control, problems: Sequence[Problem], spec: ModalSpec, labels: Labels
) -> Json:
    """Render what is wrong with an entry, with a button that reopens it at the page of the first problem."""
    page = spec.page_with(problems[0].pointer.removeprefix("/value"))
    labels_by_verb = {
        Verb.FILL: labels.fill_in,
        Verb.REPLY: labels.reply_and_end(deny=view.approval, plan=view.plan)[0],
        Verb.OBJECT: labels.object,
        Verb.GRANT: labels.allow_again,
        Verb.EDIT_CALL: labels.edit_call,
        Verb.ASK_BACK: labels.ask_back,
        Verb.HAND_OVER: labels.hand_over,
    }
    label = labels_by_verb.get(control.verb, labels.answer)
    reopen = option_controls.button(view, label, control.verb, page, ButtonStyle.PRIMARY)
    return private_notes.note(message_texts.problems_text(problems, labels, MARKUP), [reopen])
