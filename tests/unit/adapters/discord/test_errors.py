"""Discord's refusals are reported with what to do about them, and only refusals from Discord itself are final."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from answerback.core.errors import (
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
    UnauthorizedError,
)
from answerback_discord.errors import TABLE, TOKEN_REFUSED, ErrorCode, error_from_response
from tests.fakes.discord.problems import RefusalError

POST = "POST /channels/1/messages"


@pytest.mark.parametrize(
    ("code", "kind", "text"),
    [
        (
            50083,
            PayloadRejectedError,
            "the thread is archived, .*: reopen it in Discord, or ask elsewhere",
        ),
        (160006, PayloadRejectedError, "active threads: close some, or ask in a channel"),
        (200000, PayloadRejectedError, "AutoMod blocked the text: let the app's role pass"),
        (240000, PayloadRejectedError, "links blocked the text: ask again without its links"),
    ],
)
def test_a_refusal_says_what_to_do_next(code: int, kind: type[PlatformError], text: str) -> None:
    status, body = RefusalError(code).answer()
    with pytest.raises(kind, match=text) as raised:
        raise error_from_response(status, body, {}, POST)
    assert raised.value.code == str(code)


def test_a_refusal_that_is_not_from_discord_is_retried() -> None:
    assert isinstance(error_from_response(403, None, {}, POST), PlatformUnavailableError)
    discords: JsonValue = {"message": "Missing Access", "code": 50001}
    assert isinstance(error_from_response(403, discords, {}, POST), UnauthorizedError)


def test_exactly_the_documented_codes_are_handled(data: Path) -> None:
    documented = json.loads((data / "discord_errors.json").read_text("utf-8"))
    del documented["sources"]
    names = {int(code): name for codes in documented.values() for code, name in codes.items()}
    assert {int(code): code.name for code in ErrorCode} == names
    del documented["not in the table"]
    kinds = {int(code): kind for kind, codes in documented.items() for code in codes}
    assert {code: meaning.kind.__name__ for code, meaning in TABLE.items()} == kinds
    for code, kind in kinds.items():
        body: JsonValue = {"message": "no", "code": code}
        assert type(error_from_response(400, body, {}, POST)).__name__ == kind


def test_a_401_with_a_code_is_not_about_the_bots_token() -> None:
    for number in (50027, 40001):  # in the table, and not in it
        other: JsonValue = {"message": "Unauthorized", "code": number}
        assert error_from_response(401, other, {}, POST).code == str(number)
    without: JsonValue = {"message": "401: Unauthorized", "code": 0}
    assert error_from_response(401, without, {}, POST).code == TOKEN_REFUSED
