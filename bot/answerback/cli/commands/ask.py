"""The arguments and help of ``answerback ask``; `answerback.cli.ask` does the work."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback.cli.commands.options import Form, Json, Token, Url


def command(
    form: Form,
    to: Annotated[
        str | None,
        typer.Option(help="A route, or a place such as `surface:channel` or `surface:@user`."),
    ] = None,
    wait: Annotated[float, typer.Option(min=0, help="Seconds to wait for the answers.")] = 600,
    clarify: Annotated[
        bool, typer.Option("--clarify", help="Let people ask back before they answer.")
    ] = False,
    url: Url = None,
    token: Token = None,
    content: Annotated[
        bool, typer.Option("--content", help="Print only the text for the model.")
    ] = False,
    json: Json = False,
) -> None:
    """Ask a form's questions, wait for the answers, and print the tool result.

    Example: `answerback ask migration.json --to deploys --wait 900`

    Exits with 0 if answered, 2 if the form is invalid, 3 if cancelled, 4 if the turn ended, 5 if expired,
    6 if withdrawn, 7 if failed, 8 if nobody has answered yet, and 9 if somebody asked back: it then prints their
    question, which you answer with `answerback explain`. After 8 and 9 the ask stays open.
    """
    from answerback.cli import ask

    ask.run(form, to, wait, url, token, clarify=clarify, content=content, whole=json)
