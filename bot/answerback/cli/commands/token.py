"""``answerback token``: tokens for agents and for custom front ends."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Final

import typer

from answerback.cli.commands.options import Config, Json
from answerback.cli.output import fail

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
def agents() -> None:
    """Tokens for agents and custom front ends."""


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="The agent's name: letters, digits, - and _.")],
    role: Annotated[Role, typer.Option(help="What the token may do.")] = Role.AGENT,
    json: Json = False,
) -> None:
    """Make a token, print it once, and print what to add to the configuration.

    Example: `answerback token create deploy-bot`
    """
    from answerback.cli import tokens

    if not _NAME.fullmatch(name):
        fail(f"{name[:80]!r} is no name for an agent: use 1 to 64 letters, digits, - and _.", 2)
    tokens.create(name, role.value, json_output=json)


@app.command("list")
def list_(config: Config = None, json: Json = False) -> None:
    """List the agents: the name, the role and the routes of each.

    Example: `answerback token list`

    Their tokens are nowhere to be read: the configuration holds only hashes of them.
    """
    from answerback.cli import tokens

    tokens.list_agents(config, json_output=json)


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(help="The agent's name.")],
    config: Config = None,
    json: Json = False,
) -> None:
    """Take an agent out of the configuration: its token is refused at once, also by a running service.

    Example: `answerback token revoke deploy-bot`

    What it asked before stays, and people can answer it.
    """
    from answerback.cli import tokens

    tokens.revoke(name, config, json_output=json)
