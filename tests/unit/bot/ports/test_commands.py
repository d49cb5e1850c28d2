"""Commands that are offered are carried out; everything else is answered with a list of them."""

from __future__ import annotations

import pytest

from answerback.core.labels import Labels
from answerback.core.person import Person
from answerback.ports.commands import Commands
from answerback_testing.example_commands import EXAMPLE_COMMANDS

ANN = Person(surface="slack", user_id="U012")
LABELS = Labels()
HELP = "/answerback say TEXT: Say it again\n/answerback fail: Fail"


@pytest.mark.rule("COMMAND-1")
@pytest.mark.parametrize("line", ["", " ", "help", "say", "say ", "sayhello", "link X", "\u0000"])
async def test_a_line_that_is_no_command_is_answered_with_what_there_is(line: str) -> None:
    commands = Commands(EXAMPLE_COMMANDS, LABELS)
    assert (await commands.run(ANN, line)).text == HELP
    assert (await Commands((), LABELS).run(ANN, line)).text == LABELS.no_commands


@pytest.mark.rule("COMMAND-1")
async def test_the_name_of_a_command_may_be_typed_in_capitals() -> None:
    answer = await Commands(EXAMPLE_COMMANDS, LABELS).run(ANN, "  Say   Hello  World ")
    assert answer.text == "slack:U012 typed: Hello  World"
