"""The arguments and help of ``answerback preview``; `answerback.cli.preview` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from answerback.cli.commands.options import Form


def command(
    form: Form,
    surface: Annotated[
        str,
        typer.Option(
            help="`terminal`, or the name of a surface, to print the JSON that is sent to it."
        ),
    ] = "terminal",
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write a page that shows each surface's rendering and JSON to this file."
        ),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open that page in the browser.")
    ] = False,
) -> None:
    """Show how each surface will render a form, without asking anybody or needing a service.

    Example: `answerback preview migration.json --html preview.html`

    Exits with 2 if the form is invalid.
    """
    from answerback.cli import preview

    preview.run(form, surface, html, open_page=open_page)
