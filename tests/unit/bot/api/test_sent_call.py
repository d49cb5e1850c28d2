"""The tool call as its agent sent it, for people who want to see all of it."""

from __future__ import annotations

import pytest

from tests.unit.bot.api.conftest import Json, Serve, Served
from tests.unit.bot.api.test_grants import COMMAND, TERMS, act, serving, submit


@pytest.mark.rule("SURFACE-22")
async def test_the_call_can_be_read_as_it_was_sent(api: Served) -> None:
    arguments: Json = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "background": "true"}
    origin = {"folder": "/srv/ann/app"}
    body = {"name": "PermissionRequest", "arguments": arguments, "origin": origin, "to": "web"}
    async with api.http.post("/v1/asks", json=body) as response:
        ask = await response.json()
    assert ask["repaired"] == ["/background"]
    expected = {"folder": "/srv/ann/app", "name": "PermissionRequest", "arguments": arguments}
    assert await api.get(f"/v1/asks/{ask['id']}/call") == (200, expected)
    assert (await api.get("/v1/asks/ask_0000/call"))[0] == 404


@pytest.mark.rule("GRANT-2")
async def test_what_was_sent_in_another_form_is_another_call(serve: Serve) -> None:
    async with serving(serve) as api:
        use = {"tool_name": "Bash", "tool_input": {"command": COMMAND}}
        ask = await submit(api, arguments={**use, "background": True})
        await act(api, ask, action="answer", value="allow", grant=TERMS)
        other = await submit(api, arguments={**use, "background": "true"})
        assert (other["status"], other["repaired"]) == ("open", ["/background"])
        assert (await submit(api, arguments={**use, "background": True}))["source"] == "grant"
