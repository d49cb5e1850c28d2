"""An elicitation that needs no form takes one press on every surface, and its buttons' names can be typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerback.core.actions import Answer
from answerback.core.labels import Labels
from answerback.core.typed_answers import UnclearText, parse_typed_answer
from answerback.core.view import answer_lines
from answerback.service.submission_request import read_submission
from tests.unit.adapters.all_surfaces import LABELS, SURFACES, case
from tests.unit.bot.dialect_support import act
from tests.unit.bot.terminal_support import open_terminal
from tests.unit.cases import case_call

NOTHING = "elicitation-nothing-to-fill"
BUTTONS = {NOTHING: ("Accept", "Decline"), "elicitation-one-boolean": ("Yes", "No")}


@pytest.mark.rule("ELICIT-4", "ELICIT-5")
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("name", BUTTONS)
def test_the_answers_are_buttons_in_the_message(surface: str, name: str) -> None:
    shown = SURFACES[surface](case(name)).replace("\r", "")
    for each in BUTTONS[name]:
        assert any(button in shown for button in (f'"{each}"', f">{each}<", f"  {each}\n"))
    assert LABELS.fill_in not in shown
    assert "JSON" not in shown


@pytest.mark.rule("ELICIT-4")
async def test_one_key_accepts_in_the_terminal(tmp_path: Path) -> None:
    async with open_terminal(tmp_path) as terminal:
        submission = read_submission({**case_call(NOTHING), "to": "web"})
        submitted = await terminal.service.running.service.submit(submission)
        ask = await terminal.client.get(submitted.ask.id)
        ended = await terminal.walked(ask, "y\r")
    assert ended.tool_result is not None
    assert ended.tool_result.structured == {"action": "accept", "content": {}}


@pytest.mark.rule("ELICIT-4")
@pytest.mark.parametrize(
    ("text", "value"),
    [("accept", True), ("Accept", True), ("yes", True), ("DECLINE", False), ("no", False)],
)
def test_the_names_of_the_buttons_can_be_typed(text: str, value: bool) -> None:
    ask = case(NOTHING)
    assert parse_typed_answer(ask, text, LABELS) == Answer(value=value)
    unclear = parse_typed_answer(ask, "perhaps", LABELS)
    assert isinstance(unclear, UnclearText)
    assert "Accept or Decline" in unclear.sentence
    answered = act(ask, Answer(value=value))
    [given], [question] = answered.walk.answers, ask.form.questions
    assert answer_lines(question, given, LABELS) == ["Accept" if value else "Decline"]


def test_the_words_can_be_changed() -> None:
    labels = Labels(accept="Take it", decline="Leave it")
    assert parse_typed_answer(case(NOTHING), "take it", labels) == Answer(value=True)
