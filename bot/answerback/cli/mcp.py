"""``answerback mcp``: serves the MCP tools on standard input and output, for clients without HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback_agents.cli.options import NoUpload, Token, Urgency, Url


def command(
    url: Url = None,
    token: Token = None,
    to: Annotated[
        str | None, typer.Option(help="Where to ask if the model does not say: a route or a place.")
    ] = None,
    urgency: Urgency = None,
    no_upload: NoUpload = False,
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
    import asyncio
    from pathlib import Path

    from answerback.mcp.stdio_relay import RelayOptions, serve_on_streams
    from answerback.mcp.tools import parse_asking_tools
    from answerback.runtime import logs
    from answerback_agents.cli.service_address import resolve_url

    logs.configure_logging("warning", None)
    try:
        parse_asking_tools(tools)
    except ValueError as error:
        raise typer.BadParameter(f"--tools: {error}") from error
    options = RelayOptions(tools, wait, to, urgency, None if no_upload else Path.cwd())
    asyncio.run(serve_on_streams(resolve_url(url), token, options))
