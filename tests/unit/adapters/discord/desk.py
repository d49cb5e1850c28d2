"""A person at Discord's client, for the suite that every surface passes."""

from __future__ import annotations

import json
import re

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.form import AnswerType, Form, Question
from answerback.core.labels import Labels
from answerback.core.schema_fields import fields_of
from answerback.ports.store import Write
from answerback_discord.text import fit
from tests.fakes.discord.interactions import Interaction
from tests.fakes.discord.sight import Control, Sight
from tests.fakes.discord.world import Message
from tests.unit.adapters.discord.examples import ask_of
from tests.unit.adapters.discord.rig import Rig
from tests.unit.adapters.discord.sight import unescaped

LABELS = Labels()
OFFERS = {
    LABELS.back: "back",
    LABELS.reply: "reply",
    LABELS.end_turn: "end_turn",
    LABELS.submit: "submit",
    LABELS.other: "other",
}


class DiscordDesk:
    """See `answerback.testing.surface_contract.Desk`."""

    live = True

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._count = 0
        self._ask_id = ""

    async def opens(self, form: Form) -> str:
        """An ask of this form in the channel."""
        self._count += 1
        ask = ask_of(
            form,
            id=f"ask_{self._count:024x}",
            destination=Destination(surface="discord", channel=str(self._rig.channel.id)),
            responders=(str(self._rig.ann.id),),
        )
        await self._rig.store.create(Write(ask), None)
        self._rig.shower.poke(ask)
        self._ask_id = ask.id
        await self._rig.shown(ask)
        return ask.id

    async def stored(self, ask_id: str) -> Ask:
        """The ask once everything is shown."""
        return await self._rig.shown(ask_id)

    def _sight(self) -> Sight:
        return self._rig.ann.latest(self._rig.channel)

    def _live(self) -> Message:
        return self._sight().message

    def offers(self, ask_id: str) -> set[str]:
        """By the labels of the buttons; Submit of a multi-select is its own."""
        labels = self._sight().labels
        review = LABELS.review_title in self._sight().text
        found = {OFFERS[label] for label in labels if label in OFFERS}
        return found if review else found - {"submit"}

    async def reads(self, ask_id: str) -> str:
        """The message and, where it offers that, everything in full."""
        sight = self._sight()
        texts = list(sight.texts)
        if LABELS.details in sight.labels:
            texts += await self._pages(sight)
        # Marks of ours go first: what people wrote has a backslash before each of its own.
        texts = [unescaped(re.sub(r"(?<!\\)\*\*", "", text)) for text in texts]
        texts += [control.label for control in sight.controls]
        for control in sight.controls:
            texts += [f"{o.label} {o.description}" for o in control.options]
        return "".join(texts)

    async def _pages(self, sight: Sight) -> list[str]:
        clicked = await self._rig.ann.click(LABELS.details, on=sight.message)
        found, page = [], self._rig.ann.notes()[0]
        found.append(page.texts[0])
        while LABELS.next in page.labels:
            clicked = await self._rig.ann.click(LABELS.next, on=page.message)
            page = self._rig.ann.notes()[0]
            found.append(page.texts[0])
        assert clicked.answered
        return found

    async def starts_from(self, question: Question) -> JsonValue:
        """Ticks, the highlighted button, or what the modal opens with."""
        sight = self._sight()
        match question.answer_type:
            case AnswerType.TEXT | AnswerType.SCHEMA:
                return await self._entry_start(question)
            case AnswerType.MULTI_SELECT:
                selected = [o.value for o in sight.selects[0].options if o.default]
                return [question.options[int(i)].value for i in selected] or None
            case _:
                chosen = [c for c in sight.controls if c.component.get("style") == 1]
                return _value_behind(question, chosen[0]) if chosen else None

    async def _entry_start(self, question: Question) -> JsonValue:
        await self._click(
            LABELS.answer if question.answer_type is AnswerType.TEXT else LABELS.fill_in
        )
        modal = self._rig.ann.modal
        assert modal is not None
        text = str(modal.fields[0].value)
        self._rig.ann.dismiss()
        if question.answer_type is AnswerType.TEXT:
            return text or None
        return json.loads(text) if text else None

    async def answers(self, question: Question, value: JsonValue) -> None:
        """By button, menu or modal, whatever is there."""
        match question.answer_type:
            case AnswerType.BOOLEAN:
                await self._click(LABELS.yes if value else LABELS.no)
            case AnswerType.SELECT:
                await self._chooses(question, value)
            case AnswerType.MULTI_SELECT:
                await self._select_several(question, value)
            case AnswerType.TEXT:
                await self._writes(LABELS.answer, LABELS.other_label, str(value))
            case AnswerType.SCHEMA:
                fields = fields_of(question.json_schema)
                label = fields[0].title if fields else LABELS.json_label
                text = json.dumps(value["n"] if isinstance(value, dict) else value)
                blank = fields is not None and value is None
                await self._writes(LABELS.fill_in, label, "" if blank else text)

    async def _chooses(self, question: Question, value: JsonValue) -> None:
        index = next(i for i, o in enumerate(question.options) if o.value == value)
        sight = self._sight()
        names = {
            fit(question.options[index].label, 80),
            fit(f"{index + 1}. {question.options[index].label}", 80),
        }
        button = next((label for label in sight.labels if label in names), None)
        if button is not None:
            await self._click(button)
            return
        menu = sight.selects[0]
        done = await self._rig.ann.choose(menu.custom_id, [menu.options[index].label])
        assert done.answered

    async def _select_several(self, question: Question, value: JsonValue) -> None:
        assert isinstance(value, list)
        menu = self._sight().selects[0]
        wanted = [o.label for o in menu.options if question.options[int(o.value)].value in value]
        if sorted(menu.chosen) != sorted(wanted):
            done = await self._rig.ann.choose(menu.custom_id, wanted)
            assert done.answered
        await self._click(LABELS.submit)

    async def _writes(self, button: str, field: str, text: str) -> None:
        await self._click(button)
        self._rig.ann.fill(field, text)
        done = await self._rig.ann.submit()
        assert done.answered, done.problem

    async def writes_other(self, text: str) -> None:
        """By the modal of "Something else…"."""
        await self._writes(LABELS.other, LABELS.other_label, text)

    async def goes_back(self) -> None:
        """By its button."""
        await self._click(LABELS.back)

    async def edits(self, ask: Ask, question: Question) -> None:
        """By the button beside the answer."""
        place = [given.question_id for given in ask.walk.answers].index(question.id)
        edits = [c for c in self._sight().controls if c.label == LABELS.edit]
        ann, message = self._rig.ann, self._live()
        done = await ann._use(message, edits[place], [], wait=True)
        assert done.answered

    async def submits(self) -> None:
        """By its button."""
        await self._click(LABELS.submit)

    async def replies(self, text: str | None) -> None:
        """By its modal."""
        await self._writes(
            LABELS.reply, fit(LABELS.reply_label.format(label="Assistant"), 45), text or ""
        )

    async def ends_turn(self) -> None:
        """By its button, and the one in the private message after it."""
        await self._click(LABELS.end_turn)
        note = self._rig.ann.notes()[0]
        done = await self._rig.ann.click(LABELS.end_turn, on=note.message)
        assert done.answered
        await self._rig.shown(self._ask_id)

    async def _click(self, label: str) -> Interaction:
        done = await self._rig.ann.click(label, on=self._live())
        assert done.answered, done.problem
        return done


def _value_behind(question: Question, control: Control) -> JsonValue:
    if control.label in {LABELS.yes, LABELS.no}:
        return control.label == LABELS.yes
    for i, option in enumerate(question.options):
        if control.label in {fit(option.label, 80), fit(f"{i + 1}. {option.label}", 80)}:
            return option.value
    return None
