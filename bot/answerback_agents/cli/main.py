"""The command line: finds the commands, one module each, and reports errors as a sentence.

A command's module is imported when the command is called. It imports what its work needs inside its functions, because
importing the service would take too long for showing a command's help. Whatever this module imports delays every
command.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Annotated, Final

import typer
from typer._click import Command as LoadedCommand  # what its groups are made of
from typer._click import Context, HelpFormatter, Parameter
from typer.core import TyperCommand, TyperGroup, TyperOption

from answerback_agents.cli.command import COMMANDS, GROUPS, Command
from answerback_agents.cli.output import fail
from answerback_agents.cli.own_commands import OWN_COMMANDS
from answerback_base.base_error import AnswerbackError
from answerback_base.install_extras import missing_extra_message
from answerback_base.interpreter_tuning import collect_rarely
from answerback_base.version import VERSION

if TYPE_CHECKING:
    from answerback_base.entry_points import Discovered

_HELP_NAMES: Final = ["-h", "--help"]
_OWN: Final = {command.typed: command for command in OWN_COMMANDS}


@cache
def installed_commands() -> Discovered[Command]:
    """Return the commands that distributions add, the service's among them; discovered once."""
    # Not above: a hook runs hundreds of times a day, and needs none of these.
    from answerback_base.entry_points import discover, entry_points

    return discover(entry_points(group=COMMANDS), "command", _accept)


def _accept(loaded: object) -> Command:
    from answerback_base.entry_points import UnusablePluginError

    if not isinstance(loaded, Command):
        raise UnusablePluginError("is not an answerback_agents.cli.command.Command")
    if loaded.typed in _OWN:
        raise UnusablePluginError(f"has the name of another command, {loaded.typed}")
    return loaded


def all_commands() -> dict[str, Command]:
    """Return every command by what people type, in the order of the list."""
    found = [*_OWN.values(), *installed_commands().usable.values()]
    groups = [*GROUPS, *sorted({each.group for each in found}.difference(GROUPS))]
    found.sort(key=lambda each: (groups.index(each.group), each.order, each.name))
    return {each.typed: each for each in found}


def _installed_command(name: str) -> Command | None:
    """Return a command of another distribution; ends the program if it is broken."""
    installed, entry = installed_commands(), name.replace("-", "_")
    if entry in installed.broken:
        fail(f"{installed.broken[entry]}.")
    return installed.usable.get(entry)


class _Commands(TyperGroup):
    """The commands by name; listing them does not import their modules."""

    _listing = False

    def list_commands(self, ctx: Context) -> list[str]:
        return list(all_commands())

    def get_command(self, ctx: Context, cmd_name: str) -> LoadedCommand | None:
        found = _OWN.get(cmd_name) or _installed_command(cmd_name)
        if found is None:
            return None
        if self._listing:
            return TyperCommand(cmd_name, help=found.help, rich_help_panel=found.group)
        return load_command(found)

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


def load_command(command: Command) -> LoadedCommand:
    """Load a command from its module: a function ``command``, or an ``app`` of several."""
    extra, packages = command.extra
    named = f"`answerback {command.typed}`"
    if (sentence := missing_extra_message(extra, packages, named)) is not None:
        fail(sentence)
    module = importlib.import_module(command.module)
    loaded = getattr(module, "app", None)
    if not isinstance(loaded, typer.Typer):
        loaded = typer.Typer(rich_markup_mode="markdown", add_completion=False)
        loaded.command(command.typed)(module.command)
    made = typer.main.get_command(loaded)
    nested = made.commands.values() if isinstance(made, TyperGroup) else ()
    for each in (made, *nested):
        _without_flag_types(each.get_params(Context(each, help_option_names=_HELP_NAMES)))
    return made


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
        from answerback_agents.cli.installed_commit import installed_commit

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
