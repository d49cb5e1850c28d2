"""`answerback manifest`: an app manifest, ready to paste."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from answerback.cli.output import result
from answerback_slack.manifest import EXAMPLE_URL, as_yaml, manifest

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", help="App manifests, ready to paste."
)


class Mode(StrEnum):
    """How payloads come in."""

    SOCKET = "socket"
    HTTP = "http"


@app.callback()
def platforms() -> None:
    """App manifests, ready to paste."""


@app.command()
def slack(
    mode: Annotated[
        Mode, typer.Option(help="Over a socket (no public address needed), or to your own address.")
    ] = Mode.SOCKET,
    url: Annotated[
        str, typer.Option(help="With --mode http: your public address.", metavar="URL")
    ] = EXAMPLE_URL,
) -> None:
    """Print the manifest of the Slack app, as YAML.

    Paste it at https://api.slack.com/apps under *Create New App*, *From a manifest*.

    Example: `answerback manifest slack --mode socket`
    """
    result(as_yaml(manifest(mode.value, url)))
