"""One prompt in the terminal: what it says, and the action that the keys pressed stand for.

Works on the API's JSON of an ask. Keys: ``y n`` (``Y N`` to remember), numbers, ``b r s`` for Back,
Reply and End Turn, ``q`` to leave the ask open. What an agent sent is made visible before it is
printed: no control sequence of its reaches the terminal.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import click
import questionary
from prompt_toolkit import PromptSession, print_formatted_text
from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings
from prompt_toolkit.layout import FormattedTextControl, Layout, Window
from pydantic import JsonValue

from adapters.plain import one_line, visible
from bot.entries import text_value
from bot.errors import Problem
from bot.labels import Labels

Json: TypeAlias = Mapping[str, JsonValue]
Action: TypeAlias = dict[str, JsonValue]
Keys: TypeAlias = dict[str, tuple[str, Action | str]]
"""Keys, what stands beside each, and the action or what else it leads to."""

_SINGLE_KEYS: Final = 9
"""Choices up to which one digit is enough; past them a number is typed and entered."""
_BOLD: Final = "bold"
_DIM: Final = "fg:ansibrightblack"
_BAD: Final = "fg:ansired bold"
_ANSWER: Final = "answer"


class Prompting:
    """Prompts of one person's terminal."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels

    def line(self, text: str, style: str = "") -> None:
        """A line on the terminal, made harmless."""
        print_formatted_text(FormattedText([(style, visible(text))]))

    def mistake(self, text: str) -> None:
        """A line about something that is wrong."""
        self.line(text, _BAD)

    async def action(self, ask: Json, typed: JsonValue = None) -> Action | None:
        """What the person does about the open prompt of an ask; None: they leave it open.

        Args:
            typed: what they had entered before, if that was refused.
        """
        prompt = ask["prompt"]
        if not isinstance(prompt, dict):
            raise TypeError("only an open ask prompts")
        self._heading(ask, prompt)
        if prompt["kind"] == "review":
            return await self._by_key(prompt, self._review_keys(ask, prompt), None)
        match prompt["answer_type"]:
            case "boolean":
                return await self._by_key(prompt, *self._boolean_keys(prompt))
            case "select":
                return await self._by_key(prompt, *self._select_keys(prompt))
            case "multi_select":
                return await self._multi_select(prompt)
            case "schema":
                return await self._written(prompt, typed, as_json=True)
            case _:
                return await self._written(prompt, typed, as_json=False)

    def show(self, ask: Json) -> None:
        """What the open prompt of an ask says, without asking for anything."""
        prompt = ask["prompt"]
        if not isinstance(prompt, dict):
            return
        self._heading(ask, prompt)
        keys: Keys = {"a": (self._labels.answer, _AGAIN)}
        default = None
        match prompt["answer_type"]:
            case "boolean":
                keys, default = self._boolean_keys(prompt)
            case "select":
                keys, default = self._select_keys(prompt)
            case "multi_select":
                for option in _dicts(prompt, "options"):
                    self.line(f"  ○ {one_line(str(option['label']))}")
                keys = {"esc": ("more", _AGAIN)}
            case _ if prompt["kind"] == "review":
                keys = self._review_keys(ask, prompt)
            case _:
                pass
        self._list({**keys, **self._controls(prompt)}, default)

    def _heading(self, ask: Json, prompt: Json) -> None:
        self.line("")
        for line in _dicts(prompt, "options") if prompt["kind"] != "review" else []:
            if line.get("preview"):
                self.line(f"{line['label']}:", _DIM)
                self.line(str(line["preview"]))
        if prompt.get("context"):
            self.line(str(prompt["context"]), _DIM)
        header = f"{prompt['header']}: " if prompt.get("header") else ""
        progress = f"{prompt['progress']} " if prompt["progress"] else ""
        title = self._labels.review_title if prompt["kind"] == "review" else str(prompt["text"])
        self.line(f"{progress}{header}{title}", _BOLD)
        answers = ask["answers"]
        if prompt["kind"] == "review" and isinstance(answers, dict):
            for number, (name, value) in enumerate(answers.items(), 1):
                self.line(f"  {number}  {name}: {_shown(value)}")

    # --- answers by one key ----------------------------------------------------------------------

    def _boolean_keys(self, prompt: Json) -> tuple[Keys, str | None]:
        labels, prefill = self._labels, prompt["prefill"]
        keys: Keys = {
            "y": (labels.yes, {"action": _ANSWER, "value": True}),
            "n": (labels.no, {"action": _ANSWER, "value": False}),
        }
        if prompt.get("remember"):
            keys["Y"] = (labels.yes_for_turn, {"action": _ANSWER, "value": True, "remember": True})
            keys["N"] = (labels.no_for_turn, {"action": _ANSWER, "value": False, "remember": True})
        return keys, {True: "y", False: "n"}.get(prefill) if isinstance(prefill, bool) else None

    def _select_keys(self, prompt: Json) -> tuple[Keys, str | None]:
        options = _dicts(prompt, "options")
        keys: Keys = {}
        default = None
        for number, option in enumerate(options, 1):
            described = f"  ({option['description']})" if option.get("description") else ""
            action: Action = {"action": _ANSWER, "value": option["value"]}
            keys[str(number)] = (f"{option['label']}{described}", action)
            if option["value"] == prompt["prefill"]:
                default = str(number)
        if prompt.get("other"):
            keys[str(len(options) + 1)] = (self._labels.other, "other")
        return keys, default

    def _review_keys(self, ask: Json, prompt: Json) -> Keys:
        keys: Keys = {"y": (self._labels.submit, {"action": "submit"})}
        editable, answers = prompt["editable"], ask["answers"]
        for number, name in enumerate(answers if isinstance(answers, dict) else (), 1):
            if isinstance(editable, list) and name in editable:
                words = f"{self._labels.edit} {name}"
                keys[str(number)] = (words, {"action": "edit", "question_id": name})
        return keys

    async def _by_key(
        self, prompt: Json, keys: Mapping[str, tuple[str, Action | str]], default: str | None
    ) -> Action | None:
        """The action of the key that is pressed, or of the number that is entered."""
        everything = {**keys, **self._controls(prompt)}
        while True:
            self._list(everything, default)
            if len(keys) > _SINGLE_KEYS:
                pressed = await self._entered(everything, default)
            else:
                pressed = await pressed_key(everything, default)
            _, chosen = everything[pressed]
            done = await self._chosen(chosen)
            if done is not _AGAIN:
                return done

    async def _entered(self, keys: Mapping[str, object], default: str | None) -> str:
        session: PromptSession[str] = PromptSession()
        while True:
            text = (await session.prompt_async("> ")).strip() or default or ""
            if text in keys:
                return text
            self.mistake(f"Enter one of the numbers or letters above, not {text!r}.")

    def _list(self, keys: Mapping[str, tuple[str, Action | str]], default: str | None) -> None:
        for key, (words, _) in keys.items():
            self.line(f"{'›' if key == default else ' '} {key}  {one_line(words)}")

    def _controls(self, prompt: Json) -> Keys:
        labels, controls = self._labels, prompt["controls"]
        there = controls if isinstance(controls, list) else []
        every: Mapping[str, tuple[str, tuple[str, Action | str]]] = {
            "back": ("b", (labels.back, {"action": "back"})),
            "reply": ("r", (labels.reply, "reply")),
            "end_turn": ("s", (labels.end_turn, "end_turn")),
        }
        found = dict(every[control] for control in every if control in there)
        return {**found, "q": ("Leave it open", "leave")}

    async def _chosen(self, chosen: Action | str) -> Action | None:
        """The action, once what it still needs was asked; `_AGAIN` when the person thought better of it."""
        match chosen:
            case "leave":
                return None
            case "reply":
                return await self._reply()
            case "end_turn":
                return await self._end_turn()
            case "other":
                text = await self._text(self._labels.other_label, "")
                return {"action": "other", "text": text} if text is not None else _AGAIN
            case str():
                raise AssertionError(f"{chosen} is no choice")
            case _:
                return chosen

    async def _reply(self) -> Action:
        self.line(self._labels.reply_hint.format(label="The agent"), _DIM)
        text = await self._text("Your words, or none", "")
        if text is None:
            return _AGAIN
        return {"action": "reply", "text": text} if text else {"action": "reply"}

    async def _end_turn(self) -> Action:
        words = self._labels.end_turn_text.format(label="The agent")
        self.line(f"{self._labels.end_turn_title} {words} (y/n)", _BOLD)
        return (
            {"action": "end_turn"} if await pressed_key({"y": 0, "n": 0}, None) == "y" else _AGAIN
        )

    # --- several choices, and what is written ----------------------------------------------------

    async def _multi_select(self, prompt: Json) -> Action | None:
        options = _dicts(prompt, "options")
        prefill = prompt["prefill"]
        chosen = prefill if isinstance(prefill, list) else []
        question = questionary.checkbox(
            "Space ticks, Enter answers, Esc for more",
            choices=[
                questionary.Choice(
                    one_line(str(option["label"])),
                    value=index,
                    checked=option["value"] in chosen,
                    description=one_line(str(option.get("description") or "")) or None,
                )
                for index, option in enumerate(options)
            ],
            use_jk_keys=False,
        )
        escape = KeyBindings()

        @escape.add("escape", eager=True)
        def _leave(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        application = question.application
        application.key_bindings = merge_key_bindings(
            [binding for binding in (application.key_bindings, escape) if binding is not None]
        )
        ticked = await application.run_async()
        if ticked is not None:
            return {"action": _ANSWER, "value": [options[index]["value"] for index in ticked]}
        again: Keys = {"a": ("Back to the list", _AGAIN)}
        if prompt.get("other"):
            again["o"] = (self._labels.other, "other")
        done = await self._by_key_once(prompt, again)
        return await self._multi_select(prompt) if done is _AGAIN else done

    async def _by_key_once(
        self, prompt: Json, keys: Mapping[str, tuple[str, Action | str]]
    ) -> Action | None:
        everything = {**keys, **self._controls(prompt)}
        self._list(everything, None)
        return await self._chosen(everything[await pressed_key(everything, None)][1])

    async def _written(self, prompt: Json, typed: JsonValue, *, as_json: bool) -> Action | None:
        """A text, or a JSON value written in $EDITOR; first what else there is to do."""
        start = prompt["prefill"] if typed is None else typed
        while True:
            choice: Keys = {"a": (self._labels.answer, _AGAIN)}
            done = await self._by_key_once(prompt, choice)
            if done is not _AGAIN:
                return done
            if as_json:
                value = await self._json(prompt, start)
                if value is not None:
                    return {"action": _ANSWER, "value": value[0]}
            else:
                text = await self._text(self._labels.other_label, str(start or ""))
                if text is not None:
                    return {"action": _ANSWER, "value": text}

    async def _text(self, words: str, start: str) -> str | None:
        """Words typed on a line (Esc Enter for a new one, Ctrl-X Ctrl-E for $EDITOR); None after Ctrl-C."""
        bindings = KeyBindings()

        @bindings.add("escape", "enter")
        def _new_line(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        session: PromptSession[str] = PromptSession(
            key_bindings=bindings, enable_open_in_editor=True
        )
        try:
            return await session.prompt_async(f"{words}: ", default=start)
        except (KeyboardInterrupt, EOFError):
            return None

    async def _json(self, prompt: Json, start: JsonValue) -> tuple[JsonValue] | None:
        """A JSON value from the editor, in a tuple; None when the editor was left without saving."""
        self.line(self._labels.answer_schema, _DIM)
        self.line(json.dumps(prompt["schema"], ensure_ascii=False, indent=2), _DIM)
        text = json.dumps({} if start is None else start, ensure_ascii=False, indent=2) + "\n"
        while True:
            edited = await asyncio.to_thread(click.edit, text, extension=".json")
            if edited is None:
                self.mistake("The editor was left without saving: nothing was sent.")
                return None
            text = str(edited)
            value = text_value(text)
            if not isinstance(value, Problem):
                return (value,)
            self.mistake(value.message)
            self.line("  e  Edit again\n  q  Give up")
            if await pressed_key({"e": 0, "q": 0}, "e") == "q":
                return None


_AGAIN: Final[Action] = {}
"""Stands for: nothing was done, prompt again."""


async def pressed_key(keys: Mapping[str, object], default: str | None) -> str:
    """The first of these keys that is pressed; Enter stands for the default.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    bindings = KeyBindings()

    def bind(pressed: str, result: str) -> None:
        @bindings.add(pressed)
        def _done(event: KeyPressEvent) -> None:
            event.app.exit(result=result)

    for key in keys:
        bind(key, key)
    if default is not None:
        bind("enter", default)

    @bindings.add("c-c")
    @bindings.add("c-d")
    def _interrupt(event: KeyPressEvent) -> None:
        event.app.exit(exception=KeyboardInterrupt())

    application: Application[str] = Application(
        layout=Layout(Window(FormattedTextControl("> "), height=1)), key_bindings=bindings
    )
    return await application.run_async()


def _dicts(prompt: Json, name: str) -> Sequence[dict[str, JsonValue]]:
    found = prompt.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _shown(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
