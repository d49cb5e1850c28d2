"""``answerback demo``: its arguments and its help; `answerback.cli.demo` does the work."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    browser: Annotated[
        bool,
        typer.Option("--browser/--no-browser", help="Open the page in a browser, if there is one."),
    ] = True,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="By default 8420, or a free one.")
    ] = None,
) -> None:
    """Walk the migration form on a page of this machine, and see the tool result an agent would get.

    Example: `answerback demo --no-browser`

    Needs no token and no configuration. Everything is in a temporary folder, gone afterwards.
    """
    from answerback.cli import demo

    demo.run(port, browser=browser)
