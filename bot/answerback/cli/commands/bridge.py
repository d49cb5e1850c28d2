"""``answerback bridge``: its arguments and its help; `answerback.cli.bridge` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    help="Put what an agent's own server asks its client to people, and give that server the answers.",
)

_Url = Annotated[str, typer.Option(envvar="ANSWERBACK_URL", help="Where Answerback listens.")]
_TokenEnv = Annotated[
    str, typer.Option(help="The environment variable with the agent's token for Answerback.")
]
_To = Annotated[str | None, typer.Option(help="Where to ask: a route or a place.")]
_URL = "http://127.0.0.1:8420"
_TOKEN_ENV = "ANSWERBACK_TOKEN"


@app.callback()
def agents() -> None:
    """Put what an agent's own server asks its client to people, and give that server the answers."""


@app.command("opencode")
def opencode(
    server: Annotated[str, typer.Argument(metavar="URL", help="Where `opencode serve` listens.")],
    url: _Url = _URL,
    token_env: _TokenEnv = _TOKEN_ENV,
    to: _To = None,
    directory: Annotated[
        str | None, typer.Option(help="The project's folder; without it the server's own.")
    ] = None,
    password_env: Annotated[
        str,
        typer.Option(help="The environment variable with the server's password, if it has one."),
    ] = "OPENCODE_SERVER_PASSWORD",
) -> None:
    """Put the questions and permission prompts of a running opencode server to people.

    Example: `answerback bridge opencode http://127.0.0.1:4096 --to deploys`

    What is answered in opencode's own window first is withdrawn. It runs until you stop it; started again, it asks
    nothing twice.
    """
    from answerback.cli import bridge

    bridge.opencode(server, url, token_env, to, directory, password_env)


@app.command("codex", context_settings={"ignore_unknown_options": True})
def codex(
    command: Annotated[
        list[str] | None,
        typer.Argument(help="What starts the app server; without it `codex app-server`."),
    ] = None,
    url: _Url = _URL,
    token_env: _TokenEnv = _TOKEN_ENV,
    to: _To = None,
) -> None:
    """Stand between a client and `codex app-server`: the client starts this command instead.

    Example, in place of `codex app-server`: `answerback bridge codex --to deploys -- codex app-server`

    Questions, approvals and elicitations go to people; everything else passes through.
    """
    from answerback.cli import bridge

    bridge.codex(command or ["codex", "app-server"], url, token_env, to)
