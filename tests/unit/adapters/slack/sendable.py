"""The messages of an ask in Slack, and whether Slack would accept them, for tests at the edges of Slack's limits."""

from __future__ import annotations

import json
from typing import Any

from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Option
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback_chat.control_codec import Control, Verb
from answerback_slack import modals
from answerback_slack.blocks import Block
from tests.fakes.slack.checks import check_message, check_view
from tests.unit.adapters.slack.asks import single_question_ask

LABELS = Labels()
MULTI, SELECT, TEXT, SCHEMA = (
    AnswerType.MULTI_SELECT,
    AnswerType.SELECT,
    AnswerType.TEXT,
    AnswerType.SCHEMA,
)


def as_sent(block: object) -> Any:
    """Return a block as it is sent to Slack."""
    return json.loads(json.dumps(block))


def is_accepted(*made: Block, text: str = "t", surface: str = "message") -> bool:
    """Return True if Slack accepts these blocks on a surface."""
    if surface == "modal":
        title = {"type": "plain_text", "text": "t"}
        view = {"type": "modal", "title": title, "submit": title, "blocks": [*made]}
        return check_view(as_sent(view), foreign=False) == []
    return (
        check_message(as_sent({"text": text, "blocks": [*made]}), update=True, foreign=False) == []
    )


def encode_part(part: int) -> str:
    return f"part {part}"


def options(count: int, label: str = "option") -> tuple[Option, ...]:
    return tuple(Option(value=f"v{i}", label=f"{label} {i}") for i in range(count))


def opened_modal(ask: Ask, verb: Verb, labels: Labels = LABELS) -> Any:
    """The modal that a control of an ask opens."""
    view = modals.build_modal(view_of(ask), Control(ask.id, ask.revision, verb), labels, "[]")
    assert view is not None
    return as_sent(view)


def schema_ask(properties: dict[str, object], **more: object) -> Ask:
    return single_question_ask(
        SCHEMA, json_schema={"type": "object", "properties": properties}, **more
    )
