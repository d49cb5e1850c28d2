"""``answerback wait``: its arguments and its help; `answerback.cli.asks` does the work."""

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

    A service that restarts meanwhile is waited for. Exits as `answerback ask` does: 0 answered, 3 cancelled, 4 turn
    ended, 5 expired, 6 withdrawn, 7 failed, 8 when nobody has answered yet, and 9 when somebody asks back.
    """
    from answerback.cli import asks

    asks.wait(ask, wait, url, token, content=content, json_output=json)
