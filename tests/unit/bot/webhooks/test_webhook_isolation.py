"""No receiver of webhooks slows down another, and none reveals its network to an agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Answer
from answerback.core.ask import Ask
from answerback.outbox.attempts import parse_retry_after
from answerback.outbox.dispatcher import RETRY_DELAYS, DispatchLimits
from answerback.ports.store_values import DeliveryState
from answerback.service.submission_request import Agent
from answerback_webhooks.sender import WebhookSender
from tests.fakes.receiver import Receiver, never, receiving, status
from tests.ports import free_port
from tests.service_support import WAIT, actor, ask_user
from tests.unit.bot.outbox_support import SECRET, Outbox, outbox

HOUR = 3_600.0
NOW = 1_700_000_000.0


@pytest.fixture
async def box(tmp_path: Path) -> AsyncIterator[Outbox]:
    async with outbox(tmp_path) as made:
        made.callbacks.secrets = {name: [SECRET] for name in (None, "one", "two")}
        yield made


async def answered(box: Outbox, url: str, agent: str | None = None) -> Ask:
    """An answered ask of an agent, whose webhook is due."""
    body = ask_user(callback={"url": url})
    ask = (await box.service.submit(body, agent=Agent(agent) if agent else None)).ask
    await box.service.act(ask.id, Answer(value=True), actor())
    return ask


@pytest.mark.rule("WEBHOOK-6", "WEBHOOK-7")
@pytest.mark.parametrize("as_date", [False, True])
async def test_retry_after_applies_to_everything_the_agent_sends_to_that_url(
    box: Outbox, receiver: Receiver, as_date: bool
) -> None:
    value = formatdate(box.clock.now() + 900, usegmt=True) if as_date else "900"
    receiver.answers = [status(429, Retry_After=value)]
    async with box.draining():
        first = await box.answered(receiver.url)
        stored = await box.wait_for_tries(first, 1)
        assert stored.next_at == box.clock.now() + 900
        second = await box.answered(receiver.url)
        async with asyncio.timeout(WAIT), box.store.outbox.changed:
            while (await box.delivery(second)).next_at == second.created_at:
                await box.store.outbox.changed.wait()
        assert len(receiver.received) == 1
        await box.clock.advance(910)
        await receiver.until(3)
        await box.wait_for_tries(first, 2)
        await box.wait_for_tries(second, 1)


@pytest.mark.rule("WEBHOOK-6", "WEBHOOK-7")
@pytest.mark.parametrize("other", [("one", "/other"), ("two", "/hook")])
async def test_a_pause_affects_no_other_agent_and_no_other_url_of_the_host(
    box: Outbox, receiver: Receiver, other: tuple[str, str]
) -> None:
    receiver.answers = [status(429, Retry_After="3600")]
    async with box.draining():
        paused = await answered(box, receiver.url, "one")
        await box.wait_for_tries(paused, 1)
        agent, path = other
        sent = await answered(box, receiver.url.replace("/hook", path), agent)
        stored = await box.wait_for_tries(sent, 1)
    assert stored.state is DeliveryState.DELIVERED


@pytest.mark.rule("WEBHOOK-6", "WEBHOOK-7")
@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120.0),
        (" 7 ", 7.0),
        ("3601", HOUR),
        ("9" * 8_000, HOUR),
        ("Tue, 14 Nov 2023 22:23:20 GMT", 600.0),
        ("Tuesday, 14-Nov-23 22:23:20 GMT", 600.0),
        ("Tue Nov 14 22:23:20 2023", 600.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", HOUR),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Mon, 01 Jan 0001 00:00:00 GMT", 0.0),
        ("1 Jan 2024 9999999999999999999999:00:00", None),
        ("Fri, 31 Dec 10000 23:59:59 GMT", None),
        ("Tue, 99 Nov 2023 22:23:20 GMT", None),
        ("-5", None),
        ("1e300", None),
        ("٣", None),
        ("²", None),
        ("soon", None),
        ("", None),
    ],
)
def test_every_form_of_retry_after_is_parsed_or_ignored(value: str, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


async def test_an_impossible_date_changes_no_pause(box: Outbox, receiver: Receiver) -> None:
    receiver.always = status(503, Retry_After="1 Jan 2024 9999999999999999999999:00:00")
    async with box.draining():
        ask = await box.answered(receiver.url)
        stored = await box.wait_for_tries(ask, 1)
        async with receiving() as another:
            await box.wait_for_tries(await box.answered(another.url), 1)
    assert stored.next_at == box.clock.now() + RETRY_DELAYS[0]


@pytest.mark.rule("WEBHOOK-8")
async def test_an_attempt_that_crashes_counts_as_failed_and_the_loop_continues(
    box: Outbox, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = WebhookSender.send

    async def broken(self: WebhookSender, delivery: Any, at: float) -> Any:
        if delivery.ask_id == bad.id:
            raise ZeroDivisionError
        return await real(self, delivery, at)

    monkeypatch.setattr(WebhookSender, "send", broken)
    bad = await box.answered(receiver.url)
    good = await box.answered(receiver.url)
    async with box.draining():
        stored = await box.wait_for_tries(bad, 1)
        assert (await box.wait_for_tries(good, 1)).state is DeliveryState.DELIVERED
    assert (stored.state, stored.last_error) == (DeliveryState.PENDING, "failed")
    assert stored.next_at == box.clock.now() + RETRY_DELAYS[0]


async def test_a_webhook_is_not_sent_repeatedly_if_storing_its_result_crashes(
    box: Outbox, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, crashes = box.store.outbox.save_results, [ZeroDivisionError(), ZeroDivisionError()]

    async def crashing(results: Any, entries: Any, holder: str | None) -> None:
        if entries and crashes:
            raise crashes.pop()
        await real(results, entries, holder)

    monkeypatch.setattr(box.store.outbox, "save_results", crashing)
    async with box.draining(limits=DispatchLimits(database_pause=0.01)):
        ask = await box.answered(receiver.url)
        await box.wait_for_tries(ask, 1)
    assert (crashes, len(receiver.received)) == ([], 1)


@pytest.mark.rule("WEBHOOK-6", "DATA-12")
async def test_many_hanging_urls_of_an_agent_leave_capacity_for_its_other_urls(
    box: Outbox, receiver: Receiver
) -> None:
    async with receiving() as dead:
        dead.always = never
        async with box.draining(limits=DispatchLimits(agent_soft=10, agent_hard=30)):
            for number in range(3):
                for _ in range(12):
                    await answered(box, f"{dead.url}/{number}", "one")
            await dead.until(24)
            await box.wait_for_tries(await answered(box, receiver.url, "one"), 1)
            for _ in range(10):
                await answered(box, f"{dead.url}/more", "one")
            await box.wait_for_tries(await answered(box, receiver.url, "two"), 1)
            assert len(dead.received) <= 30


async def test_idle_endpoints_are_forgotten(box: Outbox, receiver: Receiver) -> None:
    receiver.answers = [status(429, Retry_After="60")]
    async with box.draining(limits=DispatchLimits(endpoints_kept=4)) as dispatcher:
        for number in range(20):
            await box.wait_for_tries(await box.answered(f"{receiver.url}/{number}"), 1)
            assert len(dispatcher._endpoints) <= 5
        assert (None, f"{receiver.url}/0") in dispatcher._endpoints


# --- odd responses ---------------------------------------------------------------------------------


@asynccontextmanager
async def answering(
    answer: Callable[[asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[str]:
    """A server that does not speak HTTP: it reads a little and then responds as it likes."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.read(65_536)
            await answer(writer)
        except OSError:
            pass  # the caller hung up, as it should
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    finally:
        server.close()


async def banner(writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.6 secret banner\r\n")
    await writer.drain()


async def silence(_: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def trickle(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while True:
        writer.write(b"x")
        await writer.drain()
        await asyncio.sleep(0.01)


async def endless_headers(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X-More: " + b"x" * 4_000 + b"\r\n")
        await writer.drain()


async def only_interim_answers(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"HTTP/1.1 102 Processing\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.001)


@pytest.mark.rule("WEBHOOK-9")
@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (banner, "refused"),
        (silence, "timeout"),
        (trickle, {"timeout", "refused"}),
        (endless_headers, "refused"),
        (only_interim_answers, "timeout"),
    ],
)
async def test_a_response_that_is_not_http_delays_nobody_and_is_reported_in_a_fixed_word(
    box: Outbox, receiver: Receiver, answer: Any, word: str | set[str]
) -> None:
    timeout = WAIT if word == "refused" else 0.5
    async with answering(answer) as url, box.draining(timeout=timeout):
        odd = await box.answered(url)
        await box.wait_for_tries(await box.answered(receiver.url), 1)
        stored = await box.wait_for_tries(odd, 1)
        (line,) = await box.lines(odd)
    assert stored.last_error == line["error"]
    assert stored.last_error in (word if isinstance(word, set) else {word})


async def test_a_compressed_response_body_is_not_decompressed(box: Outbox) -> None:
    async def bomb(writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99\r\n\r\n"
        writer.write(head + b"no gzip at all")
        await writer.drain()

    async with answering(bomb) as url, box.draining():
        stored = await box.wait_for_tries(await box.answered(url), 1)
    assert stored.state is DeliveryState.DELIVERED


@pytest.mark.rule("WEBHOOK-9")
async def test_an_agent_cannot_distinguish_closed_ports_odd_ports_and_private_addresses(
    box: Outbox,
) -> None:
    box.names.answers["inside.example"] = [["10.0.0.1"]]
    box.names.answers["odd.example"] = [["not an address"]]
    box.names.answers["nowhere.example"] = [[]]
    async with answering(banner) as odd, box.draining():
        urls = [odd, f"http://127.0.0.1:{free_port()}/hook"]
        urls += [f"http://{name}/hook" for name in box.names.answers]
        asks = [await box.answered(url) for url in urls]
        found = [await box.wait_for_tries(ask, 1) for ask in asks]
        lines = [(await box.lines(ask))[0] for ask in asks]
    assert [(one.last_error, one.last_status) for one in found] == [("refused", None)] * 5
    assert [(line["error"], line["status"]) for line in lines] == [("refused", None)] * 5
