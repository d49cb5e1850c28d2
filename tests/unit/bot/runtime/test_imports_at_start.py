"""The imports of a service's start, and those that wait for their first use, off the event loop."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from answerback.runtime.plugins import installed_plugins

_SERVICE = """
import asyncio, json, sys, threading
import aiohttp
from answerback.runtime import app
from answerback.runtime.config import ServerSettings, StorageSettings, settings_type

imported_by = {}

class Finder:
    def find_spec(self, name, path=None, target=None):
        imported_by.setdefault(name, threading.current_thread() is threading.main_thread())
        return None

sys.meta_path.insert(0, Finder())
sys.modules["rfc3987_syntax"] = None  # jsonschema would compile this grammar for a second
PORT = {
    "id": "port", "text": "Which port?", "answer_type": "schema",
    "schema": {"type": "object", "properties": {"port": {"type": "integer"}}},
}

def told():
    print(json.dumps([sorted(sys.modules), imported_by]), flush=True)

async def main():
    settings = settings_type().model_construct(
        server=ServerSettings(port=0),
        storage=StorageSettings(url=f"sqlite:///{sys.argv[1]}/asks.db"),
        agents={},
    )
    async with app.run_service(settings) as running, aiohttp.ClientSession() as http:
        told()
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        headers = {
            "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"
        }

        async def tools():
            async with http.post(running.api_url + "/mcp", json=call, headers=headers) as response:
                return b"wait_for_answer" in await response.read()

        assert all(await asyncio.gather(tools(), tools(), tools()))
        body = {"name": "ask_user", "arguments": {"questions": [PORT]}}
        async with http.post(running.api_url + "/v1/asks", json=body) as response:
            assert response.status == 201, await response.text()
        told()

asyncio.run(main())
"""
_HEAVY = {
    *(
        "aiohttp_asgi",
        "jsonschema",
        "mcp",
        "mcp_types",
        "rich",
        "sse_starlette",
        "starlette",
        "typer",
    ),
    *(package for plugin in installed_plugins() for package in plugin.packages),
}


@pytest.mark.rule("MCP-10")
def test_a_service_imports_optional_parts_on_first_use(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _SERVICE, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=250,
    )
    (at_start, _), (later, by_main_thread) = (json.loads(line) for line in done.stdout.splitlines())
    assert _HEAVY.isdisjoint(at_start)
    for name in ("mcp.server", "starlette.requests", "jsonschema.validators"):
        assert name in later
        assert not by_main_thread[name], f"{name} is imported on the event loop"
