"""The texts that a browser gets to notify its person: no more than the operator allows. Pure."""

from __future__ import annotations

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.form import Option, OptionKind
from answerback.core.labels import Labels
from answerback.core.urgency import Urgency
from answerback.core.view import view_of
from answerback.ports.push import PushRules
from answerback.presentation import wording
from answerback.presentation.text_fitting import shorten
from answerback_base.sanitize import one_line
from answerback_web import limits, people_text


def waits_line(ask: Ask, labels: Labels) -> str:
    """Return that an ask waits, urgently if so, and from which agent."""
    request = ask.request
    label = one_line(request.origin.label(request.agent, request.prompt_label))
    is_urgent = request.urgency is Urgency.HIGH
    return (labels.waits_urgently if is_urgent else labels.waits).format(label=label)


def push_message(ask: Ask, over: bool, labels: Labels, rules: PushRules) -> dict[str, JsonValue]:
    """Return what the browser's worker shows of an ask that waits, or (``over``) no longer waits."""
    view = view_of(ask)
    if over:
        ended = wording.ending_with_person(view, labels, people_text.plain_format(labels))
        return {"ask": ask.id, "over": shorten(one_line(ended), limits.PUSH_LINE)}
    lines = [waits_line(ask, labels)]
    if rules.headline:
        lines.append(one_line(wording.subject(view, labels)))
    denial = denial_of(ask) if rules.deny else None
    return {
        "ask": ask.id,
        "revision": ask.revision,
        "text": "\n".join(shorten(line, limits.PUSH_LINE) for line in lines),
        "deny": shorten(one_line(denial.label), limits.BUTTON_LABEL) if denial else None,
    }


def denial_of(ask: Ask) -> Option | None:
    """Return the option that denies a permission and decides nothing else; None if there is none."""
    if ask.question is None or len(ask.form.questions) > 1:
        return None
    return ask.question.sole_option(OptionKind.DENY)
