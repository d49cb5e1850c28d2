"""A screen reader that reads a message in order conveys the whole decision, in every state of every answer type.

A message of components has no ``content`` of its own, and Discord takes no other text for it
(https://docs.discord.com/developers/resources/message#create-message): what is read out are its Text Displays and the
names of its controls, from top to bottom.
"""

from __future__ import annotations

import pytest

from answerback.core.actions import Answer
from answerback.core.form import AnswerType, Form
from answerback.core.view import View, view_of
from answerback.presentation import wording
from answerback_chat.control_codec import Verb, decode
from answerback_discord import components as c
from answerback_discord import render
from answerback_discord.components import Json
from tests.unit.adapters.discord.examples import after, ask_of, question
from tests.unit.adapters.discord.sendable import LABELS
from tests.unit.adapters.discord.sight import remove_escapes, strip_layout
from tests.unit.adapters.discord.test_snapshots import KINDS, states

pytestmark = pytest.mark.rule("DISCORD-15")


def read_aloud(message: Json) -> list[tuple[str, str]]:
    """The parts in reading order: the kind of each, and its words."""
    said: list[tuple[str, str]] = []
    for part in c.iter_components(message["components"]):
        if part["type"] == c.TEXT_DISPLAY:
            said.append(("text", strip_layout(remove_escapes(str(part["content"])))))
        elif part["type"] == c.BUTTON:
            said.append(("button", strip_layout(str(part["label"]))))
        elif part["type"] == c.STRING_SELECT:
            said.append(("menu", strip_layout(str(part["placeholder"]))))
            options = part["options"]
            assert isinstance(options, list)
            said += [
                ("option", strip_layout(str(dict(o)["label"])))
                for o in options
                if isinstance(o, dict)
            ]
    return said


def place(said: list[tuple[str, str]], expected: str) -> int:
    """The index of the first part with these words."""
    wanted = strip_layout(expected)
    found = [i for i, (_, text) in enumerate(said) if wanted in text]
    assert found, f"nothing says {expected!r}: {said}"
    return found[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_read_from_the_top_covers_the_whole_decision(kind: str) -> None:
    for state, ask in states(kind).items():
        view = view_of(ask)
        message = render.message(view, LABELS)
        said = read_aloud(message)
        assert place(said, wording.who_asks(view, LABELS)) == 0, state
        if view.prompt is None:
            how = wording.ending(view, LABELS).replace(
                LABELS.closed, "closed the form without a message"
            )
            assert strip_layout(how) in said[0][1], state
            for line in view.lines:
                assert place(said, line.question.text) >= 0, state
            continue
        is_open(view, message, said)


def is_open(view: View, message: Json, said: list[tuple[str, str]]) -> None:
    """Check that an open question is read after its context, and before the controls that answer it."""
    assert view.prompt is not None
    asked = place(said, view.prompt.question.text)
    first_control = next(i for i, (kind, _) in enumerate(said) if kind != "text")
    if view.prompt.question.context:
        assert place(said, view.prompt.question.context) < asked
    assert asked < first_control
    names = [decode(part.get("custom_id")) for part in c.iter_components(message["components"])]
    ways = [i for i, each in enumerate(filter(None, names)) if each.verb is Verb.REPLY]
    assert ways, "Reply and End Turn come behind what answers"
    listed = view.prompt.question.options[:25] if len(view.prompt.question.options) <= 25 else ()
    for option in listed:
        place(said, option.label[:40])
        place(said, (option.description or option.label)[:40])
    buttons = [text for each, text in said if each == "button"]
    assert len(set(buttons)) == len(buttons), "each button has a name of its own"


def test_edit_buttons_say_which_answer_they_edit() -> None:
    asked = tuple(question(AnswerType.TEXT, id=f"q{n}", text=f"Question {n}?") for n in range(1, 9))
    ask = after(ask_of(Form(questions=asked, review=True)), *[Answer(value="Yes.")] * len(asked))
    said = read_aloud(render.message(view_of(ask), LABELS))
    for n in range(1, 9):
        assert place(said, f"{n}. Question {n}?") + 1 == said.index(("button", f"{LABELS.edit}{n}"))
