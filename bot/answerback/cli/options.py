"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option(
        help="The service's TOML file; by default ./answerback.toml, if it exists.",
        envvar="ANSWERBACK_CONFIG",
    ),
]
Form = Annotated[
    str,
    typer.Argument(
        help="A JSON file, or - for standard input: a tool call `{name, arguments}`, or just the arguments "
        "of ask_user."
    ),
]
AskId = Annotated[str, typer.Argument(metavar="ASK", help="The ask's id.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]
Token = Annotated[
    str | None,
    typer.Option(envvar="ANSWERBACK_TOKEN", help="The agent's token, if the service uses tokens."),
]
Reader = Annotated[
    str | None,
    typer.Option(
        envvar="ANSWERBACK_TOKEN",
        help="An agent's token, or the person's key; by default the key of the service in this folder.",
    ),
]
Url = Annotated[
    str | None, typer.Option(envvar="ANSWERBACK_URL", help="The address of the service.")
]
