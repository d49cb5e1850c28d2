"""In the terminal: the call of an approval as it was sent, and the folder of its agent, are one line away."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.bot.terminal_support import open_terminal


@pytest.mark.rule("SURFACE-22")
@pytest.mark.parametrize("origin", [None, {"folder": "/srv/ann/shop-7"}])
async def test_the_call_and_the_folder_are_shown_on_request(
    tmp_path: Path, origin: dict[str, str] | None
) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "extra": {"a": "\u00ad"}}
    body = {"name": "PermissionRequest", "arguments": call, "to": "web"}
    async with open_terminal(tmp_path) as terminal:
        ask = await terminal.client.submit_body({**body, **({"origin": origin} if origin else {})})
        done = await terminal.walked(ask, "f\r1\r")
        assert done.answers == {"decision": "allow"}
        shown = terminal.screen.text
    before, _, after = shown.partition("The call of PermissionRequest as it was sent:")
    assert r'"a": "\u00ad"' in after
    assert ("Folder: /srv/ann/shop-7" in before) is (origin is not None)
