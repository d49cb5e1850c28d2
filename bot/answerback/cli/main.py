"""The command line: finds the commands, one module each, and turns what goes wrong into a sentence.

A command's module, in `answerback.cli.commands`, is imported when the command is called, and what does its
work when it runs: importing the service takes longer than showing a command's help may. What this module itself
imports, every command waits for.
"""

from __future__ import annotations

import importlib
from typing import Annotated, Final

import typer
from typer._click import Command, Context, HelpFormatter  # what its groups are made of
from typer.core import TyperCommand, TyperGroup

from answerback.cli.output import fail
from answerback.core.base_error import AnswerbackError
from answerback.ports.install_extras import MCP, missing_extra_message
from answerback.version import VERSION

COMMANDS: Final = {
    "serve": "Run the service.",
    "demo": "Walk the migration form on a page of this machine, and see the tool result an agent would get.",
    "ask": "Ask a form's questions, wait for the answers, and print the tool result.",
    "answer": "Answer an ask in this terminal.",
    "list": "List the asks that wait for an answer, oldest first.",
    "show": "Show an ask and its record: what was asked, who answered what, and when.",
    "wait": "Wait until an ask has ended, and print the tool result.",
    "explain": "Explain what somebody asked back: it is shown below the question, which stays open.",
    "withdraw": "Withdraw an ask: nobody can answer it any more.",
    "check": "Check a form without a server: every mistake, with its place.",
    "preview": "Show how each surface will render a form; nobody is asked, and no service is needed.",
    "manifest": "App manifests, ready to paste.",
    "doctor": "Check tokens, scopes, channels, clock and database, and say how to fix what is wrong.",
    "copy": "Copy a database into another one: SQLite to PostgreSQL, or back.",
    "key": "Print the key with which a person answers on the page and in the terminal.",
    "person": "Personal links, with which people answer on the page under their own names.",
    "token": "Tokens for agents and custom front ends.",
    "export": "Print everything as JSON lines: asks, their records, the webhook deliveries.",
    "erase": "Erase what people and agents wrote in asks that have ended, for good.",
    "connect": "Connect an agent: what it asks, and what it wants to be allowed, goes to people.",
    "hook": "What an agent's command hooks run: reads the event from standard input, asks, and prints the answer.",
    "acp": "Run an agent that speaks ACP for an editor; what it asks, people answer in either place.",
    "bridge": "Put what an agent's own server asks its client to people, and give that server the answers.",
    "mcp": "Offer the tools to an MCP client over standard input and output.",
}
"""The commands in the order shown, each ``answerback.cli.commands.<name>``, and the first sentence of its help."""


_NEEDS: Final = {"mcp": MCP}
"""The extras that commands need."""


class _Commands(TyperGroup):
    """The commands by name; for the list of them, their names and sentences suffice."""

    _listing = False

    def list_commands(self, ctx: Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        if cmd_name not in COMMANDS:
            return None
        if self._listing:
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name])
        return load_command(cmd_name)

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        self._listing = True
        super().format_help(ctx, formatter)


def load_command(name: str) -> Command:
    """A command, from its module: a function ``command``, or an ``app`` of several."""
    extra, packages = _NEEDS.get(name, ("", ()))
    if (sentence := missing_extra_message(extra, packages, f"`answerback {name}`")) is not None:
        fail(sentence)
    module = importlib.import_module(f"answerback.cli.commands.{name}")
    several = getattr(module, "app", None)
    if isinstance(several, typer.Typer):
        return typer.main.get_command(several)
    alone = typer.Typer(rich_markup_mode="markdown", add_completion=False)
    alone.command(name)(module.command)
    return typer.main.get_command(alone)


app = typer.Typer(
    cls=_Commands,
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


def main() -> None:
    """The program ``answerback``. Ctrl-C and a reader of its output that hangs up are typer's to end it at."""
    try:
        app()
    except AnswerbackError as error:
        fail(str(error))


if __name__ == "__main__":
    main()
