"""A view as the object that is sent, and an object that came in as an action. Pure."""

from __future__ import annotations

from pydantic import JsonValue

from answerback.core.labels import Labels
from answerback.core.view import View, texts_of
from answerback.core.walker import Action, Answer, Back, Edit, EndTurn, Other, Reply, Submit
from answerback_chat import messages
from answerback_chat.sanitize import visible


def message(view: View, labels: Labels) -> dict[str, JsonValue]:
    """What people in the channel see, and what they can do at this revision."""
    lines = [messages.asks_line(view, labels)]
    offers: list[JsonValue] = [control.value for control in view.controls]
    start: JsonValue = None
    for line in view.lines:
        answers = texts_of(line.question, line.given, labels) if line.given else ["–"]
        lines += [line.question.text, *answers]
    if (prompt := view.prompt) is not None:
        question, start = prompt.question, prompt.chosen
        lines += [
            prompt.progress or "",
            question.header or "",
            question.text,
            question.context or "",
        ]
        for option in question.options:
            lines += [f"- {option.label}", option.description or ""]
        offers += ["other"] if question.other else []
    if view.is_review:
        offers.append("submit")
    if view.outcome is not None:
        by = view.outcome.ended_by
        ended = f" {labels.by.format(name=messages.name_of(by))}" if by else ""
        lines += [messages.ending(view, labels) + ended, view.reply or ""]
    return {
        "ask": view.ask_id,
        "revision": view.revision,
        "text": "\n".join(visible(line) for line in lines if line.strip()),
        "start": start,
        "offers": offers,
    }


def action_of(said: dict[str, JsonValue]) -> Action | None:
    """What an object stands for; None where it stands for nothing."""
    value = said.get("value")
    text = value if isinstance(value, str) else None
    match said.get("do"):
        case "answer":
            return Answer(value=value)
        case "other" if text:
            return Other(text=text)
        case "edit" if text:
            return Edit(question_id=text)
        case "reply":
            return Reply(text=text)
        case "back":
            return Back()
        case "submit":
            return Submit()
        case "end_turn":
            return EndTurn()
        case _:
            return None
