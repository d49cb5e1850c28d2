"""``answerback mcp``: its arguments and its help; `answerback.cli.mcp` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback.cli.commands.options import Token, Url


def command(
    url: Url = None,
    token: Token = None,
    to: Annotated[
        str | None, typer.Option(help="Where to ask when the model does not say: a route or place.")
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(help="The asking tools to offer, by name, with commas between them."),
    ] = None,
) -> None:
    """Offer the tools to an MCP client over standard input and output.

    Example, as a client's configuration has it:
    `{"command": "answerback", "args": ["mcp", "--url", "http://127.0.0.1:8420"]}`

    The service itself has to be running (`answerback serve`).
    """
    from answerback.cli import mcp

    mcp.run(url, token, to, tools)
