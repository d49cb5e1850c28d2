"""Words typed in a thread: which action they stand for, and which are left alone."""

from __future__ import annotations

from typing import Any

import pytest

from bot.ask import Ask, Destination, Request
from bot.dialects import registry
from bot.labels import Labels
from bot.typed import action_of
from bot.walker import Action, Answer, Other, Reply, start


def asked(name: str, arguments: dict[str, Any]) -> Ask:
    dialect, form = registry.parse_call(name, arguments)
    return Ask(
        id="ask_1",
        created_at=0,
        updated_at=0,
        request=Request(name=name, dialect=dialect, arguments=arguments, form=form),
        destination=Destination(surface="chat", channel="C1"),
        responders=("anyone",),
        walk=start(form),
    )


def single(kind: str, *options: str) -> Ask:
    return asked(
        "ask_user",
        {"question": "?", "answer_type": kind, **({"options": list(options)} if options else {})},
    )


LABELLED = [{"label": label, "description": ""} for label in ("Red", "Blue")]
CLAUDE = asked(
    "AskUserQuestion", {"questions": [{"question": "?", "header": "h", "options": LABELLED}]}
)
FORM = asked("ask_user", {"questions": [{"question": "?", "options": LABELLED}]})
SCHEMA = asked(
    "ask_user",
    {
        "questions": [
            {"id": "a", "text": "?", "answer_type": "schema", "schema": {"type": "object"}}
        ]
    },
)


@pytest.mark.parametrize(
    ("ask", "text", "expected"),
    [
        (single("text"), "  any words ", Answer(value="  any words ")),
        (single("text"), "   ", None),
        (single("boolean"), "YES", Answer(value=True)),
        (single("boolean"), "n", Answer(value=False)),
        (single("boolean"), "yes please", None),
        (single("select", "Red", "Blue"), "blue", Answer(value="Blue")),
        (single("select", "Red", "Blue"), " 2. ", Answer(value="Blue")),
        (single("select", "Red", "Blue"), "3", None),
        (single("select", "Red", "Blue"), "0", None),
        (single("select", "2", "1"), "1", Answer(value="1")),
        (single("select", "a", "A"), "A", Answer(value="A")),
        (single("select", "a", "A"), "a", Answer(value="a")),
        (single("select", "Red"), "9" * 30, None),
        (single("select", "Red", "Blue"), "which is better?", None),
        (single("multi_select", "Red", "Blue"), "2, red", Answer(value=["Blue", "Red"])),
        (single("multi_select", "Red, dark", "Blue"), "Red, dark", Answer(value=["Red, dark"])),
        (single("multi_select", "Red", "Blue"), "red, red", Answer(value=["Red"])),
        (single("multi_select", "Red", "Blue"), "red and blue", None),
        (CLAUDE, "red", Answer(value="Red")),
        (CLAUDE, "Green", Other(text="Green")),
        (FORM, "1", Answer(value="Red")),
        (FORM, "do both", Reply(text="do both")),
        (SCHEMA, '{"n": 1}', Answer(value={"n": 1})),
        (SCHEMA, "later", None),
        (SCHEMA, "[" * 100_000, None),
    ],
)
def test_words_stand_for_an_action_or_are_left_alone(
    ask: Ask, text: str, expected: Action | None
) -> None:
    assert action_of(ask, text, Labels()) == expected


def test_the_configured_words_of_the_buttons_count_too() -> None:
    assert action_of(single("boolean"), "ja", Labels(yes="Ja")) == Answer(value=True)
