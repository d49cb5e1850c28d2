"""Render a view as the object to send, and parse a received object into an action. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from pydantic import JsonValue

from answerback.core.actions import (
    Answer,
    Back,
    Confirm,
    Edit,
    EndTurn,
    Object,
    Other,
    Reply,
    Submit,
)
from answerback.core.clarification import AskBack
from answerback.core.handing_over import HandOver
from answerback.core.intents import ResolvedAction
from answerback.core.json_schema.skeleton import default_of
from answerback.core.labels import Labels
from answerback.core.markdown import blocks_to_text as block_text
from answerback.core.too_late import TryAgain
from answerback.core.view import Prompt, View
from answerback.presentation import answer_summary, attribution, durations, wording
from answerback.presentation.asides import asides
from answerback.presentation.attribution import AttributionFormat
from answerback.presentation.form_spec import json_shape
from answerback.presentation.header_tag import header_tag
from answerback_base.sanitize import as_json, visible


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


MARKS = AttributionFormat(text=str, responder=str, person=wording.display_name, time=_time)
"""The format of lines about people. People state their own names when they join, so an id is a name here."""


def message(view: View, labels: Labels) -> dict[str, JsonValue]:
    """Return the object that shows people in the channel an ask, and what they can do at this revision."""
    audience = attribution.audience_line(
        view.responders, view.closes_at, labels, MARKS, view.handed_over
    )
    lines = [wording.asks_line(view, labels), audience]
    offers: list[JsonValue] = [control.value for control in view.controls]
    offers += ["hand_over"] if view.recipients is not None else []
    again: JsonValue = None
    for line in view.lines:
        context = line.question.context if view.outcome else None
        lines += [context or "", line.question.text, *answer_summary.answer_texts(line, labels)]
    lines.append(attribution.answered_by_line(view, labels, MARKS))
    if (prompt := view.prompt) is not None:
        again = _answer_again(prompt)
        lines += _prompt_lines(view, prompt, labels)
        offers += ["other"] if prompt.question.other else []
    lines += _confirmation_lines(view, labels)
    if view.files:
        lines.append(wording.files_line(view, labels))
    if view.is_review:
        offers.append("submit")
    if view.outcome is not None:
        ended = wording.ending_with_person(view, labels, MARKS)
        lines += [
            f"{ended} · {_time(view.outcome.at)} · {durations.waited(view, labels)}",
            view.reply or "",
        ]
    if view.can_try_again:
        lines.append(labels.tell_to_try_again)
        offers.append("try_again")
    return {
        "ask": view.ask_id,
        "revision": view.revision,
        "text": "\n".join(visible(line) for line in lines if line.strip()),
        "again": again,
        "offers": offers,
    }


def _prompt_lines(view: View, prompt: Prompt, labels: Labels) -> list[str]:
    """Return the open question, its options, and what people should know before they answer."""
    question = prompt.question
    tag = header_tag(question.header)
    lines = [
        prompt.progress or "",
        tag.short if tag else "",
        question.text,
        question.context or "",
        *(block_text((block,)) for block in asides(view, labels)),
    ]
    for option in question.options:
        lines += [f"- {option.label}", option.description or ""]
    if question.other:
        lines += [f"- {labels.other}", prompt.about_other]
    if question.notes:
        lines.append(labels.hint_of_note(question.note_reach))
    if view.editable is not None:
        lines.append(labels.edit_elsewhere)
    if question.json_schema is not None:
        lines.append(as_json(question.json_schema))
        lines.append(json_shape(prompt, labels) if _answer_again(prompt) is None else "")
    lines += answer_summary.prefill_texts(prompt, labels)
    if tag and tag.is_cut:
        lines.append(tag.whole)
    return lines


def _confirmation_lines(view: View, labels: Labels) -> list[str]:
    """Return what was decided on and how many people have to confirm it; nothing if it need not be confirmed."""
    if view.confirmation is None:
        return []
    return [
        view.confirmation.about.question.context or "",
        *(block_text((block,)) for block in asides(view, labels)),
        wording.summary_title(view, labels),
        wording.summary_text(view, labels),
    ]


def _answer_again(prompt: Prompt) -> JsonValue:
    """Return the action that gives the earlier answer or the default; None if there is neither.

    A person may send it unchanged, so it never has a value that nobody has said.
    """
    if prompt.other_text is not None:
        return {"do": "other", "value": prompt.other_text, "beside": prompt.chosen}
    if prompt.is_prefilled:
        return {"do": "answer", "value": prompt.prefill, "note": prompt.note}
    default = default_of(prompt.question.json_schema)
    return {"do": "answer", "value": default[0], "note": None} if default else None


_WITHOUT_INPUT = {each.action: each for each in (Back(), Submit(), Confirm(), EndTurn())}


def action_of(received: dict[str, JsonValue]) -> ResolvedAction | None:
    """Return the action that an object requests; None if it requests none."""
    value = received.get("value")
    text = value if isinstance(value, str) else None
    match received.get("do"):
        case "answer":
            note = received.get("note")
            return Answer(value=value, note=note if isinstance(note, str) else None)
        case "other" if text:
            return Other(text=text, value=received.get("beside"))
        case "edit" if text:
            return Edit(question_id=text)
        case "ask_back" if text:
            return AskBack(text=text)
        case "hand_over" if text:
            return HandOver(to=text)
        case "reply":
            return Reply(text=text)
        case "object":
            return Object(text=text)
        case "try_again":
            return TryAgain(text=text)
        case do:
            return _WITHOUT_INPUT.get(str(do))
