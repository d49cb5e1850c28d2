"""``answerback bridge opencode``."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from answerback_agents.cli.bridge_command import BridgeCommand, TokenEnv, Url
from answerback_agents.cli.options import SERVICE_URL, TOKEN_ENV, To, Urgency


def _bridge(
    server: Annotated[str, typer.Argument(metavar="URL", help="The address of `opencode serve`.")],
    url: Url = SERVICE_URL,
    token_env: TokenEnv = TOKEN_ENV,
    to: To = None,
    urgency: Urgency = None,
    directory: Annotated[
        str | None, typer.Option(help="The project's folder; by default the server's own.")
    ] = None,
    password_env: Annotated[
        str,
        typer.Option(
            help="The environment variable that holds the server's password, if it has one."
        ),
    ] = "OPENCODE_SERVER_PASSWORD",
) -> None:
    """Forward the questions and permission prompts of a running opencode server to people.

    Example: `answerback bridge opencode http://127.0.0.1:4096 --to deploys`

    If opencode's own window answers first, the ask is withdrawn. The bridge runs until you stop it; if you start it
    again, it does not repeat any ask.
    """
    from answerback_hosts.opencode import follow_server

    follow_server.follow(server, url, token_env, to, urgency, directory, password_env)


BRIDGE: Final = BridgeCommand(_bridge)
