"""What Discord refuses is told with what to do about it, and only Discord's own word is final."""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from answerback.core.errors import PlatformError, RefusedError, UnauthorizedError, UnavailableError
from answerback_discord.errors import translate
from tests.fakes.discord.problems import RefusalError

POST = "POST /channels/1/messages"


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (50083, RefusedError, "the thread is archived, .*: open it in Discord, or ask elsewhere"),
        (160006, RefusedError, "active threads .*: close some, or ask in a channel"),
        (200000, RefusedError, "AutoMod blocked the text: let the app's role pass"),
        (240000, RefusedError, "links blocked the text: ask again without its links"),
    ],
)
def test_a_refusal_says_what_to_do_next(code: int, kind: type[PlatformError], words: str) -> None:
    status, body = RefusalError(code).answer()
    with pytest.raises(kind, match=words) as raised:
        raise translate(status, body, {}, POST)
    assert raised.value.code == str(code)


def test_a_refusal_that_is_not_discords_own_is_tried_again() -> None:
    assert isinstance(translate(403, None, {}, POST), UnavailableError)
    discords: JsonValue = {"message": "Missing Access", "code": 50001}
    assert isinstance(translate(403, discords, {}, POST), UnauthorizedError)
