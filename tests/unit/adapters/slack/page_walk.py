"""Somebody who follows the page about Slack."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.documentation.newcomer import Newcomer
from tests.fakes.slack.server import FakeSlack


@asynccontextmanager
async def meet_newcomer() -> AsyncIterator[Newcomer]:
    """Run Slack, with a newcomer."""
    async with FakeSlack() as world:
        ada = world.person("U0123456", "ada")
        world.workspace.add_channel("C0123456", ada.id)

        async def answer(seconds: float) -> None:
            await world.until(lambda: world.messages("C0123456"), timeout=seconds)
            await ada.click(world.messages("C0123456")[0], "Yes")

        filled_in = {"xoxb-…": world.bot_token, "xapp-…": world.app_token}
        variables = {"ANSWERBACK_SLACK__API_URL": world.api_url}
        yield Newcomer("What people see", filled_in, variables, answer)
