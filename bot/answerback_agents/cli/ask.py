"""``answerback ask``: submits a form from a shell, waits, and prints the tool result."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback_agents.cli.options import Content, Form, Json, Token, Urgency, Url, Wait


def command(
    form: Form,
    to: Annotated[
        str | None,
        typer.Option(help="A route, or a place such as `surface:channel` or `surface:@user`."),
    ] = None,
    wait: Wait = 600,
    clarify: Annotated[
        bool, typer.Option("--clarify", help="Let people ask back before they answer.")
    ] = False,
    urgency: Urgency = None,
    url: Url = None,
    token: Token = None,
    content: Content = False,
    json: Json = False,
) -> None:
    """Ask a form's questions, wait for the answers, and print the tool result.

    Example: `answerback ask migration.json --to deploys --wait 900`

    Exits with 0 if answered, 2 if the form is invalid, 3 if cancelled, 4 if the turn ended, 5 if expired,
    6 if withdrawn, 7 if failed, 8 if nobody has answered yet, and 9 if a person asked back: it then prints their
    question, which you answer with `answerback explain`. After 8 and 9 the ask stays open.
    """
    import asyncio

    from answerback_agents.cli.ask_and_wait import ask_and_wait
    from answerback_agents.cli.ask_output import exit_with
    from answerback_agents.cli.form_files import read_call
    from answerback_agents.cli.service_address import resolve_url

    call = read_call(form)
    if to is not None:
        call["to"] = to
    if urgency is not None:
        call["urgency"] = urgency
    if clarify:
        call["accepts"] = ["clarify"]
    ask = asyncio.run(ask_and_wait(resolve_url(url), token, call, wait))
    exit_with(ask, content=content, whole=json)
