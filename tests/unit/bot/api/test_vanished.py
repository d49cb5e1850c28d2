"""An ask that is deleted from the database by hand during a call about it is not found."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from tests.unit.bot.api.conftest import Serve, until


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_an_ask_deleted_while_being_changed_is_404(
    serve: Serve, tmp_path: Path, method: str
) -> None:
    async def under_way() -> bool:
        """Return True if the call has found the ask and is waiting to change it."""
        tasks = [str(task.get_coro()) for task in asyncio.all_tasks()]
        return any("apply_intent" in one or "Service.withdraw" in one for one in tasks)

    async with serve() as api:
        ask = await api.asked()
        other = sqlite3.connect(tmp_path / "asks.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM asks WHERE id = ?", (ask["id"],))
        path = f"/v1/asks/{ask['id']}" + ("/actions" if method == "POST" else "")
        body = {"action": "end_turn"}
        calling = asyncio.create_task(api.http.request(method, path, json=body, headers=api.person))
        await until(under_way)
        other.execute("COMMIT")
        other.close()
        response = await calling
        body = await response.json(content_type=None)
    assert (response.status, body["title"]) == (404, "Not found")
