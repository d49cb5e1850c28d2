"""``answerback acp``: runs an agent for an editor, behind a proxy."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from answerback_agents.cli.options import (
    SERVICE_URL,
    TOKEN_ENV,
    PassToken,
    ServiceUrl,
    To,
    TokenEnv,
    Urgency,
)


def command(
    command_line: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="The agent's command, with its arguments."),
    ],
    url: ServiceUrl = SERVICE_URL,
    token_env: TokenEnv = TOKEN_ENV,
    to: To = None,
    urgency: Urgency = None,
    pass_token: PassToken = False,
) -> None:
    """Run an ACP agent for an editor; people can answer it in the editor or in chat.

    Example, for the agent settings of the editor: `answerback acp -- gemini --acp`

    The first answer counts, and the other side is notified. If the service cannot be reached, only the editor asks.
    """
    from answerback_agents.acp.proxy import Proxy
    from answerback_agents.cli.piped_program import (
        environment_without,
        own_streams,
        start_program,
        start_relay,
    )
    from answerback_agents.pipe.ask_people import AskClient
    from answerback_agents.pipe.lines import LineWriter, read_lines
    from answerback_client.blocking_connection import BlockingConnection

    environment = None if pass_token else environment_without([token_env])
    agent = start_program(command_line, environment, _warn)
    editor_in, editor_out = own_streams()
    service = BlockingConnection(url.rstrip("/"), os.environ.get(token_env) or None, token_env)
    to_agent, to_editor = LineWriter(agent.stdin), LineWriter(editor_out)
    proxy = Proxy(
        AskClient(service, to, urgency), to_agent, to_editor, _warn, Path(command_line[0]).name
    )
    start_relay(
        lambda source: proxy.relay_from_editor(read_lines(source)), editor_in, to_agent, _warn
    )
    from_agent = start_relay(
        lambda source: proxy.relay_from_agent(read_lines(source)), agent.stdout, to_editor, _warn
    )
    status = agent.exit_status()
    from_agent.join()
    proxy.end()
    sys.exit(status)


def _warn(text: str) -> None:
    print(f"answerback acp: {text}", file=sys.stderr)
