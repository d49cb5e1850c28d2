"""The arguments and help of ``answerback erase``; `answerback.cli.export_and_erase` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback.cli.commands.options import Config, Json, Token, Url


def command(
    asks: Annotated[list[str], typer.Argument(metavar="ASK...", help="The ids of the asks.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    url: Url = None,
    token: Token = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Permanently erase what people and agents wrote in asks that have ended.

    Example: `answerback erase ask_3b9ce1c8bca670b2b68269aa`

    The outline of each record stays: its times, the kind of ask, and how it ended. Run this in the service's folder
    as the service's user, or give it a front end's token.
    """
    from answerback.cli import export_and_erase

    if not yes:
        export_and_erase.confirm_erase(asks)
    export_and_erase.erase(asks, url, token, config, json_output=json)
