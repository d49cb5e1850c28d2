"""Telegram's sentences mean what its server says with them: the table lacks none, and has none by mistake."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import aiohttp
import pytest

from answerback.core.errors import DestinationGoneError, PayloadRejectedError, PlatformError
from answerback_telegram import errors
from answerback_telegram.api_client import TelegramApi
from tests.fakes.telegram.server import FakeTelegram

Refusal = Callable[[str], Awaitable[PlatformError]]


@pytest.fixture(scope="module")
def documented(data: Path) -> dict[str, dict[str, list[str]]]:
    """The sentences of the Bot API, by what each causes and by the part of it that is in the table."""
    text = (data / "telegram_errors.json").read_text("utf-8")
    sentences: dict[str, dict[str, list[str]]] = json.loads(text)
    del sentences["sources"]
    return sentences


@pytest.fixture
async def refusal() -> AsyncIterator[Refusal]:
    """A call that Telegram refuses with a sentence; it returns the error."""
    async with FakeTelegram() as telegram, aiohttp.ClientSession() as http:
        calls = TelegramApi(http, telegram.token, telegram.url)

        async def refused(sentence: str) -> PlatformError:
            status = 403 if sentence.startswith("Forbidden") else 400
            body = {"ok": False, "error_code": status, "description": sentence}
            telegram.odd_answers["getChat"] = [(status, json.dumps(body))]
            with pytest.raises(PlatformError) as raised:
                await calls.call("getChat")
            return raised.value

        yield refused


async def test_exactly_the_documented_sentences_are_in_the_table(
    documented: dict[str, dict[str, list[str]]], refusal: Refusal
) -> None:
    expected = {
        part: cause if cause.endswith("Error") else "PayloadRejectedError"
        for cause, parts in documented.items()
        for part in parts
    }
    assert {part: meaning.kind.__name__ for part, meaning in errors.TABLE.items()} == expected
    for parts in documented.values():
        for part, sentences in parts.items():
            for sentence in sentences:
                error = await refusal(sentence)
                assert (error.code, type(error).__name__) == (part, expected[part])
                assert errors.TABLE[part].advice in str(error)
                assert sentence.partition(": ")[2].casefold() in str(error).casefold()


def test_what_an_edit_and_a_new_message_tell_apart(
    documented: dict[str, dict[str, list[str]]],
) -> None:
    assert {errors.NOT_MODIFIED} == documented["nothing to change"].keys()
    assert set(errors.MESSAGE_GONE) == documented["message gone"].keys()
    assert set(errors.DEFECTS) == documented["defect"].keys()


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Bad Request: brand new", PayloadRejectedError),
        ("Forbidden: brand new", DestinationGoneError),
    ],
)
async def test_an_unknown_sentence_is_final_and_is_told(
    refusal: Refusal, sentence: str, kind: type[PlatformError]
) -> None:
    error = await refusal(sentence)
    assert type(error) is kind
    assert "Telegram refused getChat: " in str(error)
    assert "brand new" in str(error).casefold()
