"""One prompt in the terminal: what it says, and the action that the person's lines stand for.

Works on the API's JSON of an ask. Whole lines count, Enter last: ``y n`` (``Y N`` to remember), numbers,
``b r s`` for Back, Reply and End Turn, ``q`` to leave the ask open, or their words in full. Esc opens the menu of
those. What an agent sent is made visible before it is printed: no control sequence of its reaches the terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

from prompt_toolkit import print_formatted_text
from prompt_toolkit.formatted_text import FormattedText
from pydantic import JsonValue

from answerback.cli import answer_keys, people_text, question_context
from answerback.cli.answer_keys import (
    ANSWER,
    Action,
    Choice,
    Json,
    Keys,
    Moves,
    get_dicts,
    match_key,
)
from answerback.cli.line_input import LineInput, PressedKey, TerminalInput
from answerback.cli.multi_select import Selection
from answerback.core import markdown
from answerback.core.errors import Problem
from answerback.core.form import AnswerType
from answerback.core.labels import Labels
from answerback.core.schema_field_values import parse_json_answer
from answerback_chat.sanitize import as_json, one_line, visible

_BOLD: Final = "bold"
_DIM: Final = "fg:ansibrightblack"
_BAD: Final = "fg:ansired bold"
_SO_FAR: Final = 5
"""Earlier answers that stand above the first question."""
_AGAIN: Final[Action] = {}
"""Stands for: nothing was done, prompt again."""
_MENU: Final = "menu"
_WRITE: Final = "write"


class TerminalPrompter:
    """Prompts of one person's terminal."""

    def __init__(self, labels: Labels, lines: LineInput | None = None) -> None:
        self._labels = labels
        self._lines = lines or TerminalInput()
        self._begun = False
        self.unsent_selection: Action | None = None
        """What was ticked where the person asked back instead of answering: the same prompt starts from it."""
        self._who = ""

    def print_line(self, text: str, style: str = "") -> None:
        """A line on the terminal, made harmless."""
        print_formatted_text(FormattedText([(style, visible(text))]))

    def print_error(self, text: str) -> None:
        """A line about something that is wrong."""
        self.print_line(text, _BAD)

    async def choose(self, offered: Sequence[str]) -> int | None:
        """The place of the one that the person chooses; None for none of them."""
        keys: Keys = {
            **{str(number): Choice(text, str(number)) for number, text in enumerate(offered, 1)},
            "q": Choice("None of them", "q"),
        }
        self._list(keys, None)
        chosen = await self._line(keys)
        return int(chosen) - 1 if isinstance(chosen, str) and chosen.isdecimal() else None

    async def prompt_action(self, ask: Json, refused: Json | None = None) -> Action | None:
        """What the person does about the open prompt of an ask; None: they leave it open.

        Args:
            refused: what was entered and not taken: the prompt starts from it.
        """
        prompt = ask["prompt"]
        if not isinstance(prompt, dict):
            raise TypeError("only an open ask prompts")
        self.unsent_selection = None
        self._heading(ask, prompt)
        moves = answer_keys.moves(ask, prompt)
        if prompt["kind"] == "review":
            return await self._by_line(prompt, self._review_keys(ask, prompt), None, moves)
        match kind := AnswerType(str(prompt["answer_type"])):
            case AnswerType.BOOLEAN:
                return await self._by_line(prompt, self._boolean_keys(prompt), None, moves)
            case AnswerType.SELECT:
                return await self._by_line(
                    prompt, *answer_keys.select_keys(prompt, self._labels), moves
                )
            case AnswerType.MULTI_SELECT:
                return await self._multi_select(prompt, refused or {}, moves)
            case AnswerType.TEXT | AnswerType.SCHEMA:
                as_json_value = kind is AnswerType.SCHEMA
                return await self._written(
                    prompt, refused or {}, moves, as_json_value=as_json_value
                )
            case _:
                assert_never(kind)

    def show(self, ask: Json) -> None:
        """What the open prompt of an ask says, without asking for anything."""
        prompt = ask["prompt"]
        if not isinstance(prompt, dict):
            return
        self._heading(ask, prompt)
        keys, default = self._shown(ask, prompt)
        self._list({**keys, **answer_keys.control_keys(prompt, self._labels)}, default)

    def _shown(self, ask: Json, prompt: Json) -> tuple[Keys, str | None]:
        """The keys that answer a prompt, and the one that it starts from; ticks are shown at once."""
        if prompt["kind"] == "review":
            return self._review_keys(ask, prompt), None
        match kind := AnswerType(str(prompt["answer_type"])):
            case AnswerType.BOOLEAN:
                return self._boolean_keys(prompt), None
            case AnswerType.SELECT:
                return answer_keys.select_keys(prompt, self._labels)
            case AnswerType.MULTI_SELECT:
                self.print_line(self._selection(prompt, {}).plain())
                return {}, None
            case AnswerType.TEXT | AnswerType.SCHEMA:
                return {"a": Choice(self._labels.answer, _WRITE)}, None
            case _:
                assert_never(kind)

    def _heading(self, ask: Json, prompt: Json) -> None:
        labels, review = self._labels, prompt["kind"] == "review"
        self.print_line("")
        self._who = one_line(str(ask["asked_by"]))
        asks = labels.asks if ask["waiting"] else labels.asked_unattended
        self.print_line(asks.format(label=self._who), _DIM)
        if for_whom := people_text.audience(ask, labels):
            self.print_line(for_whom, _DIM)
        if not review and not self._begun:
            self._so_far(ask, prompt)
        self._begun = True
        for option in get_dicts(prompt, "options"):
            if option.get("preview"):
                self.print_line(f"{option['label']}:", _DIM)
                self.print_line(str(option["preview"]))
        if prompt.get("context"):
            is_text = prompt["context_format"] == "text"
            source = visible(str(prompt["context"]))
            for line in question_context.render_lines(
                markdown.parse_context(source, "text" if is_text else "markdown")
            ):
                print_formatted_text(FormattedText(line))
            self.print_line("")
        header = f"{prompt['header']}: " if prompt.get("header") else ""
        progress = f"{prompt['progress']} " if prompt["progress"] else ""
        title = labels.review_title if review else str(prompt["text"])
        self.print_line(f"{progress}{header}{title}", _BOLD)
        for line in question_context.render_asides(prompt, self._who, labels):
            print_formatted_text(FormattedText(line))

    def _so_far(self, ask: Json, prompt: Json) -> None:
        answered = get_dicts(prompt, "answered")
        if len(answered) > _SO_FAR:
            self.print_line(f"… {len(answered) - _SO_FAR} earlier", _DIM)
        for line in answered[-_SO_FAR:]:
            by = people_text.describe_answerer(line, self._labels)
            words = answer_keys.answer_line(ask, line, self._labels)
            self.print_line(f"{words} ({by})" if by else words, _DIM)

    def _boolean_keys(self, prompt: Json) -> Keys:
        labels, prefill = self._labels, prompt["prefill"]
        if isinstance(prefill, bool):
            # In words, and not marked as what Enter alone takes: nothing is chosen beforehand on a yes/no.
            self.print_line(
                labels.prefilled.format(text=labels.yes if prefill else labels.no), _DIM
            )
        return answer_keys.boolean_keys(prompt, labels)

    def _review_keys(self, ask: Json, prompt: Json) -> Keys:
        fixed, keys = answer_keys.review_keys(ask, prompt, self._labels)
        for line in fixed:
            self.print_line(f"      {line}")
        return keys

    def _list(self, keys: Keys, default: str | None) -> None:
        for key, choice in keys.items():
            about = f"  ({one_line(choice.about)})" if choice.about else ""
            mark = "›" if key == default else " "
            self.print_line(f"{mark} {key:>2}  {one_line(choice.words)}{about}")

    # --- lines, and what they lead to ------------------------------------------------------------

    async def _by_line(
        self, prompt: Json, keys: Keys, default: str | None, moves: Moves
    ) -> Action | None:
        """The action that is entered, asked for again where the person thought better of it."""
        everything = {**keys, **answer_keys.control_keys(prompt, self._labels)}
        while True:
            self._list(everything, default)
            done = await self._chosen(prompt, await self._line(everything, default, moves))
            if done is not _AGAIN:
                return done

    async def _line(
        self, keys: Keys, default: str | None = None, moves: Moves | None = None
    ) -> Action | str:
        """What one line, or a key that moves, leads to; lines that lead nowhere are told so."""
        while True:
            entered = await self._lines.read_line(moves or ())
            if isinstance(entered, PressedKey):
                return (moves or {}).get(entered, _MENU)
            key = match_key(entered.strip() or default or "", keys)
            if key in keys:
                return keys[key].to
            self.print_error(key)

    async def _chosen(self, prompt: Json, chosen: Action | str) -> Action | None:
        """The action, once what it still needs was asked; `_AGAIN` when the person thought better of it."""
        match chosen:
            case "leave":
                return None
            case "ask_back":
                return await self._ask_back()
            case "reply":
                return await self._reply()
            case "end_turn":
                return await self._end_turn()
            case "other":
                text = await self._lines.read_text(self._labels.other_label, "")
                return _AGAIN if text is None else {"action": "other", "text": text}
            case str():
                return await self._menu(prompt, {"a": Choice("Back to the question", _AGAIN)})
            case _:
                return chosen

    async def _menu(self, prompt: Json, first: Keys) -> Action | None:
        """What Esc opens, and Esc closes."""
        keys = {**first, **answer_keys.control_keys(prompt, self._labels)}
        self._list(keys, None)
        chosen = await self._line(keys)
        return _AGAIN if chosen == _MENU else await self._chosen(prompt, chosen)

    async def _ask_back(self) -> Action:
        self.print_line(self._labels.ask_back_hint.format(label=self._who), _DIM)
        label = self._labels.ask_back_label.format(label=self._who)
        text = await self._lines.read_text(label, "")
        return {"action": "ask_back", "text": text} if text and text.strip() else _AGAIN

    async def _reply(self) -> Action:
        self.print_line(self._labels.reply_hint.format(label=self._who), _DIM)
        text = await self._lines.read_text("Your words, or none", "")
        if text is None:
            return _AGAIN
        if text.strip():
            return {"action": "reply", "text": text}
        sure = await self._confirmed("End the questions without an answer and without words?")
        return {"action": "reply"} if sure else _AGAIN

    async def _end_turn(self) -> Action:
        words = self._labels.end_turn_text.format(label=self._who)
        sure = await self._confirmed(f"{self._labels.end_turn_title} {words}")
        return {"action": "end_turn"} if sure else _AGAIN

    async def _confirmed(self, question: str) -> bool:
        self.print_line(f"{question} (y/n)", _BOLD)
        yes, no = self._labels.yes, self._labels.no
        return await self._line({"y": Choice(yes, "yes"), "n": Choice(no, "no")}) == "yes"

    # --- several choices, and what is written ----------------------------------------------------

    def _selection(self, prompt: Json, refused: Json) -> Selection:
        options, start = get_dicts(prompt, "options"), refused.get("value", prompt["prefill"])
        words = refused.get("text", prompt["prefill_other"])
        chosen = start if isinstance(start, list) else []
        return Selection(
            [(str(o["label"]), str(o.get("description") or "")) for o in options],
            {place for place, option in enumerate(options) if option["value"] in chosen},
            self._labels.other if prompt["other"] else None,
            words if isinstance(words, str) else None,
        )

    async def _multi_select(self, prompt: Json, refused: Json, moves: Moves) -> Action | None:
        selection, controls = (
            self._selection(prompt, refused),
            answer_keys.control_keys(prompt, self._labels),
        )
        while True:
            self.print_line("Space or numbers tick, Enter answers, Esc for more", _DIM)
            entered = await self._lines.read_line(moves, selection)
            if entered is PressedKey.OTHER or (
                entered == "" and selection.is_at_other and not selection.words
            ):
                await self._own_words(selection)
                continue
            done: Action | None
            if entered == "":
                done = await self._selected(prompt, selection)
            elif isinstance(entered, PressedKey):
                chosen = moves.get(entered, _MENU)
                back: Keys = {"a": Choice("Back to the list", _AGAIN)}
                done = chosen if isinstance(chosen, dict) else await self._menu(prompt, back)
            else:
                done = await self._named(prompt, selection, entered.strip(), controls)
            if done is not _AGAIN:
                asks = done is not None and done["action"] == "ask_back"
                self.unsent_selection = self._ticks(prompt, selection) if asks else None
                return done

    async def _named(
        self, prompt: Json, selection: Selection, line: str, controls: Keys
    ) -> Action | None:
        """Selects what a line names, by number or label, or does what else it says."""
        numbers = line.replace(",", " ").split()
        rows: Keys = {
            str(place): Choice(label, str(place)) for place, label in enumerate(selection.labels, 1)
        }
        if all(number in rows for number in numbers):
            named = numbers
        else:
            key = match_key(line, {**rows, **controls})
            if key in controls:
                return await self._chosen(prompt, controls[key].to)
            if key not in rows:
                self.print_error(key)
                return _AGAIN
            named = [key]
        for place in [int(number) - 1 for number in dict.fromkeys(named)]:
            if selection.is_other(place):
                await self._own_words(selection)
            else:
                selection.toggle(place)
        return _AGAIN

    async def _own_words(self, selection: Selection) -> None:
        text = await self._lines.read_text(self._labels.other_label, selection.words or "")
        if text is not None:
            selection.words = text if text.strip() else None

    @staticmethod
    def _ticks(prompt: Json, selection: Selection) -> Action:
        """What is entered, as an action that was refused: a prompt can start from it."""
        options = get_dicts(prompt, "options")
        value: JsonValue = [options[place]["value"] for place in sorted(selection.selected)]
        return {"value": value, "text": selection.words}

    async def _selected(self, prompt: Json, selection: Selection) -> Action:
        value = self._ticks(prompt, selection)["value"]
        if selection.words is None:
            return {"action": ANSWER, "value": value}
        if prompt["other_beside"]:
            return {"action": "other", "text": selection.words, "value": value}
        question = f"{self._labels.other_replaces} Send them?"
        sure = not value or await self._confirmed(question)
        return {"action": "other", "text": selection.words} if sure else _AGAIN

    async def _written(
        self, prompt: Json, refused: Json, moves: Moves, *, as_json_value: bool
    ) -> Action | None:
        """A text, or a JSON value; first what else there is to do."""
        start = refused.get("value", prompt["prefill"])
        everything = {
            "a": Choice(self._labels.answer, _WRITE),
            **answer_keys.control_keys(prompt, self._labels),
        }
        while True:
            self._list(everything, None)
            chosen = await self._line(everything, None, moves)
            if chosen != _WRITE:
                done = await self._chosen(prompt, chosen)
            elif as_json_value:
                done = await self._json(prompt, start)
            else:
                text = await self._lines.read_text(self._labels.other_label, str(start or ""))
                done = _AGAIN if text is None else {"action": ANSWER, "value": text}
            if done is not _AGAIN:
                return done

    async def _json(self, prompt: Json, start: JsonValue) -> Action:
        """An answer from the editor; `_AGAIN` when it was given up."""
        self.print_line(self._labels.answer_schema, _DIM)
        self.print_line(as_json(prompt["schema"]), _DIM)
        text = as_json({} if start is None else start) + "\n"
        while True:
            edited = await self._lines.edit_text(text)
            if edited is None:
                self.print_error("The editor was left without saving: nothing was sent.")
                return _AGAIN
            text = edited
            value = parse_json_answer(text)
            if not isinstance(value, Problem):
                return {"action": ANSWER, "value": value}
            self.print_error(value.message)
            keys: Keys = {"e": Choice("Edit again", "edit"), "q": Choice("Give up", "give up")}
            self._list(keys, None)
            if await self._line(keys) != "edit":
                return _AGAIN
