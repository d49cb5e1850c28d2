"""The real Claude Code at a terminal: its own window and people are asked at once, and the first answer counts."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import pty
import re
import struct
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.agents.conftest import PATIENCE, Home
from tests.agents.model import Calls, Model, Says, scripted
from tests.agents.test_claude_code import environment
from tests.recipes.conftest import Person

_ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9]|.)")
_ASKS = "Do you want to proceed?"


@dataclass
class Screen:
    """A terminal at which somebody sits."""

    ours: int
    shown: bytearray = field(default_factory=bytearray)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def read(self) -> None:
        try:
            self.shown += os.read(self.ours, 2**16)
        except OSError:  # no process has it open any more
            asyncio.get_running_loop().remove_reader(self.ours)
        self.changed.set()

    @property
    def text(self) -> str:
        return " ".join(_ESCAPES.sub(" ", self.shown.decode(errors="replace")).split())

    async def shows(self, text: str) -> None:
        """Wait until it has shown a text."""
        async with asyncio.timeout(PATIENCE):
            while text not in self.text:
                self.changed.clear()
                await self.changed.wait()

    def type(self, keys: str) -> None:
        os.write(self.ours, keys.encode())


@asynccontextmanager
async def at_a_terminal(home: Home, model: Model) -> AsyncIterator[Screen]:
    """Start Claude Code as a person does, in a project that they have trusted before."""
    state = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["scripted"], "rejected": []},
        "projects": {str(home.project): {"hasTrustDialogAccepted": True}},
    }
    (home.folder / ".claude.json").write_text(json.dumps(state))
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    screen = Screen(ours)
    asyncio.get_running_loop().add_reader(ours, screen.read)
    more = {**environment(model), "TERM": "xterm-256color"}
    command = ("claude", "--permission-mode", "default", "Set it up")
    try:
        async with home.started(*command, environment=more, stdin=its, stdout=its, stderr=its):
            yield screen
    except BaseException:
        sys.stdout.write(screen.text[-6000:])  # pytest shows this
        raise
    finally:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(its)
        os.close(ours)


TOUCH = Calls("Bash", {"command": "touch made.txt", "description": "Makes a file"})


async def test_an_answer_at_the_terminal_counts_and_withdraws_the_ask(
    home: Home, person: Person
) -> None:
    await home.connect("claude")
    async with scripted(TOUCH, Says("Finished it.")) as model, at_a_terminal(home, model) as screen:
        ask = await person.sees()
        await screen.shows(_ASKS)
        screen.type("1")
        ended = await person.front.wait(ask.id, timeout=PATIENCE)
        await screen.shows("Finished it.")
    assert ended.status == "withdrawn"
    assert (home.project / "made.txt").exists()


async def test_an_answer_of_people_counts_and_closes_the_window(home: Home, person: Person) -> None:
    await home.connect("claude")
    async with scripted(TOUCH, Says("Finished it.")) as model, at_a_terminal(home, model) as screen:
        await person.sees()
        await screen.shows(_ASKS)
        await person.answers("allow")
        await screen.shows("Finished it.")
    assert (home.project / "made.txt").exists()
