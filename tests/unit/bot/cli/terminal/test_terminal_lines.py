"""Lines in the terminal: what they mean, keys that move, the list of a multiple choice, and lines from a pipe."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.document import Document
from prompt_toolkit.layout.controls import BufferControl
from prompt_toolkit.layout.processors import TransformationInput
from pydantic import JsonValue

from answerback.cli.terminal.answer_keys import moves
from answerback.cli.terminal.line_input import PipedInput, PressedKey, _Visible
from answerback.cli.terminal.prompt import TerminalPrompter
from answerback.cli.terminal.walk import Walk
from answerback.core.form import Question
from answerback.core.labels import Labels
from answerback_client import Ask
from answerback_testing.surface_questions import TYPED_ANSWERS
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

LEFT, RIGHT, TAB, BACKTAB = "\x1b[D", "\x1b[C", "\t", "\x1b[Z"
OPTIONS = [{"value": "x", "label": "X"}, {"value": "y", "label": "Y"}]


@pytest.fixture
async def terminal(tmp_path: Path) -> AsyncIterator[Terminal]:
    async with open_terminal(tmp_path) as made:
        yield made


async def reviewed(terminal: Terminal) -> Ask:
    """An open ask of three questions that ends in a review."""
    questions = [{"id": n, "prompt": f"{n}?", "options": OPTIONS} for n in ("a", "b", "c")]
    return await terminal.asked(*questions, name="question")


async def claude(terminal: Terminal, *labels: str) -> Ask:
    """An open multiple choice whose other text replaces the ticks."""
    options = [{"label": label, "description": f"{label} it is"} for label in labels]
    asked = {"question": "Which?", "header": "W", "options": options, "multiSelect": True}
    return await terminal.asked(asked, name="AskUserQuestion")


# --- what a line means -----------------------------------------------------------------------------


@pytest.mark.rule("CARE-3")
async def test_a_label_equal_to_a_controls_letter_is_ambiguous(terminal: Terminal) -> None:
    first = {**question("boolean"), "id": "a"}
    ask = await terminal.asked(first, question("select", options=["b", "c"]))
    done = await terminal.walked(ask, "y\rb\r1\r")
    assert done.answers == {"a": True, "q": "b"}
    assert "b is ambiguous: it is a choice, and also means Back" in terminal.screen.text


@pytest.mark.rule("TYPED-10", "TYPED-11")
@pytest.mark.parametrize(("asked", "line", "value"), TYPED_ANSWERS)
async def test_a_line_means_the_same_as_a_typed_message(
    terminal: Terminal, asked: Question, line: str, value: Any
) -> None:
    labels = {option.value: option.label for option in asked.options}
    call = question(asked.answer_type.value, options=list(labels.values()))
    keys = f"{line}\r\r" if isinstance(value, list) else f"{line}\r"
    done = await terminal.walked(await terminal.asked(call), keys)
    expected = [labels[each] for each in value] if isinstance(value, list) else labels[value]
    assert done.answers == {"q": expected}


PERMISSION: dict[str, JsonValue] = {"tool_name": "Bash", "tool_input": {"command": "ls"}}


@pytest.mark.rule("TYPED-15")
@pytest.mark.parametrize("line", ["no", "No.", "nope", "STOP", "cancel"])
async def test_a_plain_word_denies_a_permission(terminal: Terminal, line: str) -> None:
    ask = await terminal.client.submit("PermissionRequest", {**PERMISSION})
    done = await terminal.walked(ask, f"yes\rok\r{line}\r")
    assert done.answers == {"decision": "deny"}
    assert "yes is not one of the choices" in terminal.screen.text


@pytest.mark.rule("TYPED-2")
@pytest.mark.parametrize(("line", "value"), [("yes.", True), ("Y.", True), ("No.", False)])
async def test_yes_and_no_may_end_in_a_full_stop(
    terminal: Terminal, line: str, value: bool
) -> None:
    done = await terminal.walked(await terminal.asked(question("boolean")), f"{line}\r")
    assert done.answers == {"q": value}


@pytest.mark.rule("TYPED-11")
@pytest.mark.parametrize("kind", ["select", "multi_select"])
async def test_where_a_label_and_a_number_disagree_nothing_is_taken(
    terminal: Terminal, kind: str
) -> None:
    ask = await terminal.asked(question(kind, options=["2", "4", "8"]))
    done = await terminal.walked(ask, "2\r8\r\r" if kind == "multi_select" else "2\r8\r")
    assert done.answers == {"q": ["8"] if kind == "multi_select" else "8"}
    assert "2 is ambiguous: it is a choice, and the number of another" in terminal.screen.text


INVISIBLE_OPTIONS: list[JsonValue] = [
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    {"optionId": "yes", "name": "\u200e", "kind": "allow_once"},
]


@pytest.mark.rule("FORM-11", "TERMINAL-7")
@pytest.mark.parametrize("line", ["", " ", "\u200b", "\u200e"])
async def test_a_blank_line_names_no_option_that_draws_nothing(
    terminal: Terminal, line: str
) -> None:
    call: JsonValue = {"toolCallId": "c1", "title": "make", "rawInput": {"command": "make"}}
    request: dict[str, JsonValue] = {
        "sessionId": "s",
        "toolCall": call,
        "options": INVISIBLE_OPTIONS,
    }
    ask = await terminal.client.submit("session/request_permission", request, dialect="approval")
    done = await terminal.walked(ask, f"{line}\rReject\r")
    assert done.answers == {"decision": "no"}
    assert "Enter one of 1, 2," in terminal.screen.text


@pytest.mark.rule("FORM-11")
@pytest.mark.parametrize("line", ["\u200b", "1, \u200b"])
async def test_a_blank_item_of_a_list_ticks_nothing(terminal: Terminal, line: str) -> None:
    ask = await terminal.asked(question("multi_select", options=["one", "\u200e"]))
    await terminal.walked(ask, f"{line}\rq\r")
    assert "[x] 2" not in terminal.screen.text


UP, DOWN = "\x1b[A", "\x1b[B"


@pytest.mark.rule("TERMINAL-7")
@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (f"{DOWN}\r", "red"),
        (f"{DOWN}{DOWN}\r", "green"),
        (f"{UP}\r", "blue"),
        (f"{DOWN}{UP}\r", "blue"),
        (f"{DOWN}2\r", "green"),
    ],
)
async def test_arrows_move_in_a_single_choice_and_enter_takes_what_they_point_at(
    terminal: Terminal, keys: str, value: str
) -> None:
    ask = await terminal.asked(question("select", options=["red", "green", "blue"]))
    assert (await terminal.walked(ask, keys)).answers == {"q": value}


@pytest.mark.rule("TERMINAL-7")
async def test_without_an_arrow_enter_takes_nothing_that_nobody_chose(terminal: Terminal) -> None:
    ask = await terminal.asked(question("select", options=["b", "r", "s"]))
    assert (await terminal.walked(ask, "\r2\r")).answers == {"q": "r"}
    assert "Nothing was entered." in terminal.screen.text
    preset = question("select", options=["red", "green"], default="green")
    assert (await terminal.walked(await terminal.asked(preset), f"{UP}\r")).answers == {"q": "red"}


async def test_words_that_two_choices_share_match_neither(terminal: Terminal) -> None:
    ask = await terminal.asked(question("select", options=["Dev", "dev"]))
    assert (await terminal.walked(ask, "DEV\r2\r")).answers == {"q": "dev"}
    assert "DEV is not one of the choices. Enter one of 1, 2, r, s, q." in terminal.screen.text


async def test_earlier_answers_are_shown_above_the_first_question_only(terminal: Terminal) -> None:
    questions = [{**question("boolean"), "id": f"q{n}", "text": f"No {n}?"} for n in range(8)]
    ask = await terminal.asked(*questions)
    for _ in range(6):
        ask = await terminal.client.act(ask.id, {"action": "answer", "value": True})
    await terminal.walked(ask, "n\rn\r")
    shown = terminal.screen.text
    assert "… 1 earlier" in shown
    assert "No 0? →" not in shown
    assert shown.count("No 5? → Yes") == 1
    assert "No 6? →" not in shown


async def test_the_asking_agent_is_named(terminal: Terminal) -> None:
    call = {"tool": "git", "question": {"id": "f", "text": "Force?", "answer_type": "boolean"}}
    ask = await terminal.client.submit("tool_question", call)  # type: ignore[arg-type] # a plain dict
    await terminal.walked(ask, "r\rno\r")
    assert "git asks" in terminal.screen.text
    assert "git gets your message instead of answers" in terminal.screen.text


# --- keys that move, and Esc -----------------------------------------------------------------------


async def test_arrows_and_tab_move_between_answered_questions_and_change_none(
    terminal: Terminal,
) -> None:
    ask = await reviewed(terminal)
    done = await terminal.walked(
        ask,
        ["1\r", "2\r", LEFT, BACKTAB, RIGHT, TAB, "1\r", LEFT, RIGHT, "y\r"],
    )
    assert done.answers == {"a": "x", "b": "y", "c": "x"}


@pytest.mark.rule("TERMINAL-8")
async def test_questions_are_left_for_later_by_arrow_tab_and_key(terminal: Terminal) -> None:
    ask = await reviewed(terminal)
    keys = [RIGHT, TAB, "1\r", "l\r", "2\r", f"{RIGHT}{TAB}1\r", "y\r"]  # c, then b, then a
    done = await terminal.walked(ask, keys)
    assert done.answers == {"a": "x", "b": "y", "c": "x"}
    assert "Answer later" in terminal.screen.text


@pytest.mark.rule("TERMINAL-8")
async def test_what_is_typed_keeps_its_question(terminal: Terminal) -> None:
    ask = await reviewed(terminal)
    done = await terminal.walked(ask, [f"2{RIGHT}\r", "1\r", "1\r", "y\r"])
    assert done.answers == {"a": "y", "b": "x", "c": "x"}


async def test_moving_on_repeats_the_other_text(terminal: Terminal) -> None:
    ask = await reviewed(terminal)
    done = await terminal.walked(ask, f"3\rmine\r{LEFT}{RIGHT}1\r1\ry\r")
    assert done.answers == {"a": "mine", "b": "x", "c": "x"}


async def test_arrows_do_not_move_if_back_would_discard_answers(terminal: Terminal) -> None:
    ask = await terminal.asked({**question("boolean"), "id": "a"}, SELECT)
    done = await terminal.walked(ask, ["y\r", f"{LEFT}{TAB}2\r"])
    assert done.answers == {"a": True, "q": "two"}


async def test_escape_leaves_the_text_then_opens_and_closes_the_menu(
    terminal: Terminal,
) -> None:
    ask = await terminal.asked(question("text"))
    keys = ["a\r", f"not th{ESC}", ESC, ESC, "a\r", "this\r"]
    assert (await terminal.walked(ask, keys)).answers == {"q": "this"}
    assert "Back to the question" in terminal.screen.text


async def test_escape_chooses_no_ask(terminal: Terminal) -> None:
    picking = asyncio.create_task(TerminalPrompter(Labels()).choose(["one", "two"]))
    await terminal.shows("None of them")
    terminal.keyboard.send_text(ESC)
    async with asyncio.timeout(WAIT):
        assert await picking is None


# --- the list of a multiple choice -----------------------------------------------------------------


async def test_other_text_is_a_row_that_opens_only_when_selected(terminal: Terminal) -> None:
    ask = await claude(terminal, "A", "B")
    up, down, clear = "\x1b[A", "\x1b[B", "\x15"
    keys = f"{up}\rfirst\r {clear}\r\r{CTRL_C}something else…\r{CTRL_C}{down}\x0e\x10 2\r\r"
    assert (await terminal.walked(ask, keys)).answers == {"q1": ["A", "B"]}
    other = await claude(terminal, "A", "B")
    assert (await terminal.walked(other, f"{up} mine\r\r")).answers == {"q1": "mine"}


async def test_other_text_that_replaces_ticks_asks_first(terminal: Terminal) -> None:
    ask = await claude(terminal, "A", "B")
    done = await terminal.walked(ask, "1\r3\rmine\r\rn\r\ry\r")
    assert done.answers == {"q1": "mine"}
    assert "Your own answer replaces what you ticked. Send them? (y/n)" in terminal.screen.text


async def test_other_text_is_sent_along_with_ticks(terminal: Terminal) -> None:
    options = [{"label": "A"}, {"label": "B"}]
    ask = await terminal.asked({"question": "Which?", "options": options, "multiSelect": True})
    done = await terminal.walked(ask, "1,2\r3\rZig\r\r")
    assert done.tool_result is not None
    assert done.tool_result.structured == {"answers": [["A", "B", "Zig"]]}


async def test_controls_and_arrows_work_below_the_checkboxes(terminal: Terminal) -> None:
    questions = [
        {"question": n, "options": [{"label": "A"}, {"label": "B"}], "multiSelect": True}
        for n in ("one", "two")
    ]
    ask = await terminal.asked(*questions)
    done = await terminal.walked(ask, "1\r\r2\r2\rback\r2\r\r1\r\r")
    assert done.tool_result is not None
    assert done.tool_result.structured == {"answers": [["A", "B"], ["A"]]}
    stopped = await terminal.walked(await terminal.asked(*questions), "end turn\ry\r")
    assert stopped.status == "turn_ended"


async def test_a_long_list_scrolls_and_shows_how_much_more_there_is(terminal: Terminal) -> None:
    long = "w" * 300
    ask = await terminal.asked(question("multi_select", options=[long, *map(str, range(99))]))
    walking = asyncio.create_task(terminal.walk().walk(ask))
    await terminal.shows("↓ 56 more")
    assert f"    {long}"[:60] in terminal.screen.text
    terminal.keyboard.send_text("\x1b[A ")
    await terminal.shows("↑ 56 more")
    await terminal.shows("[x] 100  98")
    terminal.keyboard.send_text("\r")
    async with asyncio.timeout(WAIT):
        await walking
    assert (await terminal.client.get(ask.id)).answers == {"q": ["98"]}


async def test_a_refused_answer_keeps_its_ticks(terminal: Terminal) -> None:
    ask = await claude(terminal, "A", "B")
    refused: dict[str, Any] = {"action": "other", "text": "mine", "value": ["B"]}
    acting = asyncio.create_task(TerminalPrompter(Labels()).prompt_action(ask.json, refused))
    await terminal.shows("[x] 2  B")
    await terminal.shows("[x] 3  Something else… mine")
    terminal.keyboard.send_text("q\r")
    async with asyncio.timeout(WAIT):
        assert await acting is None


# --- invisible characters --------------------------------------------------------------------------


@pytest.mark.rule("TEXT-3")
async def test_a_default_is_edited_with_visible_control_characters_and_sent_unchanged(
    terminal: Terminal,
) -> None:
    ask = await terminal.asked(question("text", default="a\u202eb\u2028c"))
    done = await terminal.walked(ask, "a\r!\r")
    assert done.answers == {"q": "a\u202eb\u2028c!"}
    assert "\u202e" not in terminal.screen.text
    assert "a⟨U+202E⟩b⟨U+2028⟩c" in terminal.screen.text


def test_the_cursor_follows_the_visible_characters() -> None:
    shown = _Visible().apply_transformation(
        TransformationInput(
            BufferControl(), Document("a\u202eb"), 0, lambda i: i, [("", "a\u202eb")], 80, 1
        )
    )
    assert [shown.source_to_display(place) for place in range(5)] == [0, 1, 9, 10, 10]
    assert [shown.display_to_source(place) for place in (0, 1, 5, 8, 9, 10)] == [0, 1, 1, 1, 2, 3]


# --- lines from a pipe -----------------------------------------------------------------------------


async def piped(terminal: Terminal, ask: Ask, given: str) -> tuple[Ask, list[str]]:
    """Answer an ask with these bytes from a pipe; returns the ask, and the messages besides the prompts."""
    messages: list[str] = []
    prompting = TerminalPrompter(Labels(), PipedInput(io.BytesIO(given.encode()), messages.append))
    walk = Walk(terminal.client, prompting, {"user_id": "ana", "name": "Ana"})
    async with asyncio.timeout(WAIT):
        await walk.walk(ask)
    return await terminal.client.get(ask.id), messages


@pytest.mark.rule("TERMINAL-4")
@pytest.mark.parametrize(
    ("asked", "given", "value"),
    [
        (question("boolean"), "\nyes\n", True),
        (SELECT, "2\r\n", "two"),
        (MANY, "1,3\n\n", ["one", "three"]),
        (question("text"), "a\nhello there\n", "hello there"),
        (question("schema", schema={"type": "array"}), "a\n{\ne\n[1]\n", [1]),
    ],
)
async def test_every_answer_type_can_come_from_a_pipe(
    terminal: Terminal, asked: dict[str, Any], given: str, value: Any
) -> None:
    done, _ = await piped(terminal, await terminal.asked(asked), given)
    assert done.answers == {"q": value}


@pytest.mark.rule("TERMINAL-4")
async def test_a_confirmation_can_come_from_a_pipe_too(terminal: Terminal) -> None:
    done, _ = await piped(terminal, await terminal.asked(question("boolean")), "s\ny\n")
    assert done.status == "turn_ended"


@pytest.mark.rule("TERMINAL-4")
async def test_the_end_of_a_pipe_leaves_the_ask_open_and_ignores_half_a_line(
    terminal: Terminal,
) -> None:
    ask = await terminal.asked(question("boolean"))
    with pytest.raises(EOFError):
        await piped(terminal, ask, "y")
    assert (await terminal.client.get(ask.id)).open


def test_moving_on_keeps_ticks_along_with_other_text() -> None:
    prompt: dict[str, Any] = {
        "question_id": "q",
        "reviewed": True,
        "kind": "question",
        "controls": [],
        "prefill": ["a", "mine"],
        "prefill_other": "mine",
    }
    again = {"action": "other", "text": "mine", "value": ["a"]}
    assert moves({"answers": {"q": ["a", "mine"]}}, prompt) == {PressedKey.NEXT: again}
