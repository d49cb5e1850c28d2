"""The arguments and help of ``answerback hook``; `answerback.cli.hook` does the work."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Agent(StrEnum):
    """The agents that run hooks as commands."""

    CLAUDE = "claude"
    CODEX = "codex"
    GEMINI = "gemini"
    COPILOT = "copilot"


def command(
    agent: Annotated[Agent, typer.Argument(help="The agent that runs the hook.")],
    url: Annotated[
        str, typer.Option(envvar="ANSWERBACK_URL", help="The address of the service.")
    ] = "http://127.0.0.1:8420",
    token_env: Annotated[
        str, typer.Option(help="The environment variable that holds the agent's token.")
    ] = "ANSWERBACK_TOKEN",
    to: Annotated[
        str | None,
        typer.Option(help="Where to ask: a route, or a place such as `surface:channel`."),
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds to wait; must be less than the agent waits for its hook."
        ),
    ] = 86_000,
) -> None:
    """Run by an agent's command hooks: read the event from standard input, ask, and print the answer.

    Example, as `answerback connect codex` writes it: `answerback hook codex`

    If an event asks nothing, the answer only delivers late answers, to agents that support it.
    """
    from answerback.cli import hook

    hook.run(agent.value, url, token_env, to, wait)
