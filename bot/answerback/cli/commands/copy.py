"""``answerback copy``: its arguments and its help; `answerback.cli.copy` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback.cli.commands.options import Json


def command(
    source: Annotated[
        str, typer.Option("--from", help="The database to copy, as `storage.url` names it.")
    ],
    target: Annotated[
        str, typer.Option("--to", help="An empty database, as `storage.url` names it.")
    ],
    json: Json = False,
) -> None:
    """Copy a database into another one: SQLite to PostgreSQL, or back.

    Example: `answerback copy --from sqlite:///answerback.db --to postgresql://answerback@db/answerback`

    Stop the service first: what is stored meanwhile is not copied. Everything is read back and compared before it
    counts, and a database that is not empty is left alone.
    """
    from answerback.cli import copy

    copy.run(source, target, json_output=json)
