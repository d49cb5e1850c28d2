"""Contract tests for commands: what people type after a slash, answered where nobody else reads it."""

from __future__ import annotations

from typing import Final

import pytest

from answerback_testing.simulated_people import (
    Capability,
    HasCommands,
    Stage,
    requires_capability,
)
from answerback_testing.surface_questions import LABELS

_HOSTILE: Final = "*x* <b>y</b> <!channel> @everyone [z](https://evil.example) `"


@requires_capability(Capability.COMMANDS)
class CommandsContract:
    """Contract of commands: their effects, and who reads their answers."""

    @pytest.mark.rule("COMMAND-1", "COMMAND-2")
    async def test_a_command_is_answered_to_its_author_as_it_was_typed(
        self, stage: Stage, ada: HasCommands
    ) -> None:
        account = f"{stage.place.surface}:{ada.user_id}"
        assert await ada.give_command(f"say {_HOSTILE}") == f"{account} typed: {_HOSTILE}"

    @pytest.mark.rule("COMMAND-2")
    async def test_a_button_of_an_answer_gives_its_command_as_pressed_even_after_a_restart(
        self, stage: Stage, ada: HasCommands, bob: HasCommands
    ) -> None:
        """Typing what a button sends is not pressing it: a person may be lured to type, without having read."""
        await ada.give_command("say yes")
        typed = await bob.give_command("say yes")
        assert typed == f"{stage.place.surface}:{bob.user_id} typed: yes"
        await stage.restart()
        said = f"{stage.place.surface}:{ada.user_id} pressed"
        assert await ada.press_below_answer("Say no") == f"{said}: n-0_o"

    @pytest.mark.rule("COMMAND-1")
    async def test_a_command_that_cannot_be_carried_out_says_so(
        self, stage: Stage, ada: HasCommands
    ) -> None:
        assert await ada.give_command("fail") == LABELS.try_again
