"""The arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, Literal

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
Content = Annotated[bool, typer.Option("--content", help="Print only the text for the model.")]
Wait = Annotated[float, typer.Option(min=0, help="Seconds to wait for the answers.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
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

# What runs for an agent, which has no configuration of the service beside it:
ServiceUrl = Annotated[
    str, typer.Option(envvar="ANSWERBACK_URL", help="The address of the service.")
]
SERVICE_URL: Final = "http://127.0.0.1:8420"
TokenEnv = Annotated[
    str, typer.Option(help="The environment variable that holds the agent's token.")
]
TOKEN_ENV: Final = "ANSWERBACK_TOKEN"
To = Annotated[
    str | None,
    typer.Option(help="Where to ask: a route, or a place such as `surface:channel`."),
]
Urgency = Annotated[
    Literal["low", "normal", "high"] | None,
    typer.Option(help="How urgent it is; by default as the route says, which may also limit it."),
]
NoUpload = Annotated[
    bool,
    typer.Option(
        "--no-upload",
        help="Upload no picture of the session's folder, whatever a question names.",
    ),
]
PassToken = Annotated[
    bool,
    typer.Option(
        "--pass-token",
        help="Let the program have the token too: its own hooks or its MCP server need it.",
    ),
]
