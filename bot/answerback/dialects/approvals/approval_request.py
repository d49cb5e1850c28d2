"""What the variants of the dialect `approval` share: what is read of a request, and how a decision is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core.form import MAX_LABEL, MAX_OPTIONS, AnswerType, Option, Question, When
from answerback.dialects.approvals import arguments_markdown
from answerback.dialects.call_reader import ArgumentNode

DECISION: Final = "decision"
"""The id of the question, and of the only one in most variants."""
_LABEL: Final = 150
"""Characters of a label that is made of what an agent sent; what is longer is told in the description."""

_MORE: Final = 5
"""Options that a variant has beside those that a host lists."""
Json = dict[str, JsonValue]
AnswersById = Mapping[str, JsonValue]
"""The answers, by question id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequest:
    """One use of a tool that is to be allowed or not."""

    tool: str
    options: tuple[Option, ...]
    arguments: JsonValue = None
    notes: Json = field(default_factory=dict)
    """What else the host says of it: where, and why."""
    id: str = DECISION
    further: tuple[Question, ...] = ()
    """What is asked after some of the decisions."""

    def questions(self) -> tuple[Question, ...]:
        """The question whether the tool may be used, and what follows it."""
        question = Question(
            id=self.id,
            text=f'May the agent use "{self.tool}"?',
            context=arguments_markdown.render_arguments(self.arguments, self.notes or None),
            answer_type=AnswerType.SELECT,
            options=self.options,
            tool=self.tool,
        )
        return (question, *self.further)


class Variant(NamedTuple):
    """How one host asks, and what it is answered."""

    read: Callable[[ArgumentNode], Sequence[ApprovalRequest]]
    """What is to be decided; mistakes are noted."""
    render_decision: Callable[[AnswersById, Json], JsonValue]
    """The host's shape for a decision, made of the answers and the arguments of the call."""
    render_no_decision: Callable[[AnswersById, Json, str], JsonValue]
    """The host's shape where nobody decided, with a person's words or why there are none."""


def options(**labels: str) -> tuple[Option, ...]:
    """Options by their values."""
    return tuple(Option(value=value, label=label) for value, label in labels.items())


def option_for(value: str, label: str, sent: JsonValue, *, whole: bool) -> Option:
    """An option that stands for something the host sent.

    Args:
        whole: whether the label says all of it; else the description has it as it was sent.
    """
    short = label if len(label) <= _LABEL else f"{label[: _LABEL - 1]}…"
    told = whole and short == label
    return Option(value=value, label=short, description=None if told else to_json_text(sent))


def to_json_text(value: JsonValue) -> str:
    """A value as JSON, for people to read."""
    return json.dumps(value, ensure_ascii=False)


def optional_items(node: ArgumentNode, key: str, of: str) -> list[ArgumentNode]:
    """The items of an array that may be missing; they leave room for a few options more."""
    return node.items(key, least=0, most=MAX_OPTIONS - _MORE, of=of) if node.has(key) else []


def require_object(node: ArgumentNode, key: str) -> ArgumentNode:
    """The object below, which must be there."""
    child = node.at(key)
    if not node.has(key):
        child.fail("required", f"{child.name} is missing: it must be an object.")
    else:
        child.is_object()
    return child


def read_tool_name(*places: tuple[ArgumentNode, str]) -> str:
    """The tool's name at the first of some places that has it; missing, it is required at the first place."""
    node, key = next(((node, key) for node, key in places if node.has(key)), places[0])
    if not isinstance(node.value, dict):
        return "?"  # noted already
    name = node.text(key) or "?"
    return name if len(name) <= MAX_LABEL else f"{name[: MAX_LABEL - 1]}…"


def notes(node: ArgumentNode, *keys: str) -> Json:
    """Those of some fields that are given."""
    return {key: node.at(key).value for key in keys if node.has(key)}


def follow_up_question(
    decision: str, question_id: str, text: str, kind: AnswerType, **more: object
) -> Question:
    """A question that is asked after one decision only."""
    base = Question(
        id=question_id,
        text=text,
        answer_type=kind,
        when=When(question_id=DECISION, equals=decision),
    )
    return base.model_copy(update=more)
