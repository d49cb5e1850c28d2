"""The schemas in manifests/ match the models, and what the API sends conforms to them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from answerback.api.json_schemas import render_json_schemas
from tests.unit.bot.api.conftest import Served

MANIFESTS = Path(__file__).parents[4] / "manifests"


@pytest.mark.parametrize("name", render_json_schemas())
def test_the_schema_files_match_the_models(name: str) -> None:
    written = (MANIFESTS / name).read_text()
    assert written == render_json_schemas()[name], (
        "run: python -m answerback.api.json_schemas manifests"
    )
    jsonschema.Draft202012Validator.check_schema(json.loads(written))


def test_the_documented_command_writes_the_files(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "answerback.api.json_schemas", str(tmp_path)]
    subprocess.run(command, check=True, timeout=30, cwd=MANIFESTS.parent)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == render_json_schemas()


@pytest.mark.rule("ASK-1")
async def test_every_state_of_an_ask_fits_its_schema(api: Served) -> None:
    whole = jsonschema.Draft202012Validator(json.loads(render_json_schemas()["ask.json"]))
    result = jsonschema.Draft202012Validator(json.loads(render_json_schemas()["result.json"]))
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
