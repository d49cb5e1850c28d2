"""The Python heap that an open ask takes while nobody looks at it, and an agent that waits for it by long-poll."""

from __future__ import annotations

import asyncio
import gc
import resource
import socket
import tracemalloc
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from typing import Final

from answerback.runtime.app import RunningService, run_service
from answerback.runtime.config import settings_type
from answerback.service.submission_request import Submission
from tests.budgets.housekeeping import stop_housekeeping

STEP: Final = 250
"""Asks, or waiters, that are added before each measurement."""
STEPS: Final = 8
"""The first of them fills caches and pools; in some of the others, tables are doubled."""
_AT_ONCE: Final = 50
"""Connections opened before the service gets its turn: fewer than the kernel queues."""


def _heap() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _usual_growth(heaps: list[int]) -> int:
    """Return what a step usually took: doubling uvloop's table of timers alone takes 200 kB, in one step or another."""
    return median_low(after - before for before, after in pairwise(heaps))


async def _submit(up: RunningService) -> list[str]:
    """Submit asks that differ only in their question's text."""
    ids = []
    for number in range(STEP):
        question = f"Shall step {number + 1_000} be applied?"
        body = {
            "name": "ask_user",
            "arguments": {"question": question, "answer_type": "boolean"},
            "to": "web",
            "conversation": str(1_000 + number),
        }
        ids.append((await up.service.submit(Submission.model_validate(body))).ask.id)
    return ids


async def _wait(up: RunningService, ids: list[str], sockets: list[socket.socket]) -> None:
    """Let an agent wait for each ask. The agents are bare sockets, which take next to no heap."""
    host, _, port = up.api_url.removeprefix("http://").rpartition(":")
    before = up.service.signals.count
    for number, ask_id in enumerate(ids, 1):
        agent = socket.create_connection((host, int(port)))
        head = f"GET /v1/asks/{ask_id} HTTP/1.1\r\nHost: {host}\r\nPrefer: wait=300\r\n\r\n"
        agent.sendall(head.encode())
        sockets.append(agent)
        if number % _AT_ONCE == 0:
            async with asyncio.timeout(60):
                while up.service.signals.count < before + number:  # noqa: ASYNC110 - not signalled
                    await asyncio.sleep(0.01)


async def measure(folder: Path, url: str) -> dict[str, int]:
    """Return the bytes that one of them takes."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    settings = settings_type().model_validate(
        {"server": {"port": 0}, "storage": {"url": url}, "log": {"level": "error"}}
    )
    sockets: list[socket.socket] = []
    async with run_service(settings) as up:
        stop_housekeeping()
        tracemalloc.start()
        ids, with_asks, with_waiters = [], [], []
        for _ in range(STEPS):
            ids.append(await _submit(up))
            with_asks.append(_heap())
        for each in ids:
            await _wait(up, each, sockets)
            with_waiters.append(_heap())
        tracemalloc.stop()
        up.service.stop_waiting()
        for agent in sockets:
            agent.close()
    asks, waiters = _usual_growth(with_asks), _usual_growth(with_waiters)
    # What caches and pools happen to keep is less than a kilobyte an ask, and differs from run to run.
    return {"kB per open ask": max(0, asks) // STEP // 1_024, "bytes per waiter": waiters // STEP}
