"""``answerback withdraw``: withdraws an ask."""

from __future__ import annotations

from answerback_agents.cli.options import AskId, Json, Token, Url
from answerback_agents.cli.output import fail, print_json, say


def command(ask: AskId, url: Url = None, token: Token = None, json: Json = False) -> None:
    """Withdraw an ask, so that nobody can answer it any more.

    Example: `answerback withdraw ask_0123456789abcdef`
    """
    from answerback_agents.cli.api_client import agent_access, call_service
    from answerback_agents.cli.ask_output import describe_status
    from answerback_client import Ask, AsyncClient, EndedError

    async def call(client: AsyncClient) -> Ask:
        try:
            return await client.withdraw(ask)
        except EndedError as error:
            fail(f"{ask} has already ended: {describe_status(error.ask.json)}.")

    done = call_service(agent_access(url, token), call)
    if json:
        print_json(done.json)
    say(f"{ask}: withdrawn.")
