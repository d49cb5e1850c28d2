"""A person's own text and note in the terminal: kept after Back, sent again, and never blank."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import JsonValue

from answerback.cli.terminal.answer_keys import options_to_show
from answerback.core.labels import Labels
from answerback_client import AsyncClient
from tests.service_support import WAIT
from tests.unit.bot.terminal_support import Terminal, open_terminal

LABELS = Labels()
OPTIONS = [{"label": "Alpha", "description": "a"}, {"label": "Gamma", "description": "b"}]


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    async with open_terminal(tmp_path) as made:
        yield made


def claude_questions(*, several: bool) -> list[dict[str, object]]:
    return [
        {"question": f"{n}?", "header": n, "options": OPTIONS, "multiSelect": several}
        for n in ("one", "two")
    ]


@pytest.mark.rule("WALK-9")
async def test_blank_own_text_keeps_the_text_entry(terminal: Terminal) -> None:
    ask = await terminal.asked(*claude_questions(several=False), name="AskUserQuestion")
    done = await terminal.walked(ask, "3\r \rmine\r1\r")
    assert done.answers == {"q1": "mine", "q2": "Alpha"}
    assert "The text is blank." in terminal.screen.text


@pytest.mark.rule("FORM-11", "WALK-9")
async def test_own_text_that_draws_nothing_is_blank(terminal: Terminal) -> None:
    ask = await terminal.asked(*claude_questions(several=False), name="AskUserQuestion")
    done = await terminal.walked(ask, "3\r\u200b\rmine\r1\r")
    assert done.answers == {"q1": "mine", "q2": "Alpha"}
    assert "The text is blank." in terminal.screen.text


@pytest.mark.rule("WALK-9")
async def test_blank_own_text_beside_ticks_keeps_the_text_entry(terminal: Terminal) -> None:
    ask = await terminal.asked(*claude_questions(several=True), name="AskUserQuestion")
    done = await terminal.walked(ask, "3\r \rmine\r\r1\r\r")
    assert done.answers == {"q1": "mine", "q2": ["Alpha"]}


@pytest.mark.rule("WALK-3")
async def test_after_back_own_text_is_what_enter_starts_from(terminal: Terminal) -> None:
    ask = await terminal.asked(*claude_questions(several=False), name="AskUserQuestion")
    done = await terminal.walked(ask, "3\rmine\rb\r\r, too\r1\r")
    assert done.answers == {"q1": "mine, too", "q2": "Alpha"}


@pytest.mark.rule("WALK-3")
async def test_after_back_own_text_that_is_also_an_option_ticks_nothing(terminal: Terminal) -> None:
    ask = await terminal.asked(
        *({"question": f"{n}?", "options": OPTIONS, "multiSelect": True} for n in ("one", "two"))
    )
    done = await terminal.walked(ask, "1\r3\rGamma\r\rb\r\r2\r\r")
    assert done.tool_result is not None
    assert done.tool_result.structured == {"answers": [["Alpha", "Gamma"], ["Gamma"]]}


@pytest.mark.rule("WALK-3")
@pytest.mark.parametrize(
    ("several", "keys", "value"), [(False, "\r", "Alpha"), (True, "\r", ["Alpha"])]
)
async def test_after_back_the_note_is_shown_and_sent_again(
    terminal: Terminal, several: bool, keys: str, value: JsonValue
) -> None:
    ask = await terminal.asked(*claude_questions(several=several), name="AskUserQuestion")
    person: AsyncClient = terminal.client
    await person.act(ask.id, {"action": "answer", "value": value, "note": "for now"})
    ask = await person.get(ask.id)
    done = await terminal.walked(ask, f"b\r{keys}1\r" + ("\r" if several else ""))
    assert "Pre-filled: Note: for now" in terminal.screen.text
    assert done.answers["q1"] == value
    assert done.tool_result is not None
    structured = done.tool_result.structured
    assert isinstance(structured, dict)
    assert structured["annotations"] == {"one?": {"notes": "for now"}}


def test_an_only_option_that_means_other_stays_an_option() -> None:
    labels = Labels()
    options: list[JsonValue] = [{"label": labels.other}]
    prompt: dict[str, JsonValue] = {"options": options, "other": True}
    assert options_to_show(prompt, labels) == (options, {"label": labels.other})


APPROVALS: dict[str, dict[str, JsonValue]] = {
    "PermissionRequest": {"tool_name": "Bash", "tool_input": {"command": "make"}},
    "tool_approval": {"name": "delete", "args": {"path": "a.txt"}},
}


@pytest.mark.rule("APPROVAL-13")
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("PermissionRequest", LABELS.note_hint),
        ("tool_approval", LABELS.note_denied_hint),
    ],
)
async def test_words_go_with_a_decision_and_people_read_first_where_they_stay(
    terminal: Terminal, name: str, hint: str
) -> None:
    arguments = APPROVALS[name]
    ask = await terminal.client.submit(name, {**arguments}, dialect="approval", to="web")
    done = await terminal.walked(ask, "n\rOn staging only.\r1\r")
    assert done.status == "answered"
    assert done.json["note"] == "On staging only."
    shown = terminal.screen.text
    assert hint in shown
    assert shown.index(hint) < shown.index("Note: On staging only.")


@pytest.mark.rule("ACT-8")
async def test_a_note_is_for_its_own_question_and_a_blank_one_takes_it_back(
    terminal: Terminal,
) -> None:
    ask = await terminal.asked(*claude_questions(several=True), name="AskUserQuestion")
    done = await terminal.walked(ask, "n\rfirst\r1\r\r2\r\r")
    assert done.answers == {"q1": ["Alpha"], "q2": ["Gamma"]}
    assert done.tool_result is not None
    assert str(done.tool_result.structured).count("first") == 1
    ask = await terminal.asked(*claude_questions(several=False)[:1], name="AskUserQuestion")
    done = await terminal.walked(ask, "n\rfirst\rn\r\x15\r1\r")
    assert done.tool_result is not None
    assert "first" not in str(done.tool_result.structured)


@pytest.mark.rule("ACT-8", "WALK-10")
@pytest.mark.parametrize("several", [False, True])
async def test_a_note_is_not_dropped_with_own_text(terminal: Terminal, several: bool) -> None:
    ask = await terminal.asked(*claude_questions(several=several)[:1], name="AskUserQuestion")
    own, sent = ("3\rmine\r\r", "\r") if several else ("3\r", "3\rmine\r")
    done = await terminal.walked(ask, f"n\rfor now\r{own}n\r\x15\r{sent}")
    assert "Your own text takes no note." in terminal.screen.text
    assert done.answers == {"q1": "mine"}


@pytest.mark.rule("WALK-3", "ACT-8")
@pytest.mark.parametrize("note", ["theirs", ""])
async def test_a_note_that_somebody_else_has_changed_since_is_sent_as_it_is_shown(
    terminal: Terminal, note: str
) -> None:
    ask = await terminal.asked(*claude_questions(several=False), name="AskUserQuestion")
    walk = terminal.walk(["n\r", "mine\r", "1\r", "q\r", "1\r", "1\r"])
    async with asyncio.timeout(WAIT):
        await walk.walk(ask)
    await terminal.client.act(ask.id, {"action": "back"})
    changed: dict[str, JsonValue] = {"action": "answer", "value": "Alpha", "note": note}
    await terminal.client.act(ask.id, changed)
    back = await terminal.client.act(ask.id, {"action": "back"})
    async with asyncio.timeout(WAIT):
        await walk.walk(back)
    done = await terminal.client.get(ask.id)
    assert done.tool_result is not None
    assert ("theirs" in str(done.tool_result.structured)) is bool(note)
    assert "mine" not in str(done.tool_result.structured)


@pytest.mark.rule("ACT-8")
async def test_a_note_that_crosses_a_change_of_it_is_not_sent(terminal: Terminal) -> None:
    ask = await terminal.asked(*claude_questions(several=False), name="AskUserQuestion")
    for action in ({"action": "answer", "value": "Alpha", "note": "first"}, {"action": "back"}):
        ask = await terminal.client.act(ask.id, action)
    walking = asyncio.create_task(terminal.walk(["n\r", "\x15mine\r"]).walk(ask))
    await terminal.shows("Note: mine")
    for action in ({"action": "answer", "value": "Alpha", "note": "theirs"}, {"action": "back"}):
        await terminal.client.act(ask.id, action)
    terminal.keyboard.send_text("1\r")
    await terminal.shows("Pre-filled: Note: theirs")
    terminal.keyboard.send_text("1\r")
    await terminal.shows("two?")
    terminal.keyboard.send_text("1\r")
    async with asyncio.timeout(WAIT):
        await walking
    done = await terminal.client.get(ask.id)
    assert done.tool_result is not None
    assert "theirs" in str(done.tool_result.structured)


@pytest.mark.rule("ACT-8")
@pytest.mark.parametrize("detour", ["f\r", "?\rWhy?\r"])
async def test_a_note_is_kept_and_shown_again_after_a_detour(
    terminal: Terminal, detour: str
) -> None:
    ask = await terminal.client.submit(
        "PermissionRequest",
        {**APPROVALS["PermissionRequest"]},
        dialect="approval",
        accepts=["clarify"],
    )
    done = await terminal.walked(ask, f"n\rOn staging only.\r{detour}1\r")
    assert done.json["note"] == "On staging only."
    assert terminal.screen.text.count("Note: On staging only.") == 2
