"""``answerback hook``: its arguments and its help; `answerback.cli.hook` does the work."""

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
        str, typer.Option(envvar="ANSWERBACK_URL", help="Where the service listens.")
    ] = "http://127.0.0.1:8420",
    token_env: Annotated[
        str, typer.Option(help="The environment variable with the agent's token.")
    ] = "ANSWERBACK_TOKEN",
    to: Annotated[str | None, typer.Option(help="Where to ask: a route or a place.")] = None,
    wait: Annotated[
        float, typer.Option(min=0, help="Seconds to wait; less than the agent waits for its hook.")
    ] = 86_000,
) -> None:
    """What an agent's command hooks run: reads the event from standard input, asks, and prints the answer.

    Example, as `answerback connect codex` writes it: `answerback hook codex`

    An event that asks nothing is left to the agent, and gets answers that came late where the agent takes them.
    """
    from answerback.cli import hook

    hook.run(agent.value, url, token_env, to, wait)
