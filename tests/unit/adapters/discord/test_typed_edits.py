"""Messages that are edited, or that have something else than a text."""

from __future__ import annotations

from typing import Any

import pytest

from answerback_discord import parse

SENT: dict[str, Any] = {
    "id": "1200000000000000000",
    "channel_id": "41",
    "type": 0,
    "content": "yes",
    "author": {"id": "7", "username": "ann"},
    "edited_timestamp": "2026-11-29T05:00:00+00:00",
}


@pytest.mark.rule("TYPED-14")
def test_only_what_its_author_changed_is_an_edit() -> None:
    typed = parse.parse_edited_message(SENT, "9")
    assert typed is not None
    assert (typed.text, typed.is_edit, typed.at) == ("yes", True, 1_795_928_400.0)
    for change in ({"edited_timestamp": None}, {"author": {"id": "9", "bot": True}}):
        assert parse.parse_edited_message(SENT | change, "9") is None


@pytest.mark.rule("TYPED-13")
@pytest.mark.parametrize(
    "other", [{"attachments": [{"id": "1"}]}, {"sticker_items": [{"id": "1"}]}, {"poll": {"a": 1}}]
)
def test_a_message_without_a_text_is_one_if_it_has_something_else(other: dict[str, Any]) -> None:
    typed = parse.parse_typed_message(SENT | {"content": "", **other}, "9")
    assert typed is not None
    assert (typed.text, typed.has_files) == ("", True)
    assert parse.parse_typed_message(SENT | {"content": ""}, "9") is None
