"""Discord's simulated people, for the contract suite of all surfaces."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback_chat import control_codec
from answerback_chat.control_codec import Verb
from answerback_discord.components import ButtonStyle
from answerback_discord.markdown_text import fit_line
from answerback_testing.simulated_people import SampleFile, ShownButton, SimulatedPerson
from tests.fakes.discord.interactions import LOADING, Interaction
from tests.fakes.discord.person import Person
from tests.fakes.discord.server import FakeDiscord
from tests.fakes.discord.visible_message import Control, Sight, view_message
from tests.fakes.discord.world import Channel, Message
from tests.unit.adapters.discord.batch_lists import DiscordBatches
from tests.unit.adapters.discord.command_answers import DiscordCommands
from tests.unit.adapters.discord.sight import remove_escapes

LABELS = Labels()
OFFERS = {
    LABELS.back: "back",
    LABELS.ask_back: "ask_back",
    LABELS.hand_over: "hand_over",
    LABELS.reply: "reply",
    LABELS.end_turn: "end_turn",
    LABELS.deny_with_message: "reply",
    LABELS.keep_planning: "reply",
    LABELS.deny_and_stop: "end_turn",
    LABELS.submit: "submit",
    LABELS.confirm: "confirm",
    LABELS.object: "object",
    LABELS.other: "other",
    LABELS.tell_to_try_again: "try_again",
}


class SimulatedDiscordPerson(DiscordBatches, DiscordCommands):
    """See `answerback_testing.simulated_people.SimulatedPerson`."""

    def __init__(self, discord: FakeDiscord, channel: Channel, person: Person) -> None:
        self._discord = discord
        self._channel = channel
        self._person = person
        self.user_id = str(person.id)
        self.name = person.user.name.title()  # as Discord sends it with a click
        self._pings = len(discord.pings)
        self._asked_for: set[int] = set()
        """The private messages that the person opened themselves, which are not notes."""
        self._deleted: list[int] = []
        """The messages that the person has deleted."""
        self._ask: Ask
        self._copy: Message

    # --- seeing ---

    async def look_at(self, ask: Ask) -> None:
        self._ask = ask
        if isinstance(place := (ask.placement.message or {}).get("channel"), str):
            self._channel = self._discord.world.channel(int(place))
        if ask.open:
            await self._person.until(lambda: len(self._messages_with_controls()) == 1)
        self._look_again()

    async def look_at_second_message(self, ask: Ask) -> bool:
        self._ask = ask
        others = self._second_messages(ask)
        if others:
            self._copy = self._person.copy(others[0])
        return bool(others)

    async def sees_no_second_message(self, ask: Ask) -> None:
        await self._person.until(lambda: not self._second_messages(ask))

    def _second_messages(self, ask: Ask) -> list[Message]:
        live, stem = int(str((ask.placement.message or {})["id"])), f"ab1:{ask.id}:"
        others = [s for s in self._person.visible() if s.message.id != live]
        mine = [s for s in others if any(c.custom_id.startswith(stem) for c in s.controls)]
        return [sight.message for sight in mine if not sight.message.ephemeral]

    def _look_again(self) -> None:
        self._copy = self._person.copy(self._live())

    def _live(self) -> Message:
        ref = self._ask.placement.message or {}
        channel = self._discord.world.channel(int(str(ref["channel"])))
        return channel.messages[int(str(ref["id"]))]

    def _messages_with_controls(self) -> list[Message]:
        """The messages with controls of the ask."""
        stem = control_codec.control_prefix(self._ask.id, self._ask.revision)
        shown = [s for s in self._person.visible(self._channel) if not s.message.ephemeral]
        mine = [s for s in shown if any(c.custom_id.startswith(stem) for c in s.controls)]
        return [sight.message for sight in mine]

    def _sight(self) -> Sight:
        return view_message(self._copy)

    def available_actions(self) -> set[str]:
        """Read the available actions from the labels of the buttons, without a multi-select's own Submit."""
        sight = self._sight()
        actions = {OFFERS[label] for label in sight.labels if label in OFFERS}
        return actions if LABELS.review_title in sight.text else actions - {"submit"}

    def buttons(self) -> list[ShownButton]:
        buttons = [each for each in self._sight().controls if not each.is_select]
        return [
            ShownButton(
                each.label,
                each.custom_id,
                answers=f":{Verb.ANSWER}:" in each.custom_id,
                denies=each.component["style"] == ButtonStyle.DANGER,
            )
            for each in buttons
        ]

    async def press_button(self, shown: ShownButton) -> None:
        await self._click(shown.label)

    def seen_at_once(self) -> str:
        return remove_escapes(self._sight().everything)

    async def read_all_text(self) -> str:
        sight = self._sight()
        texts = list(sight.texts)
        if LABELS.details in sight.labels:
            texts += await self._pages()
        # Remove our own marks first; the marks that people typed have a backslash before them.
        texts = [remove_escapes(re.sub(r"(?<!\\)\*\*", "", text)) for text in texts]
        texts += [control.label for control in sight.controls]
        for control in sight.controls:
            texts += [f"{o.label} {o.description}" for o in control.options]
        return "".join(texts)

    async def _pages(self) -> list[str]:
        await self._click(LABELS.details)
        found, page = [], self._newest_note()
        self._asked_for.add(page.message.id)
        found.append(page.texts[0])
        while LABELS.next in page.labels:
            assert (await self._person.click(LABELS.next, on=page.message)).answered
            page = self._newest_note()
            found.append(page.texts[0])
        return found

    def _newest_note(self) -> Sight:
        return self._person.notes()[0]

    async def read_prefill(self, question: Question) -> JsonValue:
        sight = self._sight()
        match question.answer_type:
            case AnswerType.TEXT | AnswerType.SCHEMA:
                return await self._entry_start(question)
            case AnswerType.MULTI_SELECT:
                ticks = [o.value for o in sight.selects[0].options if o.default]
                return [question.options[int(i)].value for i in ticks] or None
            case AnswerType.BOOLEAN:
                chosen = [c.label for c in sight.controls if c.component.get("style") == 1]
                return chosen[0] == LABELS.yes if chosen else None
            case AnswerType.SELECT:
                chosen = [c.custom_id for c in sight.controls if c.component.get("style") == 1]
                at = [i for i in range(len(question.options)) if self._button(i) in chosen]
                return question.options[at[0]].value if at else None

    def _button(self, place: int) -> str:
        return control_codec.Control(
            self._ask.id, self._ask.revision, Verb.ANSWER, str(place)
        ).encode()

    async def _entry_start(self, question: Question) -> JsonValue:
        is_text = question.answer_type is AnswerType.TEXT
        await self._click(LABELS.answer if is_text else LABELS.fill_in)
        modal = self._person.modal
        assert modal is not None
        text = str(modal.fields[0].value)
        self._person.dismiss()
        if is_text:
            return text or None
        return json.loads(text) if text else None

    async def private_notes(self, count: int) -> list[str]:
        def notes() -> list[str]:
            result = [s for s in self._person.notes() if s.message.id not in self._asked_for]
            return [remove_escapes(sight.text) for sight in reversed(result)]

        await self._person.until(lambda: len(notes()) >= count)
        return notes()

    async def refusals(self, count: int) -> list[str]:
        def notes() -> list[str]:
            direct = self._discord.direct(self._person.user).messages.values()
            return [m.content for m in direct if m.author_id == self._discord.bot.id]

        await self._person.until(lambda: len(notes()) >= count)
        return notes()

    def mentions_and_links(self) -> list[str]:
        return [whom for ping in self._discord.pings[self._pings :] for whom in ping.whom]

    async def count_reminders(self, count: int) -> int:
        return len(self._reminders())

    def read_reminders(self) -> str:
        return "\n".join(str(each.content) for each in self._reminders())

    def _reminders(self) -> list[Message]:
        ref = self._ask.placement.message or {}
        below = (int(str(ref.get("thread") or ref["channel"])), *self._deleted)
        threads = [self._discord.world.channel(each) for each in dict.fromkeys(below)]
        messages = [message for thread in threads for message in thread.messages.values()]
        return [each for each in messages if each.author_id == self._discord.bot.id]

    # --- acting ---

    async def answer(self, question: Question, value: JsonValue) -> None:
        match question.answer_type:
            case AnswerType.BOOLEAN:
                await self._click(LABELS.yes if value else LABELS.no)
            case AnswerType.SELECT:
                await self._choose(question, value)
            case AnswerType.MULTI_SELECT:
                await self._select(question, value)
            case AnswerType.TEXT:
                await self._write(LABELS.answer, LABELS.other_label, str(value))
            case AnswerType.SCHEMA:
                await self._click(LABELS.fill_in)
                assert self._person.modal is not None
                label = self._person.modal.fields[0].label
                is_json = label == LABELS.json_label
                whole = value["n"] if isinstance(value, dict) and not is_json else value
                blank = not is_json and whole is None
                await self._fill(label, "" if blank else json.dumps(whole))

    async def answer_as_prefilled(self, question: Question) -> None:
        submit = self._sight().button(LABELS.submit)
        chosen = [c for c in self._sight().controls if c.component.get("style") == 1]
        control = submit or chosen[0]
        await self._use_control(control)
        if self._person.modal is not None:
            done = await self._person.submit()
            assert done.answered, done.problem

    async def begin_note(self, question: Question, value: JsonValue) -> None:
        wanted = value if isinstance(value, list) else [value]
        labels = [o.label for o in question.options if o.value in wanted]
        await self._click(LABELS.answer_with_note)
        self._person.fill(LABELS.choose, labels if isinstance(value, list) else labels[0])

    async def read_note_form(self) -> str:
        assert self._person.modal is not None
        return remove_escapes(self._person.modal.everything)

    async def finish_note(self, note: str) -> None:
        await self._fill(LABELS.note_label, note)

    async def _choose(self, question: Question, value: JsonValue) -> None:
        place = next(i for i, o in enumerate(question.options) if o.value == value)
        named = [c for c in self._sight().controls if c.custom_id == self._button(place)]
        if named:
            await self._use_control(named[0])
        else:
            shown = await self._with_option(question, place)
            await self._use_control(view_message(shown).selects[0], [str(place)], on=shown)

    async def _select(self, question: Question, value: JsonValue) -> None:
        assert isinstance(value, list)
        wanted = [str(i) for i, o in enumerate(question.options) if o.value in value]
        shown = self._copy
        for place in wanted or ["0"]:
            shown = await self._with_option(question, int(place))
            menu = view_message(shown).selects[0]
            here = [o.value for o in menu.options if o.value in wanted]
            if sorted(o.value for o in menu.options if o.default) != sorted(here):
                await self._use_control(menu, here, on=shown)
                shown = self._person.copy(shown)
                self._look_again()
        submit = view_message(shown).button(LABELS.submit)
        assert submit is not None
        await self._use_control(submit, on=shown)

    async def _with_option(self, question: Question, place: int) -> Message:
        """The message whose menu has an option: the live one, or the person's own list of search results."""
        if str(place) in [o.value for o in self._sight().selects[0].options]:
            return self._copy
        await self._write(LABELS.search, LABELS.search, question.options[place].label)
        found = self._newest_note().message
        self._asked_for.add(found.id)
        return self._person.copy(found)

    async def _write(self, button: str, field: str, text: str) -> None:
        await self._click(button)
        if self._person.modal is not None:
            await self._fill(field, text)

    async def _fill(self, field: str, text: str) -> None:
        self._person.fill(field, text)
        done = await self._person.submit()
        assert done.answered, done.problem

    async def open_modal(self) -> bool:
        await self._click(LABELS.answer)
        return self._person.modal is not None

    async def submit_modal(self, text: str) -> str:
        before = len(self._person.notes())
        self._person.fill(LABELS.other_label, text)
        done = await self._person.submit()
        assert done.answered, done.problem
        new = self._person.notes()[: len(self._person.notes()) - before]
        return remove_escapes("".join(note.text for note in new))

    async def answer_other(self, text: str) -> None:
        await self._write(LABELS.other, LABELS.other_label, text)

    async def go_back(self) -> None:
        await self._click(LABELS.back)

    async def edit(self, ask: Ask, question: Question) -> None:
        place = [given.question_id for given in ask.walk.answers].index(question.id)
        edits = [c for c in self._sight().controls if c.label.startswith(LABELS.edit)]
        await self._use_control(edits[place])

    async def submit(self) -> None:
        await self._click(LABELS.submit)

    async def confirm(self) -> None:
        await self._click(LABELS.confirm)

    async def object_to(self, text: str | None) -> None:
        await self._write(LABELS.object, fit_line(LABELS.object_label, 45), text or "")

    async def reply(self, text: str | None) -> None:
        label = fit_line(LABELS.reply_label.format(label="the assistant"), 45)
        labels = self._sight().labels
        controls = (LABELS.reply, LABELS.deny_with_message, LABELS.keep_planning)
        control = next(each for each in controls if each in labels)
        await self._write(control, label, text or "")

    async def _fill_in_reply(self, text: str, files: Sequence[SampleFile]) -> None:
        await self._click(LABELS.reply)
        self._person.fill(fit_line(LABELS.reply_label.format(label="the assistant"), 45), text)
        self._person.upload(files)

    async def reply_with_stalled_files(self, text: str, files: Sequence[SampleFile]) -> None:
        self._discord.attachments.stalled = asyncio.Event()
        before = self.count_read()
        await self._fill_in_reply(text, files)
        await self._person.submit()
        await self._person.until(lambda: self.count_read() > before)

    def hand_out_files(self) -> None:
        assert self._discord.attachments.stalled is not None
        self._discord.attachments.stalled.set()
        self._discord.attachments.stalled = None

    async def reply_with_files(self, text: str, files: Sequence[SampleFile]) -> str:
        await self._fill_in_reply(text, files)
        response = (await self._person.submit()).original
        assert response is not None
        await self._person.until(lambda: response.deleted or not response.flags & LOADING)
        if response.deleted:
            return ""
        note = self._person.sees(response).text
        await self._person.click(LABELS.reply, on=response)
        assert self._person.modal is not None
        entered = self._person.modal.everything
        self._person.dismiss()
        return remove_escapes(f"{note}\n{entered}")

    async def ask_back(self, text: str) -> None:
        label = fit_line(LABELS.ask_back_label.format(label="the assistant"), 45)
        await self._write(LABELS.ask_back, label, text)

    async def hand_over(self, to: SimulatedPerson) -> str:
        before = len(self._person.notes())
        await self._write(LABELS.hand_over, LABELS.hand_over_label, to.user_id)
        new = self._person.notes()[: len(self._person.notes()) - before]
        return remove_escapes("".join(note.text for note in new))

    async def end_turn(self) -> None:
        """Press the button, and then the one in the private confirmation."""
        known = {note.message.id for note in self._person.notes()}
        await self._click(LABELS.end_turn)
        new = [note for note in self._person.notes() if note.message.id not in known]
        for note in new:
            if LABELS.end_turn in note.labels:
                self._asked_for.add(note.message.id)
                assert (await self._person.click(LABELS.end_turn, on=note.message)).answered

    async def try_again(self, text: str | None = None) -> None:
        label = fit_line(LABELS.reply_label.format(label="the assistant"), 45)
        await self._write(LABELS.tell_to_try_again, label, text or "")

    async def read_grant_form(self) -> str:
        await self._click(LABELS.allow_again)
        modal = self._person.modal
        assert modal is not None
        self._person.dismiss()
        return remove_escapes(modal.everything)

    async def allow_again(self, uses: int) -> None:
        await self._write(LABELS.allow_again, LABELS.grant_uses, str(uses))

    async def edit_call(self, **arguments: str) -> str:
        before = len(self._person.notes())
        await self._click(LABELS.edit_call)
        if self._person.modal is None:
            return ""
        for name, text in arguments.items():
            self._person.fill(name, text)
        done = await self._person.submit()
        assert done.answered, done.problem
        new = self._person.notes()[: len(self._person.notes()) - before]
        return remove_escapes("".join(note.text for note in new))

    async def revoke(self) -> None:
        await self._click(LABELS.revoke)

    async def type_message(self, text: str, *, meant: bool = True, with_file: bool = False) -> bool:
        if not meant:
            thread = self._discord.world.channel(
                int(str((self._ask.placement.message or {})["thread"]))
            )
            return bool(self._person.types(thread, text).reactions)
        return await self._reply_with(text, (), sticker=with_file)

    async def mention_bot(self, text: str, place: Destination) -> bool:
        channel = self._discord.world.channel(int(place.thread or place.channel or 0))
        said = self._said = self._person.mention_bot(channel, text)
        await self._person.until(lambda: said.reactions)
        return "✅" in said.reactions

    async def send_files(self, text: str, files: Sequence[SampleFile]) -> bool:
        return await self._reply_with(text, files)

    def count_read(self) -> int:
        return len(self._discord.attachments.reads)

    async def _reply_with(
        self, text: str, files: Sequence[SampleFile], *, sticker: bool = False
    ) -> bool:
        live = self._live()
        channel = self._discord.world.channel(live.channel_id)
        said = self._said = self._person.types(
            channel, text, reply_to=live, files=files, sticker=sticker
        )
        await self._person.until(lambda: said.reactions)
        return "✅" in said.reactions

    async def edit_message(self, text: str) -> None:
        self._person.rewrites(self._said, text)

    async def join_group(self) -> str:
        guild = next(g for g in self._discord.world.guilds.values() if self._person.id in g.members)
        role = self._discord.add_role(guild, "ops")
        guild.members[self._person.id].add(role.id)
        return str(role.id)

    async def leave_group(self, group: str) -> None:
        for guild in self._discord.world.guilds.values():
            guild.members.get(self._person.id, set()).discard(int(group))

    async def delete_message(self) -> None:
        gone = self._live()
        self._deleted.append(gone.id)  # a thread created from a message has the message's id
        self._discord.delete(gone)
        await self._person.until(
            lambda: any(m.id != gone.id for m in self._messages_with_controls())
        )

    async def _click(self, label: str) -> None:
        control = self._sight().button(label)
        assert control is not None, (label, self._sight().labels)
        await self._use_control(control)

    async def _use_control(
        self, control: Control, values: list[str] | None = None, on: Message | None = None
    ) -> Interaction:
        done = await self._person._use(on or self._copy, control, values or [], wait=True)
        assert done.answered, done.problem
        return done
