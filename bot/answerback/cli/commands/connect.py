"""The arguments and help of ``answerback connect``; `answerback.cli.connect` does the work."""

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
    agent: Annotated[Agent, typer.Argument(help="The agent to connect.")],
    project: Annotated[
        bool,
        typer.Option("--project", help="Change the configuration of the project in this folder."),
    ] = False,
    user: Annotated[
        bool,
        typer.Option(
            "--user", help="Change your own configuration, for all projects; the default."
        ),
    ] = False,
    only_print: Annotated[
        bool, typer.Option("--print", help="Print what to paste, and change nothing.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Disconnect: remove what was added, and nothing else.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    url: Url = None,
    token_env: Annotated[
        str | None,
        typer.Option(
            help="The environment variable that holds the token, if the service uses tokens."
        ),
    ] = None,
) -> None:
    """Connect an agent, so that its questions and permission prompts go to people.

    Example: `answerback connect codex`

    Shows the change and asks for confirmation first. Keeps a copy of the file next to it; `--remove` undoes the
    change. To change the address or the token variable later, repeat it with the new `--url` or `--token-env`.
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
