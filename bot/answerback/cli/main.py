"""The command line: finds the commands, one module each, and reports errors as a sentence.

A command's module is imported when the command is called. It imports what its work needs inside its functions, because
importing the service would take too long for showing a command's help. Whatever this module imports delays every
command.
"""

from __future__ import annotations

import importlib
from typing import Annotated, Final

import typer
from typer._click import Command, Context, HelpFormatter, Parameter  # what its groups are made of
from typer.core import TyperCommand, TyperGroup, TyperOption

from answerback.cli.output import fail
from answerback_base.base_error import AnswerbackError
from answerback_base.install_extras import MCP, missing_extra_message
from answerback_base.interpreter_tuning import collect_rarely
from answerback_base.version import VERSION

GROUPS: Final = {
    "Start": {
        "demo": "Try the migration form in your browser, and see the tool result that an agent would get.",
        "serve": "Run the service.",
        "connect": "Connect an agent, so that its questions and permission prompts go to people.",
        "doctor": "Check tokens, scopes, channels, clock and database, and explain how to fix any problem.",
    },
    "Ask and answer": {
        "ask": "Ask a form's questions, wait for the answers, and print the tool result.",
        "answer": "Answer an ask in this terminal.",
        "list": "List the asks that are waiting for an answer, oldest first.",
        "show": "Show an ask and its record: what was asked, who answered what, and when.",
        "wait": "Wait until an ask has ended, and print the tool result.",
        "explain": "Answer a question that a person asked back; the explanation is shown below the agent's question.",
        "withdraw": "Withdraw an ask, so that nobody can answer it any more.",
    },
    "Try a form": {
        "check": "Check a form without a server, and list every error with its location.",
        "preview": "Show how each surface will render a form, without asking anyone or needing a service.",
    },
    "Who may ask and answer": {
        "token": "Manage tokens for agents and custom front ends.",
        "key": "Print the key that lets a person answer on the page and in the terminal.",
        "person": "Manage personal links, which let people answer on the page under their own names.",
        "grant": "List and revoke what people have allowed again for a while.",
    },
    "Operate": {
        "manifest": "Print an app manifest, ready to paste.",
        "copy": "Copy a database to another one: SQLite to PostgreSQL, or back.",
        "export": "Print everything as JSON lines: asks, their records, and webhook deliveries.",
        "erase": "Permanently erase what people and agents wrote in asks that have ended.",
        "receipts": "Manage the key that signs receipts.",
        "verify": "Check a receipt without a service, or the chain of receipts in the database.",
    },
    "Run by agents, editors and MCP clients": {
        "mcp": "Serve the tools to an MCP client over standard input and output.",
        "mcp-proxy": "Run an MCP server behind a gateway: people allow or deny the calls of its tools.",
        "acp": "Run an ACP agent for an editor; people can answer it in the editor or in chat.",
        "bridge": "Forward to people what an agent's server asks its client, and return their answers.",
        "hook": "Run by an agent's command hooks: read the event from standard input, ask, and print the answer.",
    },
}
"""The commands with the first sentence of their help, as they are grouped there; modules have ``_`` for ``-``."""

COMMANDS: Final = {name: text for group in GROUPS.values() for name, text in group.items()}


_NEEDS: Final = {"mcp": MCP}
"""The extra that a command needs."""

_HELP_NAMES: Final = ["-h", "--help"]


class _Commands(TyperGroup):
    """The commands by name; listing them does not import their modules."""

    _listing = False

    def list_commands(self, ctx: Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        if cmd_name not in COMMANDS:
            return None
        if self._listing:
            group = next(group for group, names in GROUPS.items() if cmd_name in names)
            return TyperCommand(cmd_name, help=COMMANDS[cmd_name], rich_help_panel=group)
        return load_command(cmd_name)

    def invoke(self, ctx: Context) -> object:
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # which is for programmers
            raise

    def get_params(self, ctx: Context) -> list[Parameter]:
        return _without_flag_types(super().get_params(ctx))

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        self._listing = True
        super().format_help(ctx, formatter)


def load_command(name: str) -> Command:
    """Load a command from its module: a function ``command``, or an ``app`` of several."""
    extra, packages = _NEEDS.get(name, ("", ()))
    if (sentence := missing_extra_message(extra, packages, f"`answerback {name}`")) is not None:
        fail(sentence)
    module = importlib.import_module(f"answerback.cli.{name.replace('-', '_')}")
    loaded = getattr(module, "app", None)
    if not isinstance(loaded, typer.Typer):
        loaded = typer.Typer(rich_markup_mode="markdown", add_completion=False)
        loaded.command(name)(module.command)
    command = typer.main.get_command(loaded)
    nested = command.commands.values() if isinstance(command, TyperGroup) else ()
    for each in (command, *nested):
        _without_flag_types(each.get_params(Context(each, help_option_names=_HELP_NAMES)))
    return command


def _without_flag_types(params: list[Parameter]) -> list[Parameter]:
    """Flags take no value, so their help shows no type."""
    for param in params:
        if isinstance(param, TyperOption) and param.is_bool_flag:
            param.metavar = ""
    return params


app = typer.Typer(
    cls=_Commands,
    name="answerback",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": _HELP_NAMES},
    help="A tool call in, a person's typed answers out.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from answerback.cli.installed_commit import installed_commit

        commit = installed_commit()
        print(VERSION if commit is None else f"{VERSION} ({commit})")
        raise typer.Exit


@app.callback()
def options(
    _version_wanted: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the version, and the commit where it is known.",
        ),
    ] = False,
) -> None:
    """A tool call in, a person's typed answers out."""


def main() -> None:
    """Run the program ``answerback``. Typer handles Ctrl-C and a closed output pipe."""
    collect_rarely()
    try:
        app()
    except AnswerbackError as error:
        fail(str(error))


if __name__ == "__main__":
    main()
