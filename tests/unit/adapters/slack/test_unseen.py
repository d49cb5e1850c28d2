"""Invisible characters in a modal's initial text are spelled out above the input, and submitted unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.adapters.slack.rig import LABELS, Rig

INVISIBLE_TEXTS = "safe\u202egnp.exe"
SPELT = "safe⟨U+202E⟩gnp.exe"
OBJECT = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
LIST = {"type": "array", "items": {"type": "array"}}


@pytest.mark.rule("TEXT-3")
@pytest.mark.parametrize(
    ("question", "button", "warned"),
    [
        ({"answer_type": "text", "default": INVISIBLE_TEXTS}, LABELS.answer, True),
        ({"answer_type": "text", "default": INVISIBLE_TEXTS * 400}, LABELS.answer, True),
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
    ids=["text", "long text", "form", "json"],
)
async def test_invisible_characters_are_spelled_out_and_submitted_unchanged(
    up: Rig, question: dict[str, Any], button: str, warned: bool
) -> None:
    ask = await up.submit({"id": "q", "text": "What?", **question})
    await up.ada.click(up.live(ask), button)
    shown = up.ada.sees(await up.ada.sees_modal())
    assert (LABELS.unseen in shown.text) == warned
    assert (SPELT in shown.text) == warned
    assert (await up.ada.submit({})).ok
    [answer] = (await up.shown(ask)).walk.answers
    assert answer.value == question["default"]
