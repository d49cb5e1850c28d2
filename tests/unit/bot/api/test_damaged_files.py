"""Files of the service that cannot be used: the operator is not shut out, and is told what was done."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from answerback.core.errors import StoreError
from answerback_storage.personal_links_file import PersonalLinksFile
from tests.unit.bot.agent_support import Served, served

ASK = {"name": "ask_user", "arguments": {"question": "Deploy?", "answer_type": "boolean"}}


async def submitted(service: Served) -> str:
    async with service.http.post(f"{service.url}/v1/asks", json={**ASK, "to": "web"}) as response:
        assert response.status == 201
        return str((await response.json())["id"])


@pytest.mark.rule("AUTH-14")
async def test_a_damaged_file_of_personal_links_does_not_shut_the_operator_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = PersonalLinksFile(tmp_path / "asks.db")
    key = await asyncio.to_thread(file.add, "ann", 1.0)
    intact = file.path.read_bytes()
    async with served(tmp_path) as service:
        inbox = f"{service.url}/v1/inbox?responder=web:ann"
        theirs = {"Authorization": f"Bearer {key}"}
        for damaged in (b"{", b"\xff\x00", b"[]"):
            file.path.write_bytes(damaged)
            ask_id = await submitted(service)
            actions = f"{service.url}/v1/asks/{ask_id}/actions"
            answer = {"action": "answer", "value": True}
            async with service.http.post(actions, json=answer, headers=service.acting) as response:
                assert response.status == 200
            async with service.http.get(inbox, headers=theirs) as response:
                assert response.status == 401
        result = [line for line in caplog.records if "is damaged" in line.getMessage()]
        assert len(result) == 1, "once, not for each request"
        assert result[0].exc_info is None
        file.path.write_bytes(intact)
        async with service.http.get(inbox, headers=theirs) as response:
            assert response.status == 200


@pytest.mark.rule("API-18")
async def test_erasing_says_that_it_erased_although_traces_are_left(tmp_path: Path) -> None:
    async with served(tmp_path) as service:
        ask_id = await submitted(service)
        async with service.http.delete(f"{service.url}/v1/asks/{ask_id}") as response:
            assert response.status == 200
        erase = f"{service.url}/v1/asks/{ask_id}/erase"
        path = tmp_path / "asks.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as backup:
            backup.execute("BEGIN")
            backup.execute("SELECT count(*) FROM asks").fetchone()
            async with service.http.post(erase, headers=service.acting) as response:
                problem = await response.json()
                assert (response.status, problem["title"]) == (503, "Erased, but traces are left")
                assert problem["detail"].startswith("The ask was erased, but traces of it")
                assert str(path) not in problem["detail"]
        ask = await service.running.service.get(ask_id)
        assert ask is not None
        assert ask.erased_at is not None
        async with service.http.post(erase, headers=service.acting) as response:
            assert response.status == 200


async def test_an_erasure_that_fails_changed_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object) -> None:
        raise StoreError("The disk is full.")

    async with served(tmp_path) as service:
        ask_id = await submitted(service)
        async with service.http.delete(f"{service.url}/v1/asks/{ask_id}"):
            pass
        monkeypatch.setattr(service.running.service.store.erasure, "erase", fails)
        erase = f"{service.url}/v1/asks/{ask_id}/erase"
        async with service.http.post(erase, headers=service.acting) as response:
            assert (await response.json())["detail"] == "This call changed nothing. Try again."
