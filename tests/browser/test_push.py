"""Notifications in Debian's full Chromium: the worker shows what is pushed, opens the ask, and denies."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.async_api import (
    Browser,
    BrowserContext,
    CDPSession,
    Page,
    Worker,
    expect,
)

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback_push.settings import PushRules
from tests.fakes.push_service import PushBrowser
from tests.fakes.receiver import Receiver, receiving
from tests.unit.bot.push.push_support import APPROVAL, LOOPBACK, Rig, push_rig

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

WAITS: Final = "A question from Assistant is waiting."
SUBSCRIBE: Final = """(form) => {
  let subscribed = null;
  PushManager.prototype.subscribe = async function ({ applicationServerKey }) {
    window.serverKey = applicationServerKey;
    subscribed = {
      toJSON: () => ({ endpoint: form.endpoint, keys: { p256dh: form.key, auth: form.auth } }),
      unsubscribe: async () => (subscribed = null),
    };
    return subscribed;
  };
  PushManager.prototype.getSubscription = async () => subscribed;
}"""
"""A browser whose push service is the test's: Chromium's own is on the internet."""
SHOWN: Final = """async () => (await self.registration.getNotifications()).map(
  ({ title, body, tag, actions }) => ({ title, body, tag, actions: actions.map((each) => each.action) }))"""
NOTE_WORK: Final = """() => {
  const waitUntil = ExtendableEvent.prototype.waitUntil;
  ExtendableEvent.prototype.waitUntil = function (work) {
    self.took?.(work);
    return waitUntil.call(this, work);
  };
}"""
"""Makes the end of what the worker does for a message known."""
EXPECT: Final = "() => { self.handled = new Promise((done) => { self.took = done; }); }"
CLICK: Final = """async (action) => {
  const [notification] = await self.registration.getNotifications();
  let opened = null;
  self.clients.openWindow = async (url) => (opened = url);
  const waiting = [];
  const event = new NotificationEvent("notificationclick", { notification, action });
  event.waitUntil = (promise) => waiting.push(promise);
  self.dispatchEvent(event);
  await Promise.all(waiting);
  return opened;
}"""


class Phone:
    """A browser that a person turned notifications on in."""

    def __init__(self, page: Page, worker: Worker, cdp: CDPSession, ids: dict[str, str]) -> None:
        self.page = page
        self.worker = worker
        self._cdp = cdp
        self._ids = ids

    async def deliver(self, message: dict[str, Any], *bodies: str) -> None:
        """Deliver a message as a push service does; exactly these notifications are shown then.

        Nobody looks meanwhile: Chromium drops a notification that somebody looks for while it is about to be shown.
        """
        await self.worker.evaluate(EXPECT)
        await self._cdp.send(
            "ServiceWorker.deliverPushMessage", {**self._ids, "data": json.dumps(message)}
        )
        await self.worker.evaluate("() => self.handled")
        assert [each["body"] for each in await self.shown()] == [*bodies]

    async def shown(self) -> list[dict[str, Any]]:
        """Return the notifications on the screen."""
        found: list[dict[str, Any]] = await self.worker.evaluate(SHOWN)
        return found

    async def click(self, action: str = "") -> str | None:
        """Click the notification that is shown; return the address that it opens."""
        opened: str | None = await self.worker.evaluate(CLICK, action)
        return opened


@asynccontextmanager
async def subscribed(
    browser: Browser, rig: Rig, receiver: Receiver
) -> AsyncIterator[tuple[Phone, PushBrowser]]:
    """Open Ann's inbox and press its button."""
    context: BrowserContext = await browser.new_context()
    await context.grant_permissions(["notifications"], origin=rig.url)
    page = await context.new_page()
    keys = PushBrowser(receiver.url)
    await page.add_init_script(f"({SUBSCRIBE})({json.dumps(keys.form)})")
    await page.goto(rig.inbox())
    cdp = await context.new_cdp_session(page)
    ids: dict[str, str] = {}

    def note(event: dict[str, Any]) -> None:
        for each in event["registrations"]:
            ids.setdefault("registrationId", each["registrationId"])
            ids["origin"] = rig.url

    cdp.on("ServiceWorker.workerRegistrationUpdated", note)
    await cdp.send("ServiceWorker.enable")
    button = page.get_by_role("button", name=Labels().notify)
    async with context.expect_event("serviceworker") as coming:
        await button.click()
    worker = await coming.value
    await worker.evaluate(NOTE_WORK)
    await expect(button).to_have_attribute("aria-pressed", "true")
    assert await page.evaluate("serverKey") == await rig.devices.server_key()
    yield Phone(page, worker, cdp, ids), keys
    await context.close()


@pytest.mark.rule("PUSH-1", "PUSH-6", "PUSH-10")
async def test_a_notification_is_shown_opens_its_ask_denies_it_and_goes(
    full_browser: Browser, tmp_path: Path
) -> None:
    rules = PushRules(deny=True, allow=LOOPBACK)
    async with (
        push_rig(tmp_path, rules) as rig,
        receiving() as receiver,
        rig.sending(),
        subscribed(full_browser, rig, receiver) as (phone, keys),
    ):

        async def pushed(ask: Ask, count: int) -> dict[str, Any]:
            await rig.clock.advance(10.0)
            message = keys.read((await receiver.until(count))[-1])
            assert message["ask"] == ask.id
            return message

        await phone.page.goto("about:blank")  # an open inbox would show it
        await phone.page.goto(f"{rig.inbox()}/devices")
        await expect(phone.page.get_by_role("button", name=Labels().remove)).to_be_visible()
        ask = await rig.ask("ann")
        await phone.deliver(await pushed(ask, 1), WAITS)
        (shown,) = await phone.shown()
        assert shown == {
            "title": "Answerback",
            "body": WAITS,
            "tag": ask.id,
            "actions": [],
        }
        opened = await phone.click()
        assert opened == f"{rig.url}/inbox/-/asks/{ask.id}#pushed"
        await phone.page.goto(opened)
        await expect(phone.page.get_by_text("Deploy to production?", exact=True)).to_be_visible()
        await phone.page.goto(f"{rig.inbox()}/devices")

        elsewhere = await rig.ask("ann")
        await phone.deliver(await pushed(elsewhere, 2), WAITS)
        await rig.answer(elsewhere)
        over = keys.read((await receiver.until(3))[-1])
        await phone.deliver(over, "Answered by Ann (personal link)")
        await phone.deliver({"ask": elsewhere.id, "over": ""})

        permission = await rig.ask("ann", **APPROVAL)
        message = await pushed(permission, 4)
        await phone.deliver({**message, "revision": message["revision"] - 1}, WAITS)
        assert await phone.click("deny") is not None, "a stale revision is refused: the ask opens"
        await phone.deliver(message, WAITS)
        (shown,) = await phone.shown()
        assert shown["actions"] == ["deny"]
        assert await phone.click("deny") is None
        ended = await rig.service.get(permission.id)
        assert ended is not None
        assert not ended.open


@pytest.mark.rule("PUSH-11")
async def test_a_worker_dies_with_the_key(full_browser: Browser, tmp_path: Path) -> None:
    async with (
        push_rig(tmp_path) as rig,
        receiving() as receiver,
        subscribed(full_browser, rig, receiver) as (phone, _),
    ):
        count = "async () => (await navigator.serviceWorker.getRegistrations()).length"
        assert await phone.page.evaluate(count) == 1
        rig.keys["abk_another"] = rig.keys.pop(next(iter(rig.keys)))
        await phone.page.goto(rig.url)
        await phone.page.wait_for_function(f"({count})().then((found) => found === 0)")


@pytest.mark.rule("PUSH-11")
async def test_the_worker_removes_itself_elsewhere_and_shows_nothing_for_another_key(
    full_browser: Browser, tmp_path: Path
) -> None:
    async with (
        push_rig(tmp_path) as rig,
        receiving() as receiver,
        subscribed(full_browser, rig, receiver) as (phone, _),
    ):
        scopes = "async () => (await navigator.serviceWorker.getRegistrations()).map((each) => each.scope)"
        own = f"{rig.url}/a/-/"
        await phone.page.evaluate(
            """async () => {
              const [{ active }] = await navigator.serviceWorker.getRegistrations();
              const planted = await navigator.serviceWorker.register(active.scriptURL, { scope: "/" });
              const worker = planted.installing || planted.waiting || planted.active;
              await new Promise((done) => {
                const look = () => ["activated", "redundant"].includes(worker.state) && done();
                worker.addEventListener("statechange", look);
                look();
              });
            }"""
        )
        await phone.page.wait_for_function(f"({scopes})().then((found) => found.length === 1)")
        assert await phone.page.evaluate(scopes) == [own]
        await phone.worker.evaluate(
            """() => {
              self.ended = new Promise((done) => {
                const subscription = { options: { applicationServerKey: new Uint8Array(65) }, unsubscribe: done };
                PushManager.prototype.getSubscription = async () => subscription;
              });
            }"""
        )
        await phone.deliver({"ask": "ask_1", "text": "From somebody else"})
        await phone.worker.evaluate("() => self.ended")
        assert await phone.shown() == []
