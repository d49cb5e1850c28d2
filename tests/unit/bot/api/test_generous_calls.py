"""Calls that are not in their strict form, over real sockets and in the store."""

from __future__ import annotations

import json

import pytest

from answerback_client import Ask
from tests.unit.bot.api.conftest import FORM, Served


@pytest.mark.rule("DIALECT-21")
async def test_an_ask_lists_what_was_read_generously(api: Served) -> None:
    assert (await api.asked())["repaired"] == []
    sent = {"questions": json.dumps(FORM["questions"])}
    async with api.http.post(
        "/v1/asks", json={"name": "ask_user", "arguments": sent, "to": "web"}
    ) as response:
        ask = await response.json()
    assert ask["repaired"] == ["/questions"]
    assert Ask.of(ask).repaired == ("/questions",)
    stored = await api.running.service.get(ask["id"])
    assert stored is not None
    assert stored.request.arguments == FORM
    assert await api.get(f"/v1/asks/{ask['id']}") == (200, ask)
