"""Text typed where an ask no longer is: no answer to anything, and its author is told where the ask is now."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask, Destination
from answerback.core.labels import Labels
from answerback_discord.markdown_text import escape
from tests.fakes.discord.world import Message
from tests.service_support import WAIT, escalate_to
from tests.unit.adapters.discord.rig import Rig, rig
from tests.unit.adapters.discord.test_typed_messages import prompt

LABELS = Labels()
TEXT: list[dict[str, Any]] = [{"id": "why", "text": "Why so?", "answer_type": "text"}]


async def leave_behind(up: Rig, ask: Ask, **to: str) -> Ask:
    """Escalate an ask whose message stays as it is, because nothing is shown any more."""
    await up.message_sync.stop()
    return await escalate_to(up.service, ask, Destination(surface="discord", **to))


async def note(up: Rig, text: str) -> Message:
    """The direct message to Ann with this text."""
    return (await up.ann.finds(text, up.discord.direct(up.ann.user))).message


async def stored_at(up: Rig, ask: Ask, channel: int) -> None:
    """Wait until the place of an ask's new message is stored, which happens after people can see it."""
    async with asyncio.timeout(WAIT):
        while True:
            stored = await up.store.asks.get(ask.id)
            if (
                stored is not None
                and stored.placement.thread
                and f"/{channel}/" in (stored.placement.thread.url or "")
            ):
                return
            await asyncio.sleep(0.01)


@pytest.mark.rule("TYPED-12")
@pytest.mark.parametrize("reply", [True, False])
async def test_the_author_is_told_where_the_question_is_now(tmp_path: Path, reply: bool) -> None:
    async with rig(tmp_path) as up:
        other = up.discord.add_channel(up.guild, "other")
        ask = await up.shown(await up.submit(TEXT))
        await leave_behind(up, ask, channel=str(other.id))
        old, thread = (
            prompt(up, ask),
            (ask.placement.thread.id if ask.placement.thread else "") or "",
        )
        if reply:
            up.ann.replies(old, "because")
        else:
            up.ann.mention_bot(up.discord.world.channel(int(thread)), "because")
        said = await note(up, "has moved to")
        assert f"<#{other.id}>" in said.content
        stored = await up.store.asks.get(ask.id)
        assert stored is not None
        assert stored.walk.answers == ()


@pytest.mark.rule("TYPED-12")
async def test_the_note_leads_to_the_new_message_once_there_is_one(tmp_path: Path) -> None:
    async with rig(tmp_path) as up:
        other = up.discord.add_channel(up.guild, "other")
        ask = await up.shown(await up.submit(TEXT))
        old = prompt(up, ask)
        up.discord.faults.server_error("PATCH /channels/*/messages/*", times=100)
        to = Destination(surface="discord", channel=str(other.id))
        await escalate_to(up.service, ask, to)
        await up.ann.finds("Why so?", other)
        await stored_at(up, ask, other.id)
        up.ann.replies(old, "because")
        said = await note(up, "has moved to")
        assert f"/{other.id}/" in said.content
        up.discord.faults.clear()


@pytest.mark.rule("TYPED-9", "TYPED-12")
async def test_with_another_question_open_there_the_text_answers_neither(tmp_path: Path) -> None:
    async with rig(tmp_path) as up:
        made = [
            await up.submit(TEXT, to=f"discord:@{up.ann.id}", responders=None) for _ in range(2)
        ]
        stays, goes = [await up.shown(ask) for ask in made]
        await leave_behind(up, goes, channel=str(up.channel.id))
        direct = up.discord.direct(up.ann.user)
        up.ann.types(direct, "because")
        await up.ann.finds(escape(LABELS.which_one_quote), direct)
        for ask in (stays, goes):
            stored = await up.store.asks.get(ask.id)
            assert stored is not None
            assert stored.walk.answers == ()
