"""``answerback acp``: runs the agent as a child process, with a thread for each direction.

Standard output is reserved for the protocol. The exit status is the agent's; if a signal ended the agent, it is 128
plus the signal's number, as in a shell.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from types import FrameType
from typing import IO, TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:
    from answerback.agents.acp.proxy import LineWriter

_EXIT_CANNOT_RUN: Final = 126
_EXIT_NOT_FOUND: Final = 127


def command(
    words: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="The agent's command, with its arguments."),
    ],
    url: Annotated[
        str, typer.Option(envvar="ANSWERBACK_URL", help="The address of the service.")
    ] = "http://127.0.0.1:8420",
    token_env: Annotated[
        str, typer.Option(help="The environment variable that holds the agent's token.")
    ] = "ANSWERBACK_TOKEN",
    to: Annotated[
        str | None,
        typer.Option(help="Where to ask: a route, or a place such as `surface:channel`."),
    ] = None,
) -> None:
    """Run an ACP agent for an editor; people can answer it in the editor or in chat.

    Example, for the agent settings of the editor: `answerback acp -- gemini --acp`

    The first answer counts, and the other side is notified. If the service cannot be reached, only the editor asks.
    """
    from answerback.agents.acp.ask_people import AskClient
    from answerback.agents.acp.proxy import LineWriter, Proxy
    from answerback.agents.pipe.service_calls import ServiceCalls

    try:
        agent = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        _warn(f"Cannot run {words[0]}: {error.strerror}.")
        sys.exit(_EXIT_NOT_FOUND if isinstance(error, FileNotFoundError) else _EXIT_CANNOT_RUN)
    _forward_signals(agent)
    if agent.stdin is None or agent.stdout is None:
        raise AssertionError("both are pipes")
    # Not sys.stdin and sys.stdout: the interpreter closes those when it exits, and a thread may still block on them.
    editor_in, editor_out = open(0, "rb"), open(1, "wb")  # noqa: SIM115 - closed by their threads
    service = ServiceCalls(url.rstrip("/"), os.environ.get(token_env) or None, token_env)
    people = AskClient(service, to)
    to_agent, to_editor = LineWriter(agent.stdin), LineWriter(editor_out)
    proxy = Proxy(people, to_agent, to_editor, _warn)
    _start(proxy.relay_from_editor, editor_in, to_agent)
    from_agent = _start(proxy.relay_from_agent, agent.stdout, to_editor)
    status = agent.wait()
    from_agent.join()
    proxy.end()
    sys.exit(status if status >= 0 else 128 - status)


def _start(
    pump: Callable[[Iterable[bytes]], None], source: IO[bytes], target: LineWriter
) -> threading.Thread:
    """Start relaying in one direction; when it ends, both streams are closed, so that each side sees the other go."""

    from answerback.agents.acp.proxy import LineTooLongError, read_lines

    def work() -> None:
        try:
            with contextlib.suppress(ConnectionError), source:
                pump(read_lines(source))
        except LineTooLongError as error:
            _warn(f"Stopped relaying: {error}.")
        finally:
            target.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


def _forward_signals(agent: subprocess.Popen[bytes]) -> None:
    def forward(number: int, _frame: FrameType | None) -> None:
        agent.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, forward)


def _warn(words: str) -> None:
    print(f"answerback acp: {words}", file=sys.stderr)
