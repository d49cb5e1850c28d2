"""Somebody who follows the page about Telegram."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tests.documentation.newcomer import Newcomer
from tests.fakes.telegram.server import FakeTelegram


@asynccontextmanager
async def meet_newcomer() -> AsyncIterator[Newcomer]:
    """Run Telegram, with a newcomer."""
    async with FakeTelegram() as world:
        ann = world.add_user("Ann")
        messages = world.chats[ann.id].messages

        async def answer(seconds: float) -> None:
            async with asyncio.timeout(seconds):
                while not any(each.buttons for each in messages.values()):
                    with suppress(TimeoutError):  # the fake's own patience is shorter
                        await world.until(lambda: any(each.buttons for each in messages.values()))
            asked = next(each for each in messages.values() if each.buttons)
            yes = next(each for each in asked.buttons if each["text"].endswith("Yes"))
            await world.click(ann, asked, yes["callback_data"])

        filled_in = {"123456:ABC…": world.token, "YOUR_ID": str(ann.id)}
        variables = {"ANSWERBACK_TELEGRAM__API_URL": world.url}
        yield Newcomer("3. Ask a group", filled_in, variables, answer)
