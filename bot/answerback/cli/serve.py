"""``answerback serve``: runs the service."""

from __future__ import annotations

from typing import Annotated

import typer

from answerback_agents.cli.options import Config
from answerback_base.interpreter_tuning import gc_paused, share_one_heap


def command(
    config: Config = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Only check the configuration, and print a summary of it."),
    ] = False,
) -> None:
    """Run the service.

    Example: `answerback serve --config answerback.toml`

    The first line on standard output is the address: `listening on http://127.0.0.1:8420`.
    """
    share_one_heap()
    with gc_paused():
        from answerback.cli import serving

        serving.run(config, check=check)
