"""Clicks beside a stream of ten-megabyte uploads, in turns with clicks alone: ``python -m tests.benchmarks.uploads``.

A chunk of an upload is a transaction of its own, so that a click waits for one of them at most. Both share one core,
with four people who click and one agent that uploads without a pause.
"""

from __future__ import annotations

import asyncio
import io
import os
from collections import defaultdict
from contextlib import suppress
from statistics import quantiles
from typing import Final

import aiohttp

from answerback.core.files import MAX_FILE
from tests.benchmarks.figures import Figures
from tests.benchmarks.processes import OTHERS, SLACK_SECONDS, service, slow_slack
from tests.benchmarks.slack_clicks import FORM, Clicker, hammer
from tests.unit.picture_samples import PNG

ROUNDS: Final = int(os.environ.get("BENCH_ROUNDS", "5"))
SECONDS: Final = 2.0
PEOPLE: Final = 4
FILE: Final = PNG + bytes(MAX_FILE - len(PNG))
ALONE, BESIDE = "clicks alone", "beside uploads"


async def upload_on(http: aiohttp.ClientSession, done: list[float]) -> None:
    """Upload file after file, until it is cancelled."""
    while True:
        async with http.post("/v1/files?name=plot.png", data=io.BytesIO(FILE)) as response:
            assert response.status == 201, await response.text()
        done.append(MAX_FILE / 1e6)


async def main() -> None:
    """Run the rounds and print a table."""
    os.sched_setaffinity(0, OTHERS)
    middle, slowest, rate = (defaultdict[str, list[float]](list) for _ in range(3))
    uploaded: list[float] = []
    no_limit = {"ANSWERBACK_LIMITS__UNCLAIMED_FILES": "0"}
    async with (
        slow_slack() as api_url,
        service(FORM, api_url, count=PEOPLE, **no_limit) as (_, url, public, _),
        aiohttp.ClientSession(url) as http,
    ):
        port = int(public.rpartition(":")[2])
        clickers = [Clicker(number) for number in range(PEOPLE)]
        for number in range(ROUNDS + 1):
            for kind in (ALONE, BESIDE):
                done: list[float] = []
                uploading = asyncio.create_task(upload_on(http, done)) if kind == BESIDE else None
                times = await hammer(port, clickers, SECONDS)
                if uploading is not None:
                    uploading.cancel()
                    with suppress(asyncio.CancelledError):
                        await uploading
                if number:  # the first round warms up
                    cuts = quantiles(times, n=100)
                    middle[kind].append(cuts[49] * 1e3)
                    slowest[kind].append(cuts[98] * 1e3)
                    rate[kind].append(len(times) / SECONDS)
                    uploaded += [sum(done) / SECONDS] if uploading else []
                await asyncio.sleep(1 + 2 * SLACK_SECONDS)
    figures = Figures("Clicks beside uploads of ten megabytes, on one core")
    for kind in (ALONE, BESIDE):
        figures.add(
            f"a click of {PEOPLE} at once, p50", kind, middle[kind], "ms", middle[ALONE], ALONE
        )
        figures.add("  p99", kind, slowest[kind], "ms", slowest[ALONE], ALONE)
        figures.add("  clicks", kind, rate[kind], "/s", rate[ALONE], ALONE)
    figures.add("  uploaded meanwhile", BESIDE, uploaded, "MB/s")
    figures.print()


if __name__ == "__main__":
    asyncio.run(main())
