"""A burst of asks is posted once each, without reading any place: nobody can have typed there before."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.unit.adapters.discord.rig import rig

ONE = [{"id": "go", "text": "Go on?", "answer_type": "boolean"}]
POST, THREAD = "POST /channels/*/messages", "POST /channels/*/messages/*/threads"


@pytest.mark.rule("PLACE-4")
async def test_a_burst_whose_posts_and_threads_are_rate_limited_reads_nothing(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as up:
        await up.shown(await up.submit(ONE))
        before = up.discord.faults.count("GET *")
        up.discord.faults.rate_limit(POST, times=5)
        up.discord.faults.rate_limit(THREAD, times=5)
        asks = await asyncio.gather(*(up.submit(ONE) for _ in range(20)))
        stored = [await up.shown(ask) for ask in asks]
        assert all(ask.placement.thread is not None and ask.placement.thread.id for ask in stored)
        assert len(up.channel.messages) == 21
        assert up.discord.faults.count("GET *") == before
