"""Slack's simulated people, for the test suite that every surface passes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.form import AnswerType, Question
from answerback_chat.control_codec import Verb
from answerback_testing.simulated_people import SampleFile, ShownButton, SimulatedPerson
from tests.fakes.slack.person import Person, escape_typed
from tests.fakes.slack.schema import Json
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.state import initial
from tests.fakes.slack.visible_message import Sight, look
from tests.fakes.slack.workspace import BOT_USER, Message, Snapshot, View
from tests.unit.adapters.slack.batch_lists import SlackBatches
from tests.unit.adapters.slack.command_answers import SlackCommands
from tests.unit.adapters.slack.offers import OFFERS
from tests.unit.adapters.slack.rig import CHANNEL, LABELS, belongs
from tests.unit.adapters.slack.shown_buttons import menus_of, places_of, shown_button

_CLICKED = {"button", "checkboxes", "multi_static_select", "file_input"}


class SimulatedSlackPerson(SlackBatches, SlackCommands):
    """See `answerback_testing.simulated_people.SimulatedPerson`."""

    def __init__(self, slack: FakeSlack, person: Person, channel: str = CHANNEL) -> None:
        self._slack = slack
        self._person = person
        self._channel = channel
        self.user_id = person.id
        self.name = person.user.name
        self._ask_id = ""
        self._deleted: list[str] = []
        """The messages that the person has deleted."""
        self._copy: Snapshot

    # --- seeing ---

    async def look_at(self, ask: Ask) -> None:
        self._slack.workspace.stacks.pop(
            self.user_id, None
        )  # looking at the message again closes the modal
        self._ask_id = ask.id
        await self._slack.until(self._standing)
        self._copy = self._live().snapshot()

    async def look_at_second_message(self, ask: Ask) -> bool:
        self._ask_id = ask.id
        others = self._second_messages(ask)
        if others:
            self._copy = others[0].snapshot()
        return bool(others)

    async def sees_no_second_message(self, ask: Ask) -> None:
        await self._slack.until(lambda: not self._second_messages(ask))

    def _second_messages(self, ask: Ask) -> list[Message]:
        live, messages = (ask.placement.message or {})["ts"], self._slack.messages(self._channel)
        return [each for each in messages if belongs(each, ask.id) and each.ts != live]

    def _standing(self) -> list[Message]:
        return [m for m in self._slack.messages(self._channel) if belongs(m, self._ask_id)]

    def _live(self) -> Message:
        [message] = self._standing()
        return message

    def _sight(self) -> Sight:
        return look(self._copy)

    def available_actions(self) -> set[str]:
        return {OFFERS[c.action_id] for c in self._sight().controls if c.action_id in OFFERS}

    def buttons(self) -> list[ShownButton]:
        return [shown_button(each) for each in self._sight().controls if each.kind == "button"]

    async def press_button(self, shown: ShownButton) -> None:
        await self._press(shown.id)

    def seen_at_once(self) -> str:
        return self._sight().visible_text

    async def read_all_text(self) -> str:
        sight = self._sight()
        found = [sight.visible_text]
        if any(control.action_id == Verb.SHOW_IN_FULL for control in sight.controls):
            found.append(await self._read_modal(Verb.SHOW_IN_FULL))
        return "\n".join(found)

    async def _read_modal(self, verb: Verb) -> str:
        await self._press(verb)
        text = look(await self._person.sees_modal()).visible_text
        await self._person.close_modal()
        return text

    async def read_prefill(self, question: Question) -> JsonValue:
        sight = self._sight()
        if question.answer_type in {AnswerType.TEXT, AnswerType.SCHEMA}:
            return await self._entry_start(question)
        if menus := menus_of(sight):
            [menu] = menus
            ticked = initial(menu)
            chosen = ticked.get("selected_options", [ticked.get("selected_option")])
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
        entry, *_ = look(await self._person.sees_modal()).controls  # files may follow
        text = str(initial(entry)["value"] or "")
        await self._person.close_modal()
        if question.answer_type is AnswerType.TEXT:
            return text or None
        return json.loads(text) if text else None

    async def private_notes(self, count: int) -> list[str]:
        def notes() -> list[str]:
            return self._person.private_notes(self._channel)

        await self._slack.until(lambda: len(notes()) >= count)
        return notes()

    refusals = private_notes

    def mentions_and_links(self) -> list[str]:
        live = self._live().ts
        about = [m for m in self._slack.messages(self._channel) if live in (m.ts, m.thread_ts)]
        sights = [look(m) for m in about]
        mentions = [whom for sight in sights for whom in sight.mentions]
        disguised = [to for sight in sights for text, to in sight.links if text != to]
        return [whom for whom in (*mentions, *disguised) if whom != self.user_id]

    async def count_reminders(self, count: int) -> int:
        return len(self._reminders())

    def read_reminders(self) -> str:
        return "\n".join(look(each).visible_text for each in self._reminders())

    def _reminders(self) -> list[Message]:
        live = {self._live().ts, *self._deleted}
        messages = self._slack.messages(self._channel)
        return [each for each in messages if each.thread_ts in live and each.bot]

    # --- acting ---

    async def answer(self, question: Question, value: JsonValue) -> None:
        match question.answer_type:
            case AnswerType.BOOLEAN:
                await self._press(f"{Verb.ANSWER}.{json.dumps(value)}")
            case AnswerType.SELECT | AnswerType.MULTI_SELECT:
                await self._chooses(question, value)
            case AnswerType.TEXT:
                await self._writes(Verb.WRITE, str(value))
            case AnswerType.SCHEMA:
                await self._writes(Verb.FILL, value)

    async def answer_as_prefilled(self, question: Question) -> None:
        offered = {c.action_id for c in self._sight().controls}
        primary = [c.action_id for c in self._sight().controls if c.style == "primary"]
        openers = [v for v in (Verb.OTHER, Verb.NOTE, Verb.WRITE, Verb.FILL) if v in primary]
        if Verb.SUBMIT_SELECTION in offered:
            await self._press(Verb.SUBMIT_SELECTION)
        elif openers or Verb.CHOOSE in offered:
            await self._press(Verb.CHOOSE if Verb.CHOOSE in offered else openers[0])
            await self._person.sees_modal()
            assert (await self._person.submit()).ok
        else:
            [name] = primary
            await self._press(name)

    async def begin_note(self, question: Question, value: JsonValue) -> None:
        await self._press(Verb.NOTE)
        await self._picks(await self._person.sees_modal(), places_of(question, value))

    async def read_note_form(self) -> str:
        return look(await self._person.sees_modal()).visible_text

    async def finish_note(self, note: str) -> None:
        assert (await self._person.submit({LABELS.note_label: note})).ok

    async def _chooses(self, question: Question, value: JsonValue) -> None:
        places = places_of(question, value)
        if menus_of(self._sight()):
            await self._picks(self._copy, places)
            await self._press(Verb.SUBMIT_SELECTION)
        elif Verb.CHOOSE in {c.action_id for c in self._sight().controls}:
            await self._press(Verb.CHOOSE)
            await self._picks(await self._person.sees_modal(), places)
            assert (await self._person.submit()).ok
        else:
            await self._press(f"{Verb.ANSWER}.{places[0]}")

    async def _picks(self, shown: Snapshot | View, places: Iterable[str]) -> None:
        """Options may look the same, so the person picks by position."""
        for menu in menus_of(look(shown)):
            picked = [c.option for c in menu.choices if c.option["value"] in places]
            entry: Json = {"type": menu.kind, "selected_options": picked}
            if menu.kind in {"radio_buttons", "static_select"}:
                entry = {"type": menu.kind, "selected_option": picked[0]}
            await self._person._enter(shown, menu, entry)

    async def _writes(self, verb: Verb, value: JsonValue) -> None:
        if not await self._opens(verb):
            return
        shown = look(await self._person.sees_modal()).controls
        [entry] = [c for c in shown if c.kind not in _CLICKED]
        text = value
        if verb is Verb.FILL:
            whole = value["n"] if isinstance(value, dict) and entry.label == "n" else value
            text = "" if value is None and entry.label == "Answer" else json.dumps(whole)
        ack = await self._person.submit({entry.label: text})
        assert ack.ok

    async def _opens(self, verb: Verb) -> bool:
        """Return True if a modal opens, rather than a note to this person."""
        notes = len(self._person.private_notes(self._channel))
        await self._press(verb)
        modal = self._person
        await self._slack.until(
            lambda: modal.modal or len(self._person.private_notes(self._channel)) > notes
        )
        return self._person.modal is not None

    async def open_modal(self) -> bool:
        return await self._opens(Verb.WRITE)

    async def submit_modal(self, text: str) -> str:
        assert (await self._person.submit({LABELS.other_label: text})).ok
        return look(self._person.modal).text if self._person.modal else ""

    async def answer_other(self, text: str) -> None:
        await self._writes(Verb.OTHER, text)

    async def go_back(self) -> None:
        await self._press(Verb.BACK)

    async def edit(self, ask: Ask, question: Question) -> None:
        place = [given.question_id for given in ask.walk.answers].index(question.id)
        await self._press(f"{Verb.EDIT}.{place}")

    async def submit(self) -> None:
        await self._press(Verb.SUBMIT)

    async def confirm(self) -> None:
        await self._press(Verb.CONFIRM)

    async def object_to(self, text: str | None) -> None:
        await self._writes(Verb.OBJECT, text or "")

    async def reply(self, text: str | None) -> None:
        await self._writes(Verb.REPLY, text or "")

    async def _submit_reply(self, text: str, files: Sequence[SampleFile]) -> None:
        assert await self._opens(Verb.REPLY)
        share = self._slack.people_files.share
        shown = look(await self._person.sees_modal()).controls
        [entry] = [c for c in shown if c.kind not in _CLICKED]
        objects = [share(each.name, each.data) for each in files]
        assert (await self._person.submit({entry.label: text, LABELS.attach: objects})).ok
        assert self._person.modal is None

    async def reply_with_stalled_files(self, text: str, files: Sequence[SampleFile]) -> None:
        self._slack.people_files.stalls = True
        before = self.count_read()
        await self._submit_reply(text, files)
        await self._slack.until(lambda: self.count_read() > before)

    def hand_out_files(self) -> None:
        self._slack.people_files.stalls = False

    async def reply_with_files(self, text: str, files: Sequence[SampleFile]) -> str:
        notes, live = len(self._person.private_notes(self._channel)), self._live()
        before = live.edited
        await self._submit_reply(text, files)

        def is_decided() -> bool:
            has_note = len(self._person.private_notes(self._channel)) > notes
            return has_note or live.edited != before

        await self._slack.until(is_decided)
        shown_notes = [
            m for m in self._person.messages(self._channel) if m.ephemeral_to == self._person.id
        ]
        return "\n".join(look(each).visible_text for each in shown_notes[notes:])

    async def ask_back(self, text: str) -> None:
        await self._writes(Verb.ASK_BACK, text)

    async def hand_over(self, to: SimulatedPerson) -> str:
        await self._writes(Verb.HAND_OVER, to.user_id)
        return "\n".join(self._person.modal.errors.values()) if self._person.modal else ""

    async def end_turn(self) -> None:
        await self._press(Verb.END_TURN)  # with Slack's own dialog

    async def try_again(self, text: str | None = None) -> None:
        await self._writes(Verb.TRY_AGAIN, text or "")

    async def read_grant_form(self) -> str:
        return await self._read_modal(Verb.GRANT)

    async def allow_again(self, uses: int) -> None:
        if await self._opens(Verb.GRANT):
            assert (await self._person.submit({LABELS.grant_uses: str(uses)})).ok

    async def edit_call(self, **arguments: str) -> str:
        if not await self._opens(Verb.EDIT_CALL):
            return ""
        await self._person.submit(dict(arguments))
        return "\n".join(self._person.modal.errors.values()) if self._person.modal else ""

    async def revoke(self) -> None:
        await self._press(Verb.REVOKE)

    async def type_message(self, text: str, *, meant: bool = True, with_file: bool = False) -> bool:
        self._slack.clock.advance(2)  # nobody types at the very moment when a question appears
        text = f"<@{BOT_USER}> {escape_typed(text)}" if meant else escape_typed(text)
        elsewhere = self._slack.people_files.share_elsewhere
        files = [elsewhere("plan", "https://docs.example.com/1")] if with_file else None
        return await self._say(text, meant=meant, files=files)

    async def mention_bot(self, text: str, place: Destination) -> bool:
        self._slack.clock.advance(2)
        return await self._say(f"<@{BOT_USER}> {escape_typed(text)}", place=place)

    async def send_files(self, text: str, files: Sequence[SampleFile]) -> bool:
        self._slack.clock.advance(2)
        share = self._slack.people_files.share
        return await self._say(
            f"<@{BOT_USER}> {escape_typed(text)}",
            files=[share(each.name, each.data) for each in files],
        )

    def count_read(self) -> int:
        return len(self._slack.people_files.requests)

    async def _say(
        self,
        text: str,
        *,
        meant: bool = True,
        files: list[Json] | None = None,
        place: Destination | None = None,
    ) -> bool:
        """Post a message at a place, or without one in the thread of the ask."""
        thread = place.thread if place else self._live().ts
        notes = len(self._person.private_notes(self._channel))
        said = self._said = await self._person.post(
            self._channel, text, thread=thread, files=files, escape=False
        )
        if meant:
            await self._slack.until(
                lambda: said.reactions or len(self._person.private_notes(self._channel)) > notes
            )
        else:
            await self._slack.queue.settle()
        return "white_check_mark" in said.reactions

    async def edit_message(self, text: str) -> None:
        self._slack.clock.advance(2)
        await self._person.edit(self._said, f"<@{BOT_USER}> {text}")

    async def join_group(self) -> str:
        groups = self._slack.workspace.groups
        group = f"S0{len(groups)}"
        self._slack.workspace.add_group(group, self._person.id)
        return group

    async def leave_group(self, group: str) -> None:
        self._slack.workspace.add_group(group)

    async def delete_message(self) -> None:
        gone = self._live()
        self._deleted.append(gone.ts)
        await self._person.delete(gone)
        await self._slack.until(lambda: any(m is not gone for m in self._standing()))

    async def _press(self, name: str) -> None:
        """Press by action id, because an option may be called "Back"."""
        [control] = [c for c in self._sight().controls if c.action_id == name]
        action = {
            "type": "button",
            "text": control.element["text"],
            "value": control.element["value"],
        }
        ack = await self._person._act(self._copy, control, action)
        assert ack.ok, ack
