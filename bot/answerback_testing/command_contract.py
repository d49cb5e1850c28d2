"""The contract of commands: a class of tests that each plug-in's tests inherit.

A subclass sets ``plugin``. The distribution must be installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import ClassVar, Final

from answerback_agents.cli.command import Command
from answerback_agents.cli.main import all_commands, load_command

_LISTING: Final = """
import contextlib, io, json, sys
from answerback_agents.cli import main
sys.argv = ["answerback", "--help"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main.main()
print(json.dumps(sorted(sys.modules)))
"""
_HEAVY: Final = ("aiohttp", "asyncio", "pydantic", "sqlite3", "ssl")


class CommandContract:
    """Tests that every command passes; an author inherits them."""

    plugin: ClassVar[Command]

    def test_the_program_finds_it_by_its_name(self) -> None:
        assert all_commands().get(self.plugin.typed) == self.plugin

    def test_its_help_begins_with_its_line_in_the_list(self) -> None:
        shown = load_command(self.plugin).help or ""
        assert shown.split("\n\n")[0].replace("\n", " ") == self.plugin.help

    def test_its_line_in_the_list_is_a_sentence(self) -> None:
        assert self.plugin.help.endswith(".")
        assert self.plugin.group

    def test_the_list_of_commands_imports_neither_its_code_nor_anything_large(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", _LISTING],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        modules = json.loads(done.stdout)
        assert set(modules).isdisjoint({self.plugin.module, *_HEAVY})
