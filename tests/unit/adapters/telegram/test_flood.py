"""A group takes twenty messages and edits in a minute: whatever people do there, no more are sent, and nobody waits."""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.core.errors import RateLimitedError
from answerback.core.labels import Labels
from answerback.service.submission_request import Submission
from answerback_telegram import api_client, limits, render
from answerback_telegram.api_client import EDIT, POST, TelegramApi
from tests.fakes.telegram.server import FakeTelegram
from tests.fakes.telegram.world import Message
from tests.service_support import WAIT
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press

_HOUR = 3_600.0
WHICH: dict[str, Any] = {
    "id": "which",
    "text": "Which?",
    "answer_type": "multi_select",
    "options": ["A", "B"],
}


def _is_version(message: Message, version: int) -> bool:
    return message.version == version


@pytest.fixture(autouse=True)
def limits_that_do_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine, no limit ends by itself, and no edit comes between two posts that wait."""
    monkeypatch.setattr(api_client, "GROUP_WINDOW", _HOUR)
    monkeypatch.setattr(api_client, "_TURN_SECONDS", WAIT)


@pytest.mark.rule("TELEGRAM-4", "TELEGRAM-2")
async def test_a_flood_of_ticks_is_answered_at_once_and_edits_stay_within_the_limit(
    tmp_path: Path,
) -> None:
    most = limits.GROUP_PER_MINUTE
    async with FakeTelegram(most) as telegram, rig(tmp_path, telegram=telegram) as at:
        shown = live(at.group, await at.submit([WHICH]))
        ticks = [each["callback_data"] for each in shown.buttons[:2]]
        for seen in range(1, most):
            await telegram.click(at.ann, shown, ticks[seen % 2])
            await telegram.until(partial(_is_version, shown, seen))
        clicks = [await telegram.click(at.ann, shown, ticks[n % 2]) for n in range(41)]
        await telegram.until(lambda: all(each in telegram.answers for each in clicks))
        body = {"name": "ask_user", "arguments": {"questions": [GO]}}
        elsewhere = {"to": f"telegram:@{at.ann.id}"}
        await at.service.submit(Submission.model_validate({**body, **elsewhere}))
        await telegram.until(lambda: telegram.chats[at.ann.id].messages)
        assert [status for _, _, status in telegram.log if status == 429] == []
        assert shown.version == most - 1


@pytest.mark.rule("TELEGRAM-2")
async def test_a_call_that_telegram_refused_does_not_count_toward_the_limit() -> None:
    limit = json.dumps({"ok": False, "parameters": {"retry_after": 0.01}})
    async with FakeTelegram() as telegram, aiohttp.ClientSession() as http:
        calls, group = TelegramApi(http, telegram.token, telegram.url), telegram.add_group()
        message = render.compose(["x"], []) | {"chat_id": str(group.id)}
        for _ in range(3):
            telegram.odd_answers["sendMessage"] = [(429, limit)]
            with pytest.raises(RateLimitedError) as limited:
                await calls.call("sendMessage", message)
            await asyncio.sleep(limited.value.retry_after)
        for _ in range(limits.GROUP_PER_MINUTE):
            await calls.call("sendMessage", message)
        with pytest.raises(RateLimitedError):
            await calls.call("sendMessage", message)
        assert len(group.messages) == limits.GROUP_PER_MINUTE


@pytest.mark.rule("TELEGRAM-2")
async def test_posts_that_have_waited_for_a_limit_go_before_edits() -> None:
    limit = json.dumps({"ok": False, "parameters": {"retry_after": 0.01}})
    async with FakeTelegram() as telegram, aiohttp.ClientSession() as http:
        calls, chat = TelegramApi(http, telegram.token, telegram.url), str(telegram.add_group().id)
        message = render.compose(["x"], []) | {"chat_id": chat}
        calls.raise_if_limited(chat, EDIT)
        telegram.odd_answers[POST] = [(429, limit)]
        with pytest.raises(RateLimitedError) as refused:
            await calls.call(POST, message)
        ends = [edits_wait_until(calls, chat)]
        await asyncio.sleep(refused.value.retry_after)
        for _ in range(2):
            await calls.call(POST, message)
            ends.append(edits_wait_until(calls, chat))
        assert ends[0] < ends[1] < ends[2], "each post may be followed by another that waits"


def edits_wait_until(calls: TelegramApi, chat: str) -> float:
    """Return when edits are made again, in loop time."""
    with pytest.raises(RateLimitedError) as edit:
        calls.raise_if_limited(chat, EDIT)
    return asyncio.get_running_loop().time() + edit.value.retry_after


@pytest.mark.rule("TELEGRAM-2")
async def test_asks_that_wait_for_a_groups_limit_are_posted_before_others_are_edited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks = limits.GROUP_PER_MINUTE + 4
    raise_if_limited = TelegramApi.raise_if_limited
    posted_at, refused = list[float](), list[str]()

    def watched(calls: TelegramApi, chat: str, method: str) -> None:
        try:
            raise_if_limited(calls, chat, method)
        except RateLimitedError:
            refused.append(method)
            raise
        if method == POST:
            posted_at.append(time.monotonic())

    monkeypatch.setattr(TelegramApi, "raise_if_limited", watched)
    async with rig(tmp_path, "http") as at:
        body = {
            "name": "ask_user",
            "arguments": {"questions": [GO]},
            "to": f"telegram:{at.group.id}",
            "responders": [str(at.ann.id)],
        }
        ids = [
            (await at.service.submit(Submission.model_validate(body))).ask.id for _ in range(asks)
        ]

        async def until_visible(count: int) -> None:
            """Wait until so many posts have had their responses: a call in flight times out when the clock jumps."""
            async with asyncio.timeout(WAIT):
                visible = 0
                while visible < count:
                    await asyncio.sleep(0.01)
                    stored = [await at.store.asks.get(each) for each in ids]
                    visible = sum(ask is not None and ask.placement.was_visible for ask in stored)

        await until_visible(limits.GROUP_PER_MINUTE)
        for shown in list(at.group.messages.values()):
            await press(at, at.ann, shown, Labels().yes)
        async with asyncio.timeout(WAIT):
            while POST not in refused:  # noqa: ASYNC110 - nothing tells of it
                await asyncio.sleep(0.005)
        real = time.monotonic

        def counted() -> list[str]:
            return [method for method, _, _ in at.telegram.log if "Message" in method]

        # However long that took: the limit ends now.
        passed = [posted_at[0] + _HOUR - real()]
        monkeypatch.setattr(time, "monotonic", lambda: real() + passed[-1])
        await at.telegram.until(lambda: len(counted()) >= asks)
        assert counted() == ["sendMessage"] * asks
        await until_visible(asks)
        passed.append(2 * _HOUR)
        await at.message_sync.wait_until_idle()
        assert counted()[asks:] == ["editMessageText"] * limits.GROUP_PER_MINUTE
