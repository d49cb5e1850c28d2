"""Initial values of a modal: invisible characters are spelled out above the inputs, and submitted unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.labels import Labels
from tests.unit.adapters.discord.rig import Rig

LABELS = Labels()
INVISIBLE_TEXTS = "safe\u202egnp.exe"
SPELT = "safe⟨U+202E⟩gnp.exe"
OBJECT = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
LIST = {"type": "array", "items": {"type": "array"}}


@pytest.mark.rule("TEXT-3")
@pytest.mark.parametrize(
    ("question", "button", "warned"),
    [
        ({"answer_type": "text", "default": INVISIBLE_TEXTS}, LABELS.answer, True),
        (
            {
                "answer_type": "schema",
                "schema": OBJECT,
                "default": {"a": INVISIBLE_TEXTS, "b": "seen"},
            },
            LABELS.fill_in,
            True,
        ),
        (
            {"answer_type": "schema", "schema": LIST, "default": [[INVISIBLE_TEXTS]]},
            LABELS.fill_in,
            False,
        ),
    ],
    ids=["text", "form", "json"],
)
async def test_an_initial_value_is_spelled_out_and_submitted_unchanged(
    up: Rig, question: dict[str, Any], button: str, warned: bool
) -> None:
    ask = await up.shown(await up.submit([{"id": "q", "text": "What?", **question}]))
    await up.ann.click(button)
    assert up.ann.modal is not None
    text = "\n".join(up.ann.modal.texts)
    assert (LABELS.unseen in text) == warned
    assert (SPELT in text) == warned
    assert (await up.ann.submit()).answered
    [answer] = (await up.shown(ask)).walk.answers
    assert answer.value == question["default"]
