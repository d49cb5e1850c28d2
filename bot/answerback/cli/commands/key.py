"""``answerback key``: the person's key, with which people answer on the page and in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import typer

from answerback.cli.commands.options import Config
from answerback.cli.output import fail, print_result, say

if TYPE_CHECKING:
    from answerback_storage.person_key_file import PersonKeyFile

app: Final = typer.Typer(
    rich_markup_mode="markdown",
    help="Print the key with which a person answers on the page and in the terminal.",
)


@app.callback(invoke_without_command=True)
def key(context: typer.Context, config: Config = None) -> None:
    """Print the key with which a person answers on the page and in the terminal.

    Example: `answerback key`

    Run it where the service runs, as the service's user. Give the key to nobody who must not answer, and never to
    an agent.
    """
    if context.invoked_subcommand is not None:
        return
    file = _file(config)
    found = file.read()
    if found is None:
        fail(
            f"There is no key at {file.path.absolute()}. `answerback serve` makes it when it starts; run this in "
            "the service's folder, or name its configuration with --config."
        )
    print_result(found)


@app.command()
def rotate(config: Config = None) -> None:
    """Replace the key by a new one, and print that. The old key stops working at once.

    Example: `answerback key rotate`

    A running service takes the new key up by itself. Pages that were opened with the old key ask for the new one.
    """
    file = _file(config)
    if file.read() is None:
        fail(
            f"There is no key at {file.path.absolute()} to replace. Run this in the service's folder, or name its "
            "configuration with --config."
        )
    print_result(file.rotate())
    say("The old key no longer works.")


def _file(config: Path | None) -> PersonKeyFile:
    from answerback.runtime.config_file import load_settings
    from answerback_storage.person_key_file import PersonKeyFile

    return PersonKeyFile(load_settings(config).storage.sqlite_path)
