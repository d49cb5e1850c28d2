"""``answerback explain``: answers what a person asked back."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from answerback_agents.cli.options import AskId, Json, Token, Url
from answerback_agents.cli.output import EXIT_USAGE, fail, print_json, say


def command(
    ask: AskId,
    text: Annotated[
        str, typer.Argument(help="The explanation in Markdown, or - for standard input.")
    ],
    url: Url = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Answer a question that a person asked back; the explanation is shown below the agent's question.

    Example: `answerback explain ask_0123456789abcdef "Staging has its own database."`

    The agent's question stays open. Exits with 0 if the explanation is shown, 2 if it cannot be shown, and 1 if the
    ask has already ended.
    """
    from answerback_agents.cli.api_client import agent_access, call_service
    from answerback_agents.cli.ask_output import describe_status
    from answerback_client import Ask, AsyncClient, EndedError, InvalidCallError

    explanation = sys.stdin.buffer.read().decode(errors="replace") if text == "-" else text

    async def call(client: AsyncClient) -> Ask:
        try:
            return await client.add_context(ask, explanation)
        except InvalidCallError as error:
            fail("\n".join(error.messages), EXIT_USAGE)
        except EndedError as error:
            fail(
                f"{ask} has already ended: {describe_status(error.ask.json)}. "
                f"`answerback wait {ask}` prints the result."
            )

    done = call_service(agent_access(url, token), call)
    if json:
        print_json(done.json)
    say(f"{ask}: explained. To keep waiting, run `answerback wait {ask}`.")
