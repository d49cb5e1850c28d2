"""The dialect `pi`: the dialogs that an extension of pi shows to its user over RPC.

Shapes: docs/rpc-extension-ui.md in @earendil-works/pi-coding-agent 1.6.0.
"""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask, Status, ToolResult
from answerback.core.form import AnswerType, Form, Question
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode, form_of
from answerback.dialects.choice_rows import ONLY
from answerback.dialects.dialect import CallRule, Dialect
from answerback_hosts.pi.about import DIALOG, DIALOGS

_SELECT, _CONFIRM, _INPUT, _EDITOR = DIALOGS


def _parse(call: ArgumentNode) -> Form | None:
    call.is_object()
    text, method = call.text("title"), call.choice("method", DIALOGS)
    if text is None or method is None:
        return None
    if method == _SELECT:
        options = choice_forms.read_plain_options(call, "options")
        return form_of(call, choice_forms.choice_question(ONLY, text, options, other=False))
    about = {_CONFIRM: "message", _INPUT: "placeholder"}.get(method)
    context = call.text(about, required=False, blank=True) if about else None
    kind = AnswerType.BOOLEAN if method == _CONFIRM else AnswerType.TEXT
    question = Question(id=ONLY, text=text, answer_type=kind, context=context or None)
    filled = call.text("prefill", required=False, blank=True) if method == _EDITOR else None
    return form_of(call, question.with_default(filled) if filled else question)


@results.unless_failed
def _render(ask: Ask) -> ToolResult:
    """Render the fields of the response; only a choice, a text or a yes or no of the question counts."""
    given = ask.walk.answer(ONLY)
    if ask.status is not Status.ANSWERED or given is None:
        return results.json_result({"cancelled": True})
    if ask.request.arguments["method"] == _CONFIRM:
        return results.json_result({"confirmed": given.value is True})
    return results.json_result({"value": str(given.value)})


DIALECT: Final = Dialect(
    name="pi",
    calls=(CallRule((DIALOG,), options={"options": ()}),),
    parse=_parse,
    render=_render,
    order=29,
)
