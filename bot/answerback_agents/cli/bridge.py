"""``answerback bridge``: connects an agent's server with people until it is stopped.

Each host that has a server has the command that follows it in its part `bridge`.
"""

from __future__ import annotations

import typer

from answerback_base.hosts import load_parts

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    help="Forward to people what an agent's server asks its client, and return their answers.",
)
for _name, _part in load_parts("bridge").items():
    _settings = {"ignore_unknown_options": True} if _part.BRIDGE.starts_program else None
    app.command(_name, context_settings=_settings)(_part.BRIDGE.run)
