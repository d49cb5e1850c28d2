"""A service, and a client of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback_client import AsyncClient
from tests.unit.bot.agent_support import Served, served


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as made:
        yield made


@pytest.fixture
async def client(service: Served) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(service.url, service.key, patience=1.0) as made:
        yield made
