"""The schemas in manifests/ match the models, and what the API sends conforms to them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from answerback.service.ask_wire import AskBody, ToolResult
from tests.meta.generated_docs import SCHEMAS, schema
from tests.unit.bot.api.conftest import Served


@pytest.mark.parametrize("file", SCHEMAS)
def test_the_schema_files_match_the_models(file: Path) -> None:
    written = file.read_text()
    assert written == schema(SCHEMAS[file]), "run: python -m tests.meta.generated_docs"
    jsonschema.Draft202012Validator.check_schema(json.loads(written))


@pytest.mark.rule("ASK-1")
async def test_every_state_of_an_ask_fits_its_schema(api: Served) -> None:
    whole = jsonschema.Draft202012Validator(json.loads(schema(AskBody)))
    result = jsonschema.Draft202012Validator(json.loads(schema(ToolResult)))
    form = {
        "questions": [
            {"id": name, "prompt": name, "options": [{"value": "1", "label": "One"}]}
            for name in "ab"
        ]
    }
    call = {"name": "question", "arguments": form, "to": "web", "metadata": {"a": [1, None]}}
    async with api.http.post("/v1/asks", json=call) as response:
        ask = await response.json()
    whole.validate(ask)
    for action in (
        {"action": "answer", "value": "1"},
        {"action": "other", "text": "two"},
        {"action": "edit", "question_id": "a"},
        {"action": "answer", "value": "1"},
        {"action": "submit"},
    ):
        status, ask = await api.act(ask, **action)
        assert status == 200
        whole.validate(ask)
    result.validate(ask["tool_result"])
    for end in ({"action": "reply", "text": "no"}, {"action": "end_turn"}):
        _, ended = await api.act(await api.asked(), **end)
        whole.validate(ended)
