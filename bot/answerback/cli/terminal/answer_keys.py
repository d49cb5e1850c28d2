"""The choices at a prompt in the terminal, and which one a line means. Pure: the API's JSON → choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from pydantic import JsonValue

from answerback.cli.terminal import people_text, question_context
from answerback.cli.terminal.line_input import PressedKey
from answerback.core.form import AnswerType, OptionKind
from answerback.core.labels import Labels
from answerback.core.option_labels import means_other
from answerback.core.typed_text import (
    DENIALS,
    NO,
    YES,
    fold,
    parse_position,
    plain_word,
    split_list,
)
from answerback_agents.cli.ask_output import get_dicts
from answerback_base.sanitize import one_line

Json: TypeAlias = Mapping[str, JsonValue]
Action: TypeAlias = dict[str, JsonValue]
_MAX_EARLIER_ANSWERS: Final = 5
"""The number of earlier answers that are shown above the first question."""

ANSWER: Final = "answer"
SHOW_IN_FULL: Final = "show_in_full"
"""A choice that looks like an action, but only shows the call as it was sent."""
NOTE: Final = "note"
"""Asks for the note that goes with the choice."""
EDIT_CALL: Final = "edit_call"
"""A choice that looks like an action, but opens an editor first."""
GRANT: Final = "grant"
"""A choice that looks like an action, but asks first which grant to make."""
ANSWERS_WITH_NOTE: Final = frozenset({ANSWER, EDIT_CALL, GRANT})
"""The actions that a note goes with."""


class Choice(NamedTuple):
    """A choice, which can be entered as its key or as its full words."""

    text: str
    to: Action | str
    """The action, or the name of the next step."""
    about: str = ""


Keys: TypeAlias = Mapping[str, Choice]
Moves: TypeAlias = Mapping[PressedKey, Action]


def boolean_keys(prompt: Json, labels: Labels) -> Keys:
    """Yes and No, and in capitals the versions that remember the answer, if that is offered."""
    yes, no = labels.yes_no(consent=prompt["consent"] is True)
    keys: Keys = {
        "y": Choice(yes, {"action": ANSWER, "value": True}),
        "n": Choice(no, {"action": ANSWER, "value": False}),
    }
    if not prompt["remember"]:
        return keys
    return {
        **keys,
        "Y": Choice(labels.yes_for_turn, {"action": ANSWER, "value": True, "remember": True}),
        "N": Choice(labels.no_for_turn, {"action": ANSWER, "value": False, "remember": True}),
    }


def select_keys(prompt: Json, labels: Labels) -> tuple[Keys, str | None]:
    """The options by number, and the number of the prefilled one."""
    options, other = options_to_show(prompt, labels)
    keys: dict[str, Choice] = {}
    default = None
    for number, option in enumerate(options, 1):
        about = str(option.get("description") or "")
        action: Action = {"action": ANSWER, "value": option["value"]}
        keys[str(number)] = Choice(str(option["label"]), action, about)
        if option["value"] == prompt["prefill"] and not prompt["prefill_other"]:
            default = str(number)
    if other is not None:
        text = str(prompt["prefill_other"] or "")
        about = text or str(other.get("description") or "")
        keys[str(len(options) + 1)] = Choice(str(other["label"]), "other", about)
        default = str(len(options) + 1) if text else default
    return keys, default


def options_to_show(prompt: Json, labels: Labels) -> tuple[list[Json], Json | None]:
    """The options, and the one for the person's own words if that is offered: the agent's, or else our own."""
    every: list[Json] = [*get_dicts(prompt, "options")]
    if not prompt["other"]:
        return every, None
    others = [each for each in every if means_other(str(each["label"]), labels)]
    if len(others) == len(every):
        others = []
    return [each for each in every if each not in others], next(
        iter(others), {"label": labels.other}
    )


def review_keys(ask: Json, prompt: Json, labels: Labels) -> tuple[list[str], Keys]:
    """The answers that cannot be edited, as lines; the other answers by number, and Submit.

    Answers that wait for confirmation cannot be edited; Confirm is among the controls.
    """
    fixed: list[str] = []
    keys: dict[str, Choice] = {}
    editable = prompt.get("editable")
    for number, line in enumerate(get_dicts(prompt, "answered"), 1):
        if isinstance(editable, list) and line["question_id"] in editable:
            edit: Action = {"action": "edit", "question_id": line["question_id"]}
            about = filter(None, (labels.edit, people_text.describe_answerer(line, labels)))
            keys[str(number)] = Choice(answer_line(ask, line, labels), edit, " · ".join(about))
        else:
            fixed.append(_attributed_line(ask, line, labels))
    if prompt["kind"] == "confirmation":
        return [*fixed, *people_text.confirmations(prompt, labels)], {}
    return fixed, {**keys, "y": Choice(labels.submit, {"action": "submit"})}


def earlier_answers(ask: Json, prompt: Json, labels: Labels) -> list[str]:
    """The last answers before this question, as lines."""
    answered = get_dicts(prompt, "answered")
    hidden = len(answered) - _MAX_EARLIER_ANSWERS
    lines = [_attributed_line(ask, line, labels) for line in answered[-_MAX_EARLIER_ANSWERS:]]
    return [f"… {hidden} earlier", *lines] if hidden > 0 else lines


def control_keys(prompt: Json, ask: Json, labels: Labels) -> Keys:
    """The controls that the prompt offers (Back, Reply, End Turn), and leaving the ask open."""
    listed, approval = prompt["controls"], ask["dialect"] == "approval"
    reply, end_turn = labels.reply_and_end(deny=approval, plan=prompt.get("plan") is True)
    offered = listed if isinstance(listed, list) else []
    controls = {
        "confirm": ("y", Choice(labels.confirm, {"action": "confirm"})),
        "object": ("r", Choice(labels.object, "reply")),
        "back": ("b", Choice(labels.back, {"action": "back"})),
        "ask_back": ("?", Choice(labels.ask_back, "ask_back")),
        "reply": ("r", Choice(reply, "reply")),
        "end_turn": ("s", Choice(end_turn, "end_turn")),
    }
    keys = dict(controls[control] for control in controls if control in offered)
    if prompt.get("has_next"):
        keys["l"] = Choice(labels.answer_later, {"action": "next"})
    if get_dicts(prompt, "grants"):
        keys["g"] = Choice(labels.allow_again, {"action": GRANT})
    if prompt.get("editable") is True:
        keys["e"] = Choice(labels.edit_call, {"action": EDIT_CALL})
    if prompt.get("note"):
        keys["n"] = Choice(labels.answer_with_note, NOTE)
    if question_context.original_texts(prompt):
        keys["o"] = Choice(labels.original, "original")
    if ask.get("hand_over_to") is not None:
        keys["h"] = Choice(labels.hand_over, "hand_over")
    if approval:
        keys["f"] = Choice(labels.details, {"action": SHOW_IN_FULL})
    return {**keys, "q": Choice("Leave it open", "leave")}


def moves(ask: Json, prompt: Json) -> Moves:
    """The actions of the arrow keys: only if moving discards no answer, and never giving a new answer."""
    if not prompt["reviewed"] or prompt["kind"] == "confirmation":
        return {}
    actions: dict[PressedKey, Action] = {}
    offered, answers = prompt["controls"], ask["answers"]
    if isinstance(offered, list) and "back" in offered:
        actions[PressedKey.PREVIOUS] = {"action": "back"}
    if isinstance(answers, dict) and prompt["question_id"] in answers:
        actions[PressedKey.NEXT] = repeat_answer(prompt)
    elif prompt.get("has_next"):
        actions[PressedKey.NEXT] = {"action": "next"}
    return actions


def repeat_answer(prompt: Json) -> Action:
    """The action that repeats the earlier answer to the question."""
    value, other_text = prompt["prefill"], prompt["prefill_other"]
    if other_text is None:
        return {"action": ANSWER, "value": value}
    again: Action = {"action": "other", "text": other_text}
    return again | {"value": value[:-1]} if isinstance(value, list) else again


def plain_words(prompt: Json) -> Mapping[str, str]:
    """The words that mean a key, unless a choice is called so: yes and no, and those that deny a permission."""
    if prompt["answer_type"] == AnswerType.BOOLEAN:
        return {**dict.fromkeys(YES, "y"), **dict.fromkeys(NO, "n")}
    kinds = [each.get("kind") for each in get_dicts(prompt, "options")]
    is_certain = kinds.count(OptionKind.DENY) == 1
    return dict.fromkeys(DENIALS, str(kinds.index(OptionKind.DENY) + 1)) if is_certain else {}


def match_key(line: str, keys: Keys, synonyms: Mapping[str, str] | None = None) -> str:
    """Match a line to a choice's full words, a key or a plain word; return the key, or what is wrong with the line.

    A blank line names no choice, not even one whose text draws nothing.
    """
    folded = fold(line)
    named = [key for key, choice in keys.items() if folded and fold(choice.text) == folded]
    named = [key for key in named if keys[key].text == line] or named
    number = str(parse_position(line))
    if number in keys and set(named) - {number}:
        return f"{line} is ambiguous: it is a choice, and the number of another. Enter the number of the one you mean."
    if line in keys and number not in keys and set(named) - {line}:
        text = keys[line].text
        return f"{line} is ambiguous: it is a choice, and also means {text}. Enter the choice's number, or {text}."
    if named:
        return named[0] if len(named) == 1 else _wrong(line, keys)
    key = number if number in keys else line
    if key not in keys:
        key = (synonyms or {}).get(plain_word(line), key)
    return key if key in keys else _wrong(line, keys)


def match_keys(line: str, keys: Keys) -> list[str]:
    """Match a line to one or several choices by their full words or keys; returns the keys, or none of them."""
    for items in ([line], split_list(line), line.split()):
        matched = [match_key(item, keys) for item in items]
        if matched and all(key in keys for key in matched):
            return list(dict.fromkeys(matched))
    return []


def _wrong(line: str, keys: Keys) -> str:
    wrong = f"{one_line(line)} is not one of the choices" if line else "Nothing was entered"
    numbers = [key for key in keys if key.isdecimal()]
    span = [f"{numbers[0]} to {numbers[-1]}"] if len(numbers) > 2 else numbers
    others = [key for key in keys if not key.isdecimal()]
    return f"{wrong}. Enter one of {', '.join([*span, *others])}."


def _attributed_line(ask: Json, line: Json, labels: Labels) -> str:
    by = people_text.describe_answerer(line, labels)
    return f"{answer_line(ask, line, labels)} ({by})" if by else answer_line(ask, line, labels)


def answer_line(ask: Json, line: Json, labels: Labels) -> str:
    """A question with its answer, on one line."""
    answers, rows = ask["answers"], line["answer"]
    value = answers.get(str(line["question_id"])) if isinstance(answers, dict) else None
    if isinstance(value, bool):
        text = labels.yes if value else labels.no
    elif value in ([], ""):
        text = labels.none_chosen
    else:
        text = ", ".join(one_line(str(row)) for row in rows) if isinstance(rows, list) else ""
    return f"{one_line(str(line['text']))} → {text}"
