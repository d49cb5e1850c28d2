"""Helpers for tests of the terminal: a person whose keys go to prompt_toolkit, and a real service."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output

from answerback.cli.terminal.line_input import PressedKey, TerminalInput
from answerback.cli.terminal.prompt import TerminalPrompter
from answerback.cli.terminal.walk import Walk
from answerback.core.labels import Labels
from answerback_client import Ask, AsyncClient
from tests.service_support import WAIT
from tests.unit.bot.agent_support import Served, served

ESC = "\x1b"
CTRL_C = "\x03"


_LINES = re.compile(
    r"(?:\x1b\r|\x1b\[[AB]|[^\r\x1b\t\x03])*(?:[\r\t\x03]|\x1b\[[CDZ]|\x1b(?![\[\r])|$)", re.DOTALL
)
"""Everything up to a key at which the terminal stops reading: Enter, Esc, Ctrl-C, or one that moves elsewhere."""


class Screen:
    """Collects what was written to the terminal."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.text = ""

    def write(self, data: str) -> None:
        """Collect a text."""
        self.text += data

    def flush(self) -> None:
        """Do nothing, as nothing is buffered."""

    def isatty(self) -> bool:
        """Pretend to be a terminal."""
        return True


class Typist(TerminalInput):
    """A person who types each line once the terminal waits for one: it forgets what was typed before a question."""

    def __init__(self, keyboard: PipeInput, keys: str | list[str]) -> None:
        self._keyboard = keyboard
        found = _LINES.findall(keys) if isinstance(keys, str) else keys
        self._lines = [line for line in found if line]

    async def read_line(self, *arguments: Any) -> str | PressedKey:
        """Type the next line, and read it."""
        self._type_next()
        return await super().read_line(*arguments)

    async def read_text(self, text: str, start: str) -> str | None:
        """Type the next line, and read it."""
        self._type_next()
        return await super().read_text(text, start)

    def _type_next(self) -> None:
        if self._lines:
            # Not within the product's call, in which nothing may block.
            asyncio.get_running_loop().call_soon(self._keyboard.send_text, self._lines.pop(0))


class Terminal:
    """A person at a terminal, who types and reads."""

    def __init__(self, service: Served, keyboard: PipeInput, screen: Screen) -> None:
        self.service = service
        self.keyboard = keyboard
        self.screen = screen
        self.client = AsyncClient(service.url, service.key, patience=1.0)

    async def asked(self, *questions: dict[str, Any], name: str = "ask_user", **more: Any) -> Ask:
        """An open ask."""
        return await self.client.submit(name, {"questions": list(questions)}, **more)

    async def walked(self, ask: Ask, keys: str | list[str]) -> Ask:
        """Type these keys, and return the ask."""
        async with asyncio.timeout(WAIT):
            await self.walk(keys).walk(ask)
        return await self.client.get(ask.id)

    def walk(self, keys: str | list[str] = "") -> Walk:
        """A walk of the person at this terminal, who types these keys."""
        prompter = TerminalPrompter(Labels(), Typist(self.keyboard, keys))
        return Walk(self.client, prompter, {"user_id": "ana", "name": "Ana"})

    async def shows(self, text: str) -> None:
        """Wait until the terminal shows these words."""
        await self._shows(text, 1)

    async def shows_again(self, expected: str) -> None:
        """Wait until the terminal shows these words once more than now."""
        await self._shows(expected, self.screen.text.count(expected) + 1)

    async def _shows(self, expected: str, times: int) -> None:
        async with asyncio.timeout(WAIT):
            while self.screen.text.count(expected) < times:  # noqa: ASYNC110 - a terminal tells nobody
                await asyncio.sleep(0.005)


@asynccontextmanager
async def open_terminal(folder: Path, **tables: Any) -> AsyncIterator[Terminal]:
    """A terminal and a service whose database is in a folder; ``tables`` are tables of its settings."""
    screen = Screen()
    # No cursor reports: nobody would answer, and every prompt would wait a second for them.
    size = Size(rows=50, columns=120)
    output = Vt100_Output(screen, lambda: size, enable_cpr=False)  # type: ignore[arg-type] # as much of a file as is used
    async with served(folder, **tables) as service:
        with create_pipe_input() as keyboard, create_app_session(keyboard, output):
            made = Terminal(service, keyboard, screen)
            yield made
            await made.client.close()


def question(answer_type: str, **more: Any) -> dict[str, Any]:
    """A question of an `ask_user` call."""
    return {"id": "q", "text": "What now?", "answer_type": answer_type, **more}


SELECT = question("select", options=["one", "two"])
MANY = question("multi_select", options=["one", "two", "three"])
