"""The command line's table: every command is in it, with the first sentence of its own help."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import answerback.cli
from answerback.cli.main import COMMANDS, load


def test_every_command_module_is_in_the_table() -> None:
    folder = Path(answerback.cli.__file__ or "").parent
    commands = {
        path.stem
        for path in folder.glob("*.py")
        if re.search(r"^def command\(|^app\b.*= typer", path.read_text(), re.MULTILINE)
    } - {"main"}
    assert commands == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_of_a_command_what_its_help_says(name: str) -> None:
    help_text = load(name).help or ""
    assert COMMANDS[name] == help_text.split("\n\n")[0].replace("\n", " ")


@pytest.mark.rule("CLI-17")
def test_help_imports_next_to_nothing() -> None:
    script = """
import json, sys
before = set(sys.modules)
from answerback.cli import main
sys.argv = ["answerback", "--help"]
try:
    main.main()
finally:
    print(json.dumps(sorted(set(sys.modules) - before)), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    modules = json.loads(done.stderr)
    ours = {name for name in modules if name.startswith("answerback")}
    assert ours == {
        *("answerback", "answerback.version", "answerback.cli", "answerback.cli.main"),
        *("answerback.cli.output", "answerback.core", "answerback.core.base_error"),
        *("answerback.ports", "answerback.ports.extras", "answerback_chat"),
        "answerback_chat.sanitize",
    }
    heavy = {"aiohttp", "asyncio", "jsonschema", "pydantic", "prompt_toolkit", "sqlite3", "ssl"}
    assert heavy.isdisjoint(modules)
    assert len(modules) <= 350, "about 300 are Python's own, typer's and rich's"


def test_a_command_that_needs_no_service_does_not_import_it() -> None:
    script = (
        "import sys; from answerback.cli.main import load; load('check'); load('token'); load('ask');"
        "print([m for m in ('answerback.runtime.app', 'mcp', 'discord', 'slack_bolt') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == "[]\n"
