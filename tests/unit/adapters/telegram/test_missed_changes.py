"""Changes to chats while the service was down, of which Telegram tells nothing afterwards."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from answerback.core.ask import Status
from tests.fakes.long_timeouts import HASTY
from tests.fakes.telegram.server import FakeTelegram
from tests.unit.adapters.telegram.rig import rig
from tests.unit.adapters.telegram.test_places_and_faults import GO, live


@pytest.mark.rule("TELEGRAM-11")
async def test_asks_in_chats_that_changed_meanwhile_fail_or_move(tmp_path: Path) -> None:
    async with FakeTelegram() as telegram:
        moving = telegram.add_group(kind="group")
        public = telegram.add_group(username="everybody")
        ann = telegram.add_user("Ann")
        places = (f"@{ann.id}", str(moving.id), str(public.id))
        async with rig(tmp_path, telegram=telegram, ann=ann) as at:
            direct, moved, left = [await at.submit([GO], to=f"telegram:{to}") for to in places]
            await at.message_sync.stop()
            assert (await at.submit([GO])).placement.message is None
        new = telegram.migrate(moving)
        public.members[telegram.bot.id] = "left"
        del telegram.chats[ann.id].messages[live(telegram.chats[ann.id], direct).id]
        async with rig(tmp_path, telegram=telegram, group=at.group, ann=ann, delays=HASTY) as at:
            await telegram.until(lambda: new.messages and telegram.chats[ann.id].messages)
            assert live(new, await at.shown(moved)).buttons
            assert live(telegram.chats[ann.id], await at.shown(direct)).buttons
            while left.open:
                await asyncio.sleep(0.01)
                left = await at.shown(left)
            assert left.status is Status.FAILED
            assert left.outcome is not None
            assert "the bot was removed from the group" in str(left.outcome.message)
