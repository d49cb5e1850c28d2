"""The command line's table: every command is in it, with the first sentence of its own help."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from answerback.cli import commands
from answerback.cli.main import COMMANDS, load


def test_every_command_module_is_in_the_table() -> None:
    folder = Path(commands.__file__ or "").parent
    modules = {
        path.stem
        for path in folder.glob("*.py")
        if re.search(r"^def command\(|^app\b.*= typer", path.read_text(), re.MULTILINE)
    }
    assert modules == COMMANDS.keys()


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


@pytest.mark.rule("CLI-17")
def test_the_help_of_a_command_imports_nothing_that_does_its_work() -> None:
    script = """
import contextlib, io, json, sys
before = set(sys.modules)
from answerback.cli import main
for name in json.loads(sys.argv[1]):
    sys.argv = ["answerback", name, "--help"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main.main()
    print(json.dumps([name, sorted(set(sys.modules) - before)]))
"""
    # The last one lists the plug-ins that have a manifest.
    names = sorted(COMMANDS, key=lambda name: name == "manifest")
    command = [sys.executable, "-c", script, json.dumps(names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, _ in seen] == names
    heavy = {
        *("aiohttp", "asyncio", "discord", "jinja2", "jsonschema", "jsonschema_rs", "mcp", "nacl"),
        *("prompt_toolkit", "slack_bolt", "slack_sdk", "sqlite3", "ssl", "starlette", "uvloop"),
        *("answerback.core.walker", "answerback.runtime.config", "answerback.service"),
        "answerback_storage",
    }
    of_settings = {"asyncio", "ssl"}  # pydantic-settings brings them
    for name, modules in seen:
        imported = heavy.intersection(modules) - (of_settings if name == "manifest" else set())
        assert not imported, f"{name} --help: import inside the function of cli/commands/{name}.py"
        assert len(modules) <= 700, name
