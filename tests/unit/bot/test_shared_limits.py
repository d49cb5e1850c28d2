"""A platform's limits are those of the app: they hold for all processes that share a store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.core.errors import RateLimitedError
from answerback.core.walker import Answer
from answerback.ports.store import Store
from answerback.workers.message_sync import place_of
from answerback_storage.memory import MemoryStore
from answerback_storage.sqlite.store import SqliteStore
from tests.service_parts import WAIT, actor, ask_user, boolean
from tests.unit.bot.shared_parts import ANN, BEN, BRIEF, Processes


@pytest.fixture(params=["sqlite", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made: Store = SqliteStore(tmp_path / "a.db") if request.param == "sqlite" else MemoryStore()
    await made.open()
    yield made
    await made.close()


@pytest.mark.rule("CLAIM-7")
async def test_a_place_that_takes_no_posts_is_left_alone_by_every_process(store: Store) -> None:
    processes = Processes(store)
    (ann, anns), (ben, bens) = processes.start(ANN), processes.start(BEN)
    chat = processes.chat
    since = time.monotonic()
    chat.failures = [RateLimitedError("slow down", retry_after=BRIEF)]
    first = (await ann.submit(ask_user())).ask
    async with asyncio.timeout(WAIT), chat.changed:
        await chat.changed.wait_for(lambda: chat.shows == 1)
    assert await store.held_off(place_of(first.destination)) > 0
    second = (await ben.submit(ask_user())).ask
    elsewhere = (await ben.submit(ask_user(to="chat:C2"))).ask
    async with asyncio.timeout(WAIT), chat.changed:
        await chat.changed.wait_for(lambda: elsewhere.id in chat.messages)
    assert second.id not in chat.messages
    await anns.idle()
    await bens.idle()
    assert time.monotonic() - since >= BRIEF
    assert {first.id, second.id} <= chat.messages.keys()
    assert chat.shows == 4


@pytest.mark.rule("CLAIM-7")
async def test_an_edit_that_is_limited_holds_up_edits_at_that_place_in_every_process(
    store: Store,
) -> None:
    processes = Processes(store)
    (ann, anns), (ben, bens) = processes.start(ANN), processes.start(BEN)
    chat = processes.chat
    asks = [(await ann.submit(ask_user(boolean("a"), boolean("b")))).ask for _ in range(2)]
    await anns.idle()
    since = time.monotonic()
    chat.failures = [RateLimitedError("slow down", retry_after=BRIEF)]
    await ann.act(asks[0].id, Answer(value=True), actor())
    async with asyncio.timeout(WAIT), chat.changed:
        await chat.changed.wait_for(lambda: not chat.failures)
    await ben.act(asks[1].id, Answer(value=True), actor())
    posted = (await ben.submit(ask_user())).ask
    async with asyncio.timeout(WAIT), chat.changed:
        await chat.changed.wait_for(lambda: posted.id in chat.messages)
    assert chat.messages[asks[1].id].revision == 1, "posts wait for no edit, and edits wait"
    await bens.idle()
    await anns.idle()
    assert time.monotonic() - since >= BRIEF
    assert {chat.messages[ask.id].revision for ask in asks} == {2}


@pytest.mark.rule("CLAIM-7")
async def test_a_limit_of_one_message_alone_holds_up_no_other(store: Store) -> None:
    processes = Processes(store)
    ann, anns = processes.start(ANN)
    chat = processes.chat
    one, other = [(await ann.submit(ask_user(boolean("a"), boolean("b")))).ask for _ in range(2)]
    await anns.idle()
    chat.failures = [RateLimitedError("slow down", retry_after=60, alone=True)]
    await ann.act(one.id, Answer(value=True), actor())
    async with asyncio.timeout(WAIT), chat.changed:
        await chat.changed.wait_for(lambda: not chat.failures)
    await ann.act(other.id, Answer(value=True), actor())
    async with asyncio.timeout(WAIT), chat.changed:
        await chat.changed.wait_for(lambda: chat.messages[other.id].revision == 2)
    await anns.stop()
