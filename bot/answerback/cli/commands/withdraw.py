"""The arguments and help of ``answerback withdraw``; `answerback.cli.asks` does the work."""

from __future__ import annotations

from answerback.cli.commands.options import AskId, Json, Token, Url


def command(ask: AskId, url: Url = None, token: Token = None, json: Json = False) -> None:
    """Withdraw an ask, so that nobody can answer it any more.

    Example: `answerback withdraw ask_0123456789abcdef`
    """
    from answerback.cli import asks

    asks.withdraw(ask, url, token, json_output=json)
