"""A platform's rate limits apply to the app, and so to all processes that share a store."""

from __future__ import annotations

import asyncio
import time

import pytest

from answerback.core.actions import Answer
from answerback.core.errors import RateLimitedError
from answerback.ports.store import Store
from answerback.workers.message_queues import place_key
from tests.service_support import actor, ask_user, boolean
from tests.unit.bot.replica_support import ANN, BEN, SHORT_LEASE, Processes


@pytest.fixture
def limited(store: Store, monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set once the store knows that a place is rate-limited."""
    known, hold_off = asyncio.Event(), store.rate_limits.set_retry_after

    async def held(bucket: str, seconds: float) -> None:
        await hold_off(bucket, seconds)
        known.set()

    monkeypatch.setattr(store.rate_limits, "set_retry_after", held)
    return known


@pytest.mark.rule("CLAIM-7")
async def test_a_rate_limited_place_is_left_alone_by_every_process(
    store: Store, limited: asyncio.Event
) -> None:
    processes = Processes(store)
    (ann, anns), (ben, bens) = processes.start(ANN), processes.start(BEN)
    chat = processes.chat
    chat.failures = [RateLimitedError("slow down", retry_after=60)]
    first = (await ann.submit(ask_user())).ask
    await limited.wait()
    assert await store.rate_limits.get_retry_after(place_key(first.placement.destination)) > 0
    second = (await ben.submit(ask_user())).ask
    elsewhere = (await ben.submit(ask_user(to="chat:C2"))).ask
    await chat.until(lambda: elsewhere.id in chat.messages)
    assert second.id not in chat.messages
    await anns.stop()
    await bens.stop()


@pytest.mark.rule("CLAIM-7")
async def test_a_rate_limited_edit_delays_edits_at_that_place_in_every_process(
    store: Store, limited: asyncio.Event
) -> None:
    processes = Processes(store)
    (ann, anns), (ben, bens) = processes.start(ANN), processes.start(BEN)
    chat = processes.chat
    asks = [(await ann.submit(ask_user(boolean("a"), boolean("b")))).ask for _ in range(2)]
    await anns.wait_until_idle()
    chat.failures = [RateLimitedError("slow down", retry_after=60)]
    await ann.act(asks[0].id, Answer(value=True), actor())
    await limited.wait()
    await ben.act(asks[1].id, Answer(value=True), actor())
    posted = (await ben.submit(ask_user())).ask
    await chat.until(lambda: posted.id in chat.messages)
    assert chat.messages[asks[1].id].revision == 1, "posts do not wait for edits, but edits wait"
    await anns.stop()
    await bens.stop()


@pytest.mark.rule("CLAIM-7")
async def test_delayed_messages_are_shown_when_a_limit_is_over(
    store: Store, limited: asyncio.Event
) -> None:
    processes = Processes(store)
    (ann, anns), (ben, bens) = processes.start(ANN), processes.start(BEN)
    chat = processes.chat
    since = time.monotonic()
    chat.failures = [RateLimitedError("slow down", retry_after=SHORT_LEASE)]
    posts = [(await ann.submit(ask_user(boolean("a"), boolean("b")))).ask]
    await limited.wait()
    posts.append((await ben.submit(ask_user(boolean("a"), boolean("b")))).ask)
    await anns.wait_until_idle()
    await bens.wait_until_idle()
    assert time.monotonic() - since >= SHORT_LEASE
    assert (set(chat.messages), chat.shows) == ({ask.id for ask in posts}, 3)
    limited.clear()
    since = time.monotonic()
    chat.failures = [RateLimitedError("slow down", retry_after=SHORT_LEASE)]
    await ann.act(posts[0].id, Answer(value=True), actor())
    await limited.wait()
    await ben.act(posts[1].id, Answer(value=True), actor())
    await anns.wait_until_idle()
    await bens.wait_until_idle()
    assert time.monotonic() - since >= SHORT_LEASE
    assert {chat.messages[ask.id].revision for ask in posts} == {2}


@pytest.mark.rule("CLAIM-7")
async def test_a_limit_on_one_message_delays_no_other(store: Store) -> None:
    processes = Processes(store)
    ann, anns = processes.start(ANN)
    chat = processes.chat
    one, other = [(await ann.submit(ask_user(boolean("a"), boolean("b")))).ask for _ in range(2)]
    await anns.wait_until_idle()
    chat.failures = [RateLimitedError("slow down", retry_after=60, alone=True)]
    await ann.act(one.id, Answer(value=True), actor())
    await chat.until(lambda: not chat.failures)
    await ann.act(other.id, Answer(value=True), actor())
    await chat.until(lambda: chat.messages[other.id].revision == 2)
    await anns.stop()
