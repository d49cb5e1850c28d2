"""``answerback list``: its arguments and its help; `answerback.cli.asks` does the work."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from answerback.cli.commands.options import Json, Reader, Url


class Status(StrEnum):
    """How an ask stands, as the API has it."""

    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    TURN_ENDED = "turn_ended"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"


def command(
    everything: Annotated[bool, typer.Option("--all", help="Ended asks too.")] = False,
    status: Annotated[Status, typer.Option(help="Asks that stand like this.")] = Status.OPEN,
    url: Url = None,
    token: Reader = None,
    json: Json = False,
) -> None:
    """List the asks that wait for an answer, oldest first.

    Example: `answerback list`

    A line has the ask's id, since when it waits, who asks, where it is shown, and what is asked now. An agent's token
    lists that agent's asks, the person's key those of all agents.
    """
    from answerback.cli import asks
    from answerback.core.ask import Status

    asks.list_asks(url, token, None if everything else Status(status.value), json_output=json)
