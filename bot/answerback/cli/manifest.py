"""``answerback manifest``: prints an app manifest; one command for each surface that has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from answerback.ports.plugin import Manifest
from answerback.runtime.plugins import installed_plugins
from answerback_agents.cli.output import print_result

app = typer.Typer(no_args_is_help=True, rich_markup_mode="markdown")


@app.callback()
def platforms() -> None:
    """Print an app manifest, ready to paste."""


def _command(manifest: Manifest) -> Callable[[str, str], None]:
    def command(
        mode: Annotated[
            str,
            typer.Option(
                help="How payloads arrive: `socket` needs no public address, `http` needs one."
            ),
        ] = manifest.modes[0],
        url: Annotated[
            str, typer.Option(help="With --mode http: your public address.", metavar="URL")
        ] = manifest.example_url,
    ) -> None:
        if mode not in manifest.modes:
            raise typer.BadParameter(
                f"{mode!r} is not one of {', '.join(manifest.modes)}.", param_hint="--mode"
            )
        print_result(manifest.make(mode, url))

    return command


for _plugin in installed_plugins():
    if (_manifest := _plugin.manifest()) is not None:
        app.command(_plugin.name, help=_manifest.help)(_command(_manifest))
