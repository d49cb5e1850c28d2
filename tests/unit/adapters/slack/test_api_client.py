"""The contents of calls to Slack's Web API, none of which leak."""

from __future__ import annotations

import logging

import aiohttp
import pytest

from answerback.core.errors import RateLimitedError
from answerback.runtime.sockets import chat_http_session
from answerback_slack import api_client
from answerback_slack.api_client import SlackApi, create_web_client
from tests.fakes.slack.server import FakeSlack

SECRET = "the-secret-answer"


async def test_the_sdk_does_not_format_its_calls_for_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with FakeSlack() as slack, aiohttp.ClientSession() as http:
        slack.workspace.add_channel("C1")
        client = create_web_client(slack.bot_token, slack.api_url, http)
        await client.chat_postMessage(channel="C1", text=SECRET)
        [message] = slack.messages("C1")
    assert message.text == SECRET
    # Check the level as the SDK does: a line that is dropped later would have been formatted by then.
    assert client.logger.level > logging.DEBUG
    logged = [r.getMessage() for r in caplog.records if not r.name.startswith("aiohttp")]
    assert not [line for line in logged if SECRET in line]


@pytest.mark.parametrize("text", ["Café 🎉 – 東京", "half a pair: \ud83c", "a\u2028b\0c"])
async def test_any_text_reaches_slack_unchanged(text: str) -> None:
    async with FakeSlack() as slack, chat_http_session() as http:
        slack.workspace.add_channel("C1")
        client = create_web_client(slack.bot_token, slack.api_url, http)
        await client.chat_postMessage(channel="C1", text=text)
        [message] = slack.messages("C1")
    assert message.text == text


async def test_no_cookies_are_kept() -> None:
    async with chat_http_session() as http:
        http.cookie_jar.update_cookies({"b": "tracked"})
        assert not len(http.cookie_jar)


async def test_however_many_limits_there_are_none_is_forgotten_before_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(api_client, "MAX_LIMITS", 2)
    channels = ("C1", "C2", "C3", "C4")
    async with FakeSlack() as slack, chat_http_session() as http:
        calls = SlackApi(create_web_client(slack.bot_token, slack.api_url, http))
        slack.faults.add("chat.postMessage", times=None, status=429, retry_after=60)
        for channel in channels * 2:
            with pytest.raises(RateLimitedError):
                await calls.call(calls.client.chat_postMessage, channel=channel, text="?")
    assert slack.count("chat.postMessage") == len(channels)
