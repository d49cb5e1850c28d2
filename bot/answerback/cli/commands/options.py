"""The arguments and options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path | None,
    typer.Option(
        help="The service's TOML file; without it ./answerback.toml, if there is one.",
        envvar="ANSWERBACK_CONFIG",
    ),
]
Form = Annotated[
    str,
    typer.Argument(
        help="A JSON file, or - for standard input: the tool call `{name, arguments}`, or the arguments "
        "of ask_user alone."
    ),
]
AskId = Annotated[str, typer.Argument(metavar="ASK", help="The ask's id.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Token = Annotated[
    str | None,
    typer.Option(envvar="ANSWERBACK_TOKEN", help="The agent's token, where there are tokens."),
]
Reader = Annotated[
    str | None,
    typer.Option(
        envvar="ANSWERBACK_TOKEN",
        help="An agent's token, or the person's key; by default the key of the service here.",
    ),
]
Url = Annotated[
    str | None, typer.Option(envvar="ANSWERBACK_URL", help="Where the service listens.")
]
