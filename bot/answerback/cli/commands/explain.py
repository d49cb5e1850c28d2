"""The arguments and help of ``answerback explain``; `answerback.cli.asks` does the work."""

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
    """Answer a question that somebody asked back; the explanation is shown below the agent's question.

    Example: `answerback explain ask_0123456789abcdef "Staging has its own database."`

    The agent's question stays open. Exits with 0 if the explanation is shown, 2 if it cannot be shown, and 1 if the
    ask has already ended.
    """
    from answerback.cli import asks

    asks.explain(ask, text, url, token, json_output=json)
