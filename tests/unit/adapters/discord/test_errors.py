"""Discord's refusals are reported with what to do about them, and only refusals from Discord itself are final."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from answerback.core.errors import (
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
    UnauthorizedError,
)
from answerback_discord.errors import error_from_response
from tests.fakes.discord.problems import RefusalError

POST = "POST /channels/1/messages"


@pytest.mark.parametrize(
    ("code", "kind", "words"),
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
def test_a_refusal_says_what_to_do_next(code: int, kind: type[PlatformError], words: str) -> None:
    status, body = RefusalError(code).answer()
    with pytest.raises(kind, match=words) as raised:
        raise error_from_response(status, body, {}, POST)
    assert raised.value.code == str(code)


def test_a_refusal_that_is_not_from_discord_is_retried() -> None:
    assert isinstance(error_from_response(403, None, {}, POST), PlatformUnavailableError)
    discords: JsonValue = {"message": "Missing Access", "code": 50001}
    assert isinstance(error_from_response(403, discords, {}, POST), UnauthorizedError)
