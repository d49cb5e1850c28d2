"""A click or a submitted modal: decided, committed, answered. The same for the gateway and for HTTP.

Owns what each control does. The answer is one callback of Discord's, made without any request to
Discord: the commit comes first and the answer shows what is stored.
https://docs.discord.com/developers/interactions/receiving-and-responding
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.errors import Problem, StoreError
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import Action, Answer, Back, Edit, EndTurn, Other, Submit
from answerback.ports.surface import Acted, Actor, Asks, Rejected, Why
from answerback_chat import responders
from answerback_chat.controls import Control, Verb, encode
from answerback_discord import actions, choices, forms, modals, notes, parse, reading, render
from answerback_discord.blocks import Json
from answerback_discord.choices import Look
from answerback_discord.forms import Sheet
from answerback_discord.parse import Interaction, Kind
from answerback_discord.replies import Callback, Replies, Reply, private, told, update
from answerback_discord.text import escape

logger = logging.getLogger(__name__)

_OPENS: Final = frozenset({Verb.WRITE, Verb.OTHER, Verb.FILL, Verb.REPLY, Verb.SEARCH})
_TICKING: Final = frozenset({Verb.CHOOSE, Verb.TAKE, Verb.PAGE, Verb.SEARCH, Verb.OTHER})
"""What reads or changes ticks, where there are any."""
_IMPOSSIBLE: Final = Edit(question_id="")
"""An action that no walk takes: what a control of another revision stands for."""


_NO_CHOICES: Final = Reply({"type": int(Callback.AUTOCOMPLETE_RESULT), "data": {"choices": []}})


class Inbound:
    """Answers interactions."""

    def __init__(self, asks: Asks, labels: Labels) -> None:
        self._asks = asks
        self._labels = labels
        self._replies = Replies(asks, labels)

    async def look(self, ask: Ask) -> Look | None:
        """See `answerback_discord.replies.Replies.look`."""
        return await self._replies.look(ask)

    async def answer(self, body: Mapping[str, JsonValue]) -> Reply:
        """The answer to any interaction that Discord delivers; never "This interaction failed"."""
        used = None
        try:
            used = parse.interaction(body)
            if used is None or used.control is None:
                if body.get("type") == Kind.AUTOCOMPLETE:
                    return _NO_CHOICES
                return private(notes.rejected(Rejected(Why.NOT_FOUND), self._labels))
            action = _SAID.get((used.control.verb, used.control.argument))
            if action is not None:
                result = await self._asks.act(
                    used.control.ask_id,
                    action,
                    used.actor,
                    revision=used.control.revision,
                    delivery=used.delivery,
                    at=used.at,
                )
                return await self._replies.acted(result, used)
            if used.control.verb in _TICKING:
                async with self._replies.selections.turn(used.control.ask_id):
                    return await self._answered(used, used.control)
            return await self._answered(used, used.control)
        except StoreError as error:
            extra = {"action": "click_unsaved", "ask_id": _ask_id(used)}
            logger.warning("A click could not be saved: %s", error, extra=extra)
            words = self._labels.unsaved(error)
        except Exception as error:
            extra = {"action": "interaction_failed", "ask_id": _ask_id(used)}
            logger.exception("An interaction failed", extra=extra)
            words = self._labels.unsaved(error)
        return private(self._unsaved(used, words))

    async def _answered(self, used: Interaction, control: Control) -> Reply:
        ask = await self._asks.get(control.ask_id)
        if ask is None:
            return private(notes.rejected(Rejected(Why.NOT_FOUND), self._labels))
        return await _Click(self._asks, self._replies, self._labels, used, control, ask).answered()

    def _unsaved(self, used: Interaction | None, words: str) -> Json:
        again = typed = ""
        if used is not None and used.control is not None:
            ask_id, revision, verb, _ = used.control
            picked = used.values[0] if len(used.values) == 1 else ""
            alone = verb is Verb.CHOOSE and not used.several
            if alone and picked.isascii() and picked.isdigit():
                again = encode(ask_id, revision, Verb.ANSWER, picked)
            typed = forms.words_of(used.inputs)
        return notes.retry(words, again, self._labels, typed)


def _ask_id(used: Interaction | None) -> str | None:
    return used.control.ask_id if used and used.control else None


class _Click:
    """One interaction with the ask it is about."""

    def __init__(
        self,
        asks: Asks,
        replies: Replies,
        labels: Labels,
        used: Interaction,
        control: Control,
        ask: Ask,
    ) -> None:
        self._asks = asks
        self._replies = replies
        self._ticks = replies.selections
        self._labels = labels
        self._used = used
        self._control = control
        self._ask = ask
        self._view = view_of(ask)
        self._actor: Actor = used.actor

    async def answered(self) -> Reply:
        """What this interaction leads to."""
        verb = self._control.verb
        if verb in {Verb.FULL, Verb.PREVIEW}:
            return await self._read()
        action = actions.action_of(self._used, self._control, self._ask, self._view)
        if action is not None:
            return await self._act(action)
        if self._ask.open and responders.is_stranger(self._ask, self._actor):
            return await self._refused(Why.NOT_ALLOWED)
        if not self._ask.open or self._control.revision != self._ask.revision:
            return await self._act(_IMPOSSIBLE)  # the service says why, or that it was a repeat
        if self._used.kind == Kind.MODAL_SUBMIT:
            return await self._entered()
        if verb in _OPENS:
            return await self._open(actions.number(self._control) or 0)
        return await self._turned_or_taken()

    async def _read(self) -> Reply:
        """A page of what a message of ours has not shown, or of what this person had entered."""
        entry, _, page = self._control.argument.partition(".")
        if entry not in _OPENS:
            verb, number = self._control.verb, actions.number(self._control) or 0
            look = Look(chosen=await self._ticked())
            return self._private(reading.page(self._view, verb, number, self._labels, look))
        of = self._control._replace(verb=Verb(entry))
        entered = notes.Entered(forms.words_of(await self._draft(of.verb)), of)
        return self._private(notes.given_back(entered, actions.digits(page) or 0, self._labels))

    async def _turned_or_taken(self) -> Reply:
        match self._control.verb:
            case Verb.CHOOSE if actions.is_several(self._view):
                return await self._tick()
            case Verb.TAKE if actions.is_several(self._view):
                return await self._take()
            case Verb.PAGE:
                return await self._look(Look(page=actions.number(self._control) or 0))
            case Verb.END_TURN:
                return self._private(notes.confirm_end_turn(self._view, self._labels))
            case _:
                return await self._refused(Why.NOT_FOUND)

    # --- acting ----------------------------------------------------------------------------------

    async def _act(self, action: Action) -> Reply:
        result = await self._said(action)
        if isinstance(result, Rejected):
            return await self._rejected(result)
        return await self._replies.acted(result, self._used)

    async def _said(self, action: Action) -> Acted | Rejected:
        return await self._asks.act(
            self._ask.id,
            action,
            self._actor,
            revision=self._control.revision,
            delivery=self._used.delivery,
            at=self._used.at,
        )

    def _mistakes(self, problems: Sequence[Problem], sheet: Sheet) -> Reply:
        page = sheet.page_with(problems[0].pointer.removeprefix("/value"))
        label = self._labels.fill_in if self._control.verb is Verb.FILL else self._labels.answer
        label = self._labels.reply if self._control.verb is Verb.REPLY else label
        reopen = (self._control.verb, page)
        return self._private(notes.mistakes(self._view, problems, reopen, label, self._labels))

    async def _refused(self, why: Why) -> Reply:
        return await self._rejected(Rejected(why, self._ask))

    async def _rejected(self, result: Rejected) -> Reply:
        """Why nothing was changed, and whatever was entered in vain, on the pages before this one too."""
        entered = None
        if self._used.private or self._used.kind == Kind.MODAL_SUBMIT:
            values = {**(await self._draft()), **self._used.inputs}
            entered = notes.Entered(forms.words_of(values), self._control)
            if self._used.inputs and len(entered.pages()) > 1:
                await self._asks.save_draft(self._draft_key(), values)
        return await self._replies.rejected(result, self._used, entered)

    def _private(self, message: Json) -> Reply:
        return told(message, self._used)

    # --- entering --------------------------------------------------------------------------------

    def _draft_key(self, verb: Verb | None = None) -> str:
        who = self._actor.person.user_id
        return f"{self._ask.id}:{self._control.revision}:{verb or self._control.verb}:{who}"

    async def _draft(self, verb: Verb | None = None) -> dict[str, JsonValue]:
        kept = await self._asks.draft(self._draft_key(verb))
        return kept if isinstance(kept, dict) else {}

    async def _open(self, page: int) -> Reply:
        verb, ticked = self._control.verb, await self._beside()
        sheet = forms.sheet_of(self._view, verb, self._labels, ticked)
        if sheet is None:
            return await self._refused(Why.NOT_FOUND)
        page = page if page < len(sheet.pages()) else 0
        values = await self._draft()
        nonce = f"{secrets.token_hex(4)}.{choices.digest(ticked)}"
        data = modals.modal(self._view, sheet, verb, page, values, nonce, self._labels)
        return Reply({"type": int(Callback.MODAL), "data": data})

    async def _entered(self) -> Reply:
        verb, page = self._control.verb, actions.number(self._control) or 0
        sheet = forms.sheet_of(self._view, verb, self._labels)
        if sheet is None:
            return await self._refused(Why.NOT_FOUND)
        if verb is Verb.SEARCH:
            return await self._search(forms.words_of(self._used.inputs))
        several = len(sheet.pages()) > 1
        values = (
            {**(await self._draft()), **self._used.inputs} if several else dict(self._used.inputs)
        )
        if page + 1 < len(sheet.pages()):
            await self._asks.save_draft(self._draft_key(), values)
            if wrong := forms.mistakes_on(sheet, page, values):
                return self._mistakes(wrong, sheet)
            following = notes.next_page(
                self._view, verb, page + 1, len(sheet.pages()), self._labels
            )
            return self._private(following)
        found = forms.read(self._view.prompt, sheet, verb, values)
        if isinstance(found, Other) and actions.is_several(self._view):
            found = await self._with_ticks(found)
        if isinstance(found, tuple):
            await self._asks.save_draft(self._draft_key(), values)
            return self._mistakes(found, sheet)
        return await self._hand_in(found, sheet, values)

    async def _hand_in(self, action: Action, sheet: Sheet, values: dict[str, JsonValue]) -> Reply:
        result = await self._said(action)
        if isinstance(result, Acted):
            if len(sheet.pages()) > 1:
                try:
                    await self._asks.save_draft(self._draft_key(), None)
                except StoreError as error:  # the answer is saved; a draft that stays harms nobody
                    extra = {"action": "draft_stays", "ask_id": self._ask.id}
                    logger.warning("A draft could not be dropped: %s", error, extra=extra)
            return await self._replies.acted(result, self._used)
        if result.why is Why.INVALID:
            await self._asks.save_draft(self._draft_key(), values)
            return self._mistakes(result.problems, sheet)
        return await self._rejected(result)

    # --- looking through long lists --------------------------------------------------------------

    async def _tick(self) -> Reply:
        prompt = self._view.prompt
        if prompt is None:
            return await self._refused(Why.NOT_FOUND)
        before = await self._ticks.of(self._ask)
        offered = {int(v) for v in self._used.offered if v.isascii() and v.isdigit()}
        picked = {int(v) for v in self._used.values if v.isascii() and v.isdigit()}
        kept = set(choices.selected(prompt, Look(chosen=before))) - offered
        every = range(len(prompt.question.options))
        chosen = tuple(i for i in every if i in kept | picked)
        await self._ticks.keep(self._ask, chosen)
        found = tuple(sorted(offered)) if self._control.argument == "found" else None
        return await self._turned(Look(actions.number(self._control) or 0, chosen, found))

    async def _take(self) -> Reply:
        prompt = self._view.prompt
        if prompt is None:
            return await self._refused(Why.NOT_FOUND)
        chosen = await self._ticks.of(self._ask)
        ticked = choices.selected(prompt, Look(chosen=chosen))
        if self._control.argument != choices.digest(ticked):
            # The ticks that are kept are not those that this person saw: the answer that was to show
            # them is lost or on its way, or somebody else has changed them.
            note = notes.note(escape(self._labels.ticks_changed.format(submit=self._labels.submit)))
            return await self._replies.redrawn(self._ask, self._used, note)
        return await self._act(Answer(value=self._values(ticked)))

    async def _look(self, look: Look) -> Reply:
        return await self._turned(replace(look, chosen=await self._ticked()))

    async def _beside(self) -> tuple[int, ...]:
        """What is ticked beside the words of "Something else…" now."""
        prompt = self._view.prompt
        if prompt is None or not actions.is_several(self._view):
            return ()
        return choices.selected(prompt, Look(chosen=await self._ticked()))

    async def _with_ticks(self, words: Other) -> Other | tuple[Problem, ...]:
        """Words of one's own with what is ticked, if that is what their modal named."""
        ticked = await self._beside()
        if self._control.argument.endswith(choices.digest(ticked)):
            return replace(words, value=self._values(ticked))
        message = self._labels.ticks_changed.format(submit=self._labels.answer)
        return (Problem(pointer="", code="unknown_value", message=message),)

    def _values(self, ticked: Sequence[int]) -> list[JsonValue]:
        options = self._view.prompt.question.options if self._view.prompt else ()
        return [options[i].value for i in ticked]

    async def _ticked(self) -> tuple[int, ...] | None:
        return await self._ticks.of(self._ask) if actions.is_several(self._view) else None

    async def _search(self, words: str) -> Reply:
        prompt = self._view.prompt
        found = choices.matching(prompt.question, words) if prompt else ()
        if not found:
            sentence = self._labels.nothing_found.format(words=words[:100])
            return private(notes.note(escape(sentence)))
        return await self._look(Look(found=found, words=words))

    async def _turned(self, look: Look) -> Reply:
        # The last that is awaited: what is committed later is shown after this answer.
        latest = await self._asks.get(self._ask.id)
        if latest is None or latest.revision != self._ask.revision:
            return await self._act(_IMPOSSIBLE)
        return update(render.message(view_of(latest), self._labels, look), latest)


_SAID: Final[Mapping[tuple[Verb, str], Action]] = {
    (Verb.ANSWER, "true"): Answer(value=True),
    (Verb.ANSWER, "false"): Answer(value=False),
    (Verb.REMEMBER, "true"): Answer(value=True, remember=True),
    (Verb.REMEMBER, "false"): Answer(value=False, remember=True),
    (Verb.BACK, ""): Back(),
    (Verb.SUBMIT, ""): Submit(),
    (Verb.END_TURN, notes.CONFIRMED): EndTurn(),
}
"""The actions that controls stand for whatever the ask is: the service alone decides on them."""
