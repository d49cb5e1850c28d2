"""The arguments and help of ``answerback demo``; `answerback.cli.demo` does the work."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    browser: Annotated[
        bool,
        typer.Option("--browser/--no-browser", help="Open the page in a browser, if there is one."),
    ] = True,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="The port of the page; by default 8420, or a free port if that is in use.",
        ),
    ] = None,
) -> None:
    """Try the migration form in your browser, and see the tool result that an agent would get.

    Example: `answerback demo --no-browser`

    Needs no token and no configuration. Everything is kept in a temporary folder, which is deleted at the end.
    """
    from answerback.cli import demo

    demo.run(port, browser=browser)
