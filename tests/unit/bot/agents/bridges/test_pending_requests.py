"""A server that asks the same again, while what it asked before is still being withdrawn."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from answerback_agents.bridges.ask_people import Request
from answerback_agents.bridges.pending_requests import PendingRequests
from answerback_client import Ask, ClientError
from tests.service_support import WAIT

REQUEST = Request("r1", "ask", "ask_user", {}, None)


class People:
    """People who never answer, at a service that takes its time to withdraw what they are asked."""

    def __init__(self) -> None:
        self.slow = asyncio.Event()
        self.asked = asyncio.Queue[asyncio.Event]()

    async def ask_and_wait(self, _request: Request, gone: asyncio.Event) -> Ask | None:
        self.asked.put_nowait(gone)
        try:
            await gone.wait()
        finally:
            await self.slow.wait()
        return None


async def _answer(_ask: Ask) -> None:
    raise AssertionError("nobody answers")


def _refused(error: ClientError) -> None:
    raise error


@pytest.mark.parametrize("how", ["gone", "dropped"])
async def test_a_request_that_comes_again_is_followed_until_it_is_gone(how: str) -> None:
    people = People()
    async with asyncio.timeout(WAIT), asyncio.TaskGroup() as tasks:
        requests = PendingRequests(cast("Any", people), tasks)
        requests.forward("r1", REQUEST, _answer, _refused)
        await people.asked.get()
        first = [task for task in asyncio.all_tasks() if "forwarded" in str(task)]
        if how == "gone":
            requests.mark_gone("r1")
        else:
            tasks.create_task(requests.drop("r1"))
            await asyncio.sleep(0)
        requests.forward("r1", REQUEST, _answer, _refused)
        second = await people.asked.get()
        people.slow.set()
        await asyncio.wait(first)
        assert requests.mark_gone("r1")
        assert second.is_set()
    assert not requests.waiting
