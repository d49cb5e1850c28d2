"""Run schemathesis against the served document: no server error, no undescribed status or shape."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import aiohttp
import pytest

from tests.acceptance.process import serving
from tests.person_keys import bearer

CONFIG = Path(__file__).with_name("schemathesis.toml")
EXAMPLES = 6
"""Random requests per operation and phase."""


@pytest.mark.long
@pytest.mark.rule("API-2")
@pytest.mark.acceptance
async def test_every_request_gets_a_response_as_described(tmp_path: Path) -> None:
    async with serving(tmp_path) as (process, url):
        # The executable next to this interpreter; endless event streams are tested elsewhere.
        run = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("st")),
            *("--config-file", str(CONFIG), "run", f"{url}/openapi.json"),
            *("--header", f"Authorization: {bearer(tmp_path)['Authorization']}"),
            *("--exclude-operation-id", "events", "--max-examples", str(EXAMPLES)),
            *("--request-timeout", "60", "--generation-deterministic", "--no-color"),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        out, _ = await run.communicate()
        report = "\n".join(line[:400] for line in out.decode().splitlines())
        assert run.returncode == 0, report
        assert process.child.returncode is None
        async with aiohttp.ClientSession(url) as http, http.get("/v1/asks") as response:
            asks = (await response.json())["asks"]
    assert asks, "no valid call was sent"
