"""``answerback answer``: its arguments and its help; `answerback.cli.answer` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback.cli.commands.options import Url


def command(
    ask: Annotated[
        str | None, typer.Argument(help="The ask's id; without it, one of the open ones is picked.")
    ] = None,
    url: Url = None,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="ANSWERBACK_TOKEN",
            help="The person's key, or a token with the role surface; by default the key of the service here.",
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(help="Who answers; by default your name on this machine.")
    ] = None,
) -> None:
    """Answer an ask in this terminal.

    Example: `answerback answer`

    Lines count, with Enter at the end: y n for yes and no, numbers for choices, b for Back, r for Reply, s for
    End Turn, q leaves the ask open; Esc opens the menu of these. Lines may come from a pipe too; when they end, the
    ask stays open, and the command exits with 8.

    Asks on the page are answered with the person's key, which is read from where the service keeps it
    (`answerback key` prints it). A front end's token answers any ask that this person may answer
    (`answerback token create terminal --role surface`).
    """
    from answerback.cli import answer

    answer.run(ask, url, token, user)
