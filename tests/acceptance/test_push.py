"""Notifications of the real process: kill -9 between the question and its push loses none and repeats none."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from answerback.core.walker import Person
from answerback.ports.person_key import operator_holder
from answerback_web.page_access import PageLinks
from tests.acceptance.agents import restartable
from tests.acceptance.test_proxy_sign_in import world
from tests.fakes.push_service import PushBrowser
from tests.fakes.receiver import receiving
from tests.person_keys import read_person_key

pytestmark = pytest.mark.acceptance

PUSH = {"ANSWERBACK_WEB__PUSH": "true", "ANSWERBACK_WEB__PUSH_ALLOW": "127.0.0.1"}


@pytest.mark.rule("PUSH-5")
async def test_a_process_killed_between_question_and_push_sends_it_once_after_a_restart(
    tmp_path: Path,
) -> None:
    route = '[routes.soon]\nto = "web"\npush_after = 2\n'
    (tmp_path / "answerback.toml").write_text(route)
    async with (
        receiving() as receiver,
        restartable(tmp_path, PUSH) as service,
        aiohttp.ClientSession() as http,
    ):
        operator = operator_holder(
            read_person_key(tmp_path), Person(surface="web", user_id="operator")
        )
        browser = PushBrowser(receiver.url)
        devices = f"{service.url}/inbox/{PageLinks(b'').inbox_name(operator)}/devices"
        async with http.post(devices, data=browser.form) as response:
            assert response.status == 204
        question = {"question": "Deploy?", "answer_type": "boolean"}
        call = {"name": "ask_user", "arguments": question, "to": "soon"}
        ask = await service.call("POST", "/v1/asks", call)
        await service.kill()
        assert receiver.received == []
        await service.start()
        (got,) = await receiver.until(1)
        assert browser.read(got)["ask"] == ask["id"]
        await service.answer(ask["id"])
        _, over = await receiver.until(2)
        assert browser.read(over)["over"]
        await asyncio.sleep(0)
        assert len(receiver.received) == 2
        page = await service.call("GET", "/v1/deliveries")
        assert page["deliveries"] == []


@pytest.mark.rule("PUSH-1", "PUSH-9", "PUSH-12")
async def test_people_whom_a_proxy_signs_in_are_notified_behind_it(tmp_path: Path) -> None:
    async with (
        receiving() as receiver,
        world(tmp_path, environment=PUSH) as up,
        up.visitor("a1") as alice,
        aiohttp.ClientSession(up.site, headers=alice.headers) as http,
    ):
        async with http.get("/inbox/me/manifest.json") as response:
            manifest = await response.json(content_type=None)
        assert manifest["start_url"] == "../me"
        inbox = await alice.open("/inbox/me")
        (worker,) = [found for _, tag in inbox.tags if (found := tag.get("data-worker"))]
        async with http.get(f"/a/-/{worker.rpartition('/')[2]}") as response:
            assert response.headers["Service-Worker-Allowed"] == "/"
        browser = PushBrowser(receiver.url)
        origin = {"Origin": up.site, "Sec-Fetch-Site": "same-origin"}
        async with http.post("/inbox/me/devices", data=browser.form, headers=origin) as response:
            assert response.status == 204
        async with http.post("/inbox/me/devices", data=browser.form) as response:
            assert response.status == 403, "a post of a signed-in person comes from our own pages"
        ask = await up.ask(responders=["web:alice@example.com"], to="soon")
        other = await up.ask(responders=["web:bob@example.com"], to="soon")
        (got,) = await receiver.until(1)
        assert browser.read(got)["ask"] == ask["id"]
        async with http.get(f"/inbox/me/asks/{ask['id']}") as response:
            assert "Say something" in await response.text()
        async with http.get(f"/inbox/me/asks/{other['id']}") as response:
            assert response.status == 404
