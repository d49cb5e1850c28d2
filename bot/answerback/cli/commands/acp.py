"""``answerback acp``: its arguments and its help; `answerback.cli.acp` does the work."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    words: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="The agent's command, with its arguments."),
    ],
    url: Annotated[
        str, typer.Option(envvar="ANSWERBACK_URL", help="Where the service listens.")
    ] = "http://127.0.0.1:8420",
    token_env: Annotated[
        str, typer.Option(help="The environment variable with the agent's token.")
    ] = "ANSWERBACK_TOKEN",
    to: Annotated[str | None, typer.Option(help="Where to ask: a route or a place.")] = None,
) -> None:
    """Run an agent that speaks ACP for an editor; what it asks, people answer in either place.

    Example, for the editor's agent settings: `answerback acp -- gemini --acp`

    The first answer counts, and the other side is told. If the service cannot be reached, the editor alone is asked.
    """
    from answerback.cli import acp

    acp.run(words, url, token_env, to)
