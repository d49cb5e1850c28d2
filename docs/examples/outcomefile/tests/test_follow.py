"""The command meets the contract of commands, and prints each outcome once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from outcomefile.commands import FOLLOW
from outcomefile.follow import command

from answerback_testing.command_contract import CommandContract


class TestFollow(CommandContract):
    plugin = FOLLOW


def test_each_outcome_is_printed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, outcome = tmp_path / "outcomes.jsonl", {"ask": "ask_1", "status": "answered"}
    file.write_text(f"{json.dumps({'number': 1, 'outcome': outcome})}\n" * 2)
    command(file, wait=False)
    assert capsys.readouterr().out == "ask_1 answered\n"
