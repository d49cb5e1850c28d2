"""``answerback answer`` in a real terminal (a pty), against the real process."""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import struct
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from answerback.ports.person_key import hash_of
from answerback_client import AsyncClient
from tests.acceptance.agents import restartable
from tests.acceptance.forked_process import Child, forked
from tests.acceptance.process import PATIENCE, command, serving

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


FREE_PORT = {"ANSWERBACK_SERVER__PORT": "0"}
"""The configuration of the services here, at whose address alone the command sends the person's key."""


class Typist:
    """A person at a pty, who reads what it shows and types when the expected words appear."""

    def __init__(self, master: int, child: Child) -> None:
        self._master = master
        self._child = child
        self._new = asyncio.Event()
        self._read = 0
        self.shown = ""
        asyncio.get_running_loop().add_reader(master, self._read_more)

    def _read_more(self) -> None:
        try:
            data = os.read(self._master, 65_536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self._master)
        self.shown += data.decode(errors="replace")
        if "\x1b[6n" in data.decode(errors="replace"):
            os.write(self._master, b"\x1b[1;1R")  # the cursor position, as terminals report it
        self._new.set()

    async def sees(self, text: str) -> None:
        """Return once these words are shown, after those seen before."""
        async with asyncio.timeout(PATIENCE):
            while (at := self.shown.find(text, self._read)) < 0:
                self._new.clear()
                await self._new.wait()
        self._read = at + len(text)

    def types(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    async def ended(self) -> int:
        """Return the command's exit code, once it has ended."""
        async with asyncio.timeout(PATIENCE):
            return await self._child.wait()


@asynccontextmanager
async def terminal(folder: Path, *arguments: str) -> AsyncIterator[Typist]:
    """Run the command in its own terminal."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    child = await forked(
        *("answer", *arguments),
        folder=folder,
        environment={"TERM": "xterm", **FREE_PORT},
        stdin=slave,
        stdout=slave,
        stderr=slave,
        own_session=True,
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


@pytest.mark.rule("CLI-4")
async def test_a_form_is_walked_by_keyboard_even_if_somebody_else_is_faster_once(
    tmp_path: Path,
) -> None:
    async with restartable(tmp_path) as service:
        call = {"name": "ask_user", "arguments": FORM}
        ask = await service.call("POST", "/v1/asks", call)
        async with terminal(tmp_path, "--url", service.url, "--user", "ana") as person:
            await person.sees("Apply the migration?")
            await person.sees("q  Leave it open")
            await service.answer(ask["id"], True)
            person.types("n\r")
            await person.sees("Someone else was faster")
            await person.sees("Which environment?")
            await person.sees("b  Back")
            person.types("2\r")
            await person.sees("Which tags?")
            await person.sees("2  b")
            person.types(" \r")
            await person.sees("A note?")
            await person.sees("Leave it open")
            person.types("a\r")
            await person.sees("Your answer:")
            person.types("all good\r")
            await person.sees(f"{ask['id']}: answered by ana.")
            assert await person.ended() == 0
        ended = await service.call("GET", f"/v1/asks/{ask['id']}")
        async with terminal(tmp_path, "ask_0", "--url", service.url) as lost:
            await lost.sees("There is no ask with the id ask_0.")
            assert await lost.ended() == 1
        async with terminal(tmp_path, "--url", service.url) as idle:
            await idle.sees("Nothing is waiting for an answer.")
            assert await idle.ended() == 0
    async with terminal(tmp_path, "--url", "nonsense") as lost:
        await lost.sees("nonsense is not a valid Answerback address")
        assert await lost.ended() == 1
    assert ended["answers"] == {
        "apply": True,
        "env": "production",
        "tags": ["a"],
        "note": "all good",
    }
    assert ended["ended_by"] == {"surface": "web", "user_id": "ana", "name": "ana"}


@pytest.mark.rule("CARE-3")
async def test_a_letter_inside_a_word_decides_nothing(tmp_path: Path) -> None:
    async with restartable(tmp_path) as service:
        yes_no = {"id": "a", "text": "Erase it?", "answer_type": "boolean", "default": True}
        text = {"id": "b", "text": "Why?", "answer_type": "text"}
        call = {"name": "ask_user", "arguments": {"questions": [yes_no, text]}}
        ask = await service.call("POST", "/v1/asks", call)
        async with terminal(tmp_path, "--url", service.url) as person:
            await person.sees("q  Leave it open")
            for line in ("why?", "", "really", "bsq"):
                person.types(f"{line}\r")
                await person.sees("Enter one of y, n, r, s, q.")
            person.types("r\r")
            await person.sees("Your reply (optional):")
            person.types("\r")
            await person.sees("or a reply? (y/n)")
            person.types("n\r")
            await person.sees("q  Leave it open")
            person.types("s\r")
            await person.sees("(y/n)")
            person.types("\x1b")
            await person.sees("q  Leave it open")
            person.types("yes\r")
            await person.sees("Why?")
            await person.sees("q  Leave it open")
            person.types("a\r")
            await person.sees("Your answer:")
            person.types("half a thought\x1b")
            await person.sees("q  Leave it open")
            person.types("\x1b")
            await person.sees("Back to the question")
            person.types("q\r")
            assert await person.ended() == 0
        left = await service.call("GET", f"/v1/asks/{ask['id']}")
    assert (left["status"], left["answers"]) == ("open", {"a": True})


@pytest.mark.rule("TERMINAL-3")
async def test_ticks_survive_the_menu_and_letters_tick_nothing(tmp_path: Path) -> None:
    async with restartable(tmp_path) as service:
        options = [{"label": label, "description": "d"} for label in ("prod", "dev")]
        question = {"question": "Which?", "header": "W", "options": options, "multiSelect": True}
        call = {"name": "AskUserQuestion", "arguments": {"questions": [question]}}
        ask = await service.call("POST", "/v1/asks", call)
        async with terminal(tmp_path, "--url", service.url) as person:
            await person.sees("[ ] 3  Something else…")
            person.types("all\r")
            await person.sees("all is not one of the choices")
            person.types("\x1b[B ")
            await person.sees("[x] 2  dev")
            person.types("\x1b")
            await person.sees("Back to the list")
            person.types("a\r")
            await person.sees("[x] 2  dev")
            person.types("\r")
            assert await person.ended() == 0
        done = await service.call("GET", f"/v1/asks/{ask['id']}")
    assert done["answers"] == {"q1": ["dev"]}


async def piped(folder: Path, *arguments: str, stdin: bytes | None) -> tuple[int | None, str]:
    """Run the command with these bytes on standard input (None: no input); return its exit code and output."""
    nothing, pipe = asyncio.subprocess.DEVNULL, asyncio.subprocess.PIPE
    child = await forked(
        *("answer", *arguments),
        folder=folder,
        environment=FREE_PORT,
        stdin=nothing if stdin is None else pipe,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(PATIENCE):
        out, _ = await child.communicate(stdin)
    return child.returncode, out.decode()


@pytest.mark.rule("TERMINAL-4")
async def test_lines_are_read_from_a_pipe_and_an_unterminated_line_is_ignored(
    tmp_path: Path,
) -> None:
    async with restartable(tmp_path) as service:
        ask = await service.call("POST", "/v1/asks", {"name": "ask_user", "arguments": FORM})
        where = (ask["id"], "--url", service.url)
        code, out = await piped(tmp_path, *where, stdin=b"maybe\ny\nstaging\n1,2\n\na")
        half = await service.call("GET", f"/v1/asks/{ask['id']}")
        rest, more = await piped(tmp_path, *where, stdin=b"a\r\nall good\r\n")
        done = await service.call("GET", f"/v1/asks/{ask['id']}")
    assert code == 8
    assert "maybe is not one of the choices" in out
    assert "[x] 2  b" in out
    assert "stays open" in out
    assert half["answers"] == {"apply": True, "env": "staging", "tags": ["a", "b"]}
    assert rest == 0
    assert "Which tags? → a, b" in more
    assert done["answers"]["note"] == "all good"


async def test_a_refused_token_is_reported_with_the_services_address(
    tmp_path: Path,
) -> None:
    (tmp_path / "answerback.toml").write_text(f'[agents.ci]\ntoken_hash = "{hash_of("ci")}"\n')
    async with serving(tmp_path) as (_, url):
        code, out = await piped(tmp_path, "--url", url, "--token", "ab_wrong", stdin=b"y\n")
    assert code == 1
    assert f"{url}: " in out
    assert "token" in out


async def test_nothing_is_asked_without_input(tmp_path: Path) -> None:
    code, out = await piped(tmp_path, stdin=None)
    assert code == 2
    assert "needs a terminal" in out


@pytest.mark.rule("AUTH-14", "CLI-24")
async def test_the_holder_of_a_personal_link_answers_under_their_name(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, url), AsyncClient(url) as agent:
        async with command("person", "add", "alice", folder=tmp_path) as adding:
            code, link, _ = await adding.ended()
        assert code == 0
        ask = await agent.submit("ask_user", {"question": "Apply?", "answer_type": "boolean"})
        environment = {"ANSWERBACK_URL": url, "ANSWERBACK_TOKEN": link.strip().partition("key=")[2]}
        child = await forked(
            "answer",
            folder=tmp_path,
            environment=environment,
            stdin=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(PATIENCE):
            output, _ = await child.communicate(b"y\n")
        assert child.returncode == 0, output
        ended = await agent.get(ask.id)
        assert ended.json["ended_by"] == {"surface": "web", "user_id": "alice", "name": "alice"}


@pytest.mark.rule("BATCH-6")
async def test_several_permissions_are_decided_from_a_list(tmp_path: Path) -> None:
    async with restartable(tmp_path) as service:
        call = {
            "name": "PermissionRequest",
            "dialect": "approval",
            "arguments": {"tool_name": "Bash", "tool_input": {"command": "make"}},
        }
        asks = [await service.call("POST", "/v1/asks", call) for _ in range(3)]
        async with terminal(tmp_path, "--batch", "--url", service.url) as person:
            await person.sees("Numbers to decide about")
            person.types("1-2\r")
            await person.sees("Deny")
            person.types("1\r")
            await person.sees("Allow once: 2.")
            await person.sees("Numbers to decide about")
            person.types("q\r")
            assert await person.ended() == 0
        ended = [await service.call("GET", f"/v1/asks/{ask['id']}") for ask in asks]
        assert [each["status"] for each in ended] == ["answered", "answered", "open"]
        async with terminal(tmp_path, asks[2]["id"], "--batch", "--url", service.url) as confused:
            await confused.sees("Name an ask, or use --batch")
            assert await confused.ended() == 2
