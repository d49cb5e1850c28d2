"""``answerback answer``: answers an ask in the terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback_agents.cli.options import Url


def command(
    ask: Annotated[
        str | None, typer.Argument(help="The ask's id; by default, you choose from the open asks.")
    ] = None,
    url: Url = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="ANSWERBACK_TOKEN",
            help="The person's key, or a surface token; by default the key of the service in this folder.",
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Who answers; by default your name on this machine.")
    ] = None,
    batch: Annotated[
        bool, typer.Option("--batch", help="List permissions, and allow or deny several at once.")
    ] = False,
) -> None:
    """Answer an ask in this terminal.

    Example: `answerback answer`

    Enter a line for each answer: y or n for yes or no, numbers for choices, b for Back, r for Reply, s for End Turn,
    q to leave the ask open; Esc opens a menu of these. Lines can also come from a pipe: if they run out, the ask stays
    open, and the command exits with 8.

    With `--batch`, permissions are listed, and you enter the numbers of those to allow once or deny. Only one whose
    whole context is in the list is allowed there.

    Asks on the page need the person's key, which is read from the service's folder
    (`answerback key` prints it). With a front end's token you can answer any ask that you are a responder of
    (`answerback token create terminal --role surface`).
    """
    from answerback.cli.terminal import walk

    walk.run(ask, url, token, user, batch=batch)
