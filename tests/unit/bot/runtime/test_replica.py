"""The additional work of a process that shares its store with others."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import aiohttp
import psycopg
import pytest

from answerback.api.wire import ReadyBody
from answerback.core.actions import Answer
from answerback.core.ask import Status
from answerback.core.errors import StoreError
from answerback.core.intents import Intent
from answerback.ports.claims import Claim, ClaimKind
from answerback.ports.surface import Acted
from answerback.runtime.app import run_service
from answerback.runtime.config import ServerSettings, StorageSettings, settings_type
from answerback.runtime.config_file import load_settings
from answerback.runtime.replica_lifecycle import release_claims
from answerback.service.service import Service
from tests.fakes.slack.server import FakeSlack
from tests.service_support import WAIT, actor, ask_user, boolean
from tests.unit.bot.conftest import Parts

ANN, BEN = Claim("ann", 60.0), Claim("ben", 60.0)


def replica_service(parts: Parts) -> Service:
    """A service with a name as one of several replicas."""
    surfaces = {"chat": parts.chat, "web": parts.web}
    return Service(parts.store, parts.clock, surfaces, known_surfaces=frozenset(), claim=ANN)


@pytest.mark.rule("CLAIM-5")
async def test_a_stopping_process_releases_its_claims(parts: Parts) -> None:
    service = replica_service(parts)
    ask = (await service.submit(ask_user())).ask
    assert await parts.store.claims.claim_message(ask.id, BEN) is None
    await release_claims(service)
    assert await parts.store.claims.claim_message(ask.id, BEN) is not None


@pytest.mark.rule("CLAIM-5")
async def test_work_that_was_cut_off_is_not_released(parts: Parts) -> None:
    service = replica_service(parts)
    ask = (await service.submit(ask_user())).ask
    await release_claims(service, {ClaimKind.MESSAGE})
    assert await parts.store.claims.claim_message(ask.id, BEN) is None
    await release_claims(service, {ClaimKind.TIMER, ClaimKind.DELIVERY})
    assert await parts.store.claims.claim_message(ask.id, BEN) is not None


@pytest.mark.rule("CLAIM-9", "CLAIM-11", "CLAIM-12")
async def test_two_services_on_one_database_report_their_status_and_notify_each_other(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = settings_type().model_construct(
        server=ServerSettings(port=0), storage=StorageSettings(url=database)
    )
    async with run_service(settings) as one, run_service(settings) as other:
        ask = (await one.service.submit(ask_user(to="web", responders=None))).ask
        waiting = asyncio.create_task(other.service.wait(ask.id, WAIT))
        async with asyncio.timeout(WAIT):
            while not other.service.signals.count:  # noqa: ASYNC110 there is no notification
                await asyncio.sleep(0)
        await one.service.withdraw(ask.id)
        result = await waiting
        assert result is not None
        assert result.status is Status.WITHDRAWN
        async with aiohttp.ClientSession(other.api_url) as http:
            async with http.get("/readyz") as response:
                ready = await response.json()
                ReadyBody.model_validate(ready)
                replica = ready["replica"]
            async with http.get("/metrics") as response:
                assert "answerback_missed_notifications_total 0.0" in await response.text()
    assert replica["name"] == other.service.claim.holder != one.service.claim.holder
    assert replica["claims"] == {"message": 0, "timer": 0, "delivery": 0}
    assert (replica["leads"], replica["missed_notifications"]) == ({}, 0)


@pytest.mark.rule("CLAIM-13", "DATA-15")
@pytest.mark.parametrize("off", [3_600.0, -3_600.0])
async def test_a_machine_with_a_wrong_clock_does_not_affect_the_others(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: float
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = settings_type().model_construct(
        server=ServerSettings(port=0), storage=StorageSettings(url=database)
    )
    real = time.time
    async with run_service(settings) as one:
        timed = ask_user(to="web", responders=None, expires_in=1_800, remind_after=[5_000])
        first = (await one.service.submit(timed)).ask
        monkeypatch.setattr(time, "time", lambda: real() + off)
        async with run_service(settings) as other:
            second = (await other.service.submit(timed)).ask
            assert abs(second.created_at - first.created_at) < WAIT
            for service, ask in ((other.service, first), (one.service, second)):
                acted = await service.apply(
                    Intent(ask.id, Answer(value=True), 1), actor(surface="web")
                )
                assert isinstance(acted, Acted), "it has not expired"
                assert acted.ask.status is Status.ANSWERED
                assert acted.ask.schedule.clock_set_back == 0
        # If the start took the others' times for the future, it would schedule everything again.
    with psycopg.connect(database) as connection:
        recorded = connection.execute("SELECT entry FROM record WHERE ask_id IS NULL")
        assert recorded.fetchall() == []


@pytest.mark.long
@pytest.mark.rule("CLAIM-5", "CLAIM-12")
async def test_a_process_that_stops_while_slack_is_slow_posts_only_once(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with FakeSlack() as slack, AsyncExitStack() as stack:
        ada = slack.person("U0ADA", "ada")
        slack.workspace.add_channel("C0OPS", ada.id)
        monkeypatch.setenv("SLACK_BOT_TOKEN", slack.bot_token)
        monkeypatch.setenv("SLACK_APP_TOKEN", slack.app_token)
        monkeypatch.setenv("ANSWERBACK_SLACK__API_URL", slack.api_url)
        monkeypatch.setenv("ANSWERBACK_STORAGE__URL", database)
        monkeypatch.setenv("ANSWERBACK_SERVER__PORT", "0")
        one = await stack.enter_async_context(run_service(load_settings()))
        async with run_service(load_settings()) as other:
            slow = slack.faults.add("chat.postMessage", hang=True)
            call = ask_user(boolean("a"), boolean("b"), to="slack:C0OPS", responders=[ada.id])
            ask = (await one.service.submit(call)).ask
            await slack.until(lambda: slow.hits)
            stopping = asyncio.create_task(stack.aclose())
            await asyncio.wait(
                [stopping], timeout=0.5
            )  # it waits for Slack, for three seconds at most
            acted = await other.service.act(
                ask.id, Answer(value=True), actor(ada.id, surface="slack"), revision=1
            )
            assert isinstance(acted, Acted)
            with suppress(TimeoutError):  # the other one does not post it in the meantime
                await slack.until(lambda: slack.messages("C0OPS"), timeout=0.5)
            slow.release()  # Slack posts it now, although the caller has disconnected
            await stopping
            assert "b?" in ada.sees(slack.messages("C0OPS")[0]).text, "it brings that up to date"
        assert len(slack.messages("C0OPS")) == 1


async def test_claims_that_cannot_be_released_expire_and_are_logged(
    parts: Parts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def failing(holder: str) -> None:
        raise StoreError(f"no database for the messages of {holder}")

    monkeypatch.setattr(parts.store.claims, "release_messages", failing)
    await release_claims(replica_service(parts))
    assert "take over within seconds: no database for the messages of ann" in caplog.text
