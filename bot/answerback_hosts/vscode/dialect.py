"""The dialect `vscode`: Visual Studio Code's askQuestions; answers are keyed by question header.

Based on ``askQuestionsTool.ts`` of https://github.com/microsoft/vscode.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, ToolResult
from answerback.core.form import AnswerType, Form, Question
from answerback.core.walker import GivenAnswer
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect
from answerback_hosts.vscode.tool import TOOL

_SKIPPED: Final[JsonValue] = {"selected": [], "freeText": None, "skipped": True}


def parse(call: ArgumentNode) -> Form | None:
    headers: set[str] = set()
    return choice_forms.read_form(call, lambda node, _: _question(node, headers))


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    answers = {
        question.id: _answer(question, ask.walk.answer(question.id))
        for question in ask.form.questions
    }
    if ask.walk.reply is not None and ask.walk.at is not None:
        answers[ask.form.questions[ask.walk.at].id] = _free_text_answer(ask.walk.reply)
    return results.json_result({"answers": {**answers}, **results.reason_field(ask)})


def _question(node: ArgumentNode, headers: set[str]) -> Question | None:
    header = node.label("header")
    choice_forms.require_unique(node, "header", header, headers)
    text = node.text("question")
    message = node.text("message", required=False, blank=True)
    options = choice_forms.read_options(node, min_items=0, required=False)
    kind = choice_forms.read_multiple(node, "multiSelect")
    allow_other = node.flag("allowFreeformInput", default=True)
    if len(options) == 1 and not allow_other:
        problem = f"{node.name}.options has only one option and free text is not allowed: there is nothing to choose."
        node.fail("too_few", problem, "options")
    if header is None or text is None:
        return None
    context = message or None
    question = choice_forms.choice_question(
        header, text, options, kind, other=allow_other, header=header, context=context
    )
    return _with_default(question, node.at("options").value)


def _with_default(question: Question, sent: JsonValue) -> Question:
    """Return the question with the recommended ones of the options sent, if any, as its default."""
    chosen = [
        item["label"]
        for item in (sent if isinstance(sent, list) else [])
        if isinstance(item, dict) and item.get("recommended") is True and "label" in item
    ]
    if not chosen:
        return question
    default = chosen if question.answer_type is AnswerType.MULTI_SELECT else chosen[0]
    return question.with_default(default)


def _answer(question: Question, given: GivenAnswer | None) -> JsonValue:
    if given is None:
        return _SKIPPED
    if question.answer_type is AnswerType.TEXT:
        return _free_text_answer(str(given.value)) if results.answer_values(given) else _SKIPPED
    chosen = results.chosen_values(given)
    return {"selected": chosen, "freeText": given.other_text, "skipped": False}


def _free_text_answer(text: str) -> JsonValue:
    return {"selected": [], "freeText": text, "skipped": False}


DIALECT: Final = Dialect(
    name="vscode",
    calls=(CallRule(("vscode_askQuestions", "askQuestions", "vscode/askQuestions"), lists=True),),
    parse=parse,
    render=render,
    tool=TOOL,
    order=11,
)
