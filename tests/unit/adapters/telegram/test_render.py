"""Rendered messages: a context has every character and no mark that Telegram refuses, and a long review has pages."""

from __future__ import annotations

import string
from typing import Any

import pytest
from hypothesis import example, given

from answerback.core.actions import Answer
from answerback.core.form import AnswerType, Form
from answerback.core.labels import Labels
from answerback.core.markdown import blocks_to_text, parse
from answerback.core.view import view_of
from answerback_base.sanitize import visible
from answerback_telegram import limits, question_context, render
from answerback_telegram.option_controls import ListState
from tests.fakes.telegram.rules import parse_html
from tests.unit.adapters.all_surfaces import asked
from tests.unit.adapters.discord.examples import after, ask_of, question
from tests.unit.bot.core.test_markdown import SOURCES

LABELS = Labels()
_NOT_TEXT = str.maketrans("", "", string.punctuation + string.whitespace + "•─—┃\u200b")


@pytest.mark.rule("TELEGRAM-2", "TELEGRAM-3", "TEXT-5")
@given(source=SOURCES.map(visible))
@example("1. a\n\n   ```sh\n   one\n   two\n   ```\n2. b")
@example("a ***bold and italic*** and ~~**both**~~ b")
@example("**`code`** and ***a @name***")
@example(" ".join(f"**{n}** *x*" for n in range(60)))
def test_every_character_is_in_the_message(source: str) -> None:
    asks = {"id": "a", "text": "Go?", "answer_type": "boolean", "context": source}
    prompt = view_of(asked({"name": "ask_user", "arguments": {"questions": [asks]}})).prompt
    assert prompt is not None
    context = question_context.CONTEXT.render_context(prompt, limits.MESSAGE_TEXT).text
    said = parse_html(f"Go? {context}").text.removeprefix("Go?")
    assert said.translate(_NOT_TEXT) == blocks_to_text(parse(source)).translate(_NOT_TEXT)


@pytest.mark.rule("TELEGRAM-1")
@pytest.mark.parametrize(("page", "edits"), [(0, range(1, 31)), (1, range(31, 32))])
def test_a_long_review_has_pages_of_answers_to_edit(page: int, edits: range) -> None:
    asks = tuple(question(AnswerType.BOOLEAN, id=f"q{n}") for n in range(31))
    ask = after(ask_of(Form(questions=asks, review=True)), *[Answer(value=True)] * 31)
    keyboard: Any = render.message(view_of(ask), LABELS, ListState(page=page))["reply_markup"]
    labels = [each["text"] for row in keyboard["inline_keyboard"] for each in row]
    assert [each for each in labels if each.startswith(LABELS.edit)] == [
        f"{LABELS.edit} {n}" for n in edits
    ]
    assert (LABELS.previous if page else LABELS.next) in labels
