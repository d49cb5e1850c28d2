"""The arguments and help of ``answerback wait``; `answerback.cli.asks` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback.cli.commands.options import AskId, Json, Token, Url


def command(
    ask: AskId,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for the answers.")] = 600,
    url: Url = None,
    token: Token = None,
    content: Annotated[
        bool, typer.Option("--content", help="Print only the text for the model.")
    ] = False,
    json: Json = False,
) -> None:
    """Wait until an ask has ended, and print the tool result.

    Example: `answerback wait ask_0123456789abcdef --wait 900`

    Keeps waiting if the service restarts. The exit status is that of `answerback ask`: 0 if answered, 3 if cancelled,
    4 if the turn ended, 5 if expired, 6 if withdrawn, 7 if failed, 8 if nobody has answered yet, and 9 if somebody
    asked back.
    """
    from answerback.cli import asks

    asks.wait(ask, wait, url, token, content=content, json_output=json)
