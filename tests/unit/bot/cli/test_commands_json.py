"""The results of commands as JSON."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from answerback_agents.cli import main
from answerback_storage.sqlite.store import SqliteStore


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the commands run in, without a configuration."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def make_database(file: Path) -> None:
    store = SqliteStore(file)
    await store.open()
    await store.close()


@pytest.mark.rule("CLI-18")
def test_the_errors_in_a_form_are_available_as_json() -> None:
    form = {"questions": [{"id": "a", "text": "A?", "answer_type": "boolean"}]}
    done = CliRunner().invoke(main.app, ["check", "-", "--json"], input=json.dumps(form))
    assert (done.exit_code, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {
        "valid": True,
        "dialect": "ask_user",
        "questions": 1,
        "errors": [],
    }
    done = CliRunner().invoke(main.app, ["check", "-", "--json"], input='{"questions": []}')
    printed = json.loads(done.stdout)
    assert (done.exit_code, printed["valid"], printed["errors"][0]["code"]) == (2, False, "too_few")


@pytest.mark.rule("CLI-18")
def test_a_form_is_checked_together_with_its_envelope() -> None:
    call = {"name": "ask_user", "arguments": {"questions": []}, "responders": []}
    done = CliRunner().invoke(main.app, ["check", "-", "--json"], input=json.dumps(call))
    printed = json.loads(done.stdout)
    assert (done.exit_code, printed["valid"]) == (2, False)
    assert [one["pointer"] for one in printed["errors"]] == ["/questions", "/responders"]


@pytest.mark.rule("CLI-18")
def test_the_doctors_findings_are_available_as_json(folder: Path) -> None:
    done = CliRunner().invoke(main.app, ["doctor", "--json"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert {one["what"]: one["wrong"] for one in json.loads(done.stdout)}["configuration"] is None


@pytest.mark.rule("CLI-18")
def test_the_copied_tables_are_available_as_json(folder: Path) -> None:
    asyncio.run(make_database(folder / "old.db"))
    names = [f"sqlite:///{folder / name}" for name in ("old.db", "new.db")]
    arguments = ["copy", "--from", names[0], "--to", names[1], "--json"]
    done = CliRunner().invoke(main.app, arguments)
    assert (done.exit_code, json.loads(done.stdout)["asks"]["rows"]) == (0, 0)
