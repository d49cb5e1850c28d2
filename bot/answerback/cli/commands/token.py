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
    help="Manage tokens for agents and custom front ends.",
)
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Role(StrEnum):
    """The role of a token: an agent's submits asks, a surface's acts for people."""

    AGENT = "agent"
    SURFACE = "surface"


@app.callback()
def agents() -> None:
    """Manage tokens for agents and custom front ends."""


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="The agent's name: letters, digits, - and _.")],
    role: Annotated[
        Role,
        typer.Option(
            help="What the token is for: an agent that asks, or a front end that acts for people."
        ),
    ] = Role.AGENT,
    json: Json = False,
) -> None:
    """Create a token, print it once, and print what to add to the configuration.

    Example: `answerback token create deploy-bot`
    """
    from answerback.cli import tokens

    if not _NAME.fullmatch(name):
        fail(f"{name[:80]!r} is not a valid agent name. Use 1 to 64 letters, digits, - and _.", 2)
    tokens.create(name, role.value, json_output=json)


@app.command("list")
def list_(config: Config = None, json: Json = False) -> None:
    """List the agents, with the name, role and routes of each.

    Example: `answerback token list`

    Their tokens cannot be shown again: the configuration only holds hashes of them.
    """
    from answerback.cli import tokens

    tokens.list_agents(config, json_output=json)


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(help="The agent's name.")],
    config: Config = None,
    json: Json = False,
) -> None:
    """Remove an agent from the configuration. Its token is refused at once, even by a running service.

    Example: `answerback token revoke deploy-bot`

    Its existing asks stay, and people can still answer them.
    """
    from answerback.cli import tokens

    tokens.revoke(name, config, json_output=json)
