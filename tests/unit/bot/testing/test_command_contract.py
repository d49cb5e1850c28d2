"""The contract of commands accepts ours, and refuses what the program could not use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from answerback.cli.commands import SERVE
from answerback_agents.cli.command import Command
from answerback_testing.command_contract import CommandContract


@pytest.mark.rule("CLI-32")
class TestServe(CommandContract):
    plugin = SERVE


@pytest.mark.parametrize(
    ("command", "broken"),
    [
        (replace(SERVE, name="unknown"), CommandContract.test_the_program_finds_it_by_its_name),
        (
            replace(SERVE, help="Run."),
            CommandContract.test_its_help_begins_with_its_line_in_the_list,
        ),
        (replace(SERVE, group=""), CommandContract.test_its_line_in_the_list_is_a_sentence),
        (
            replace(SERVE, module="answerback.cli.commands"),
            CommandContract.test_the_list_of_commands_imports_neither_its_code_nor_anything_large,
        ),
    ],
)
def test_a_command_that_the_program_cannot_use_fails(
    command: Command, broken: Callable[[CommandContract], None]
) -> None:
    contract = type("Contract", (CommandContract,), {"plugin": command})()
    with pytest.raises(AssertionError):
        broken(contract)
