"""The dialect `codex`: Codex's request_user_input, its app server's equivalent, and the asynchronous variant.

Based on the schema that the package @openai/codex 0.169.0 generates. Free text becomes a note after "None of the
above", as in @agentclientprotocol/codex-acp 2.6.0.
"""

from __future__ import annotations

from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, ToolResult
from answerback.core.form import Form, Question
from answerback.core.walker import GivenAnswer
from answerback.dialects import choice_forms, results
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import CallRule, Dialect
from answerback.dialects.tool_description import SEVERAL, described_tool
from answerback.dialects.tool_schema_parts import (
    HEADER,
    KEY,
    OR_FREE_TEXT,
    QUESTION_TEXT,
    questions_schema,
)
from answerback_hosts.codex import async_questions

_REQUEST: Final = "item/tool/requestUserInput"
"""The app server's request. Its isOther says whether free text is offered; the tool call always offers it."""
_NONE_OF_THE_ABOVE: Final = "None of the above"


def parse(call: ArgumentNode) -> Form | None:
    ids: set[str] = set()

    def read(node: ArgumentNode, question_id: str) -> Question | None:
        if call.tool == async_questions.TOOL:
            return async_questions.read_question(node, question_id)
        return _question(node, question_id, ids)

    return choice_forms.read_form(call, read)


@results.unless_failed
def render(ask: Ask) -> ToolResult:
    if ask.request.name == async_questions.TOOL:
        return async_questions.render_message(ask)
    marker = results.unanswered_text(ask)
    unanswered = [marker, *async_questions.note_texts(ask.walk.reply)]
    answers: dict[str, JsonValue] = {
        question.id: {"answers": row}
        for question, row in results.values_by_question(ask, unanswered, _rows)
    }
    return results.json_result({"answers": answers, **results.reason_field(ask)})


def _question(node: ArgumentNode, fallback: str, ids: set[str]) -> Question | None:
    question_id = node.label("id") if node.has("id") else fallback
    choice_forms.require_unique(node, "id", question_id, ids)
    text = node.text("question")
    options = choice_forms.read_options(node, min_items=0, required=False)
    other = node.flag("isOther", default=node.tool != _REQUEST)
    if node.flag("isSecret", default=False):
        message = (
            f"{node.name}.isSecret is true, but answers are stored and shown in a chat. Do not ask for the secret "
            "itself: ask whether it has been set up."
        )
        node.fail("unknown_value", message, "isSecret")
    if question_id is None or text is None:
        return None
    header = choice_forms.read_header(node)
    return choice_forms.choice_question(
        question_id, text, options, other=other, notes=True, header=header
    )


def _rows(given: GivenAnswer) -> list[JsonValue]:
    if given.other:
        return [_NONE_OF_THE_ABOVE, *async_questions.note_texts(given.other_text)]
    return async_questions.values_and_note(given)


_PARAMETERS: Final = questions_schema(
    {"id": KEY, "header": HEADER, "question": QUESTION_TEXT, "options": OR_FREE_TEXT},
    "id",
    "question",
)
_TOOL: Final = described_tool(
    "codex",
    "request_user_input",
    _PARAMETERS,
    SEVERAL,
    '{"answers": {id: {"answers": […]}}}: a label or text, and perhaps a "user_note: …"; own words are a note '
    'after "None of the above". If the user replies, the open question has [cancelled by user] and their note.',
)

DIALECT: Final = Dialect(
    name="codex",
    calls=(
        CallRule(("request_user_input", _REQUEST), lists=True),
        CallRule((async_questions.TOOL,), options={"options": ()}, lists=True),
    ),
    parse=parse,
    render=render,
    tool=_TOOL,
    order=10,
    is_async=lambda name, _arguments: name == async_questions.TOOL,
    accepted={"accepted": True},
)
