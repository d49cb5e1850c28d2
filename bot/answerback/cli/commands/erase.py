"""``answerback erase``: its arguments and its help; `answerback.cli.export_and_erase` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback.cli.commands.options import Config, Json, Token, Url


def command(
    asks: Annotated[list[str], typer.Argument(metavar="ASK...", help="The asks, by their ids.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before erasing.")] = False,
    url: Url = None,
    token: Token = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Erase what people and agents wrote in asks that have ended, for good.

    Example: `answerback erase ask_3b9ce1c8bca670b2b68269aa`

    The skeleton of each record stays: when, which kind, how it ended. Run it where the service runs, as the service's
    user, or give it the token of a front end.
    """
    from answerback.cli import export_and_erase

    if not yes:
        export_and_erase.confirm_erase(asks)
    export_and_erase.erase(asks, url, token, config, json_output=json)
