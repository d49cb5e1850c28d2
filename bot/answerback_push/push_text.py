"""The texts that a browser gets to notify its person: no more than the operator allows. Pure."""

from __future__ import annotations

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.form import Option, OptionKind
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.presentation import wording
from answerback.presentation.text_fitting import shorten
from answerback_base.sanitize import one_line
from answerback_push import limits
from answerback_push.settings import PushRules
from answerback_web import people_text
from answerback_web.limits import BUTTON_LABEL


def push_message(ask: Ask, over: bool, labels: Labels, rules: PushRules) -> dict[str, JsonValue]:
    """Return what the browser's worker shows of an ask that waits, or (``over``) no longer waits."""
    view = view_of(ask)
    if over:
        ended = wording.ending_with_person(view, labels, people_text.plain_format(labels))
        return {"ask": ask.id, "over": shorten(one_line(ended), limits.PUSH_LINE)}
    lines = [wording.waits_line(ask, labels)]
    if rules.headline:
        lines.append(one_line(wording.subject(view, labels)))
    denial = denial_of(ask) if rules.deny else None
    return {
        "ask": ask.id,
        "revision": ask.revision,
        "text": "\n".join(shorten(line, limits.PUSH_LINE) for line in lines),
        "deny": shorten(one_line(denial.label), BUTTON_LABEL) if denial else None,
    }


def denial_of(ask: Ask) -> Option | None:
    """Return the option that denies a permission and decides nothing else; None if there is none."""
    if ask.question is None or len(ask.form.questions) > 1:
        return None
    return ask.question.sole_option(OptionKind.DENY)
