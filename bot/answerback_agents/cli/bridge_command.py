"""A command of `answerback bridge`: the object `BRIDGE` of a host's part `bridge`, and the options of all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

import typer

Url = Annotated[
    str, typer.Option(envvar="ANSWERBACK_URL", help="The address of the Answerback service.")
]
TokenEnv = Annotated[
    str, typer.Option(help="The environment variable that holds the agent's token for Answerback.")
]


class BridgeCommand(NamedTuple):
    run: Callable[..., None]
    """The command, as typer takes one: it runs until it is stopped, or the program that it started has ended."""
    starts_program: bool = False
    """True if the command of a program follows the options; it may have options of its own."""
