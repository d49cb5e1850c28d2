"""Telegram posts updates to the address that is registered, for as long as it is."""

from __future__ import annotations

import asyncio
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from answerback.core.ask import Status
from answerback_telegram.http_endpoint import MAX_BODY, PATH
from tests.fakes.long_timeouts import PATIENT
from tests.fakes.telegram.server import FakeTelegram
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_places_and_faults import GO, live, press

pytestmark = pytest.mark.rule("TELEGRAM-7")


async def test_the_address_is_registered_once_telegram_can_be_reached(tmp_path: Path) -> None:
    async with FakeTelegram() as telegram:
        telegram.fail_next = ["getMe", "setWebhook"]
        async with rig(tmp_path, "http", telegram=telegram):
            assert telegram.fail_next == []
            assert telegram.webhook is not None


@pytest.mark.parametrize("change", [None, {"url": "https://elsewhere.example/"}])
async def test_the_address_is_registered_again_after_another_program_has_changed_it(
    tmp_path: Path, change: dict[str, Any] | None
) -> None:
    async with rig(tmp_path, "http", delays=replace(PATIENT, webhook=0.01)) as at:
        ours = at.telegram.webhook
        assert ours is not None
        again = at.telegram.held["setWebhook"] = asyncio.Event()
        at.telegram.webhook = change
        while (reason := at.surface.unready_reason()) is None:  # noqa: ASYNC110 - a check tells nobody
            await asyncio.sleep(0.01)
        assert "use one token for one service" in reason
        assert (change or {}).get("url", "nobody") in reason
        again.set()
        await at.telegram.until(lambda: at.telegram.webhook == ours)
        while at.surface.unready_reason() is not None:  # noqa: ASYNC110 - the next check tells nobody
            await asyncio.sleep(0.01)
        ask = await at.submit([GO])
        await press(at, at.ann, live(at.group, ask), "Yes")
        assert (await at.shown(ask)).status is Status.ANSWERED


async def test_an_update_by_http_needs_the_secret_token(tmp_path: Path) -> None:
    async with rig(tmp_path, "http") as at, aiohttp.ClientSession() as http:
        assert at.telegram.webhook is not None
        url = at.telegram.webhook["url"]
        assert url.endswith(PATH)
        secret = at.telegram.webhook["secret_token"]
        cases = [("", "{}", 401), (secret, "{", 400), (secret, "[]", 200)]
        for token, body, status in (*cases, (secret, " " * (MAX_BODY + 1), 413)):
            headers = {"X-Telegram-Bot-Api-Secret-Token": token}
            async with http.post(url, data=io.BytesIO(body.encode()), headers=headers) as response:
                assert response.status == status
