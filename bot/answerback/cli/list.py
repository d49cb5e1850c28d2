"""``answerback list``: lists the asks that are waiting for an answer, or have ended."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from answerback.cli.options import Json, Reader, Url
from answerback.cli.output import print_result, say
from answerback.presentation.sanitize import as_json

if TYPE_CHECKING:
    from answerback.cli.api_client import JsonObject
    from answerback_client import AsyncClient

_PAGE: Final = 200


class Status(StrEnum):
    """The statuses of an ask, as in the API."""

    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    TURN_ENDED = "turn_ended"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"


def command(
    everything: Annotated[
        bool, typer.Option("--all", help="Include asks that have ended.")
    ] = False,
    status: Annotated[Status, typer.Option(help="Only asks with this status.")] = Status.OPEN,
    url: Url = None,
    token: Reader = None,
    json: Json = False,
) -> None:
    """List the asks that are waiting for an answer, oldest first.

    Example: `answerback list`

    Each line shows the ask's id, when it was submitted, who asked, where it is shown, and the current question.
    An agent's token lists that agent's asks; the person's key lists those of all agents.
    """
    from answerback.cli.api_client import call_service, fetch_all
    from answerback.cli.ask_output import summary_line
    from answerback.cli.person_key import resolve_access

    query = {"limit": str(_PAGE)} | ({} if everything else {"status": status.value})

    async def read(client: AsyncClient) -> list[JsonObject]:
        return await fetch_all(client, "/v1/asks", query, "asks")

    asks = call_service(resolve_access(url, token), read)[::-1]
    if json:
        print_result(as_json(asks))
    elif asks:
        print_result("\n".join(map(summary_line, asks)))
    else:
        say(
            "Nothing is waiting for an answer."
            if status is Status.OPEN and not everything
            else "There are no such asks."
        )
