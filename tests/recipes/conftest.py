"""Shared fixtures of the recipes' tests: the real service as a process, a person who answers, recipes as modules."""

from __future__ import annotations

import asyncio
import base64
import importlib.util
import os
import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest
from pydantic import JsonValue

from answerback.ports.person_key import hash_of, new_token
from answerback_client import Ask, AsyncClient
from tests.meta.project import PYTHONPATH, RECIPES

PATIENCE: Final = 60.0
"""Seconds after which a test gives up: several times what a framework needs to start on a busy machine."""
_LOOK_AGAIN: Final = 0.02


@dataclass(frozen=True)
class Served:
    """The running service, and what its callers need."""

    url: str
    token: str
    """The agent's token."""
    people_token: str
    """The token of a front end, which answers on behalf of people."""
    webhook_secret: str


class Person:
    """A person at a front end, who answers what is open. No call waits for a new ask, so they poll."""

    def __init__(self, front: AsyncClient, patience: float = PATIENCE) -> None:
        self.front = front
        self.patience = patience

    async def sees(self) -> Ask:
        """Return the only open ask, once there is one."""
        async with asyncio.timeout(self.patience):
            while True:
                asks = await self.front.open_asks()
                if asks:
                    assert len(asks) == 1, [ask.json for ask in asks]
                    return asks[0]
                await asyncio.sleep(_LOOK_AGAIN)

    async def act(self, action: str, **more: JsonValue) -> Ask:
        """Act on the open ask."""
        ask = await self.sees()
        return await self.front.act(
            ask.id,
            {"action": action, **more},
            revision=ask.revision,
            actor={"user_id": "U7", "name": "Kim"},
        )

    async def answers(self, *values: JsonValue) -> Ask:
        """Answer as many questions as there are values; return the ask after the last."""
        ask = None
        for value in values:
            ask = await self.act("answer", value=value)
        assert ask is not None
        return ask

    async def replies(self, text: str) -> Ask:
        """End the ask with a reply."""
        return await self.act("reply", text=text)

    async def sends(self, picture: bytes, action: str, **more: JsonValue) -> Ask:
        """Act on the open ask with a photo."""
        ask = await self.sees()
        path = f"/v1/files?name=photo.png&user_id=U7&surface={ask.json['surface']}"
        stored = await self.front.call("POST", path, data=picture)
        return await self.act(action, files=[stored["id"]], **more)

    async def ends_the_turn(self) -> Ask:
        """End the turn, and with it the ask."""
        return await self.act("end_turn")


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Run ``answerback serve`` with a token for an agent and one for people's front end."""
    with serving(tmp_path_factory.mktemp("recipes")) as made:
        yield made


@contextmanager
def serving(folder: Path, before: str = "", python_path: str = PYTHONPATH) -> Iterator[Served]:
    """Run a service in a folder, with settings before its own."""
    agent, people = new_token(), new_token()
    secret = f"whsec_{base64.b64encode(secrets.token_bytes(32)).decode()}"
    (folder / "answerback.toml").write_text(
        before
        + f"""
        [server]
        port = 0
        [log]
        format = "json"
        [agents.recipes]
        token_hash = "{hash_of(agent)}"
        callback_secret = "{secret}"
        [agents.people]
        token_hash = "{hash_of(people)}"
        role = "surface"
        """
    )
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "answerback_agents.cli.main", "serve"],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": python_path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline().strip()
            assert line.startswith("listening on "), (folder / "log").read_text()
            yield Served(line.removeprefix("listening on "), agent, people, secret)
        finally:
            process.terminate()


@pytest.fixture
async def person(served: Served) -> AsyncIterator[Person]:
    """Somebody who answers; asks that a test leaves open do not leak into the next."""
    async with AsyncClient(served.url, served.people_token) as front:
        yield Person(front)
    async with AsyncClient(served.url, served.token) as agent:
        for ask in await agent.open_asks():
            await agent.withdraw(ask.id)


@pytest.fixture
def environment(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the variables that recipes read."""
    monkeypatch.setenv("ANSWERBACK_URL", served.url)
    monkeypatch.setenv("ANSWERBACK_TOKEN", served.token)
    monkeypatch.setenv("WEBHOOK_SECRET", served.webhook_secret)


@pytest.fixture
def settings(served: Served, tmp_path: Path) -> Callable[[str], Path]:
    """Write settings that a page shows to a file, with the address of the running service.

    Commands read it from the environment.
    """

    def written(text: str) -> Path:
        assert "http://127.0.0.1:8420" in text or '"command": "answerback' in text
        file = tmp_path / "settings.json"
        file.write_text(text.replace("http://127.0.0.1:8420", served.url))
        return file

    return written


@pytest.fixture
def recipe(environment: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Load a recipe as its users' interpreter would: from its file, with their environment."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # leave no files next to the recipes

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"recipe_{name}", RECIPES / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    return load
