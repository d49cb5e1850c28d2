"""A person at Slack's client, for the suite that every surface passes."""

from __future__ import annotations

import json
from dataclasses import replace

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Form, Question
from answerback.ports.store import Write
from answerback_chat.controls import Verb
from tests.fakes.slack.delivery import Ack
from tests.fakes.slack.sight import Control, Sight
from tests.fakes.slack.state import initial
from tests.fakes.slack.workspace import Message
from tests.unit.adapters.slack.asks import ask_of
from tests.unit.adapters.slack.rig import CHANNEL, Rig

_OFFERS = {
    "back": "back",
    "reply": "reply",
    "end_turn": "end_turn",
    "submit": "submit",
    "other": "other",
}


_CLICKED = {"button", "checkboxes", "multi_static_select"}


class SlackDesk:
    """See `answerback.testing.surface_contract.Desk`."""

    live = True

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._count = 0
        self._ask_id = ""

    async def opens(self, form: Form) -> str:
        """An ask of this form in the channel."""
        self._rig.slack.workspace.stacks.clear()  # an earlier walk may have failed in a modal
        self._count += 1
        self._ask_id = f"ask_{self._count:024x}"
        ask = ask_of(form, id=self._ask_id, responders=(self._rig.ada.id,))
        place = replace(ask.destination, channel=CHANNEL)
        ask = replace(ask, destination=place)
        await self._rig.app.store.create(Write(ask), None)
        self._rig.app.shower.poke(ask)
        await self._rig.shown(ask)
        return ask.id

    async def stored(self, ask_id: str) -> Ask:
        """The ask once everything is shown."""
        return await self._rig.shown(ask_id)

    def _sight(self) -> Sight:
        return self._rig.ada.sees(self._rig.live(self._ask))

    @property
    def _ask(self) -> Ask:
        return ask_of(Form(questions=()), id=self._ask_id)

    def offers(self, ask_id: str) -> set[str]:
        """By the action ids of the buttons."""
        return {c.action_id for c in self._sight().controls if c.action_id in _OFFERS}

    async def reads(self, ask_id: str) -> str:
        """The message and, where it offers that, everything in full."""
        sight = self._sight()
        found = [sight.words]
        if any(control.action_id == Verb.FULL for control in sight.controls):
            await self._press(Verb.FULL)
            view = await self._rig.ada.sees_modal()
            found.append(self._rig.ada.sees(view).words)
            await self._rig.ada.close_modal()
        return "\n".join(found)

    async def starts_from(self, question: Question) -> JsonValue:
        """Ticks, the highlighted button, or what the modal opens with."""
        sight = self._sight()
        if question.answer_type in {AnswerType.TEXT, AnswerType.SCHEMA}:
            return await self._entry_start(question)
        menus = [c for c in sight.controls if c.action_id == Verb.CHOOSE]
        if menus:
            [menu] = menus
            selected = initial(menu)
            chosen = selected.get("selected_options", [selected.get("selected_option")])
            values: list[JsonValue] = [question.options[int(o["value"])].value for o in chosen if o]
            if question.answer_type is AnswerType.MULTI_SELECT:
                return values or None
            return values[0] if values else None
        [highlighted] = [
            c.action_id.partition(".")[2]
            for c in sight.controls
            if c.style == "primary" and c.action_id.startswith(f"{Verb.ANSWER}.")
        ] or [""]
        if question.answer_type is AnswerType.BOOLEAN:
            return {"true": True, "false": False}.get(highlighted)
        return question.options[int(highlighted)].value if highlighted else None

    async def _entry_start(self, question: Question) -> JsonValue:
        await self._press(Verb.WRITE if question.answer_type is AnswerType.TEXT else Verb.FILL)
        view = await self._rig.ada.sees_modal()
        assert len(self._rig.ada.sees(view).controls) == 1, view.body
        [entry] = self._rig.ada.sees(view).controls
        text = str(initial(entry)["value"] or "")
        await self._rig.ada.close_modal()
        if question.answer_type is AnswerType.TEXT:
            return text or None
        return json.loads(text) if text else None

    async def answers(self, question: Question, value: JsonValue) -> None:
        """By button, menu or modal, whatever is there."""
        match question.answer_type:
            case AnswerType.BOOLEAN:
                await self._press(f"{Verb.ANSWER}.{json.dumps(value)}")
            case AnswerType.SELECT | AnswerType.MULTI_SELECT:
                await self._chooses(question, value)
            case AnswerType.TEXT:
                await self._writes(Verb.WRITE, str(value))
            case AnswerType.SCHEMA:
                await self._writes(Verb.FILL, value)

    async def _chooses(self, question: Question, value: JsonValue) -> None:
        wanted = value if isinstance(value, list) else [value]
        places = [i for i, o in enumerate(question.options) if o.value in wanted]
        menus = [c for c in self._sight().controls if c.action_id == Verb.CHOOSE]
        if not menus:
            await self._press(f"{Verb.ANSWER}.{places[0]}")
            return
        [menu] = menus
        labels = [c.label for c in menu.choices if int(c.option["value"]) in places]
        if question.answer_type is AnswerType.MULTI_SELECT:
            await self._rig.ada.check(self._live(), labels, Verb.CHOOSE)
        else:
            await self._pick(menu, places[0])
        await self._press(Verb.TAKE)

    async def _pick(self, menu: Control, place: int) -> None:
        """Radios may read alike: the person picks by place."""
        ada = self._rig.ada
        entry = {"type": menu.kind, "selected_option": menu.choices[place].option}
        await ada._enter(self._live().snapshot(), menu, entry)

    async def _writes(self, verb: Verb, value: JsonValue) -> None:
        await self._press(verb)
        view = await self._rig.ada.sees_modal()
        [entry] = [c for c in self._rig.ada.sees(view).controls if c.kind not in _CLICKED]
        text = value
        if verb is Verb.FILL:
            whole = value["n"] if isinstance(value, dict) and entry.label == "n" else value
            text = "" if value is None and entry.label == "Answer" else json.dumps(whole)
        ack = await self._rig.ada.submit({entry.label: text})
        assert ack.ok
        assert self._rig.ada.modal is None, (ack, text)

    async def writes_other(self, text: str) -> None:
        """By the modal of "Something else…"."""
        await self._writes(Verb.OTHER, text)

    async def goes_back(self) -> None:
        """By its button."""
        await self._press(Verb.BACK)

    async def edits(self, ask: Ask, question: Question) -> None:
        """By the button beside the answer."""
        place = [given.question_id for given in ask.walk.answers].index(question.id)
        await self._press(f"{Verb.EDIT}.{place}")

    async def submits(self) -> None:
        """By its button."""
        await self._press(Verb.SUBMIT)

    async def replies(self, text: str | None) -> None:
        """By its modal."""
        await self._writes(Verb.REPLY, text or "")

    async def ends_turn(self) -> None:
        """By its button, with Slack's own dialog."""
        await self._press(Verb.END_TURN)

    def _live(self) -> Message:
        return self._rig.live(self._ask)

    async def _press(self, name: str) -> Ack:
        """By action id: an option may be called "Back"."""
        shown = self._live().snapshot()
        [control] = [c for c in self._sight().controls if c.action_id == name]
        action = {
            "type": "button",
            "text": control.element["text"],
            "value": control.element["value"],
        }
        ack = await self._rig.ada._act(shown, control, action)
        assert ack.ok, ack
        return ack
