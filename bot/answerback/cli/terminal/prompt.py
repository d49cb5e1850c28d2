"""A prompt in the terminal: prints it, and turns the person's lines into an action.

Works on the API's JSON of an ask. The person enters whole lines: ``y n`` (``Y N`` to remember), numbers, ``b r s`` for
Back, Reply and End Turn, ``q`` to leave the ask open, or the full words of these. Esc opens a menu of them. Control
sequences in texts from an agent are made visible before printing, so that none reaches the terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from pydantic import JsonValue

from answerback.cli.terminal import answer_keys, prompt_heading, question_context
from answerback.cli.terminal.answer_keys import ANSWER, Action, Choice, Json, Keys, Moves, match_key
from answerback.cli.terminal.choice_pointer import ChoicePointer
from answerback.cli.terminal.line_input import LineInput, PressedKey, TerminalInput
from answerback.cli.terminal.multi_select import Selection, start_selection
from answerback.cli.terminal.terminal_output import BOLD, DIM, print_lines, text_line
from answerback.core.errors import Problem
from answerback.core.form import AnswerType, NoteReach
from answerback.core.json_schema.skeleton import default_of, skeleton
from answerback.core.labels import Labels
from answerback.core.schema_field_values import parse_json_answer
from answerback.core.typed_text import is_blank
from answerback.presentation.wording import end_turn_text, sentence
from answerback_base.sanitize import as_json, one_line, quoted

_ERROR: Final = "fg:ansired bold"
_AGAIN: Final[Action] = {}
"""A marker: nothing was done, so prompt again."""
_MENU: Final = "menu"
_WRITE: Final = "write"


def _answer_type(prompt: Json) -> AnswerType | None:
    """The type of the answer to a prompt's question; None for a review."""
    return AnswerType(str(prompt["answer_type"])) if prompt["kind"] == "question" else None


def _pointer(prompt: Json, keys: Keys, default: str | None) -> ChoicePointer | None:
    """The pointer of a single choice; None for another prompt."""
    if _answer_type(prompt) is not AnswerType.SELECT:
        return None
    return ChoicePointer([(key, choice.text) for key, choice in keys.items()], default)


def _moves_on(action: Action | None, moves: Moves) -> bool:
    """Return True if an action leads to another question, and was not chosen as an answer."""
    # An arrow's action is told by its identity: Enter on unchanged ticks gives an equal one.
    return action is not None and (
        action["action"] in {"back", "next"} or any(action is each for each in moves.values())
    )


class TerminalPrompter:
    def __init__(self, labels: Labels, lines: LineInput | None = None) -> None:
        self.labels = labels
        self._lines = lines or TerminalInput()
        self._has_started = False
        self.unsent: Action = {}
        """The ticks and the note that were entered before an action that may not have sent them: the same prompt starts
        with them again."""
        self._note: str | None = None
        """The note that was written at the prompt; None: none was, and that of the earlier answer counts."""
        self._ask: Json = {}
        self._asker = ""

    def print_line(self, text: str, style: str = "") -> None:
        """Print a line to the terminal, with control characters made visible."""
        print_lines([text_line(text, style)])

    def print_error(self, text: str) -> None:
        self.print_line(text, _ERROR)

    async def choose(self, offered: Sequence[str]) -> int | None:
        """Let the person choose one of the texts; returns its index, or None for none of them."""
        keys: Keys = {
            **{str(number): Choice(text, str(number)) for number, text in enumerate(offered, 1)},
            "q": Choice("None of them", "q"),
        }
        await self._lines.discard_typed()
        self._print_choices(keys, None)
        chosen = await self._read_choice(keys)
        return int(chosen) - 1 if isinstance(chosen, str) and chosen.isdecimal() else None

    async def prompt_action(self, ask: Json, refused: Json | None = None) -> Action | None:
        """Show the open prompt of an ask and read the person's action; None if they leave it open.

        Args:
            refused: an action that was refused: the prompt starts with its value.
        """
        prompt = ask["prompt"]
        if not isinstance(prompt, dict):
            raise TypeError("only an open ask prompts")
        self.unsent = {}
        await self._lines.discard_typed()
        self._print_heading(ask, prompt)
        kept = (refused or {}).get("note")
        self._note = kept if isinstance(kept, str) else None
        if self._has_new_note(prompt):
            self._print_note()
        moves = answer_keys.moves(ask, prompt)
        action = await self._read_prompt(ask, prompt, refused or {}, moves)
        while _moves_on(action, moves) and self._has_unsent(prompt):
            await self._lines.discard_typed()  # it was meant for the next question
            self.print_error(self.labels.answer_later_unsent)
            action = await self._read_prompt(ask, prompt, self.unsent, moves)
        written: Action = {} if self._note is None else {"note": self._note}
        self.unsent = self.unsent | written
        if action is None or action["action"] not in answer_keys.ANSWERS_WITH_NOTE:
            return action
        earlier: Action = {"note": note} if (note := prompt.get("prefill_note")) else {}
        return action | earlier | written

    def _has_unsent(self, prompt: Json) -> bool:
        """Return True if ticks, own text or a note differ from the earlier answer, or from the default."""
        return self._has_new_note(prompt) or (
            "value" in self.unsent
            and self.unsent != self._as_refused_action(prompt, self._selection(prompt, {}))
        )

    def _has_new_note(self, prompt: Json) -> bool:
        return self._note is not None and self._note != str(prompt.get("prefill_note") or "")

    async def _read_prompt(
        self, ask: Json, prompt: Json, refused: Json, moves: Moves
    ) -> Action | None:
        match _answer_type(prompt):
            case AnswerType.MULTI_SELECT:
                return await self._multi_select(prompt, refused, moves)
            case AnswerType.TEXT | AnswerType.SCHEMA as kind:
                is_json = kind is AnswerType.SCHEMA
                return await self._read_value(prompt, refused, moves, as_json_value=is_json)
            case kind:
                return await self._read_action(prompt, *self._choice_keys(ask, prompt, kind), moves)

    def show(self, ask: Json) -> None:
        """Print the open prompt of an ask, without reading anything."""
        prompt = ask["prompt"]
        if not isinstance(prompt, dict):
            return
        self._print_heading(ask, prompt)
        keys: Keys = {}
        default = None
        match _answer_type(prompt):
            case AnswerType.MULTI_SELECT:
                self.print_line(self._selection(prompt, {}).plain())
            case AnswerType.TEXT | AnswerType.SCHEMA:
                keys = self._write_key()
            case kind:
                keys, default = self._choice_keys(ask, prompt, kind)
        self._print_choices({**keys, **self._control_keys(prompt)}, default)

    def _choice_keys(
        self, ask: Json, prompt: Json, kind: Literal[AnswerType.BOOLEAN, AnswerType.SELECT] | None
    ) -> tuple[Keys, str | None]:
        """The keys that answer a review or a question with one choice, and the prefilled one."""
        if kind is None:
            return self._review_keys(ask, prompt), None
        if kind is AnswerType.BOOLEAN:
            return self._boolean_keys(prompt), None
        return answer_keys.select_keys(prompt, self.labels)

    def _write_key(self) -> Keys:
        return {"a": Choice(self.labels.answer, _WRITE)}

    def _print_heading(self, ask: Json, prompt: Json) -> None:
        self._ask, self._asker = ask, one_line(str(ask["asked_by"]))
        print_lines(
            prompt_heading.render(
                ask, prompt, self._asker, self.labels, is_first=not self._has_started
            )
        )
        self._has_started = True

    def _boolean_keys(self, prompt: Json) -> Keys:
        labels, prefill = self.labels, prompt["prefill"]
        if isinstance(prefill, bool):
            # In words, and not as a default for Enter: a yes/no question never has a preselected answer.
            yes, no = labels.yes_no(consent=prompt["consent"] is True)
            self.print_line(labels.prefilled.format(text=yes if prefill else no), DIM)
        return answer_keys.boolean_keys(prompt, labels)

    def _review_keys(self, ask: Json, prompt: Json) -> Keys:
        fixed, keys = answer_keys.review_keys(ask, prompt, self.labels)
        print_lines(text_line(f"      {line}") for line in fixed)
        return keys

    def _print_choices(self, keys: Keys, default: str | None) -> None:
        lines = []
        for key, choice in keys.items():
            about = f"  ({one_line(choice.about)})" if choice.about else ""
            mark = "›" if key == default else " "
            lines.append(text_line(f"{mark} {key:>2}  {one_line(choice.text)}{about}"))
        print_lines(lines)

    # --- lines and their actions -----------------------------------------------------------------

    async def _read_action(
        self, prompt: Json, keys: Keys, default: str | None, moves: Moves
    ) -> Action | None:
        """Read an action; prompts again if the person changes their mind."""
        all_keys = {**keys, **self._control_keys(prompt)}
        while True:
            self._print_choices(all_keys, default)
            chosen = await self._read_choice(
                all_keys,
                default,
                moves,
                synonyms=answer_keys.plain_words(prompt),
                pointer=_pointer(prompt, keys, default),
            )
            done = await self._follow(prompt, chosen)
            if done is not _AGAIN:
                return done

    async def _read_choice(
        self,
        keys: Keys,
        default: str | None = None,
        moves: Moves | None = None,
        *,
        synonyms: Mapping[str, str] | None = None,
        pointer: ChoicePointer | None = None,
    ) -> Action | str:
        """Read a line, or a key that moves, and return its choice; a line that matches none is reported."""
        while True:
            entered = await self._lines.read_line(moves or (), pointer)
            if isinstance(entered, PressedKey):
                return (moves or {}).get(entered, _MENU)
            pointed = pointer.key if pointer else None
            key = match_key(entered.strip() or pointed or default or "", keys, synonyms)
            if key in keys:
                return keys[key].to
            self.print_error(key)

    async def _follow(self, prompt: Json, chosen: Action | str) -> Action | None:
        """Turn a choice into an action, asking for what it needs; `_AGAIN` if the person changes their mind."""
        match chosen:
            case "leave":
                return None
            case "original":
                print_lines(map(text_line, question_context.original_texts(prompt)))
                return _AGAIN
            case "ask_back":
                return await self._read_ask_back()
            case "hand_over":
                return await self._read_recipient()
            case "reply":
                return await self._read_reply(prompt)
            case "end_turn":
                return await self._confirm_end_turn()
            case answer_keys.NOTE:
                return await self._read_note(prompt)
            case "other":
                return await self._read_other(prompt)
            case str():
                return await self._open_menu(prompt, {"a": Choice("Back to the question", _AGAIN)})
            case _:
                return chosen

    async def _open_menu(self, prompt: Json, first: Keys) -> Action | None:
        """Open the menu, which Esc opens and closes."""
        keys = {**first, **self._control_keys(prompt)}
        self._print_choices(keys, None)
        chosen = await self._read_choice(keys)
        return _AGAIN if chosen == _MENU else await self._follow(prompt, chosen)

    def _control_keys(self, prompt: Json) -> Keys:
        return answer_keys.control_keys(prompt, self._ask, self.labels)

    async def _read_ask_back(self) -> Action:
        label = sentence(self.labels.ask_back_label, self._asker, self.labels)
        return await self._read_for("ask_back", "text", self.labels.ask_back_hint, label)

    async def _read_recipient(self) -> Action:
        recipients = self._ask["hand_over_to"]
        listed = map(str, recipients) if isinstance(recipients, list) else ()
        hint = " · ".join([self.labels.hand_over_hint, *listed])
        return await self._read_for("hand_over", "to", hint, self.labels.hand_over_label)

    async def _read_for(self, action: str, field: str, hint: str, label: str) -> Action:
        self.print_line(hint, DIM)
        text = (await self._lines.read_text(label, "") or "").strip()
        return _AGAIN if is_blank(text) else {"action": action, field: text}

    async def edit_text(self, text: str) -> str | None:
        """Let the person change a text in their editor; None if they left it unchanged."""
        return await self._lines.edit_text(text)

    async def read_retry_text(self) -> str | None:
        """Return what a person tells the agent that should try again; None: they changed their mind."""
        return await self._lines.read_text("Your message (optional)", "")

    def _print_note(self) -> None:
        self.print_line(self.labels.noted.format(text=one_line(self._note or "")), DIM)

    def _refuse_note(self) -> None:
        self.print_error("Your own text takes no note. Remove the note, or choose an option.")

    async def _read_note(self, prompt: Json) -> Action:
        """Read the note that goes with whatever is chosen next; a blank one takes it back."""
        hint = self.labels.hint_of_note(NoteReach(str(prompt["note_reach"])))
        self.print_line(hint or self.labels.note_hint, DIM)
        start = str(prompt.get("prefill_note") or "") if self._note is None else self._note
        note = await self._lines.read_text(self.labels.note_label, start)
        if note is not None:
            self._note = "" if is_blank(note) else note
            self._print_note()
        return _AGAIN

    async def _read_reply(self, prompt: Json) -> Action:
        deny, plan = self._ask["dialect"] == "approval", prompt.get("plan") is True
        hint = self.labels.hint_of_reply(deny=deny, plan=plan)
        self.print_line(sentence(hint, self._asker, self.labels), DIM)
        text = await self._lines.read_text("Your reply (optional)", "")
        if text is None or not is_blank(text):
            return _AGAIN if text is None else {"action": "reply", "text": text}
        sure = await self._confirm("End the questions without an answer or a reply?")
        return {"action": "reply"} if sure else _AGAIN

    async def _confirm_end_turn(self) -> Action:
        labels, deny = self.labels, self._ask["dialect"] == "approval"
        text = f"{labels.end_turn_title} {end_turn_text(self._asker, labels, deny=deny)}"
        sure = await self._confirm(text)
        return {"action": "end_turn"} if sure else _AGAIN

    async def _confirm(self, question: str) -> bool:
        await self._lines.discard_typed()
        self.print_line(f"{question} (y/n)", BOLD)
        yes, no = self.labels.yes, self.labels.no
        return await self._read_choice({"y": Choice(yes, "yes"), "n": Choice(no, "no")}) == "yes"

    async def _read_other(self, prompt: Json) -> Action:
        if self._note:
            self._refuse_note()
            return _AGAIN
        text = await self._read_own_text(None, str(prompt["prefill_other"] or ""))
        return _AGAIN if text is None else {"action": "other", "text": text}

    # --- multiple choices, texts and JSON values ---------------------------------------------------

    def _selection(self, prompt: Json, refused: Json) -> Selection:
        options, other = answer_keys.options_to_show(prompt, self.labels)
        start = {**answer_keys.repeat_answer(prompt), **refused}
        return start_selection(
            options, start, None if other is None else one_line(str(other["label"]))
        )

    async def _multi_select(self, prompt: Json, refused: Json, moves: Moves) -> Action | None:
        selection, controls = self._selection(prompt, refused), self._control_keys(prompt)
        while True:
            self.print_line("Space or numbers tick boxes, Enter answers, Esc opens the menu", DIM)
            entered = await self._lines.read_line(moves, selection)
            if entered is PressedKey.OTHER or (
                entered == "" and selection.is_at_other and not selection.other_text
            ):
                selection.other_text = await self._read_own_text(selection.other_text)
                continue
            done: Action | None
            if entered == "":
                done = await self._submit_selection(prompt, selection)
            elif isinstance(entered, PressedKey):
                chosen = moves.get(entered, _MENU)
                back: Keys = {"a": Choice("Back to the list", _AGAIN)}
                done = chosen if isinstance(chosen, dict) else await self._open_menu(prompt, back)
            else:
                done = await self._apply_line(prompt, selection, entered.strip(), controls)
            if done is not _AGAIN:
                self.unsent = self._as_refused_action(prompt, selection)
                return done

    async def _apply_line(
        self, prompt: Json, selection: Selection, line: str, controls: Keys
    ) -> Action | None:
        """Apply a line: toggle the rows that it names by number or label, or follow a control."""
        rows: Keys = {
            str(place): Choice(label, str(place)) for place, label in enumerate(selection.labels, 1)
        }
        chosen = answer_keys.match_keys(line, rows)
        key = match_key(line, {**rows, **controls})
        if key in controls:
            return await self._follow(prompt, controls[key].to)
        if not chosen or (key not in rows and match_key(line, rows) in rows):
            self.print_error(key)
            return _AGAIN
        for place in [int(number) - 1 for number in chosen]:
            if selection.is_other(place):
                selection.other_text = await self._read_own_text(selection.other_text)
            else:
                selection.toggle(place)
        return _AGAIN

    async def _read_own_text(self, before: str | None, start: str = "") -> str | None:
        """Read the text of "Something else…", again while it is blank.

        Returns what there was ``before`` if the person changed their mind, or None if they removed that.
        """
        while (
            text := await self._lines.read_text(self.labels.other_label, before or start)
        ) is not None:
            if not is_blank(text) or before:
                return None if is_blank(text) else text
            self.print_error(self.labels.other_blank)
        return before

    def _as_refused_action(self, prompt: Json, selection: Selection) -> Action:
        """The selection in the form of a refused action, which a prompt can start with."""
        options, _ = answer_keys.options_to_show(prompt, self.labels)
        value: JsonValue = [options[place]["value"] for place in sorted(selection.selected)]
        return {"value": value, "text": selection.other_text}

    async def _submit_selection(self, prompt: Json, selection: Selection) -> Action:
        value = self._as_refused_action(prompt, selection)["value"]
        if selection.other_text is None:
            return {"action": ANSWER, "value": value}
        if self._note:
            self._refuse_note()
            return _AGAIN
        if prompt["other_beside"]:
            return {"action": "other", "text": selection.other_text, "value": value}
        question = f"{self.labels.other_replaces} Send them?"
        sure = not value or await self._confirm(question)
        return {"action": "other", "text": selection.other_text} if sure else _AGAIN

    async def _read_value(
        self, prompt: Json, refused: Json, moves: Moves, *, as_json_value: bool
    ) -> Action | None:
        """Read a text or a JSON value, after a choice between answering and the controls."""
        own = default_of(prompt["schema"]) if as_json_value else None
        said = (prompt["prefill"],) if prompt["prefilled"] else own
        said = (refused["value"],) if "value" in refused else said
        all_keys = {**self._write_key(), **self._control_keys(prompt)}
        while True:
            self._print_choices(all_keys, None)
            chosen = await self._read_choice(all_keys, None, moves)
            if chosen != _WRITE:
                done = await self._follow(prompt, chosen)
            elif as_json_value:
                done = await self._edit_json(prompt, as_json(said[0]) if said else "")
            else:
                start = str(said[0]) if said else ""
                text = await self._lines.read_text(self.labels.other_label, start)
                done = _AGAIN if text is None else {"action": ANSWER, "value": text}
            if done is not _AGAIN:
                return done

    async def _edit_json(self, prompt: Json, start: str) -> Action:
        """Read a JSON answer from the editor; `_AGAIN` if the person gives up."""
        self.print_line(f"{self.labels.answer_schema}\n{as_json(prompt['schema'])}", DIM)
        shape = skeleton(prompt["schema"])
        if not start and shape is not None:
            self.print_line(self.labels.json_shape.format(shape=quoted(shape)), DIM)
        text = start and f"{start}\n"
        while True:
            edited = await self._lines.edit_text(text)
            if edited is None:
                self.print_error("The editor was closed without saving. Nothing was sent.")
                return _AGAIN
            text = edited
            value = parse_json_answer(text)
            if not isinstance(value, Problem):
                return {"action": ANSWER, "value": value}
            await self._lines.discard_typed()
            self.print_error(value.message)
            keys: Keys = {"e": Choice("Edit again", "edit"), "q": Choice("Give up", "give up")}
            self._print_choices(keys, None)
            if await self._read_choice(keys) != "edit":
                return _AGAIN
