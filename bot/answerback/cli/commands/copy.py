"""The arguments and help of ``answerback copy``; `answerback.cli.copy` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback.cli.commands.options import Json


def command(
    source: Annotated[
        str, typer.Option("--from", help="The URL of the database to copy, as in `storage.url`.")
    ],
    target: Annotated[
        str, typer.Option("--to", help="The URL of an empty database, as in `storage.url`.")
    ],
    json: Json = False,
) -> None:
    """Copy a database to another one: SQLite to PostgreSQL, or back.

    Example: `answerback copy --from sqlite:///answerback.db --to postgresql://answerback@db/answerback`

    Stop the service first, as anything stored meanwhile is not copied. The copy is read back and compared before it
    is committed. A target that is not empty is left unchanged.
    """
    from answerback.cli import copy

    copy.run(source, target, json_output=json)
