"""The arguments and help of ``answerback list``; `answerback.cli.asks` does the work."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from answerback.cli.commands.options import Json, Reader, Url


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
    from answerback.cli import asks
    from answerback.core.ask import Status

    asks.list_asks(url, token, None if everything else Status(status.value), json_output=json)
