"""The table of commands, which has each command with the first sentence of its help, and what commands import."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any, Final

import pytest
from typer.testing import CliRunner

import answerback_numbers.cli as numbers_cli
import answerback_receipts.cli as receipts_cli
import answerback_teams.cli as teams_cli
from answerback import cli
from answerback_agents import cli as agents_cli
from answerback_agents.cli.main import all_commands, app, load_command
from tests.meta.project import PYTHONPATH

COMMANDS: Final = all_commands()


def test_every_command_module_is_in_the_table() -> None:
    packages = (agents_cli, cli, numbers_cli, receipts_cli, teams_cli)
    folders = (Path(package.__path__[0]) for package in packages)
    modules = {
        path.stem.replace("_", "-")
        for folder in folders
        for path in folder.glob("*.py")
        if path.stem != "main"
        and re.search(r"^def command\(|^app\b.*= typer", path.read_text(), re.MULTILINE)
    }
    assert modules == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_matches_the_help_of_each_command(name: str) -> None:
    help_text = load_command(COMMANDS[name]).help or ""
    assert COMMANDS[name].help == help_text.split("\n\n")[0].replace("\n", " ")


@pytest.mark.parametrize("arguments", [[], ["ask"], ["token"], ["token", "create"], ["connect"]])
def test_help_shows_no_type_for_flags(arguments: list[str]) -> None:
    shown = CliRunner().invoke(app, [*arguments, "-h"]).output
    assert "--help" in shown
    assert "<bool>" not in shown


@pytest.mark.rule("CLI-17")
def test_help_imports_next_to_nothing() -> None:
    script = """
import json, sys
before = set(sys.modules)
from answerback_agents.cli import main
sys.argv = ["answerback", "--help"]
try:
    main.main()
finally:
    print(json.dumps(sorted(set(sys.modules) - before)), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=250
    )
    modules = json.loads(done.stderr)
    ours = {name for name in modules if name.startswith("answerback")}
    base = (
        *("base_error", "entry_points", "install_extras", "interpreter_tuning"),
        *("invisible_characters", "sanitize", "version", "visible_text"),
    )
    assert ours == {
        *("answerback", "answerback.cli", "answerback.cli.commands"),
        *("answerback_receipts", "answerback_receipts.commands"),
        *("answerback_numbers", "answerback_numbers.commands"),
        *("answerback_teams", "answerback_teams.commands"),
        *("answerback_agents", "answerback_agents.cli", "answerback_agents.cli.command"),
        *(f"answerback_agents.cli.{name}" for name in ("main", "output", "own_commands")),
        *("answerback_base", *(f"answerback_base.{name}" for name in base)),
    }
    heavy = {"aiohttp", "asyncio", "jsonschema", "pydantic", "prompt_toolkit", "sqlite3", "ssl"}
    assert heavy.isdisjoint(modules)
    assert len(modules) <= 350, "about 330 are Python's own, typer's and rich's"


@pytest.mark.rule("CLI-17")
def test_a_commands_help_does_not_import_the_code_that_does_its_work() -> None:
    script = """
import contextlib, io, json, sys
before = set(sys.modules)
from answerback_agents.cli import main
for name in json.loads(sys.argv[1]):
    sys.argv = ["answerback", name, "--help"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        main.main()
    print(json.dumps([name, sorted(set(sys.modules) - before)]))
"""
    # The last one lists the plug-ins that have a manifest.
    names = sorted(COMMANDS, key=lambda name: name == "manifest")
    command = [sys.executable, "-c", script, json.dumps(names)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=250)
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    assert [name for name, _ in seen] == names
    heavy = {
        *("aiohttp", "asyncio", "discord", "jinja2", "jsonschema", "jsonschema_rs", "mcp", "nacl"),
        *("prompt_toolkit", "slack_bolt", "slack_sdk", "sqlite3", "ssl", "starlette", "uvloop"),
        *("answerback.core.walker", "answerback.runtime.config", "answerback.service"),
        "answerback_storage",
    }
    of_settings = {"asyncio", "ssl"}  # imported by pydantic-settings
    for name, modules in seen:
        imported = heavy.intersection(modules) - (of_settings if name == "manifest" else set())
        assert not imported, f"{name} --help: import inside the function of cli/{name}.py"
        assert len(modules) <= 700, name


WITHOUT_JSON = {
    "serve": "it runs until it is told to stop, and what it says first is a line of its own",
    "demo": "it is for people, and prints the tool result as JSON",
    "answer": "a person answers in it",
    "preview": "--surface NAME prints JSON already",
    "manifest slack": "it prints what the platform takes",
    "key": "it prints the key alone",
    "key rotate": "it prints the key alone",
    "receipts rotate": "it prints the key's id alone",
    "person add": "it prints the link alone",
    "person revoke": "its exit status says all",
    "person link": "it asks a person to confirm; a script calls the API",
    "person unlink": "its exit status says all",
    "export": "it prints JSON lines",
    "connect": "it shows a change to people; --print prints what goes into the agent's file",
    "hook": "it speaks what its host speaks",
    "acp": "it speaks what its host speaks",
    "bridge codex": "it speaks what its host speaks",
    "bridge opencode": "it runs until it is told to stop",
    "bridge openclaw": "it runs until it is told to stop",
    "bridge pi": "it speaks what its host speaks",
    "mcp": "it speaks what its host speaks",
}
"""The commands without --json, and why a script does not need it."""


def _commands(name: str) -> dict[str, Any]:
    """Return a command, or those of a group, by what is typed for them."""
    command = load_command(COMMANDS[name])
    several = getattr(command, "commands", {})
    alone = {name: command} if getattr(command, "invoke_without_command", True) else {}
    return {**alone, **{f"{name} {each}": found for each, found in several.items()}}


@pytest.mark.rule("CLI-18")
def test_every_command_with_a_result_for_scripts_has_json() -> None:
    found = {typed: command for name in COMMANDS for typed, command in _commands(name).items()}
    without = {
        typed
        for typed, command in found.items()
        if not any("--json" in option.opts for option in command.params)
    }
    assert without == WITHOUT_JSON.keys()


@pytest.mark.rule("CLI-10")
def test_every_command_has_help_with_an_example() -> None:
    without = set()
    for typed in (each for name in COMMANDS for each in _commands(name)):
        shown = CliRunner().invoke(app, [*typed.split(), "--help"])
        assert shown.exit_code == 0
        _, _, example = " ".join(shown.output.split()).partition("Example")
        if not all(word in example for word in typed.split()):
            without.add(typed)
    assert without == set()


UNUSED = {
    *("asyncpg", "discord", "hypothesis", "jinja2", "jsonschema", "markdown_it", "mcp", "nacl"),
    *("prometheus_client", "prompt_toolkit", "psycopg", "slack_bolt", "slack_sdk", "sqlite_utils"),
    *("starlette", "uvloop", "answerback_discord.adapter", "answerback_slack.adapter"),
    *("answerback.runtime.app", "opentelemetry.sdk", "opentelemetry.exporter"),
}
"""Modules that take long to import, and are used by only a few commands."""
SERVICE: Final = "http://service"
"""A placeholder for the address of a service that refuses everybody: an unreachable one would be retried."""
STARTED: dict[str, tuple[list[str], set[str]]] = {
    "serve": (
        ["--check"],
        {"prometheus_client", "uvloop", "answerback.runtime.app"},
    ),
    "ask": (["form.json", "--url", SERVICE], set()),
    "answer": (["ask_1", "--url", SERVICE], {"markdown_it", "prompt_toolkit"}),
    "list": (["--url", SERVICE], set()),
    "show": (["ask_1", "--url", SERVICE], set()),
    "wait": (["ask_1", "--url", SERVICE], set()),
    "explain": (["ask_1", "Because.", "--url", SERVICE], set()),
    "withdraw": (["ask_1", "--url", SERVICE], set()),
    "check": (["form.json"], set()),
    "preview": (["form.json"], {"jinja2", "markdown_it", "prompt_toolkit"}),
    "manifest": (["slack"], set()),
    "doctor": ([], {"markdown_it"}),
    "copy": (["--from", "sqlite:///a.db", "--to", "sqlite:///b.db"], set()),
    "key": ([], set()),
    "verify": (["form.json"], set()),
    "receipts": (["rotate"], set()),
    "grant": (["list", "--url", SERVICE], set()),
    "stats": (["--url", SERVICE], set()),
    "person": (["list"], set()),
    "token": (["list"], set()),
    "export": (["--url", SERVICE], set()),
    "erase": (["ask_1", "--yes", "--url", SERVICE], set()),
    "connect": (["codex", "--print"], set()),
    "hook": (["codex"], set()),
    "acp": (["--", "true"], set()),
    "bridge": (["codex", "--url", SERVICE, "--", "true"], set()),
    "demo": (["--help"], {"markdown_it"}),
    "mcp": (["--help"], {"markdown_it"}),
    "mcp-proxy": (["--", "true"], set()),
}
"""The arguments that start each command, and those of `UNUSED` that it needs. The last two run until they are
stopped."""
MOST = 1035
"""The maximum number of modules that a command may import, including Python's own; a fifth of them are ours."""


ALL_BUT_FEW: Final = ("aiohttp", "pydantic_settings", "answerback.runtime.config_file")
"""The modules that most commands import, without any of `UNUSED`: imported once, and then counted for every command."""
_COMMANDS: Final = """
import importlib, json, os, sys
from answerback_agents.cli import main
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
for line in sys.stdin:
    reads, writes = os.pipe()
    if os.fork():
        os.close(writes)
        with os.fdopen(reads) as told:
            print(told.read(), flush=True)
        os.wait()
        continue
    folder, *sys.argv = json.loads(line)
    os.chdir(folder)
    os.environ["HOME"] = folder
    for number in range(3):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    try:
        main.main()
    finally:
        os.write(writes, json.dumps(sorted(sys.modules)).encode())
        os._exit(0)
"""


class Importing:
    """Runs each command in a process forked from one that has imported what most commands import."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self._process, self._url = process, url

    def modules(self, folder: Path, *arguments: str) -> set[str]:
        """The modules that are imported once a command has run."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        called = [self._url if word == SERVICE else word for word in arguments]
        self._process.stdin.write(json.dumps([str(folder), "answerback", *called]) + "\n")
        self._process.stdin.flush()
        return set(json.loads(self._process.stdout.readline()))


class Unauthorized(StreamRequestHandler):
    """A service that refuses every agent."""

    def handle(self) -> None:
        """Refuses a request; its sender closes the connection."""
        while self.rfile.readline().strip():
            pass
        self.wfile.write(
            b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        self.rfile.read()


@pytest.fixture(scope="module")
def service() -> Iterator[str]:
    """The address of a service that refuses every call."""
    with ThreadingTCPServer(("127.0.0.1", 0), Unauthorized) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(scope="module")
def importing(service: str) -> Iterator[Importing]:
    with subprocess.Popen(
        [sys.executable, "-c", _COMMANDS, json.dumps(ALL_BUT_FEW)],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": PYTHONPATH},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Importing(process, service)
        process.kill()


def imported(name: str, arguments: list[str], tmp_path: Path) -> set[str]:
    """The modules that are imported once a command has run, in a process of its own."""
    (tmp_path / "form.json").write_text('{"question": "Which port?"}')
    script = """
import json, sys
from answerback_agents.cli import main
sys.argv = json.loads(sys.argv[1])
try:
    main.main()
finally:
    print("MODULES", json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(["answerback", name, *arguments])],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": PYTHONPATH},
        input="",
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    return set(json.loads(done.stderr.rpartition("MODULES ")[2].partition("\n")[0]))


@pytest.mark.rule("CLI-15")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_imports_only_what_it_needs(
    name: str, tmp_path: Path, importing: Importing
) -> None:
    (tmp_path / "form.json").write_text('{"question": "Which port?"}')
    arguments, used = STARTED[name]
    modules = importing.modules(tmp_path, name, *arguments)
    assert UNUSED.intersection(modules) == used
    assert len(modules) <= MOST


@pytest.mark.rule("CLI-15")
@pytest.mark.parametrize(
    ("name", "arguments", "free_of", "most"),
    [
        ("check", ["form.json", "--json"], {"aiohttp", "asyncio", "ssl", "rich"}, 505),
        ("list", ["--url", SERVICE], {"answerback.dialects.registry"}, 640),
        ("export", ["--url", SERVICE], {"answerback.dialects.registry"}, 600),
        ("list", ["--url", SERVICE, "--token", "ab_1"], {"answerback.runtime.config"}, 530),
    ],
)
def test_commands_other_than_the_service_do_not_import_it(
    name: str, arguments: list[str], free_of: set[str], most: int, service: str, tmp_path: Path
) -> None:
    called = [service if word == SERVICE else word for word in arguments]
    modules = imported(name, called, tmp_path)
    of_a_service = {
        "answerback.service.service",
        "answerback.service.act_or_refuse",
        "answerback.api",
    }
    assert modules.isdisjoint(of_a_service | free_of)
    assert len(modules) <= most
