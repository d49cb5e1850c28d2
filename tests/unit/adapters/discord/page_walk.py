"""Somebody who follows the page about Discord."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.documentation.newcomer import Newcomer
from tests.fakes.discord.server import FakeDiscord


@asynccontextmanager
async def meet_newcomer() -> AsyncIterator[Newcomer]:
    """Run Discord, with a newcomer."""
    async with FakeDiscord() as world:
        channel = world.add_channel(guild := world.add_guild())
        ann = world.person("ann", guild)

        async def answer(seconds: float) -> None:
            await ann.until(lambda: ann.visible(channel), timeout=seconds)
            await ann.click("Yes", channel=channel)

        filled_in = {
            'bot_token = "…"': f'bot_token = "{world.application.token}"',
            "80351110224678912": str(ann.id),
            "41771983423143937": str(channel.id),
        }
        variables = {"ANSWERBACK_DISCORD__API_URL": world.api_url}
        yield Newcomer("What people see", filled_in, variables, answer, library_warns=True)
