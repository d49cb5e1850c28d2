"""``answerback hook``: reads an event on standard input, and writes the host's answer to standard output.

All hosts take an answer in JSON with the exit status 0. The exit status 2 refuses what an event is about, where the
event cannot be read. After any other status, most hosts continue as if there were no hook.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from enum import StrEnum
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from answerback_agents.cli.options import (
    SERVICE_URL,
    TOKEN_ENV,
    NoUpload,
    ServiceUrl,
    To,
    TokenEnv,
    Urgency,
)
from answerback_agents.cli.output import print_verbatim
from answerback_base.hosts import hosts_with

if TYPE_CHECKING:
    from answerback_agents.pipe.exchange import Answer

_EXIT_REFUSED: Final = 2
_MAX_EVENT: Final = 64 * 2**20
"""Bytes of an event."""
_GRACE: Final = 20.0
"""Seconds after the end of the wait within which the service has to say how it ended."""


class _OverdueError(Exception):
    """The service sends its answer too slowly, or without an end."""


if TYPE_CHECKING:
    Agent = str
else:
    Agent = StrEnum("Agent", {name.upper(): name for name in hosts_with("answers")})
    """The agents that run hooks as commands."""


def command(
    agent: Annotated[Agent, typer.Argument(help="The agent that runs the hook.")],
    url: ServiceUrl = SERVICE_URL,
    token_env: TokenEnv = TOKEN_ENV,
    to: To = None,
    wait: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds to wait; must be less than the agent waits for its hook."
        ),
    ] = 86_000,
    urgency: Urgency = None,
    no_upload: NoUpload = False,
) -> None:
    """Run by an agent's command hooks: read the event from standard input, ask, and print the answer.

    Example, as `answerback connect codex` writes it: `answerback hook codex`

    If an event asks nothing, the answer only delivers late answers, to agents that support it.
    """
    from answerback_agents.pipe.exchange import answer_event, decides
    from answerback_client.blocking_connection import BlockingConnection, DeliveryReceipt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    raw = sys.stdin.buffer.read(_MAX_EVENT + 1)
    event = _parse_event(raw)
    if event is None:
        _warn(
            "standard input is not a hook event. This command is for agents to run: "
            f"`answerback connect {agent}` sets it up."
        )
        sys.exit(_EXIT_REFUSED)
    receipt = DeliveryReceipt()
    token = os.environ.get(token_env) or None
    service = BlockingConnection(url.rstrip("/"), token, token_env, receipt)
    threading.Thread(target=_follow_host, daemon=True).start()
    signal.signal(signal.SIGALRM, _overdue)
    signal.setitimer(signal.ITIMER_REAL, _GRACE + (wait if decides(agent, event) else 0))
    answer = answer_event(
        agent, event, service, to, wait, raw=raw, urgency=urgency, uploads=not no_upload
    )
    signal.setitimer(signal.ITIMER_REAL, 0)  # the time is no longer up in the middle of the answer
    _print(answer)
    receipt.confirm()  # only now: until it is printed, the service counts it as undelivered
    _remove_old_files()


def _remove_old_files() -> None:
    """Remove files of earlier conversations, if there are any; loads nothing where there are none."""
    from answerback_agents.pipe.state_folder import state_folder

    if (state_folder() / "files").is_dir():
        from answerback_agents.pipe.saved_files import remove_old_files

        remove_old_files()


def _parse_event(raw: bytes) -> dict[str, Any] | None:
    from answerback_base.strict_json import load_with_numbers

    try:
        event = load_with_numbers(raw) if len(raw) <= _MAX_EVENT else None
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _print(answer: Answer) -> None:
    if answer.warning is not None:
        _warn(f"cannot look up late answers: {answer.warning}")
    if (text := answer.printed()) is not None:
        print_verbatim(text)


def _warn(text: str) -> None:
    print(f"answerback hook: {text}", file=sys.stderr)


def _follow_host() -> None:
    """End this process with its host: hooks that outlive a killed host would take the answer."""
    host = select.poll()
    # A closed read end is reported even with no events selected.
    host.register(sys.stdout.fileno(), 0)
    host.poll()
    os.kill(os.getpid(), signal.SIGHUP)


def _stop(number: int, _frame: FrameType | None) -> None:
    """End the process: its connection ends with it, and the service withdraws a permission prompt then."""
    sys.exit(128 + number)


def _overdue(_number: int, _frame: FrameType | None) -> None:
    raise _OverdueError("Answerback did not answer in time.")
