"""``answerback doctor``: its arguments and its help; `answerback.cli.doctor` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback.cli.commands.options import Config, Json


def command(
    config: Config = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Set at the platforms what their APIs let an app set.")
    ] = False,
    json: Json = False,
) -> None:
    """Check tokens, scopes, channels, clock and database, and say how to fix what is wrong.

    Nothing is posted, and without `--fix` nothing is changed. Exit status 0 when all is well, else 1.

    Example: `answerback doctor --config answerback.toml`
    """
    from answerback.cli import doctor

    doctor.run(config, fix=fix, json_output=json)
