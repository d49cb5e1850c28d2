"""``answerback bridge openclaw``."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from answerback_agents.cli.bridge_command import BridgeCommand, TokenEnv, Url
from answerback_agents.cli.options import SERVICE_URL, TOKEN_ENV, To, Urgency


def _bridge(
    gateway: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="The address of the gateway: ws:// on this machine, wss:// elsewhere.",
        ),
    ] = "ws://127.0.0.1:18789",
    url: Url = SERVICE_URL,
    token_env: TokenEnv = TOKEN_ENV,
    to: To = None,
    urgency: Urgency = None,
    gateway_token_env: Annotated[
        str,
        typer.Option(
            help="The environment variable that holds the gateway's token or password, if it has one."
        ),
    ] = "OPENCLAW_GATEWAY_TOKEN",
) -> None:
    """Forward the questions and approvals of a running OpenClaw gateway to people.

    Example: `answerback bridge openclaw --to deploys`

    If OpenClaw's own windows answer first, the ask is withdrawn. The bridge runs until you stop it; if you start
    it again, it does not repeat any ask.
    """
    from answerback_agents.cli.output import fail
    from answerback_base.install_extras import AGENTS, AGENTS_OPENCLAW, missing_extra_message

    missing = missing_extra_message(*AGENTS_OPENCLAW, "`answerback bridge openclaw`", AGENTS)
    if missing is not None:
        fail(missing)
    from answerback_hosts.openclaw import follow_gateway

    follow_gateway.follow(gateway, url, token_env, to, urgency, gateway_token_env)


BRIDGE: Final = BridgeCommand(_bridge)
