"""``answerback explain``: its arguments and its help; `answerback.cli.asks` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback.cli.commands.options import AskId, Json, Token, Url


def command(
    ask: AskId,
    text: Annotated[
        str, typer.Argument(help="The explanation in Markdown, or - for standard input.")
    ],
    url: Url = None,
    token: Token = None,
    json: Json = False,
) -> None:
    """Explain what somebody asked back: it is shown below the question, which stays open.

    Example: `answerback explain ask_0123456789abcdef "Staging has its own database."`

    Exits with 0 when people see it, 2 when it cannot be shown, and 1 when the ask has ended already.
    """
    from answerback.cli import asks

    asks.explain(ask, text, url, token, json_output=json)
