"""The script that removes a service worker, which a program on the service's port may have left in a browser."""

from __future__ import annotations

import pytest

from answerback.runtime.config import PublicSettings
from tests.unit.bot.api.conftest import Serve, serve

__all__ = ["serve"]

PATHS = ("/", "/sw.js", "/v1/asks", "/a/-/page.js", "/slack/events", "/healthz")


@pytest.mark.rule("WEB-11")
@pytest.mark.parametrize("tokens", [False, True])
async def test_every_request_for_a_workers_script_gets_the_one_that_removes_it(
    serve: Serve, tokens: bool
) -> None:
    roles = {"ci": "agent"} if tokens else None
    async with serve(roles, public=PublicSettings(port=0)) as api:
        headers = {"Service-Worker": "script", "Sec-Fetch-Site": "same-origin"}
        for base in (api.running.api_url, api.running.public_url):
            for path in PATHS:
                async with api.http.get(f"{base}{path}", headers=headers) as response:
                    assert (response.status, response.content_type) == (200, "text/javascript")
                    assert response.headers["Service-Worker-Allowed"] == "/"
                    assert response.headers["Cache-Control"] == "no-store"
                    assert "self.registration.unregister()" in await response.text()
        async with api.http.get("/healthz") as response:
            assert response.content_type == "application/json"
