"""The arguments and help of ``answerback acp``; `answerback.cli.acp` does the work."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    words: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="The agent's command, with its arguments."),
    ],
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
) -> None:
    """Run an ACP agent for an editor; people can answer it in the editor or in chat.

    Example, for the agent settings of the editor: `answerback acp -- gemini --acp`

    The first answer counts, and the other side is notified. If the service cannot be reached, only the editor asks.
    """
    from answerback.cli import acp

    acp.run(words, url, token_env, to)
