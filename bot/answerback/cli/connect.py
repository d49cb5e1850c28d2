"""``answerback connect`` at work: writes an agent's own configuration, so that what it asks goes to people."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import typer

from answerback.agents.connect.change_plan import Change, Target
from answerback.agents.connect.known_agents import (
    AGENTS,
    DEFAULT_TOKEN_ENV,
    NAME,
    ConnectableAgent,
    Scope,
    ServiceConnection,
)
from answerback.cli.output import fail, print_result, say
from answerback.cli.service_address import resolve_url
from answerback_chat.sanitize import visible

_EXIT_USAGE: Final = 2
_HEADER: Final = " --header 'Authorization: Bearer ${{{}}}'"
"""An option of `claude mcp add`, which stores the name of the variable."""


def run(
    agent: str,
    url: str | None,
    token_env: str | None,
    *,
    project: bool,
    user: bool,
    only_print: bool,
    remove: bool,
    yes: bool,
) -> None:
    """Shows, asks, writes and says what is left to do."""
    if project and user:
        fail("Choose --project or --user, not both.", _EXIT_USAGE)
    known = AGENTS[agent]
    scope = _scope(known, project=project, user=user)
    if scope not in known.places and not only_print:
        fail(known.hints[scope], _EXIT_USAGE)
    service = _service(url, token_env, scope)
    targets = known.targets(scope if scope in known.places else Scope.PROJECT, service, Path.cwd())
    if only_print:
        for target in targets:
            say(f"In {target.file.path}:")
            print_result(target.render_entries().rstrip("\n"))
        return
    changes = [target.plan_disconnect() if remove else target.plan_connect() for target in targets]
    if all(change.before == change.after for change in changes):
        say(f"{known.title} is {'not ' if remove else ''}connected already: nothing to change.")
    else:
        _write(targets, changes, remove=remove, yes=yes)
    if not remove:
        _tell(known, service)


def _scope(known: ConnectableAgent, *, project: bool, user: bool) -> Scope:
    if project or (not user and Scope.USER not in known.places):
        return Scope.PROJECT
    return Scope.USER


def _service(url: str | None, token_env: str | None, scope: Scope) -> ServiceConnection:
    if token_env is None and os.environ.get(DEFAULT_TOKEN_ENV):
        token_env = DEFAULT_TOKEN_ENV
    # A project's files are shared: there the program is found by its name.
    beside = Path(sys.executable).with_name(NAME)
    own = scope is Scope.USER and beside.exists()
    program = str(beside) if own else NAME
    return ServiceConnection(url=resolve_url(url), token_env=token_env, program=program)


def _write(
    targets: Sequence[Target], changes: Sequence[Change], *, remove: bool, yes: bool
) -> None:
    for target, change in zip(targets, changes, strict=True):
        print(visible(target.diff(change)), end="", flush=True)
    if not yes:
        if not sys.stdin.isatty():
            fail("Nothing is changed: there is no terminal to ask at. Add --yes.", _EXIT_USAGE)
        if not typer.confirm("Change this?", err=True):
            fail("Nothing is changed.")
    for target, change in zip(targets, changes, strict=True):
        path = target.file.path
        if remove:
            target.disconnect(change)
            if change.after is not None and target.file.read_backup() is not None:
                say(f"{path} was edited since; what it was before is in {target.file.backup}.")
        else:
            target.connect(change)
            if target.file.read_backup() is not None:
                say(f"{path} is changed; what it was before is in {target.file.backup}.")
    say("Disconnected." if remove else "Connected.")


def _tell(known: ConnectableAgent, service: ServiceConnection) -> None:
    if service.token_env is None:
        say(
            f"No token is sent. If your service has tokens, repeat this with --token-env {DEFAULT_TOKEN_ENV}, "
            "and set that variable where the agent starts."
        )
    elif not os.environ.get(service.token_env):
        say(f"Set {service.token_env} to the agent's token where the agent starts.")
    header = "" if service.token_env is None else _HEADER.format(service.token_env)
    say("What is left to do:")
    for sentence in known.next_steps:
        say(f"- {sentence.format(url=service.url, header=header)}")
    say(f"What does not work with {known.title}:")
    for sentence in known.limitations:
        say(f"- {sentence}")
