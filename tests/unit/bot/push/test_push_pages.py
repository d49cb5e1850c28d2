"""The devices of a person, what an installed page requests, and the service's own worker."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.core.errors import StoreError
from answerback_push.pages import worker_name
from answerback_push.settings import PushRules
from answerback_push.stored_subscriptions import StoredSubscriptions
from tests.browser.site import KEY, OPERATOR
from tests.fakes.push_service import PushBrowser
from tests.unit.adapters.web.reader import Document
from tests.unit.bot.push.push_support import ANN, ANNS_KEY, LOOPBACK, Rig, push_rig

SCRIPT = {"Service-Worker": "script"}
REMOVAL = "caches.delete(name);\n  for (const page of"


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    async with push_rig(tmp_path, PushRules(deny=True, allow=LOOPBACK)) as running:
        yield running


async def read(rig: Rig, url: str) -> Document:
    """Get a page."""
    async with rig.http.get(url) as response:
        return Document(await response.text(), response.status)


@pytest.mark.rule("PUSH-2")
async def test_people_see_and_remove_their_own_devices(rig: Rig) -> None:
    for key, path in ((ANNS_KEY, "ann"), (KEY, "operator")):
        form = PushBrowser(f"https://push.example/{path}").form
        assert await rig.post(f"{rig.inbox(key)}/devices", form) == 204
    (anns,) = await rig.devices.list_for("ann")
    page = await read(rig, f"{rig.inbox()}/devices")
    assert "Firefox on a phone" in page.text
    assert page.fields == [("id", anns.id)]
    stranger = {"do": "remove", "id": anns.id}
    assert await rig.post(f"{rig.inbox(KEY)}/devices", stranger) == 303
    assert await rig.devices.list_for("ann") == [anns]
    assert await rig.post(f"{rig.inbox()}/devices", stranger) == 303
    assert (await read(rig, f"{rig.inbox()}/devices")).fields == []
    assert len(await rig.devices.list_for("operator")) == 1


@pytest.mark.rule("PUSH-2")
async def test_nothing_is_done_for_strangers_and_other_sites(rig: Rig) -> None:
    ask = await rig.ask("ann")
    stranger, form = f"{rig.url}/inbox/{'0' * 32}", PushBrowser("https://push.example/1").form
    for path in ("devices", f"asks/{ask.id}"):
        assert (await read(rig, f"{stranger}/{path}")).status == 403
        assert await rig.post(f"{stranger}/{path}", form) == 403
        headers = {"Sec-Fetch-Site": "cross-site"}
        async with rig.http.post(f"{rig.inbox()}/{path}", data=form, headers=headers) as response:
            assert response.status == 403
        async with rig.http.post(f"{rig.inbox()}/{path}", json=form) as response:
            assert response.status == 415
    assert await rig.devices.list_for("ann") == []


async def test_a_store_that_fails_is_said_to(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_self: object) -> list[object]:
        raise StoreError("the disk is full")

    monkeypatch.setattr(StoredSubscriptions, "list", fail)
    assert (await read(rig, f"{rig.inbox()}/devices")).status == 503


@pytest.mark.rule("PUSH-1")
async def test_a_notification_opens_the_ask(rig: Rig) -> None:
    ask = await rig.ask("ann")
    page = await read(rig, f"{rig.inbox()}/asks/{ask.id}")
    assert page.status == 200
    assert "Deploy to production?" in page.text


@pytest.mark.rule("PUSH-12")
async def test_an_installed_inbox_opens_itself(rig: Rig) -> None:
    inbox = rig.inbox()
    document = await read(rig, inbox)
    (body,) = [tag for name, tag in document.tags if name == "body"]
    assert body["data-manifest"] == f"../inbox/{inbox.rpartition('/')[2]}/manifest.json"
    async with rig.http.get(f"{inbox}/manifest.json") as response:
        assert response.content_type == "application/manifest+json"
        manifest = await response.json()
    assert f"{rig.url}/inbox/{manifest['start_url'].removeprefix('../')}" == inbox
    for icon in manifest["icons"]:
        async with rig.http.get(f"{rig.url}/{icon['src'].removeprefix('../../')}") as response:
            assert (response.status, response.content_type) == (200, icon["type"])


@pytest.mark.rule("PUSH-11", "WEB-11")
async def test_only_the_worker_of_the_current_key_is_served_and_only_under_its_path(
    rig: Rig,
) -> None:
    key = await rig.devices.server_key()
    own, other = worker_name(key), f"worker-{'0' * 16}.js"

    async def script(name: str) -> str:
        async with rig.http.get(f"{rig.url}/a/-/{name}", headers=SCRIPT) as response:
            assert (response.status, response.content_type) == (200, "text/javascript")
            assert response.headers["Service-Worker-Allowed"] == "/"
            return await response.text()

    assert f'const KEY = "{key}"' in await script(own)
    for name in (other, "page.js", "worker.js"):
        assert REMOVAL in await script(name)
    rig.keys.clear()
    rig.keys.update({"abk_another": OPERATOR, ANNS_KEY: ANN})
    assert REMOVAL in await script(own)
