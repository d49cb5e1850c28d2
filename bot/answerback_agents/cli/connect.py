"""``answerback connect``: changes an agent's configuration so that its questions go to people."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from answerback_agents.cli.options import NoUpload, Urgency, Url, Yes
from answerback_agents.cli.output import (
    EXIT_USAGE,
    confirm,
    fail,
    print_result,
    print_verbatim,
    say,
)
from answerback_agents.cli.service_address import answers
from answerback_agents.connect.change_plan import Change, Target
from answerback_agents.connect.connectable_agent import (
    DEFAULT_TOKEN_ENV,
    ConnectableAgent,
    Scope,
    ServiceConnection,
)
from answerback_agents.connect.known_agents import AGENTS
from answerback_agents.connect.settings_entries import NAME
from answerback_base.sanitize import visible

if TYPE_CHECKING:
    Agent = str
else:
    Agent = StrEnum("Agent", {name.upper(): name for name in AGENTS})


def command(
    agent: Annotated[Agent, typer.Argument(help="The agent to connect.")],
    scope: Annotated[
        Scope | None,
        typer.Option(
            help="Change your own configuration, for all projects (the default), or that of the project in this folder."
        ),
    ] = None,
    only_print: Annotated[
        bool, typer.Option("--print", help="Print what to paste, and change nothing.")
    ] = False,
    remove: Annotated[
        bool, typer.Option("--remove", help="Disconnect: remove what was added, and nothing else.")
    ] = False,
    yes: Yes = False,
    sign_in: Annotated[
        bool,
        typer.Option(
            "--sign-in", help="Get the agent a token of its own, which you approve by a code."
        ),
    ] = False,
    url: Url = None,
    token_env: Annotated[
        str | None,
        typer.Option(
            help="The environment variable that holds the token, if the service uses tokens."
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(
            help="Where to ask if the model does not say: a route, or a place such as `surface:channel`."
        ),
    ] = None,
    urgency: Urgency = None,
    no_upload: NoUpload = False,
) -> None:
    """Connect an agent, so that its questions and permission prompts go to people.

    Example: `answerback connect codex`

    Shows the change and asks for confirmation first. Keeps a copy of the file next to it; `--remove` undoes the
    change. To change the address or the token variable later, repeat it with the new `--url` or `--token-env`.
    """
    known = AGENTS[str(agent)]
    if scope is None:
        scope = Scope.USER if Scope.USER in known.places else Scope.PROJECT
    if scope not in known.places and not only_print:
        fail(known.hints[scope], EXIT_USAGE)
    if sign_in and (remove or only_print):
        fail("--sign-in goes with neither --remove nor --print.", EXIT_USAGE)
    service = replace(
        _service(url, token_env, scope, to, urgency, sign_in=sign_in), uploads=not no_upload
    )
    targets = known.targets(
        scope if scope in known.places else next(iter(known.places)), service, Path.cwd()
    )
    if only_print:
        for target in targets:
            say(f"In {target.file.path}:")
            print_result(target.render_entries().rstrip("\n"))
        return
    changes = [target.plan_disconnect() if remove else target.plan_connect() for target in targets]
    if all(change.before == change.after for change in changes):
        if remove:
            for target, change in zip(targets, changes, strict=True):
                # The entries were removed by hand: their copy has no use any more.
                target.disconnect(change)
        token_file = _sign_in(known, service) if sign_in else None
        say(
            f"{known.title} is {'not connected' if remove else 'already connected'}. There is nothing to change."
        )
    else:
        _show(targets, changes, yes=yes)
        # Before anything is written: without a token, the agent would reach nobody.
        token_file = _sign_in(known, service) if sign_in else None
        _write(targets, changes, remove=remove)
    if remove:
        return
    _print_state(service)
    _print_next_steps(known, service, token_file)


def _sign_in(known: ConnectableAgent, service: ServiceConnection) -> Path:
    """Get a token, and return the file that has it."""
    from answerback_agents.cli import sign_in

    token = sign_in.sign_in(service.url, known.title)
    return sign_in.save_token(service.url, str(service.token_env), token)


def _service(
    url: str | None,
    token_env: str | None,
    scope: Scope,
    to: str | None,
    urgency: str | None,
    *,
    sign_in: bool,
) -> ServiceConnection:
    from answerback_agents.cli.service_address import resolve_url

    if token_env is None and (sign_in or os.environ.get(DEFAULT_TOKEN_ENV)):
        token_env = DEFAULT_TOKEN_ENV
    # A project's files are shared between machines, so they name the program without its path.
    sibling = Path(sys.executable).with_name(NAME)
    use_full_path = scope is Scope.USER and sibling.exists()
    program = str(sibling) if use_full_path else NAME
    address = resolve_url(url)
    if sign_in:
        from answerback_agents.cli.sign_in import check_address

        check_address(address)
    return ServiceConnection(
        url=address, token_env=token_env, to=to, urgency=urgency, program=program
    )


def _show(targets: Sequence[Target], changes: Sequence[Change], *, yes: bool) -> None:
    """Show the changes, and end the command if they are not wanted."""
    for target, change in zip(targets, changes, strict=True):
        if diff := target.diff(change):
            print_verbatim(visible(diff).removesuffix("\n"))
    if not yes:
        confirm("Make this change?", "Nothing was changed")


def _write(targets: Sequence[Target], changes: Sequence[Change], *, remove: bool) -> None:
    for target, change in zip(targets, changes, strict=True):
        path = target.file.path
        if remove:
            target.disconnect(change)
            if target.file.read_backup() is not None:
                is_left = change.after is not None
                how = "was edited or written by hand" if is_left else "is gone"
                say(f"{path} {how}. Its original content is in {target.file.backup}.")
        else:
            target.connect(change)
            if target.file.read_backup() is not None:
                say(f"Changed {path}. Its original content is in {target.file.backup}.")
    say("Disconnected." if remove else "Connected.")


def _print_state(service: ServiceConnection) -> None:
    """Say whether the service that the agent will call answers now."""
    if answers(service.url):
        say(f"The service answers at {service.url}.")
    else:
        say(
            f"No service answers at {service.url} yet. Start it with `answerback serve` before you use the agent, or "
            "repeat this command with the right --url."
        )


def _print_next_steps(
    known: ConnectableAgent, service: ServiceConnection, token_file: Path | None
) -> None:
    if token_file is not None:
        say(f"Signed in. The token is in {token_file}, which only you can read.")
        say(f"Load it before you start the agent, or in your shell's profile: . {token_file}")
    elif service.token_env is None:
        say(
            f"The agent will send no token. If your service uses tokens, repeat this command with --token-env "
            f"{DEFAULT_TOKEN_ENV}, and set that variable in the agent's environment."
        )
    elif not os.environ.get(service.token_env):
        say(f"Set {service.token_env} to the agent's token in the agent's environment.")
    header = "" if service.token_env is None else known.token_option.format(service.token_env)
    say("Next steps:")
    for sentence in known.next_steps:
        step = sentence.format(
            title=known.title, url=service.url, header=header, program=service.program
        )
        say(f"- {step}")
    say(f"Limitations with {known.title}:")
    for sentence in known.limitations:
        say(f"- {sentence}")
