"""Notes with an answer: which dialects accept them, and where they appear again."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.actions import Answer, Back
from answerback.core.ask import apply_action
from answerback.core.walker import Refused
from answerback.dialects import registry
from answerback.ports.surface import Acted, Rejected, RejectReason
from answerback.service.ask_wire import ask_json
from answerback.service.record_wire import entry_json
from answerback.service.submission_request import read_submission
from tests.service_support import actor
from tests.unit.bot.conftest import Parts
from tests.unit.bot.dialect_support import CALLS, act, make_ask


@pytest.mark.rule("ACT-8")
async def test_a_note_is_kept_in_the_record_and_offered_again_after_back(parts: Parts) -> None:
    service = parts.service()
    name, arguments = CALLS["codex"]
    body = read_submission({"name": name, "arguments": arguments, "to": "web"})
    ask = (await service.submit(body)).ask
    prompt: Any = ask_json(ask)["prompt"]
    assert (prompt["note"], prompt["prefill_note"]) == (True, None)
    result = await service.act(
        ask.id, Answer(value="A", note="but on Monday"), actor(surface="web")
    )
    assert isinstance(result, Acted)
    prompt = ask_json(result.ask)["prompt"]
    assert prompt["answered"][0]["answer"] == ["A", "Note: but on Monday"]
    back = await service.act(ask.id, Back(), actor(surface="web"))
    assert isinstance(back, Acted)
    prompt = ask_json(back.ask)["prompt"]
    assert (prompt["prefill"], prompt["prefill_note"]) == ("A", "but on Monday")
    await service.act(ask.id, Answer(value="B", note=" "), actor(surface="web"))
    lines: Any = [entry_json(entry) for entry in await service.record(ask.id)]
    answered = [
        line["response"]["answered"] for line in lines if "answered" in line.get("response", {})
    ]
    assert [each.get("note") for each in answered] == ["but on Monday", None]
    stored = await service.get(ask.id)
    assert stored is not None
    assert [answer.note for answer in stored.walk.answers] == [None]


@pytest.mark.rule("ACT-8")
@pytest.mark.parametrize("dialect", [d for d in CALLS if d not in {"codex", "claude", "approval"}])
async def test_a_note_is_rejected_if_the_tool_result_has_no_field_for_it(
    parts: Parts, dialect: str
) -> None:
    service = parts.service()
    name, arguments = CALLS[dialect]
    body = read_submission({"name": name, "arguments": arguments, "to": "web"})
    ask = (await service.submit(body)).ask
    prompt: Any = ask_json(ask)["prompt"]
    assert prompt["note"] is False
    options = prompt["options"] or [{"value": "A"}]
    value: Any = {"schema": {"n": 1}}.get(prompt["answer_type"], options[0]["value"])
    result = await service.act(ask.id, Answer(value=value, note="why"), actor(surface="web"))
    assert isinstance(result, Rejected)
    assert result.why is RejectReason.INVALID
    assert [(p.pointer, p.code) for p in result.problems] == [("/note", "takes_no_note")]
    assert await service.get(ask.id) == ask


def test_a_note_with_a_lone_surrogate_is_rejected() -> None:
    rejected = apply_action(make_ask("codex"), Answer(value="A", note="half \ud800"), at=1, by=None)
    assert isinstance(rejected, Refused)
    assert [(p.pointer, p.code) for p in rejected.problems] == [("/note", "wrong_type")]


@pytest.mark.rule("CODEX-2")
def test_codex_gets_a_note_after_its_answers_label() -> None:
    ask = act(make_ask("codex"), Answer(value="A", note="soon"), Answer(value="B"))
    result = registry.render_result(ask)
    assert result is not None
    assert result.structured == {
        "answers": {"a": {"answers": ["A", "user_note: soon"]}, "b": {"answers": ["B"]}}
    }
