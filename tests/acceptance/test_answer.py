"""``answerback answer`` in a real terminal (a pty), against the real process."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.acceptance.agents import restartable
from tests.acceptance.process import PATIENCE

pytestmark = pytest.mark.acceptance

FORM = {
    "questions": [
        {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"},
        {
            "id": "env",
            "text": "Which environment?",
            "answer_type": "select",
            "options": ["staging", "production"],
            "when": {"question_id": "apply", "equals": True},
        },
        {"id": "tags", "text": "Which tags?", "answer_type": "multi_select", "options": ["a", "b"]},
        {"id": "note", "text": "A note?", "answer_type": "text"},
    ]
}


class Typist:
    """A person at a pty: reads what it shows, types when it shows what is waited for."""

    def __init__(self, master: int, child: asyncio.subprocess.Process) -> None:
        self._master = master
        self._child = child
        self._new = asyncio.Event()
        self._read = 0
        self.shown = ""
        asyncio.get_running_loop().add_reader(master, self._more)

    def _more(self) -> None:
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._master)
        self.shown += data.decode(errors="replace")
        if "\x1b[6n" in data.decode(errors="replace"):
            os.write(self._master, b"\x1b[1;1R")  # where the cursor is, as terminals answer
        self._new.set()

    async def sees(self, words: str) -> None:
        """Returns once these words are shown, after those that were waited for before."""
        async with asyncio.timeout(PATIENCE):
            while (at := self.shown.find(words, self._read)) < 0:
                self._new.clear()
                await self._new.wait()
        self._read = at + len(words)

    def types(self, keys: str) -> None:
        """Presses keys."""
        os.write(self._master, keys.encode())

    async def ended(self) -> int:
        """The command's exit code."""
        async with asyncio.timeout(PATIENCE):
            return await self._child.wait()


@asynccontextmanager
async def terminal(folder: Path, *arguments: str) -> AsyncIterator[Typist]:
    """The command in a terminal of its own."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "bot.cli.main",
        "answer",
        *arguments,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TERM": "xterm"},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
    )
    os.close(slave)
    try:
        yield Typist(master, child)
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()
        asyncio.get_running_loop().remove_reader(master)
        os.close(master)


async def test_a_form_is_walked_with_the_keys_while_somebody_else_is_faster_once(
    tmp_path: Path,
) -> None:
    async with restartable(tmp_path) as service:
        call = {"name": "ask_user", "arguments": FORM}
        ask = await service.call("POST", "/v1/asks", call)
        async with terminal(tmp_path, "--url", service.url, "--user", "ana") as person:
            await person.sees("Apply the migration?")
            await person.sees("q  Leave it open")
            await service.answer(ask["id"], True)
            person.types("n")
            await person.sees("Somebody else was faster")
            await person.sees("Which environment?")
            await person.sees("b  Back")
            person.types("2")
            await person.sees("Which tags?")
            await person.sees("b")
            person.types(" \r")
            await person.sees("A note?")
            await person.sees("Leave it open")
            person.types("a")
            await person.sees(":")
            person.types("all good\r")
            await person.sees(f"{ask['id']}: answered by ana.")
            assert await person.ended() == 0
        ended = await service.call("GET", f"/v1/asks/{ask['id']}")
        async with terminal(tmp_path, "ask_0", "--url", service.url) as lost:
            await lost.sees("There is no ask ask_0.")
            assert await lost.ended() == 1
        async with terminal(tmp_path, "--url", service.url) as idle:
            await idle.sees("Nothing is waiting for an answer.")
            assert await idle.ended() == 0
    async with terminal(tmp_path, "--url", "nonsense") as lost:
        await lost.sees("nonsense: ")
        assert await lost.ended() == 1
    assert ended["answers"] == {
        "apply": True,
        "env": "production",
        "tags": ["a"],
        "note": "all good",
    }
    assert ended["ended_by"] == {"surface": "web", "user_id": "ana", "name": "ana"}


async def test_without_a_terminal_nothing_is_asked(tmp_path: Path) -> None:
    with_pipe = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot.cli.main", "answer"),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE):
        _, err = await with_pipe.communicate()
    assert with_pipe.returncode == 2
    assert b"This needs a terminal" in err
