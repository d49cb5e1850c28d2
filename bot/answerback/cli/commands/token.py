"""``answerback token``: tokens for agents and for custom front ends."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Final

import typer

from answerback.cli.output import fail, result, say

app: Final = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Tokens for agents and custom front ends.",
)
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Role(StrEnum):
    """What a token may do: an agent's submits, a surface's acts for people."""

    AGENT = "agent"
    SURFACE = "surface"


@app.callback()
def tokens() -> None:
    """Tokens for agents and custom front ends."""


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="The agent's name: letters, digits, - and _.")],
    role: Annotated[Role, typer.Option(help="What the token may do.")] = Role.AGENT,
) -> None:
    """Make a token, print it once, and print what to add to the configuration.

    Example: `answerback token create deploy-bot`
    """
    from answerback.api.auth import new_token
    from answerback.ports.person_key import hash_of

    if not _NAME.fullmatch(name):
        fail(f"{name[:80]!r} is no name for an agent: use 1 to 64 letters, digits, - and _.", 2)
    token = new_token()
    say("The token, shown this once. Give it to the agent (ANSWERBACK_TOKEN):")
    result(token)
    say("")
    say("Add this to answerback.toml, and restart the service:")
    result(f'\n[agents.{name}]\ntoken_hash = "{hash_of(token)}"\nrole = "{role.value}"')
