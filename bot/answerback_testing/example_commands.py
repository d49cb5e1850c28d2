"""The commands of the services that the contract of surfaces runs."""

from __future__ import annotations

from typing import Final

from answerback.core.errors import StoreError
from answerback.ports.commands import Command, CommandAnswer, CommandButton, CommandUse


async def _say(use: CommandUse) -> CommandAnswer:
    how = "pressed" if use.pressed else "typed"
    buttons = (CommandButton("Say yes", "say yes"), CommandButton("Say no", "say n-0_o"))
    text = f"{use.person.surface}:{use.person.user_id} {how}: {use.text}"
    return CommandAnswer(text, () if use.pressed else buttons)


async def _fail(_use: CommandUse) -> CommandAnswer:
    raise StoreError("the disk is full")


EXAMPLE_COMMANDS: Final = (
    Command("say", "Say it again", "text", _say),
    Command("fail", "Fail", answer=_fail),
)
