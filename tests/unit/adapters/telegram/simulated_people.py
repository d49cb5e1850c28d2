"""Telegram's simulated people, for the contract suite of all surfaces."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from pydantic import JsonValue

from answerback.core.ask import Ask, Destination
from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.presentation.form_spec import native_fields
from answerback_base.sanitize import visible
from answerback_chat import control_codec
from answerback_telegram.html_text import fit_line
from answerback_telegram.keyboards import BUTTON_LABEL
from answerback_telegram.parse import message_id
from answerback_testing.simulated_people import SampleFile, SimulatedPerson
from tests.fakes.telegram.server import FakeTelegram
from tests.fakes.telegram.world import Chat, Message, User
from tests.unit.adapters.telegram.batch_lists import TelegramBatches
from tests.unit.adapters.telegram.command_answers import TelegramCommands
from tests.unit.adapters.telegram.offers import OFFERS
from tests.unit.adapters.telegram.presses import TelegramPresses, named
from tests.unit.adapters.telegram.shown_buttons import TelegramButtons

LABELS = Labels()


class SimulatedTelegramPerson(TelegramPresses, TelegramBatches, TelegramButtons, TelegramCommands):
    """See `answerback_testing.simulated_people.SimulatedPerson`."""

    def __init__(self, telegram: FakeTelegram, chat: Chat, user: User) -> None:
        self._telegram = telegram
        self._chat = chat
        self._user = user
        self.user_id = str(user.id)
        self.name = user.first_name
        self._pings = len(telegram.pings)
        self._ask: Ask
        self._copy: Message

    # --- seeing ---

    async def look_at(self, ask: Ask) -> None:
        self._ask = ask
        if ask.open:
            await self._telegram.until(lambda: len(self._messages_with_controls()) == 1)
        self._look_again()

    async def look_at_second_message(self, ask: Ask) -> bool:
        self._ask = ask
        others = self._second_messages(ask)
        if others:
            self._copy = copy.copy(others[0])
        return bool(others)

    async def sees_no_second_message(self, ask: Ask) -> None:
        await self._telegram.until(lambda: not self._second_messages(ask))

    def _second_messages(self, ask: Ask) -> list[Message]:
        live, stem = message_id((ask.placement.message or {}).get("id")), f"ab1:{ask.id}:"
        others = [each for each in self._chat.messages.values() if each.id != live]
        return [
            m for m in others if any(b.get("callback_data", "").startswith(stem) for b in m.buttons)
        ]

    def _look_again(self) -> None:
        self._copy = copy.copy(self._live())

    def _live(self) -> Message:
        number = message_id((self._ask.placement.message or {}).get("id"))
        assert number is not None
        return self._chat.messages[number]

    def _messages_with_controls(self) -> list[Message]:
        stem = control_codec.control_prefix(self._ask.id, self._ask.revision)
        alone = [each for each in self._chat.messages.values() if each.reply_to is None]
        return [
            m for m in alone if any(b.get("callback_data", "").startswith(stem) for b in m.buttons)
        ]

    def available_actions(self) -> set[str]:
        labels = [each["text"] for each in self._copy.buttons]
        actions = {OFFERS[label] for label in labels if label in OFFERS}
        return actions if LABELS.review_title in self._copy.text else actions - {"submit"}

    async def read_all_text(self) -> str:
        above = (self._ask.placement.message or {}).get("files") or {}
        assert isinstance(above, dict)
        pictures = (self._chat.messages.get(message_id(each) or 0) for each in above.values())
        texts = [each.text for each in pictures if each]
        texts += [self._copy.text, *(each["text"] for each in self._copy.buttons)]
        more = [b for b in self._copy.buttons if ":full:0" in b.get("callback_data", "")]
        if more:
            texts += await self._pages(more[0])
        return "\n".join(texts)

    async def _pages(self, button: dict[str, Any]) -> list[str]:
        shown = await self._helper_after(button)
        assert shown is not None
        pages = [shown.text]
        while (following := named(shown, LABELS.next)) is not None:
            version = shown.version
            await self._click(following, shown)
            await self._telegram.until(partial(_is_newer, shown, version))
            pages.append(shown.text)
        close = named(shown, LABELS.close)
        assert close is not None
        await self._click(close, shown)
        await self._telegram.until(lambda: shown.id not in self._chat.messages)
        return [page.rsplit("\n\nPage ", 1)[0] for page in pages]

    async def read_prefill(self, question: Question) -> JsonValue:
        marked = [b for b in self._copy.buttons if b["text"].startswith(("• ", "☑ "))]
        arguments = [b["callback_data"].rsplit(":", 1)[1] for b in marked]
        match question.answer_type:
            case AnswerType.BOOLEAN:
                return arguments[0] == "true" if arguments else None
            case AnswerType.SELECT:
                return question.options[int(arguments[0])].value if arguments else None
            case AnswerType.MULTI_SELECT:
                return [question.options[int(i)].value for i in arguments] or None
            case AnswerType.TEXT | AnswerType.SCHEMA:
                return await self._entry_start(question)

    async def _entry_start(self, question: Question) -> JsonValue:
        is_text = question.answer_type is AnswerType.TEXT
        request = await self._open(LABELS.answer if is_text else LABELS.fill_in)
        assert request is not None
        starts = [e for e in request.parsed.entities if e["type"] == "pre"]
        units = request.text.encode("utf-16-le")
        text = ""
        if starts:
            at, size = starts[-1]["offset"], starts[-1]["length"]
            text = units[2 * at : 2 * (at + size)].decode("utf-16-le")
        prompt = view_of(self._ask).prompt
        assert prompt is not None
        if is_text:  # as people read it: what is invisible is spelled out
            shown = visible(str(prompt.prefill or ""))
            assert text.strip() == shown.strip(), "Telegram trims the ends of a message"
            return prompt.prefill or None
        return json.loads(text) if text else None

    async def private_notes(self, count: int) -> list[str]:
        def notes() -> list[str]:
            mine = [n for n, who in self._telegram.clickers.items() if who == self._user.id]
            return [t for n in mine if (t := self._telegram.answers.get(n, {}).get("text"))]

        await self._telegram.until(lambda: len(notes()) >= count)
        return notes()

    def mentions_and_links(self) -> list[str]:
        found = [each for ping in self._telegram.pings[self._pings :] for each in ping]
        return [each for each in found if each != self.user_id or not self._request]

    async def count_reminders(self, count: int) -> int:
        def reminders() -> int:
            phrases = [
                each.rpartition("{label}")[2]
                for each in (LABELS.reminder, LABELS.confirm_reminder, LABELS.handed_over)
            ]
            return sum(any(each in m.text for each in phrases) for m in self._replies())

        await self._telegram.until(lambda: reminders() >= count)
        return reminders()

    def read_reminders(self) -> str:
        return "\n".join(each.text for each in self._replies())

    def _replies(self) -> list[Message]:
        live = self._live().id
        return [each for each in self._chat.messages.values() if each.reply_to == live]

    # --- acting ---

    async def answer(self, question: Question, value: JsonValue) -> None:
        match question.answer_type:
            case AnswerType.BOOLEAN:
                chosen = [
                    b
                    for b in self._copy.buttons
                    if b["text"].removeprefix("• ") == (LABELS.yes if value else LABELS.no)
                ]
                await self._click(chosen[0])
            case AnswerType.SELECT:
                await self._choose(question, value)
            case AnswerType.MULTI_SELECT:
                await self._select(question, value)
            case AnswerType.TEXT if not str(value).strip():
                await self._press(LABELS.none_chosen)
            case AnswerType.TEXT:
                await self._write(LABELS.answer, str(value))
            case AnswerType.SCHEMA:
                prompt = view_of(self._ask).prompt
                by_field = prompt is not None and native_fields(prompt) is not None
                whole = value["n"] if by_field and isinstance(value, dict) else value
                await self._write(LABELS.fill_in, json.dumps(whole))

    def _option(self, verb: str, index: int) -> dict[str, Any] | None:
        suffix = f":{verb}:{index}"
        found = [b for b in self._copy.buttons if b.get("callback_data", "").endswith(suffix)]
        return found[0] if found else None

    async def _turn_to(self, verb: str, index: int) -> dict[str, Any]:
        """Turn the list's pages until an option's button is there."""
        while (button := self._option(verb, index)) is None:
            shown = [
                int(b["callback_data"].rsplit(":", 1)[1])
                for b in self._copy.buttons
                if f":{verb}:" in b["callback_data"]
            ]
            distance = index - shown[0]
            far, near = ("⏩", LABELS.next) if distance > 0 else ("⏪", LABELS.previous)
            turn = named(self._copy, far) if abs(distance) >= 200 else None
            turn = turn or named(self._copy, near)
            assert turn is not None
            await self._change(turn)
        return button

    async def _change(self, button: dict[str, Any]) -> bool:
        """Click a button that changes the message; return whether it was accepted."""
        version = self._live().version
        if await self._click(button):
            return False
        await self._telegram.until(lambda: self._live().version > version)
        self._look_again()
        return True

    async def _choose(self, question: Question, value: JsonValue) -> None:
        index = next(i for i, o in enumerate(question.options) if o.value == value)
        await self._click(await self._turn_to("answer", index))

    async def _select(self, question: Question, value: JsonValue) -> None:
        if await self._tick(question, value):
            await self._press(LABELS.submit)

    async def _tick(self, question: Question, value: JsonValue) -> bool:
        """Tick these options, and no others; returns whether that was accepted."""
        assert isinstance(value, list)
        before = await self.read_prefill(question) if len(question.options) <= 20 else None
        chosen = before if isinstance(before, list) else []
        for index, option in enumerate(question.options):
            if (option.value in value) is not (option.value in chosen):
                button = await self._turn_to("choose", index)
                if not await self._change(button):
                    return False
        return True

    async def begin_note(self, question: Question, value: JsonValue) -> None:
        if isinstance(value, list):
            assert await self._tick(question, value)
        request = await self._open(LABELS.answer_with_note)
        assert request is not None
        if not isinstance(value, list):
            [label] = [o.label for o in question.options if o.value == value]
            self._request = await self._next_request(request, label)

    async def read_note_form(self) -> str:
        assert self._request is not None
        return self._request.text

    async def finish_note(self, note: str) -> None:
        assert self._request is not None
        await self._type_reply(self._request, note)

    async def answer_as_prefilled(self, question: Question) -> None:
        submit = named(self._copy, LABELS.submit)
        marked = [b for b in self._copy.buttons if b["text"].startswith("• ")]
        await self._click(submit or marked[0])

    async def open_modal(self) -> bool:
        return await self._open(LABELS.answer) is not None

    async def submit_modal(self, text: str) -> str:
        assert self._request is not None
        said = await self._type_reply(self._request, text)
        if "👍" in said.reactions:
            return ""
        await self._telegram.until(lambda: self._replies_to(said))
        return "".join(f"{said.text}\n{each.text}" for each in self._replies_to(said))

    async def confirm(self) -> None:
        await self._press(LABELS.confirm)

    async def object_to(self, text: str | None) -> None:
        await self._write(LABELS.object, text or "")

    async def try_again(self, text: str | None = None) -> None:
        await self._write(LABELS.tell_to_try_again, text or "")

    async def answer_other(self, text: str) -> None:
        await self._write(fit_line(LABELS.other, BUTTON_LABEL), text)

    async def go_back(self) -> None:
        await self._press(LABELS.back)

    async def edit(self, ask: Ask, question: Question) -> None:
        place = [given.question_id for given in ask.walk.answers].index(question.id)
        edits = [b for b in self._copy.buttons if ":edit:" in b.get("callback_data", "")]
        await self._click(edits[place])

    async def submit(self) -> None:
        await self._press(LABELS.submit)

    async def reply(self, text: str | None) -> None:
        labels = [each["text"] for each in self._copy.buttons]
        controls = (LABELS.reply, LABELS.deny_with_message, LABELS.keep_planning)
        label = next(each for each in controls if each in labels)
        await self._write(label, text or "")

    async def ask_back(self, text: str) -> None:
        await self._write(LABELS.ask_back, text)

    async def hand_over(self, to: SimulatedPerson) -> str:
        request = await self._open(LABELS.hand_over)
        if request is None:
            return ""
        said = await self._type_reply(request, to.user_id)
        if "👍" not in said.reactions:
            await self._telegram.until(lambda: self._replies_to(said))
        return "\n".join(reply.text for reply in self._replies_to(said))

    async def end_turn(self) -> None:
        """Press the button, and then the one in the confirmation."""
        button = named(self._copy, LABELS.end_turn) or named(self._copy, LABELS.deny_and_stop)
        assert button is not None
        confirmation = await self._helper_after(button)
        if confirmation is not None:
            end = named(confirmation, button["text"])
            assert end is not None
            await self._click(end, confirmation)

    async def read_grant_form(self) -> str:
        return (await self._open(LABELS.allow_again) or self._copy).text

    async def allow_again(self, uses: int) -> None:
        request = await self._open(LABELS.allow_again)
        if request is None:
            return
        await self._type_reply(await self._next_request(request, "1"), str(uses))

    async def revoke(self) -> None:
        await self._press(LABELS.revoke)

    async def type_message(self, text: str, *, meant: bool = True, with_file: bool = False) -> bool:
        self._telegram.pass_time()
        voice = {"file_id": "a", "file_unique_id": "b", "duration": 1}
        extra: dict[str, Any] = {"voice": voice} if with_file else {}
        to = self._live().id if meant else None
        said = await self._telegram.person_sends(self._user, self._chat, text, to, **extra)
        self._said = said
        if not meant:
            return bool(said.reactions)
        await self._telegram.until(lambda: said.reactions)
        return "👍" in said.reactions

    async def mention_bot(self, text: str, place: Destination) -> bool:
        self._telegram.pass_time()
        mention = f"@{self._telegram.bot.username} {text}"
        topic = int(place.thread) if place.thread else None
        said = await self._telegram.person_sends(self._user, self._chat, mention, topic=topic)
        self._said = said
        await self._telegram.until(lambda: said.reactions)
        return "👍" in said.reactions

    async def send_files(self, text: str, files: Sequence[SampleFile]) -> bool:
        self._telegram.pass_time()
        to = self._live().id
        sent = await self._telegram.person_sends_files(self._user, self._chat, text, files, to)
        said = self._said = sent[0]
        await self._telegram.until(lambda: said.reactions)
        return "👍" in said.reactions

    def count_read(self) -> int:
        return len(self._telegram.sent_files.downloads)

    async def edit_message(self, text: str) -> None:
        self._telegram.pass_time()
        await self._telegram.person_edits(self._said, text)

    async def join_group(self) -> str:
        group = self._telegram.add_group("admins")
        group.members[self._user.id] = "administrator"
        return str(group.id)

    async def leave_group(self, group: str) -> None:
        self._telegram.chats[int(group)].members[self._user.id] = "member"


def _is_newer(message: Message, version: int) -> bool:
    return message.version > version
