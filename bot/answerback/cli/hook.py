"""The work of ``answerback hook``: reads an event on standard input, and writes the host's answer to standard output.

All hosts take an answer in JSON with the exit status 0. After any other status, most of them continue as if there were
no hook.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import threading
from types import FrameType
from typing import Final

from answerback.agents.command_hooks.ask_people import AskClient, RefusedError
from answerback.agents.command_hooks.delivery_receipts import DeliveryReceipt
from answerback.agents.command_hooks.run import handle_event

_EXIT_NO_EVENT: Final = 1


def run(agent: str, url: str, token_env: str, to: str | None, wait: float) -> None:
    """Read the event, ask, wait, and print the answer."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        event = json.loads(sys.stdin.buffer.read())
    except ValueError:
        event = None
    if not isinstance(event, dict):
        _warn(
            "standard input is not a hook event. This command is for agents to run: "
            f"`answerback connect {agent}` sets it up."
        )
        sys.exit(_EXIT_NO_EVENT)
    receipt = DeliveryReceipt()
    token = os.environ.get(token_env) or None
    people = AskClient(url.rstrip("/"), token, to, wait, receipt=receipt, token_env=token_env)
    threading.Thread(target=_follow_host, daemon=True).start()
    try:
        answer = handle_event(agent, event, people)
    except RefusedError as error:
        # A hook that has to decide answers with these words itself. Only late answers are left for the next event.
        _warn(f"cannot look up late answers: {error}")
        answer = None
    if answer is not None:
        print(json.dumps(answer), flush=True)
    receipt.confirm()


def _warn(words: str) -> None:
    print(f"answerback hook: {words}", file=sys.stderr)


def _follow_host() -> None:
    """End this process with its host: hooks that outlive a killed host would take the answer."""
    host = select.poll()
    host.register(
        sys.stdout.fileno(), 0
    )  # a closed read end is reported even with no events selected
    host.poll()
    os.kill(os.getpid(), signal.SIGHUP)


def _stop(number: int, _frame: FrameType | None) -> None:
    """End the process with an exception, so that pending asks are withdrawn."""
    sys.exit(128 + number)
