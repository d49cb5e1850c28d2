"""Slack's error codes mean what its documentation says: none is missing from the table, none is there by mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from answerback.core.errors import DestinationGoneError
from answerback_slack import errors


@pytest.fixture(scope="module")
def documented(data: Path) -> dict[str, list[str]]:
    """The codes of Slack's methods, by the error that each causes."""
    text = (data / "slack_errors.json").read_text("utf-8")
    codes: dict[str, list[str]] = json.loads(text)
    del codes["sources"]
    return codes


def test_exactly_the_documented_codes_are_in_the_table(documented: dict[str, list[str]]) -> None:
    expected = {
        code: kind for kind, codes in documented.items() if kind.endswith("Error") for code in codes
    }
    actual = {
        code: type(errors.error_from_code("chat.postMessage", code)).__name__
        for code in errors.TABLE
    }
    assert actual == expected


def test_a_message_that_cannot_be_edited_is_told_from_a_place_that_is_gone(
    documented: dict[str, list[str]],
) -> None:
    assert set(documented["not editable"]) == errors.UNEDITABLE_CODES
    assert errors.MESSAGE_DELETED in errors.UNEDITABLE_CODES


def test_exactly_the_codes_of_a_bad_token_reject_every_call(
    documented: dict[str, list[str]],
) -> None:
    assert set(documented["token refused"]) == errors.TOKEN_REFUSED_CODES


@pytest.mark.parametrize("code", ["restricted_action", "restricted_action_thread_only_channel"])
def test_a_channel_that_lets_the_app_not_post_says_who_can_change_that(code: str) -> None:
    error = errors.error_from_code("chat.postMessage", code)
    assert isinstance(error, DestinationGoneError)
    assert "ask the administrators" in str(error)


def test_an_unknown_code_is_final_and_names_the_page_that_explains_it() -> None:
    error = errors.error_from_code("chat.postMessage", "brand_new")
    assert isinstance(error, DestinationGoneError)
    assert "brand_new" in str(error)
    assert "https://docs.slack.dev/reference/methods/chat.postMessage" in str(error)
