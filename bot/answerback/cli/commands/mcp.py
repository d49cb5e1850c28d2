"""The arguments and help of ``answerback mcp``; `answerback.cli.mcp` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback.cli.commands.options import Token, Url


def command(
    url: Url = None,
    token: Token = None,
    to: Annotated[
        str | None, typer.Option(help="Where to ask if the model does not say: a route or a place.")
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(help="The asking tools to offer: names separated by commas."),
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            min=0,
            max=3_600,
            help="Maximum seconds that a call waits for an answer.",
        ),
    ] = 50.0,
) -> None:
    """Serve the tools to an MCP client over standard input and output.

    Example, for the configuration of a client:
    `{"command": "answerback", "args": ["mcp", "--url", "http://127.0.0.1:8420"]}`

    The service has to be running as well (`answerback serve`).
    """
    from answerback.cli import mcp

    mcp.run(url, token, to, tools, wait)
