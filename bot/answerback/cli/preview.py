"""``answerback preview``: shows how each surface renders a form."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from answerback_agents.cli.options import Form
from answerback_agents.cli.output import EXIT_USAGE, print_json, warn

if TYPE_CHECKING:
    from answerback.runtime.plugins import Plugin

_TERMINAL: Final = "terminal"


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
    """Show how each surface will render a form, without asking anyone or needing a service.

    Example: `answerback preview migration.json --html preview.html`

    Exits with 2 if the form is invalid.
    """
    from answerback.cli.form_problems import format_problems
    from answerback.cli.previews import preview_form, write_page
    from answerback.core.errors import InvalidCallError
    from answerback.runtime.config_file import load_settings
    from answerback.service.submission_request import read_submission
    from answerback_agents.cli.form_files import read_call

    labels = load_settings().labels
    plugin = None if surface == _TERMINAL else _preview_plugin(surface)
    try:
        previewed = preview_form(read_submission(read_call(form)))
    except InvalidCallError as error:
        for line in format_problems(error.problems):
            warn(line)
        sys.exit(EXIT_USAGE)
    if html is not None or open_page:
        write_page(form, previewed, labels, html, open_page=open_page)
    elif plugin is None:
        from answerback.cli.terminal.prompt import TerminalPrompter
        from answerback.service.ask_wire import ask_json

        prompting = TerminalPrompter(labels)
        for ask in previewed.asks:
            prompting.show(ask_json(ask))
    else:
        previews = [plugin.preview(ask, labels) for ask in previewed.asks]
        print_json([each.payload for each in previews if each is not None])


def _preview_plugin(name: str) -> Plugin:
    """The plug-in of a surface, which must support previews."""
    from answerback.ports.plugin import SurfacePlugin
    from answerback.runtime.plugins import installed_plugins

    able = {
        plugin.name: plugin
        for plugin in installed_plugins()
        if type(plugin).preview is not SurfacePlugin.preview
    }
    if name not in able:
        available = ", ".join([_TERMINAL, *able])
        raise typer.BadParameter(
            f"there is no preview for {name!r}. Choose one of: {available}.", param_hint="--surface"
        )
    return able[name]
