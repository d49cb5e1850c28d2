"""What is our own fault: told as one sentence, logged with the ask's id, nothing of the inside outside."""

from __future__ import annotations

import asyncio
import logging

import pytest

from bot.errors import OutcomeUnknownError
from tests.unit.bot.api.conftest import Served


@pytest.mark.parametrize(
    ("error", "status"),
    [(ZeroDivisionError("the inside"), 500), (OutcomeUnknownError("the inside"), 503)],
)
async def test_a_defect_is_told_without_its_inside_and_logged_with_the_asks_id(
    api: Served,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    status: int,
) -> None:
    ask = await api.asked()

    async def fails(_ask_id: str) -> None:
        raise error

    monkeypatch.setattr(api.running.service.store, "get", fails)
    with caplog.at_level(logging.ERROR, "bot.api"):
        async with api.http.get(f"/v1/asks/{ask['id']}") as response:
            told = await response.text()
    assert response.status == status
    assert response.content_type == "application/problem+json"
    assert "inside" not in told.replace("its inside", "")
    assert "Traceback" not in told
    (record,) = caplog.records
    assert record.__dict__["ask_id"] == ask["id"]
    assert record.__dict__["route"] == "/v1/asks/{id}"


async def test_a_caller_that_leaves_is_no_error(
    api: Served, caplog: pytest.LogCaptureFixture
) -> None:
    ask = await api.asked()
    headers = {"Prefer": "wait=60"}
    call = asyncio.ensure_future(api.http.get(f"/v1/asks/{ask['id']}", headers=headers))
    await api.waiters(1)
    call.cancel()
    await api.waiters(0)
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
