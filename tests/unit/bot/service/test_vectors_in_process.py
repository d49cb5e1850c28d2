"""Every vector against the service itself: in a second, what the test over HTTP shows for a process."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from answerback.api.action_bodies import ActionBody, action_from_body
from answerback.core.errors import InvalidCallError
from answerback.core.intents import ResolvedAction
from answerback.ports.surface import Acted, RejectReason
from answerback.service.ask_wire import ask_json
from answerback.service.record_wire import entry_json
from answerback.service.submission_request import read_submission
from tests import vectors
from tests.service_support import actor
from tests.unit.bot.conftest import Parts

CASES = [
    (dialect, case) for dialect, path in vectors.ALL for case in json.loads(path.read_text("utf-8"))
]
_BODY: TypeAdapter[ActionBody] = TypeAdapter(ActionBody)


def action_of(step: Any) -> ResolvedAction:
    """Return the action of a step."""
    return action_from_body(_BODY.validate_python(step).root)


STATUS = {RejectReason.STALE: 409, RejectReason.ENDED: 410, RejectReason.INVALID: 422}


def same(actual: Any, expected: Any) -> bool:
    """Return True if two values are equal as JSON, where true is not 1."""
    return json.dumps(actual, sort_keys=True) == json.dumps(expected, sort_keys=True)


@pytest.mark.rule(
    "FORM-2",
    "FORM-3",
    "FORM-4",
    "FORM-5",
    "FORM-6",
    "FORM-10",
    "WALK-1",
    "WALK-2",
    "WALK-3",
    "WALK-4",
    "WALK-5",
    "WALK-7",
    "DIALECT-1",
    "DIALECT-2",
    "DIALECT-5",
    "DIALECT-6",
    "DIALECT-9",
    "DIALECT-10",
    "DIALECT-11",
    "DIALECT-12",
    "DIALECT-13",
    "DIALECT-15",
    "DIALECT-16",
    "DIALECT-17",
    "HOST-1",
    "HOST-3",
    "CODEX-1",
    "CODEX-2",
    "CODEX-3",
    "CODEX-4",
    "CODEX-5",
    "OPENCODE-1",
    "OPENCODE-2",
    "GEMINI-1",
    "GEMINI-2",
    "COPILOT-1",
    "COPILOT-2",
    "VSCODE-1",
    "VSCODE-2",
    "CLINE-1",
    "APPROVAL-3",
    "APPROVAL-5",
    "CLAUDE-1",
    "CLAUDE-2",
    "CLAUDE-3",
    "CLAUDE-4",
    "MORE-1",
    "MORE-2",
    "MORE-3",
    "MORE-5",
    "MORE-6",
    "ELICIT-1",
    "ELICIT-2",
    "ELICIT-3",
)
@pytest.mark.parametrize(("dialect", "case"), CASES, ids=[f"{d}: {c['title']}" for d, c in CASES])
async def test_vector(parts: Parts, dialect: str, case: dict[str, Any]) -> None:
    service = parts.service()
    body = read_submission({**case["call"], "to": "web"})
    if "invalid" in case:
        with pytest.raises(InvalidCallError) as refused:
            await service.submit(body)
        assert [{"pointer": p.pointer, "code": p.code} for p in refused.value.problems] == case[
            "invalid"
        ]
        return
    ask = (await service.submit(body)).ask
    assert dialect in {"detection", ask.request.dialect}
    expected = case.get("first_prompt", {})
    for step in [None, *case["steps"]]:
        if step is not None:
            before = ask
            outcome = await service.act(ask.id, action_of(step["do"]), actor(surface="web"))
            assert (200 if isinstance(outcome, Acted) else STATUS[outcome.why]) == step["http"]
            ask = await service.get(ask.id) or ask
            assert isinstance(outcome, Acted) or ask == before
            expected = step.get("prompt", {})
        prompt: Any = ask_json(ask)["prompt"]
        assert same({key: prompt[key] for key in expected}, expected)
    end: Any = ask_json(ask)
    assert end["status"] == case["end"]["status"]
    result = end["tool_result"]
    if "structured" in case["end"]:
        assert same(result and result["structured"], case["end"]["structured"])
    if "content" in case["end"]:
        assert result["content"] == case["end"]["content"]


@pytest.mark.rule("RECORD-1", "RECORD-2")
async def test_the_record_pairs_every_request_with_its_response(parts: Parts) -> None:
    service = parts.service()
    case = next(c for d, c in CASES if c["title"].startswith("back re-prompts"))
    ask = (await service.submit(read_submission({**case["call"], "to": "web"}))).ask
    for step in case["steps"]:
        await service.act(ask.id, action_of(step["do"]), actor(surface="web"))
    lines: Any = [entry_json(stored) for stored in await service.record(ask.id)]
    shape = [
        (line["type"], line["question_id"], next(iter(line.get("response", {"-": 0}))))
        for line in lines
    ]
    assert shape == [
        ("request", "apply", "-"),
        ("response", "apply", "answered"),
        ("request", "env", "-"),
        ("response", "env", "answered"),
        ("request", "note", "-"),
        ("response", "note", "backed"),
        ("request", "env", "-"),
        ("response", "env", "backed"),
        ("request", "apply", "-"),
        ("response", "apply", "answered"),
        ("ended", None, "-"),
    ]
    assert lines[1]["response"]["answered"]["by"]["user_id"] == "U1"
    assert lines[0]["request"]["source"] == "assistant"
