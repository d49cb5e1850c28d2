"""``answerback connect``: its arguments and its help; `answerback.cli.connect` does the work."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from answerback.cli.commands.options import Url


class Agent(StrEnum):
    """The agents that can be connected."""

    CODEX = "codex"
    OPENCODE = "opencode"
    GEMINI = "gemini"
    COPILOT = "copilot"
    CLAUDE = "claude"
    VSCODE = "vscode"
    CURSOR = "cursor"


def command(
    agent: Annotated[Agent, typer.Argument(help="The agent.")],
    project: Annotated[
        bool, typer.Option("--project", help="The configuration of the project in this folder.")
    ] = False,
    user: Annotated[
        bool,
        typer.Option("--user", help="The user's configuration, for all projects; the default."),
    ] = False,
    only_print: Annotated[
        bool, typer.Option("--print", help="Change nothing: print what to paste.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Take out what was put in; everything else stays.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before the change.")] = False,
    url: Url = None,
    token_env: Annotated[
        str | None,
        typer.Option(help="The environment variable with the token, where there are tokens."),
    ] = None,
) -> None:
    """Connect an agent: what it asks, and what it wants to be allowed, goes to people.

    Example: `answerback connect codex`

    Shows the change and asks before it writes. A copy of the file stays beside it, and `--remove` undoes the change.
    Repeat it with another `--url` or `--token-env` to change those.
    """
    from answerback.cli import connect

    connect.run(
        agent.value,
        url,
        token_env,
        project=project,
        user=user,
        only_print=only_print,
        remove=remove,
        yes=yes,
    )
