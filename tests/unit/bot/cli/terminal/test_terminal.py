"""Answering in the terminal: keys sent to prompt_toolkit, against the real service over its API."""

from __future__ import annotations

import asyncio
import json
import stat
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from answerback.cli.terminal.prompt import TerminalPrompter
from answerback.cli.terminal.walk import _choose_ask, run
from answerback.core.labels import Labels
from answerback.runtime.config import StorageSettings
from answerback_agents.cli.output import confirm
from tests.postgres import STORES, database_of
from tests.service_support import WAIT
from tests.unit.bot.terminal_support import (
    CTRL_C,
    ESC,
    MANY,
    SELECT,
    Terminal,
    Typist,
    open_terminal,
    question,
)


@pytest.fixture
async def terminal(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Terminal]:
    monkeypatch.chdir(tmp_path)  # where the person's key is if the asks are not in a file
    with database_of(request, tmp_path, getattr(request, "param", "sqlite")) as url:
        async with open_terminal(tmp_path, storage=StorageSettings(url=url)) as made:
            yield made


on_each_store = pytest.mark.parametrize("terminal", STORES, indirect=True)


@pytest.mark.rule("TERMINAL-1")
@pytest.mark.parametrize(
    ("asked", "keys", "value"),
    [
        (question("boolean"), "y\r", True),
        (question("boolean"), "No\r", False),
        (question("boolean", default=False), "\ry\r", True),
        (SELECT, "2\r", "two"),
        (SELECT, " TWO \r", "two"),
        ({**SELECT, "default": "one"}, "\r", "one"),
        (question("select", options=[f"o{n}" for n in range(12)]), "12\r", "o11"),
        (question("select", options=[f"o{n}" for n in range(12)]), "99\r3\r", "o2"),
        (MANY, " \x1b[B\x1b[B \r", ["one", "three"]),
        (MANY, "\r", []),
        ({**MANY, "default": ["two"]}, "\r", ["two"]),
        (MANY, "3, 1\r\r", ["one", "three"]),
        (MANY, "two\rall\r\r", ["two"]),
        (MANY, "\x1b[A \x1b[A 2\r1 1\r\r", ["one", "three"]),
        (question("text"), "a\rhello\r", "hello"),
        (question("text", default="hi"), "a\r there\r", "hi there"),
        (question("text"), f"a\rtwo{ESC}\rlines\r", "two\nlines"),
    ],
)
async def test_every_answer_type_has_its_keys(
    terminal: Terminal, asked: dict[str, Any], keys: str, value: Any
) -> None:
    done = await terminal.walked(await terminal.asked(asked), keys)
    assert done.status == "answered"
    assert done.answers == {"q": value}
    assert done.json["ended_by"] == {"surface": "web", "user_id": "ana", "name": "Ana"}


async def test_an_empty_choice_is_shown_as_none_chosen(terminal: Terminal) -> None:
    go = {"id": "go", "text": "Go?", "answer_type": "boolean"}
    left_open = await terminal.walked(await terminal.asked(MANY, go), "\rq\r")
    assert left_open.answers == {"q": []}
    assert "What now? → (none)" not in terminal.screen.text
    assert (await terminal.walked(left_open, "y\r")).status == "answered"
    assert "What now? → (none)" in terminal.screen.text


@pytest.mark.rule("TERMINAL-2")
async def test_remembering_has_capital_keys_if_it_is_offered(terminal: Terminal) -> None:
    call = {
        "tool": "git",
        "question": {"id": "force", "text": "Force?", "answer_type": "boolean"},
    }
    named = {"conversation": "c", "turn": "t"}
    ask = await terminal.client.submit("tool_question", call, **named)  # type: ignore[arg-type] # a plain dict
    await terminal.walked(ask, "Y\r")
    again = await terminal.client.submit("tool_question", call, **named)  # type: ignore[arg-type] # a plain dict
    assert (again.status, again.json["source"]) == ("answered", "remembered")


@on_each_store
@pytest.mark.rule("TERMINAL-1", "CARE-4")
async def test_back_reply_and_end_turn_have_letters(terminal: Terminal) -> None:
    first, second = {**question("boolean"), "id": "a"}, {**SELECT, "id": "b"}
    went_back = await terminal.walked(await terminal.asked(first, second), "y\rb\rn\r1\r")
    assert went_back.answers == {"a": False, "b": "one"}
    replied = await terminal.walked(await terminal.asked(first), "r\rNot now.\r")
    assert (replied.status, replied.reply) == ("cancelled", "Not now.")
    silent = await terminal.walked(await terminal.asked(first), "r\r\ry\r")
    assert (silent.status, silent.reply) == ("cancelled", None)
    stopped = await terminal.walked(await terminal.asked(first), "s\ry\r")
    assert stopped.status == "turn_ended"
    thought_better = await terminal.walked(await terminal.asked(first), "s\rn\rr\r\rno\ry\r")
    assert thought_better.answers == {"a": True}
    left = await terminal.walked(await terminal.asked(first), "leave it open\r")
    assert left.open


@pytest.mark.rule("TERMINAL-3")
async def test_escape_opens_the_menu_from_the_checkboxes(terminal: Terminal) -> None:
    ask = await terminal.asked({**question("boolean"), "id": "a"}, {**MANY, "id": "b"})
    done = await terminal.walked(ask, ["y\r", ESC, "b\r", "n\r", " \r"])
    assert "Back to the list" in terminal.screen.text
    assert "Pre-filled: Yes" in terminal.screen.text
    assert done.answers == {"a": False, "b": ["one"]}


@on_each_store
async def test_other_text_and_a_review_can_be_walked(terminal: Terminal) -> None:
    options = [{"value": "x", "label": "X"}, {"value": "y", "label": "Y"}]
    questions = [{"id": n, "prompt": f"{n}?", "options": options} for n in ("a", "b")]
    ask = await terminal.asked(*questions, name="question")
    done = await terminal.walked(ask, "1\r3\rMine\r1\r2\ry\r")
    assert done.status == "answered"
    assert done.answers == {"a": "y", "b": "Mine"}
    assert "Check your answers" in terminal.screen.text


@pytest.mark.rule("TERMINAL-1")
async def test_a_schema_answer_is_edited_until_it_is_valid(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = tmp_path / "tries"
    tries.write_text('{"port": \n---\n{"port": "no"}\n---\n{"port": 8080}\n')
    editor = tmp_path / "editor.py"
    editor.write_text(
        "#!/usr/bin/env python3\n"
        "import pathlib, sys\n"
        f"tries = pathlib.Path({str(tries)!r})\n"
        "first, _, rest = tries.read_text().partition('---\\n')\n"
        "tries.write_text(rest)\n"
        "pathlib.Path(sys.argv[1]).write_text(first)\n"
    )
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", str(editor))
    schema = {"type": "object", "properties": {"port": {"type": "integer"}}, "required": ["port"]}
    ask = await terminal.asked(question("schema", schema=schema))
    done = await terminal.walked(ask, "a\re\ra\r")
    assert done.answers == {"q": {"port": 8080}}
    assert "JSON" in terminal.screen.text
    assert json.loads(json.dumps(schema))["required"] == ["port"]


async def test_a_refused_answer_is_reported_and_its_text_is_kept(
    terminal: Terminal,
) -> None:
    form = {"question": "Which?", "options": [{"label": "x"}, {"label": "y"}]}
    ask = await terminal.asked(form)
    done = await terminal.walked(ask, "r\r\ry\rr\rWords.\r")
    assert done.status == "cancelled"
    assert done.tool_result is not None
    assert done.tool_result.structured == {"freeText": "Words."}


@on_each_store
async def test_if_somebody_was_faster_the_current_prompt_is_shown(
    terminal: Terminal,
) -> None:
    ask = await terminal.asked(
        {**question("boolean"), "id": "a"}, {**SELECT, "id": "b", "text": "Second question?"}
    )
    await terminal.client.act(ask.id, {"action": "answer", "value": False})
    walking = asyncio.create_task(terminal.walk("y\r").walk(ask))
    await terminal.shows("Someone else was faster")
    await terminal.shows("Second question?")
    await terminal.client.act(ask.id, {"action": "end_turn"})
    terminal.keyboard.send_text("1\r")
    async with asyncio.timeout(WAIT):
        await walking
    assert "turn ended by the operator" in terminal.screen.text
    assert (await terminal.client.get(ask.id)).answers == {"a": False}


@pytest.mark.rule("TEXT-1", "TERMINAL-5")
async def test_an_agents_text_cannot_control_the_terminal(terminal: Terminal) -> None:
    evil = "Erase?\x1b[2J\x1b]0;owned\x07\u202e"
    ask = await terminal.asked(
        question("select", options=[f"{evil}1", f"{evil}2"], context=evil) | {"text": evil}
    )
    await terminal.walked(ask, "1\r")
    assert "\x1b[2J" not in terminal.screen.text
    assert "\x1b]0" not in terminal.screen.text
    assert "\u202e" not in terminal.screen.text
    assert "Erase?␛[2J" in terminal.screen.text


async def test_ctrl_c_leaves_the_ask_open(terminal: Terminal) -> None:
    ask = await terminal.asked(question("boolean"))
    with pytest.raises(KeyboardInterrupt):
        await terminal.walked(ask, CTRL_C)
    assert (await terminal.client.get(ask.id)).open


async def test_an_open_ask_is_chosen_by_its_number(terminal: Terminal) -> None:
    prompting = TerminalPrompter(Labels(), Typist(terminal.keyboard, "2\rq\r"))
    assert await _choose_ask(terminal.client, prompting) is None
    first = await terminal.asked(question("boolean"))
    only = await _choose_ask(terminal.client, prompting)
    assert only is not None
    assert only.id == first.id
    second = await terminal.asked(question("boolean"))
    picked = await _choose_ask(terminal.client, prompting)
    assert picked is not None
    assert picked.id == second.id
    assert await _choose_ask(terminal.client, prompting) is None
    assert terminal.screen.text.index(first.id) < terminal.screen.text.index(second.id)


@pytest.mark.rule("TERMINAL-5")
async def test_what_was_typed_before_a_question_does_not_answer_it(terminal: Terminal) -> None:
    ask = await terminal.asked(
        {**question("boolean"), "id": "a"}, {**question("boolean"), "id": "b"}
    )
    terminal.keyboard.send_text("y\ry\r")
    done = await terminal.walked(ask, ["n\rn\r", "y\r"])
    assert done.answers == {"a": False, "b": True}


@pytest.mark.rule("TERMINAL-5")
async def test_what_was_typed_before_a_list_of_asks_chooses_none(terminal: Terminal) -> None:
    for _ in range(2):
        await terminal.asked(question("boolean"))
    terminal.keyboard.send_text("1\r")
    prompting = TerminalPrompter(Labels(), Typist(terminal.keyboard, "q\r"))
    assert await _choose_ask(terminal.client, prompting) is None


@pytest.mark.rule("TERMINAL-5")
@pytest.mark.parametrize("keys", [["s\ry\r"], ["r\r", "\ry\r"]], ids=["end turn", "empty reply"])
async def test_what_was_typed_before_a_confirmation_confirms_nothing(
    terminal: Terminal, keys: list[str]
) -> None:
    ask = await terminal.asked(question("boolean"))
    done = await terminal.walked(ask, [*keys, "n\r", "y\r"])
    assert done.answers == {"q": True}


@pytest.mark.parametrize(
    "read",
    [
        partial(run, None, None, None, None, batch=False),
        partial(confirm, "Go on?", "Nothing was changed"),
    ],
    ids=["answer", "confirm"],
)
def test_a_closed_standard_input_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], read: Callable[[], None]
) -> None:
    monkeypatch.setattr(sys, "stdin", None)  # as it is after `<&-`
    with pytest.raises(SystemExit) as ended:
        read()
    assert ended.value.code == 2
    assert "terminal" in capsys.readouterr().err
