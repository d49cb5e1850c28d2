"""The arguments and help of ``answerback show``; `answerback.cli.asks` does the work."""

from __future__ import annotations

from answerback.cli.commands.options import AskId, Json, Reader, Url


def command(ask: AskId, url: Url = None, token: Reader = None, json: Json = False) -> None:
    """Show an ask and its record: what was asked, who answered what, and when.

    Example: `answerback show ask_0123456789abcdef`
    """
    from answerback.cli import asks

    asks.show(ask, url, token, json_output=json)
