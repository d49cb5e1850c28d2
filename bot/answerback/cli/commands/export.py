"""The arguments and help of ``answerback export``; `answerback.cli.export_and_erase` does the work."""

from __future__ import annotations

from answerback.cli.commands.options import Config, Token, Url


def command(url: Url = None, token: Token = None, config: Config = None) -> None:
    """Print everything as JSON lines: asks, their records, and webhook deliveries.

    Example: `answerback export > answerback.jsonl`

    Run this in the service's folder as the service's user, or give it a front end's token. With an agent's token, it
    prints only that agent's asks.
    """
    from answerback.cli import export_and_erase

    export_and_erase.export(url, token, config)
