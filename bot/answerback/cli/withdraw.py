"""``answerback withdraw``: withdraws an ask."""

from __future__ import annotations

from answerback.cli.options import AskId, Json, Token, Url
from answerback.cli.output import fail, print_result, say
from answerback.presentation.sanitize import as_json


def command(ask: AskId, url: Url = None, token: Token = None, json: Json = False) -> None:
    """Withdraw an ask, so that nobody can answer it any more.

    Example: `answerback withdraw ask_0123456789abcdef`
    """
    from answerback.cli.api_client import call_service
    from answerback.cli.ask_output import describe_status
    from answerback.cli.person_key import ServiceAccess
    from answerback.cli.service_address import resolve_url
    from answerback_client import Ask, AsyncClient, EndedError

    async def call(client: AsyncClient) -> Ask:
        try:
            return await client.withdraw(ask)
        except EndedError as error:
            fail(f"{ask} has already ended: {describe_status(error.ask.json)}.")

    done = call_service(ServiceAccess(resolve_url(url), token), call, ask)
    if json:
        print_result(as_json(done.json))
    say(f"{ask}: withdrawn.")
