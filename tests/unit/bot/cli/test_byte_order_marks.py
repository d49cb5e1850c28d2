"""Some editors save a byte order mark before a text: the files that people write may begin with one."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from answerback.runtime.config_file import load_settings
from answerback_agents.cli import main


def test_a_configuration_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("[server]\nport = 1234\n", encoding="utf-8-sig")
    assert load_settings(file).server.port == 1234


def test_a_form_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    form = {"questions": [{"id": "a", "text": "A?", "answer_type": "boolean"}]}
    file = tmp_path / "form.json"
    file.write_text(json.dumps(form), encoding="utf-8-sig")
    done = CliRunner().invoke(main.app, ["check", str(file)])
    assert (done.exit_code, done.stdout) == (0, "")
