"""A program that prints what a service loads and builds for its first calls, after it was prepared for them."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import aiohttp
from pydantic import BaseModel

from answerback.runtime.app import RunningService, run_service
from answerback.runtime.config import settings_type
from answerback.runtime.first_calls import prepare_first_calls
from tests.person_keys import bearer

CALL = {"name": "ask_user", "arguments": {"question": "Apply?", "answer_type": "boolean"}}


def _models(kind: type[BaseModel] = BaseModel) -> Iterator[type[BaseModel]]:
    for each in kind.__subclasses__():
        yield each
        yield from _models(each)


def _loaded() -> set[str]:
    built = {f"model {each.__qualname__}" for each in _models() if each.__pydantic_complete__}
    return built | set(sys.modules)


async def _call(up: RunningService, person: dict[str, str]) -> None:
    """Submit an ask, answer it as a person, and read the outcome."""
    async with aiohttp.ClientSession(up.api_url) as http:
        async with http.post("/v1/asks", json={**CALL, "to": "web"}) as response:
            path = f"/v1/asks/{(await response.json())['id']}"
        action = {"action": "answer", "value": True}
        async with http.post(f"{path}/actions", json=action, headers=person) as response:
            assert response.status == 200, await response.text()
        async with http.get(path) as response:
            assert (await response.json())["status"] == "answered"


async def main(folder: str, prepared: str) -> None:
    """Run a service in a folder, and print the names of what its first calls have loaded."""
    settings = settings_type().model_validate(
        {"server": {"port": 0}, "storage": {"url": f"sqlite:///{folder}/answerback.db"}}
    )
    async with run_service(settings) as up:
        if prepared == "prepared":
            await asyncio.to_thread(prepare_first_calls)
        before = _loaded()
        await _call(up, dict(bearer(Path(folder))))
        sys.stdout.write(json.dumps(sorted(_loaded() - before)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
