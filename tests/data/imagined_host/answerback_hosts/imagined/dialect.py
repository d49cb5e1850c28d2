"""Imagined's question tool: one question, whose answer is a text."""

from __future__ import annotations

from typing import Final

from answerback.core.ask import Ask, ToolResult
from answerback.core.form import AnswerType, Form, Question
from answerback.dialects import results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect


def _parse(call: ArgumentNode) -> Form | None:
    text = call.text("what") if call.is_object() else None
    return Form(questions=(Question(id="q", text=text or "?", answer_type=AnswerType.TEXT),))


@results.unless_failed
def _render(ask: Ask) -> ToolResult:
    return results.json_result({"heard": ask.walk.values.get("q")})


DIALECT: Final = Dialect(
    name="imagined", calls=(CallRule(("imagined/ask",)),), parse=_parse, render=_render
)
