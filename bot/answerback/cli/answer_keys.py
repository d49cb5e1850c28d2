"""What can be entered at a prompt in the terminal, and what a line means there. Pure: the API's JSON → choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from pydantic import JsonValue

from answerback.cli import people_text
from answerback.cli.line_input import PressedKey
from answerback.core.labels import Labels
from answerback_chat.sanitize import one_line

Json: TypeAlias = Mapping[str, JsonValue]
Action: TypeAlias = dict[str, JsonValue]

ANSWER: Final = "answer"


class Choice(NamedTuple):
    """One thing that can be entered, by its key or by its words in full."""

    words: str
    to: Action | str
    """The action, or what else it leads to."""
    about: str = ""


Keys: TypeAlias = Mapping[str, Choice]
Moves: TypeAlias = Mapping[PressedKey, Action]


def boolean_keys(prompt: Json, labels: Labels) -> Keys:
    """Yes and No; in capitals where the answer may be remembered."""
    keys: Keys = {
        "y": Choice(labels.yes, {"action": ANSWER, "value": True}),
        "n": Choice(labels.no, {"action": ANSWER, "value": False}),
    }
    if not prompt["remember"]:
        return keys
    return {
        **keys,
        "Y": Choice(labels.yes_for_turn, {"action": ANSWER, "value": True, "remember": True}),
        "N": Choice(labels.no_for_turn, {"action": ANSWER, "value": False, "remember": True}),
    }


def select_keys(prompt: Json, labels: Labels) -> tuple[Keys, str | None]:
    """The options by number, and the number that the prompt starts from."""
    options = get_dicts(prompt, "options")
    keys: dict[str, Choice] = {}
    default = None
    for number, option in enumerate(options, 1):
        action: Action = {"action": ANSWER, "value": option["value"]}
        about = str(option.get("description") or "")
        keys[str(number)] = Choice(str(option["label"]), action, about)
        if option["value"] == prompt["prefill"]:
            default = str(number)
    if prompt["other"]:
        keys[str(len(options) + 1)] = Choice(labels.other, "other")
    return keys, default


def review_keys(ask: Json, prompt: Json, labels: Labels) -> tuple[list[str], Keys]:
    """The answers that nobody can edit, as lines; the others by number, and Submit."""
    fixed: list[str] = []
    keys: dict[str, Choice] = {}
    editable = prompt["editable"]
    for number, line in enumerate(get_dicts(prompt, "answered"), 1):
        words, by = answer_line(ask, line, labels), people_text.describe_answerer(line, labels)
        if isinstance(editable, list) and line["question_id"] in editable:
            edit: Action = {"action": "edit", "question_id": line["question_id"]}
            keys[str(number)] = Choice(words, edit, " · ".join(filter(None, (labels.edit, by))))
        else:
            fixed.append(f"{words} ({by})" if by else words)
    return fixed, {**keys, "y": Choice(labels.submit, {"action": "submit"})}


def control_keys(prompt: Json, labels: Labels) -> Keys:
    """Back, Reply, End Turn, as far as the prompt offers them, and leaving the ask open."""
    offered = prompt["controls"]
    there = offered if isinstance(offered, list) else []
    every = {
        "back": ("b", Choice(labels.back, {"action": "back"})),
        "ask_back": ("?", Choice(labels.ask_back, "ask_back")),
        "reply": ("r", Choice(labels.reply, "reply")),
        "end_turn": ("s", Choice(labels.end_turn, "end_turn")),
    }
    found = dict(every[control] for control in every if control in there)
    return {**found, "q": Choice("Leave it open", "leave")}


def moves(ask: Json, prompt: Json) -> Moves:
    """Where the arrow keys lead: only where moving discards no answer, and never to a new answer."""
    if not prompt["reviewed"]:
        return {}
    found: dict[PressedKey, Action] = {}
    offered, answers = prompt["controls"], ask["answers"]
    if isinstance(offered, list) and "back" in offered:
        found[PressedKey.PREVIOUS] = {"action": "back"}
    if isinstance(answers, dict) and prompt["question_id"] in answers:
        found[PressedKey.NEXT] = _as_before(prompt)
    return found


def _as_before(prompt: Json) -> Action:
    """The earlier answer to the question, given once more."""
    value, words = prompt["prefill"], prompt["prefill_other"]
    if words is None:
        return {"action": ANSWER, "value": value}
    again: Action = {"action": "other", "text": words}
    return again | {"value": value[:-1]} if isinstance(value, list) else again


def match_key(line: str, keys: Keys) -> str:
    """The key that a line means: the key itself, or its words in full; else what is wrong with the line."""
    named = [key for key, choice in keys.items() if choice.words.casefold() == line.casefold()]
    if line in keys and not line.isdecimal() and set(named) - {line}:
        words = keys[line].words
        return f"{line} is a choice, and stands for {words} too: enter the choice's number, or {words}."
    if line in keys:
        return line
    if len(named) == 1:
        return named[0]
    wrong = f"{one_line(line)} stands for nothing here" if line else "Nothing was entered"
    numbers = [key for key in keys if key.isdecimal()]
    span = [f"{numbers[0]} to {numbers[-1]}"] if len(numbers) > 1 else numbers
    others = [key for key in keys if not key.isdecimal()]
    return f"{wrong}: enter one of {', '.join([*span, *others])}."


def answer_line(ask: Json, line: Json, labels: Labels) -> str:
    """A question with its answer, on one line."""
    answers, rows = ask["answers"], line["answer"]
    value = answers.get(str(line["question_id"])) if isinstance(answers, dict) else None
    if isinstance(value, bool):
        said = labels.yes if value else labels.no
    elif value in ([], ""):
        said = labels.none_chosen
    else:
        said = ", ".join(one_line(str(row)) for row in rows) if isinstance(rows, list) else ""
    return f"{one_line(str(line['text']))} → {said}"


def get_dicts(of: Json, name: str) -> Sequence[dict[str, JsonValue]]:
    """The objects in a list; none where there is no such list."""
    found = of.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
