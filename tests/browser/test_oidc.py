"""People sign in with a real provider in a real browser: all the way, and what other tabs, ports and scripts see."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from answerback.core.ask import Ask
from answerback.core.labels import ENGLISH
from answerback.runtime.app import RunningService, run_service
from answerback.service.submission_request import read_submission
from answerback_web.adapter import WebSurface
from tests.browser.conftest import tab
from tests.browser.test_accessibility import AXE
from tests.ports import free_port
from tests.service_support import WAIT
from tests.unit.bot.oidc.conftest import settings_for
from tests.unit.bot.oidc.test_signing_in import CALL

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
STORED = "JSON.stringify([{...sessionStorage}, {...localStorage}, document.cookie, location.href])"


@pytest.fixture(scope="module")
def provider_url() -> Iterator[str]:
    """A running oidc-provider-mock, in a process of its own."""
    port = free_port()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(port)
            yield f"http://localhost:{port}"
        finally:
            process.terminate()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + WAIT
    while True:
        try:
            socket.create_connection(("localhost", port)).close()
        except OSError:
            assert time.monotonic() < deadline, "the provider does not start"
            time.sleep(0.05)
        else:
            return


@dataclass
class Signing:
    """A running service that people sign in to."""

    running: RunningService
    provider_url: str

    @property
    def url(self) -> str:
        return str(self.running.public_url)

    async def ask(self) -> Ask:
        return (await self.running.service.submit(read_submission(CALL))).ask

    async def sign_in(self, page: Page, subject: str = "248289761001") -> None:
        """Sign in at the provider, whose page is shown."""
        await page.wait_for_url(f"{self.provider_url}/**")
        await page.locator("input[name=sub]").fill(subject)
        await page.get_by_role("button", name="Authorize").click()


@pytest_asyncio.fixture(loop_scope="session")
async def up(provider_url: str, tmp_path: Path) -> AsyncIterator[Signing]:
    settings = settings_for(provider_url, free_port(), f"sqlite:///{tmp_path / 'asks.db'}")
    async with run_service(settings) as running:
        yield Signing(running, provider_url)


@pytest.mark.rule("OIDC-1", "OIDC-5", "OIDC-7", "AUTH-12")
async def test_a_person_signs_in_answers_and_signs_out(browser: Browser, up: Signing) -> None:
    await up.ask()
    async with tab(browser) as page:
        await page.goto(up.url)
        await page.get_by_role("link", name=ENGLISH.sign_in_with).click()
        await up.sign_in(page)
        await expect(page.get_by_text("Apply the migration?")).to_be_visible()
        await expect(page.get_by_text("Signed in as Ann")).to_be_visible()
        await expect(page).to_have_url(f"{up.url}/inbox/-")  # which opens nothing elsewhere
        assert await page.context.cookies() == []
        await page.reload()
        await page.locator(".entry > a").first.click()
        await page.get_by_role("button", name="Yes").first.click()
        await expect(page.get_by_text(ENGLISH.inbox_empty)).to_be_visible()
        await page.get_by_role("link", name=ENGLISH.sign_out).click()
        await page.evaluate(Axe().axe_script)
        assert (await page.evaluate(AXE))["violations"] == []
        await page.get_by_role("button", name=ENGLISH.sign_out_everywhere).click()
        await expect(page.get_by_text(ENGLISH.signed_out)).to_be_visible()
        await page.go_back()
        await page.reload()
        await expect(page.get_by_text("Apply the migration?")).to_have_count(0)


@pytest.mark.rule("OIDC-5")
async def test_a_link_to_an_ask_leads_back_to_it_and_the_tab_signs_in_once(
    browser: Browser, up: Signing
) -> None:
    first, second = [await up.ask() for _ in range(2)]
    surface = up.running.service.surfaces["web"]
    assert isinstance(surface, WebSurface)
    links = [surface.url(ask.id) for ask in (first, second)]
    async with tab(browser) as page:
        await page.goto(links[0])
        await page.get_by_role("link", name=ENGLISH.sign_in_with).click()
        await up.sign_in(page)
        await expect(page.get_by_role("button", name="Yes").first).to_be_enabled()
        await expect(page).to_have_url(links[0])  # what the browser shows only reads
        await page.goto(links[1])
        await page.get_by_role("link", name=ENGLISH.sign_in_with).click()
        await expect(page.get_by_role("button", name="Yes").first).to_be_enabled()
        await expect(page).to_have_url(links[1])
        other = await page.context.new_page()
        await other.goto(links[1])
        await expect(other.get_by_role("link", name=ENGLISH.sign_in_with)).to_be_visible()
        assert "answerback" not in await other.evaluate(STORED), "another tab knows nothing"
        await other.close()


@pytest.mark.rule("OIDC-2", "OIDC-3")
async def test_who_is_not_among_the_people_reads_their_id_and_may_try_again(
    browser: Browser, up: Signing
) -> None:
    async with tab(browser) as page:
        await page.goto(f"{up.url}/oidc/sign-in")
        await up.sign_in(page, "eve")
        await expect(page.get_by_text(f"oidc:{up.provider_url}#eve")).to_be_visible()
        await expect(page).to_have_url(f"{up.url}/oidc/callback")  # the code is not in the history
        await page.evaluate(Axe().axe_script)
        assert (await page.evaluate(AXE))["violations"] == []
        await page.get_by_role("link", name=ENGLISH.page_again).click()
        await up.sign_in(page)
        await expect(page.get_by_text("Signed in as Ann")).to_be_visible()


@pytest.mark.rule("OIDC-3")
async def test_a_response_that_a_stranger_began_signs_nobody_in(
    browser: Browser, up: Signing
) -> None:
    async with tab(browser) as page:
        await page.goto(f"{up.url}/oidc/callback?code=stolen&state=another")
        await expect(page.get_by_text(ENGLISH.oidc_failed)).to_be_visible()
        assert await up.running.service.store.rows.read("SELECT id FROM oidc_sessions") == []


@pytest.mark.rule("OIDC-5")
async def test_another_port_of_the_host_learns_nothing_of_a_session(
    browser: Browser, up: Signing
) -> None:
    received: list[str] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append((await reader.readuntil(b"\r\n\r\n")).decode())
        body = b"<title>x</title><link rel=icon href=data:,>"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as server, tab(browser) as page:
        await page.goto(f"{up.url}/oidc/sign-in")
        await up.sign_in(page)
        await expect(page.get_by_text("Signed in as Ann")).to_be_visible()
        stored = await page.evaluate(STORED)
        session = (
            stored.partition('"answerback.session\\":\\"')[2][:32]
            or stored.partition('answerback.session":"')[2][:32]
        )
        assert len(session) == 32
        await page.goto(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        assert session not in await page.evaluate(STORED)
        assert session not in "".join(received)
        assert "cookie" not in "".join(received).lower()
