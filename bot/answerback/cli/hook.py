"""``answerback hook`` at work: an event on standard input, the host's answer on standard output.

All hosts take an answer in JSON with the exit status 0. After another status most of them go on as if there were no
hook.
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
    """Reads, asks, waits and prints."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    try:
        event = json.loads(sys.stdin.buffer.read())
    except ValueError:
        event = None
    if not isinstance(event, dict):
        _warn(
            "standard input is not the event of a hook. Agents run this command: "
            f"`answerback connect {agent}` sets it up."
        )
        sys.exit(_EXIT_NO_EVENT)
    receipt = DeliveryReceipt()
    token = os.environ.get(token_env) or None
    people = AskClient(url.rstrip("/"), token, to, wait, receipt=receipt, token_env=token_env)
    threading.Thread(target=_follow_host, daemon=True).start()
    try:
        found = handle_event(agent, event, people)
    except RefusedError as error:
        # A hook that has to decide answers with these words: only what came late is left for the next event.
        _warn(f"late answers cannot be looked up: {error}")
        found = None
    if found is not None:
        print(json.dumps(found), flush=True)
    receipt.confirm()


def _warn(words: str) -> None:
    print(f"answerback hook: {words}", file=sys.stderr)


def _follow_host() -> None:
    """Ends this process with the host: one that was killed leaves its hooks behind, which would take the answer."""
    host = select.poll()
    host.register(sys.stdout.fileno(), 0)  # that nobody reads there any more is told in any case
    host.poll()
    os.kill(os.getpid(), signal.SIGHUP)


def _stop(number: int, _frame: FrameType | None) -> None:
    """Ends the process by an exception, so that what has to be withdrawn is."""
    sys.exit(128 + number)
