"""Detours in the terminal: changing one's mind, leaving the editor, and what somebody else did meanwhile."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.cli.terminal.prompt import TerminalPrompter
from answerback.core.labels import Labels
from answerback.service.question_routing import ToolRule
from answerback.service.submission_request import Route
from answerback_client import UnauthorizedError
from tests.service_support import WAIT
from tests.unit.bot.terminal_support import (
    CTRL_C,
    ESC,
    MANY,
    SELECT,
    Terminal,
    open_terminal,
    question,
)


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    async with open_terminal(tmp_path) as made:
        yield made


def editor(folder: Path, *lines: str) -> str:
    """A program that runs these lines of Python on the file that it is called with."""
    path = folder / "editor.py"
    path.write_text("\n".join(["#!/usr/bin/env python3", "import pathlib, sys, time", *lines]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


async def test_abandoning_a_text_leads_back_to_the_prompt(terminal: Terminal) -> None:
    replying = await terminal.walked(await terminal.asked(question("boolean")), f"r\r{CTRL_C}y\r")
    assert replying.answers == {"q": True}
    writing = await terminal.walked(await terminal.asked(question("text")), f"a\r{CTRL_C}a\rhi\r")
    assert writing.answers == {"q": "hi"}
    other = await terminal.asked(
        {"id": "a", "prompt": "A?", "options": [{"value": "x", "label": "X"}]}, name="question"
    )
    assert (await terminal.walked(other, f"2\r{CTRL_C}1\ry\r")).answers == {"a": "x"}


async def test_a_text_question_offers_reply_end_turn_and_leaving(terminal: Terminal) -> None:
    text, schema = question("text"), question("schema", schema={"type": "object"})
    replied = await terminal.walked(await terminal.asked(text), "r\rno\r")
    assert (replied.status, replied.reply) == ("cancelled", "no")
    stopped = await terminal.walked(await terminal.asked(schema), "s\ry\r")
    assert stopped.status == "turn_ended"
    left = await terminal.walked(await terminal.asked(schema), "q\r")
    assert left.open
    assert f"{left.id} stays open." in terminal.screen.text


async def test_closing_the_editor_without_saving_sends_nothing(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, "pass"))
    ask = await terminal.asked(question("schema", schema={"type": "object"}))
    assert (await terminal.walked(ask, "a\rq\r")).open
    assert "closed without saving. Nothing was sent" in terminal.screen.text


async def test_invalid_json_can_be_abandoned(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor(tmp_path, "pathlib.Path(sys.argv[1]).write_text('{')"))
    ask = await terminal.asked(question("schema", schema={"type": "object"}))
    assert (await terminal.walked(ask, "a\rq\rq\r")).open
    assert "Give up" in terminal.screen.text


@pytest.mark.rule("TERMINAL-5")
async def test_what_is_typed_while_the_editor_is_open_abandons_no_json(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add = "path.write_text('{}' if path.read_text().strip() else '{')"
    monkeypatch.setenv("VISUAL", editor(tmp_path, "path = pathlib.Path(sys.argv[1])", add))
    ask = await terminal.asked(question("schema", schema={"type": "object"}))
    done = await terminal.walked(ask, ["a\rq\r", "e\r", "q\r"])
    assert done.answers == {"q": {}}


async def test_other_text_is_an_answer_besides_the_checkboxes(terminal: Terminal) -> None:
    options = [{"label": "A", "description": "first"}, {"label": "B", "description": "second"}]
    arguments = {"question": "Which?", "header": "W", "options": options, "multiSelect": True}
    ask = await terminal.asked(arguments, name="AskUserQuestion")
    walking = asyncio.create_task(terminal.walk().walk(ask))
    await terminal.shows("Which?")
    terminal.keyboard.send_text("3\rmine\r\r")
    async with asyncio.timeout(WAIT):
        await walking
    assert (await terminal.client.get(ask.id)).answers == {"q1": "mine"}


async def test_if_somebody_ended_the_ask_that_is_reported_and_nothing_changes(
    terminal: Terminal,
) -> None:
    ask = await terminal.asked(question("boolean"))
    walking = asyncio.create_task(terminal.walk().walk(ask))
    await terminal.shows("Leave it open")
    withdrawn = await terminal.client.withdraw(ask.id)
    assert withdrawn.revision == ask.revision + 1
    terminal.keyboard.send_text("y\r")
    async with asyncio.timeout(WAIT):
        await walking
    assert f"{ask.id}: withdrawn." in terminal.screen.text
    assert (await terminal.client.get(ask.id)).answers == {}


@pytest.mark.rule("DIALECT-14")
async def test_previews_of_options_are_shown_above_the_question(terminal: Terminal) -> None:
    options = [
        {"label": "Red", "description": "warm", "preview": "#f00"},
        {"label": "Blue", "description": "cold"},
    ]
    asked = {"question": "Which?", "header": "Colour", "options": options}
    ask = await terminal.asked(asked, name="AskUserQuestion")
    await terminal.walked(ask, "2\r")
    shown = terminal.screen.text
    assert shown.index("Red:") < shown.index("#f00") < shown.index("Which?")


async def test_an_ended_ask_shows_no_prompt(terminal: Terminal) -> None:
    ask = await terminal.asked({**SELECT, "default": "two"})
    prompting = TerminalPrompter(Labels())
    prompting.show(ask.json)
    assert "›  2  two" in terminal.screen.text
    ended = await terminal.client.withdraw(ask.id)
    before = terminal.screen.text
    prompting.show(ended.json)
    assert terminal.screen.text == before
    with pytest.raises(TypeError, match="only an open ask"):
        await prompting.prompt_action(ended.json)


async def test_the_review_offers_what_can_be_edited(terminal: Terminal) -> None:
    options = [{"value": "x", "label": "X"}]
    questions = [{"id": n, "prompt": f"{n}?", "options": options} for n in ("a", "b")]
    ask = await terminal.asked(*questions, name="question")
    for _ in range(2):
        ask = await terminal.client.act(ask.id, {"action": "answer", "value": "x"})
    TerminalPrompter(Labels()).show(ask.json)
    for expected in (
        "y  Submit",
        "1  a? → X  (Edit · by the operator, 20",
        "2  b? → X  (Edit · by",
    ):
        assert expected in terminal.screen.text, expected


async def test_the_review_does_not_offer_to_edit_what_the_configuration_answers(
    tmp_path: Path,
) -> None:
    fixed = ToolRule.model_validate({"questions": {"b": {"answer": "x"}}})
    async with open_terminal(tmp_path, tools={"question": fixed}) as terminal:
        options = [{"value": "x", "label": "X"}]
        questions = [{"id": n, "prompt": f"{n}?", "options": options} for n in ("a", "b")]
        ask = await terminal.asked(*questions, name="question")
        ask = await terminal.client.act(ask.id, {"action": "answer", "value": "x"})
        TerminalPrompter(Labels()).show(ask.json)
        assert "1  a? → X  (Edit · by" in terminal.screen.text
        assert "b? → X" in terminal.screen.text
        assert "b? → X  (Edit" not in terminal.screen.text
        assert (await terminal.walked(ask, "y\r")).answers == {"a": "x", "b": "x"}


async def test_unticking_everything_is_still_an_answer(
    terminal: Terminal,
) -> None:
    ask = await terminal.asked(MANY)
    walking = asyncio.create_task(terminal.walk().walk(ask))
    await terminal.shows("three")
    terminal.keyboard.send_text(ESC)
    await terminal.shows("Back to the list")
    terminal.keyboard.send_text("a\r\r")
    async with asyncio.timeout(WAIT):
        await walking
    assert (await terminal.client.get(ask.id)).answers == {"q": []}


TICKED = question("multi_select", options=["x", "y", "z"])


@pytest.mark.rule("CLARIFY-3")
async def test_ticks_are_kept_when_somebody_asks_back(terminal: Terminal) -> None:
    ask = await terminal.asked(TICKED, accepts=["clarify"])
    answered = await terminal.walked(ask, "1 3\r?\rWhat is z?\r\r")
    assert answered.answers == {"q": ["x", "z"]}
    assert "What is z?" in terminal.screen.text


@pytest.mark.rule("CLARIFY-3")
async def test_ticks_are_kept_when_an_explanation_arrives_first(
    terminal: Terminal,
) -> None:
    ask = await terminal.asked(TICKED, accepts=["clarify"])
    walking = asyncio.create_task(terminal.walk().walk(ask))
    await terminal.shows("Enter answers")
    await terminal.client.add_context(ask.id, "z is the last one.")
    terminal.keyboard.send_text("2 3\r\r")
    await terminal.shows("z is the last one.")
    assert "There is something new about this question" in terminal.screen.text
    assert "Someone else was faster" not in terminal.screen.text
    terminal.keyboard.send_text("\r")
    async with asyncio.timeout(WAIT):
        await walking
    assert (await terminal.client.get(ask.id)).answers == {"q": ["y", "z"]}


async def test_a_refused_ask_back_is_not_taken_for_an_answer(
    terminal: Terminal,
) -> None:
    options = [{"label": "A", "description": "first"}, {"label": "B", "description": "second"}]
    arguments = {"question": "Which?", "header": "W", "options": options, "multiSelect": True}
    ask = await terminal.asked(arguments, name="AskUserQuestion", accepts=["clarify"])
    answered = await terminal.walked(ask, f"1\r?\r{'why ' * 501}\r\r")
    assert "2000 are allowed" in terminal.screen.text
    assert answered.answers == {"q1": ["A"]}


@pytest.mark.rule("WALK-3", "TERMINAL-1")
@pytest.mark.rule("SURFACE-7")
async def test_without_a_default_the_editor_is_empty_and_what_is_left_empty_is_refused(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    touch = "pathlib.Path(sys.argv[1]).write_text(text + '\\n')"
    text = "text = pathlib.Path(sys.argv[1]).read_text()"
    keep = f"pathlib.Path({str(log)!r}).write_text(text)"
    monkeypatch.setenv("VISUAL", editor(tmp_path, text, keep, touch))
    schema = {"type": "array", "items": {"type": "string"}}
    ask = await terminal.asked(question("schema", schema=schema))
    left = await terminal.walked(ask, "a\rq\rq\r")
    assert (left.open, log.read_text()) == (True, "")
    assert 'It has this shape: [""]' in terminal.screen.text
    assert "Type the answer as JSON." in terminal.screen.text


async def test_an_answered_null_is_what_the_editor_starts_from_after_back(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    save = "pathlib.Path(sys.argv[1]).write_text(text)"
    text = "text = pathlib.Path(sys.argv[1]).read_text()"
    keep = f"pathlib.Path({str(log)!r}).write_text(text)"
    monkeypatch.setenv("VISUAL", editor(tmp_path, text, keep, save))
    schema = {"type": ["string", "null"], "default": "main"}
    form = (question("schema", schema=schema), {**question("boolean"), "id": "b"})
    ask = await terminal.asked(*form)
    answered = await terminal.client.act(ask.id, {"action": "answer", "value": None})
    assert answered.answers == {"q": None}
    ask = await terminal.client.act(ask.id, {"action": "back"})
    walked = await terminal.walked(ask, "a\rq\r")
    assert walked.answers == {"q": None}
    assert log.read_text() == "null\n"


@pytest.mark.rule("HANDOVER-1", "HANDOVER-7")
async def test_an_ask_is_handed_over_and_stays_open(tmp_path: Path) -> None:
    route = Route.model_validate({"to": "web", "responders": ["ana", "bob", "cy"]})
    async with open_terminal(tmp_path, routes={"ops": route}) as terminal:
        ask = await terminal.asked(question("boolean"), to="ops", responders=["ana"])
        left = await terminal.walked(ask, f"h\r{CTRL_C}h\r \rh\reve\rh\rbob\rq\r")
        assert (left.open, left.json["responders"]) == (True, ["ana", "bob"])
        assert "this person may not answer here" in terminal.screen.text.casefold()
        assert "ana · bob · cy" in terminal.screen.text
    async with open_terminal(tmp_path) as terminal:
        ask = await terminal.asked(question("boolean"))
        assert (await terminal.walked(ask, "h\rq\r")).json["responders"] == ["anyone"]


@pytest.mark.rule("SURFACE-9")
async def test_an_answer_of_somebody_who_may_not_answer_ends_the_walk(tmp_path: Path) -> None:
    route = Route.model_validate({"to": "web", "responders": ["bob"]})
    async with open_terminal(tmp_path, routes={"ops": route}) as terminal:
        ask = await terminal.asked(question("boolean"), to="ops")
        with pytest.raises(UnauthorizedError, match="may not act on this ask"):
            await terminal.walked(ask, "y\r")
        assert await terminal.client.get(ask.id) == ask
