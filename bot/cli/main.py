"""The command line: assembles the commands, one module each, and turns what goes wrong into a sentence."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from bot.cli import answer, ask, check, demo, mcp, serve, token
from bot.cli.output import fail
from bot.errors import AnswerbackError
from bot.version import VERSION

app = typer.Typer(
    name="answerback",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="A tool call in, a person's typed answers out.",
)


def _version(wanted: bool) -> None:
    if wanted:
        print(VERSION)
        raise typer.Exit


@app.callback()
def options(
    _version_wanted: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A tool call in, a person's typed answers out."""


for module in (serve, demo, ask, answer, check, mcp):
    app.command(module.__name__.rpartition(".")[2])(module.command)
app.add_typer(token.app, name="token")


def main() -> None:
    """The program ``answerback``."""
    try:
        app()
    except AnswerbackError as error:
        fail(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output has gone: nothing is left to be said.
        sys.stderr.close()
        sys.exit(141)


if __name__ == "__main__":
    main()
