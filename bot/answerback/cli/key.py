"""``answerback key``: the person's key, which lets people answer on the page and in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from answerback_agents.cli.options import Config
from answerback_agents.cli.output import fail, print_result, say

if TYPE_CHECKING:
    from answerback_storage.person_key_file import PersonKeyFile

app: Final = typer.Typer(rich_markup_mode="markdown")


@app.callback(invoke_without_command=True)
def key(context: typer.Context, config: Config = None) -> None:
    """Print the key that lets a person answer on the page and in the terminal.

    Example: `answerback key`

    Run this in the service's folder as the service's user. Only share the key with people who may answer, and never
    with an agent.
    """
    if context.invoked_subcommand is not None:
        return
    file = _file(config)
    current = file.read()
    if current is None:
        fail(
            f"There is no key at {file.path.absolute()}. `answerback serve` creates one when it starts. Run this in "
            "the service's folder, or name its configuration file with --config."
        )
    print_result(current)


@app.command()
def rotate(config: Config = None) -> None:
    """Replace the key with a new one, and print it. The old key stops working at once.

    Example: `answerback key rotate`

    A running service picks up the new key automatically. Pages opened with the old key ask for the new one.
    """
    file = _file(config)
    if file.read() is None:
        fail(
            f"There is no key at {file.path.absolute()} to replace. Run this in the service's folder, or name its "
            "configuration file with --config."
        )
    print_result(file.rotate())
    say("The old key no longer works.")


def _file(config: Path | None) -> PersonKeyFile:
    from answerback.runtime.config_file import load_settings
    from answerback_storage.person_key_file import PersonKeyFile

    return PersonKeyFile(load_settings(config).storage.file)
