"""The rest that the service comes to once nothing goes wrong: nothing waits in it, and nothing has piled up."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import aiohttp

_LOOKS: Final = 24
_EVERY: Final = 10.0
_EMPTY: Final = (
    "answerback_waiters",
    'answerback_asks{status="open"}',
    'answerback_deliveries{state="pending"}',
)
"""The metrics of what waits for something."""
_ON_DEMAND: Final = Counter({"McpEndpoint.running.<locals>.run": 1, "SystemClock.sleep_until": 2})
"""The number of tasks there may be of those that a process begins when they are first needed, and keeps; and of those
that wait until a time: for a deadline, and for the next try of a notification, which may be minutes away."""

Tasks = Counter[str]


async def watch(tasks: Callable[[], Tasks]) -> tuple[Tasks, Tasks]:
    """Look at a process's tasks for four minutes, in which Telegram takes 80 edits.

    Returns:
        The fewest and the most of each kind.
    """
    fewest = most = tasks()
    for _ in range(_LOOKS):
        await asyncio.sleep(_EVERY)
        now = tasks()
        fewest, most = fewest & now, most | now
    return fewest, most


def judge_tasks(left: Tasks, fresh: Tasks) -> list[str]:
    """REST: a process has, after all that happened, no more tasks than one that has just been started."""
    allowed = fresh | _ON_DEMAND
    return [
        f"REST: {count} tasks {name} are left, and a new process has {fresh[name]}"
        for name, count in left.items()
        if count > allowed[name]
    ]


async def judge_queues(http: aiohttp.ClientSession) -> list[str]:
    """REST: the service is ready, and none of its metrics says that something waits."""
    found = []
    async with http.get("/readyz") as response:
        if response.status != HTTPStatus.OK:
            found.append(f"REST: the service is not ready: {await response.text()}")
    async with http.get("/metrics") as response:
        metrics = await response.text()
    for name in _EMPTY:
        count = re.search(rf"^{re.escape(name)} (\S+)$", metrics, re.MULTILINE)
        if count is None or float(count[1]):
            found.append(f"REST: {name} is {count and count[1]}")
    return found
