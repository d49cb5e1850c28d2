"""``answerback preview``: its arguments and its help; `answerback.cli.preview` does the work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from answerback.cli.commands.options import Form


def command(
    form: Form,
    surface: Annotated[
        str, typer.Option(help="A surface's name prints the JSON that is sent there.")
    ] = "terminal",
    html: Annotated[
        Path | None, typer.Option(help="Write a page with each surface's look and the JSON.")
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open that page in the browser.")
    ] = False,
) -> None:
    """Show how each surface will render a form; nobody is asked, and no service is needed.

    Example: `answerback preview migration.json --html preview.html`

    Exits with 2 when the form cannot be asked.
    """
    from answerback.cli import preview

    preview.run(form, surface, html, open_page=open_page)
