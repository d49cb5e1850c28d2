"""``answerback export``: its arguments and its help; `answerback.cli.export_and_erase` does the work."""

from __future__ import annotations

from answerback.cli.commands.options import Config, Token, Url


def command(url: Url = None, token: Token = None, config: Config = None) -> None:
    """Print everything as JSON lines: asks, their records, the webhook deliveries.

    Example: `answerback export > answerback.jsonl`

    Run it where the service runs, as the service's user, or give it the token of a front end. With an agent's token it
    prints that agent's own asks.
    """
    from answerback.cli import export_and_erase

    export_and_erase.export(url, token, config)
