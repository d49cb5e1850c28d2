"""The dialect `tool_question`: one question by a running tool; its answer may be reused within the turn."""

from __future__ import annotations

from typing import Final

from answerback.core.form import Form, Persistence
from answerback.dialects import question_reader, single
from answerback.dialects.call_reader import ArgumentNode, form_of
from answerback.dialects.dialect import CallRule, Dialect
from answerback.dialects.tool_definitions import BY_DIALECT

_FIELDS: Final = ("id", "text", *single.FIELDS[1:], "exclusive", "persistence")
_PERSISTENCE: Final = tuple(kind.value for kind in Persistence)


def parse(call: ArgumentNode) -> Form | None:
    call.is_object(("tool", "question"))
    tool = call.label("tool")
    node = call.at("question")
    if not call.has("question"):
        node.fail("required", "question is missing: it must be an object.")
        return None
    if not node.is_object(_FIELDS):
        return None
    question_id = node.label("id")
    text = node.text("text")
    exclusive = node.flag("exclusive", default=False)
    persistence = node.choice("persistence", _PERSISTENCE, Persistence.TURN.value)
    question = question_reader.read_question(
        node,
        id=question_id,
        text=text,
        types=question_reader.NON_SCHEMA_TYPES,
        exclusive=exclusive,
        persistence=Persistence(persistence or Persistence.NONE),
    )
    return form_of(call, question, tool=tool)


DIALECT: Final = Dialect(
    name="tool_question",
    calls=(CallRule(("tool_question",), options=question_reader.OPTIONS, question="question"),),
    parse=parse,
    render=single.render,
    tool=BY_DIALECT["tool_question"],
    order=6,
)
