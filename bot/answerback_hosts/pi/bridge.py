"""``answerback bridge pi``."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from answerback_agents.cli.bridge_command import BridgeCommand, TokenEnv, Url
from answerback_agents.cli.options import SERVICE_URL, TOKEN_ENV, PassToken, To, Urgency


def _bridge(
    command: Annotated[
        list[str] | None,
        typer.Argument(help="The command that starts pi; by default `pi --mode rpc`."),
    ] = None,
    url: Url = SERVICE_URL,
    token_env: TokenEnv = TOKEN_ENV,
    to: To = None,
    urgency: Urgency = None,
    pass_token: PassToken = False,
) -> None:
    """Run `pi --mode rpc` for a client that starts this command instead, and forward its extensions' dialogs to people.

    Example: `answerback bridge pi --to deploys -- pi --mode rpc`

    Choices, confirmations and texts go to people; everything else passes through.
    """
    import os

    from answerback_agents.bridges.ask_people import RequestAsker
    from answerback_agents.bridges.late_answers import LateAnswerSource
    from answerback_agents.cli.bridged_server import LineSink, print_line, relay_program
    from answerback_agents.cli.output import say
    from answerback_hosts.pi.rpc_bridge import PiBridge

    def bridge(people: RequestAsker, _late: LateAnswerSource, to_pi: LineSink) -> PiBridge:
        return PiBridge(people, to_pi, print_line, say, os.getcwd())

    program = command or ["pi", "--mode", "rpc"]
    relay_program(program, "pi", bridge, url, token_env, to, urgency, pass_token=pass_token)


BRIDGE: Final = BridgeCommand(_bridge, starts_program=True)
