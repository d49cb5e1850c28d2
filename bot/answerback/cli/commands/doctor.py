"""The arguments and help of ``answerback doctor``; `answerback.cli.doctor` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback.cli.commands.options import Config, Json


def command(
    config: Config = None,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix", help="Fix the platform settings that an app can change through the API."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Check tokens, scopes, channels, clock and database, and explain how to fix any problem.

    Posts nothing, and changes nothing without `--fix`. Exits with 0 if all is well, and with 1 if not.

    Example: `answerback doctor --config answerback.toml`
    """
    from answerback.cli import doctor

    doctor.run(config, fix=fix, json_output=json)
