"""``answerback bridge codex``."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from answerback_agents.cli.bridge_command import BridgeCommand, TokenEnv, Url
from answerback_agents.cli.options import SERVICE_URL, TOKEN_ENV, PassToken, To, Urgency


def _bridge(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            help="The command that starts the app server; by default `codex app-server`."
        ),
    ] = None,
    url: Url = SERVICE_URL,
    token_env: TokenEnv = TOKEN_ENV,
    to: To = None,
    urgency: Urgency = None,
    pass_token: PassToken = False,
) -> None:
    """Run `codex app-server` for a client that starts this command instead, and forward what Codex asks to people.

    Example: `answerback bridge codex --to deploys -- codex app-server`

    Questions, approvals and elicitations go to people; everything else passes through.
    """
    from answerback_agents.bridges.ask_people import RequestAsker
    from answerback_agents.bridges.late_answers import LateAnswerSource
    from answerback_agents.cli.bridged_server import LineSink, print_line, relay_program
    from answerback_agents.cli.output import say
    from answerback_hosts.codex.app_server import CodexBridge

    def bridge(people: RequestAsker, late: LateAnswerSource, to_server: LineSink) -> CodexBridge:
        return CodexBridge(people, late, to_server, print_line, say)

    program = command or ["codex", "app-server"]
    relay_program(program, "codex", bridge, url, token_env, to, urgency, pass_token=pass_token)


BRIDGE: Final = BridgeCommand(_bridge, starts_program=True)
