"""The savings of each optimisation: the CPU time of a click with it and without it, in pairs of short rounds.

Run as ``python -m tests.benchmarks.optimisations [PLACE …]``. Two services share a core, one unchanged and
one without the optimisation, and 32 people click on each in turn. The figure of each optimisation is in the code next
to it.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table

from answerback_agents.cli import main as program
from answerback_base import interpreter_tuning
from answerback_slack import http_endpoint
from answerback_storage import rows
from answerback_storage.sqlite.writer_thread import JobThread
from tests.benchmarks.processes import OTHERS, Process, service, slow_slack
from tests.benchmarks.slack_clicks import CLIENTS, FORM, Clicker, hammer

ROUNDS: Final = int(os.environ.get("BENCH_ROUNDS", "30"))
SECONDS: Final = 0.5


def hash_at_once() -> None:
    """Hash the whole body for the signature at once, which releases the interpreter lock."""
    http_endpoint._HASH_CHUNK_BYTES = 2**31  # type: ignore[misc] # the measurement changes the constant


def usual_switching() -> None:
    """Use Python's default switch interval."""
    interpreter_tuning._SWITCH_SECONDS = 0.005  # type: ignore[misc] # as above


def job_by_job() -> None:
    """Hand each job to the writer thread as soon as the loop gets to it."""

    def hand_over(self: JobThread[Any], _known: int) -> None:
        if self._collected:
            self._queue.put(self._collected)
            self._collected = []

    setattr(JobThread, "_hand_over", hand_over)  # noqa: B010 - mypy allows no other way


def every_column() -> None:
    """Write every change with all its columns, so that none is a plain step."""
    setattr(rows, "is_step", lambda _old, _new: False)  # noqa: B010 - mypy allows no other way


def whole_payloads() -> None:
    """Parse all of a click's payload into objects, including its copy of the message."""
    decoder = msgspec.json.Decoder()
    http_endpoint._CLICK_DECODER = decoder  # type: ignore[misc] # as above


def nothing() -> None:
    """Change nothing: the noise level for comparing the other figures."""


PLACES: Final[Mapping[str, Callable[[], None]]] = {
    place.__name__: place
    for place in (
        *(nothing, hash_at_once, usual_switching, job_by_job, every_column),
        whole_payloads,
    )
}


async def each(up: Process, port: int, clickers: list[Clicker]) -> float:
    """Return the microseconds of CPU time that a click takes."""
    before = up.processor
    times = await hammer(port, clickers, SECONDS)
    return (up.processor - before) / len(times) * 1e6


async def compared(place: str) -> tuple[float, float]:
    """Compare a click as it is with one without the optimisation."""
    plain = ("-m", "tests.benchmarks.optimisations", "serve", place)
    took: tuple[list[float], list[float]] = [], []
    async with (
        slow_slack() as api_url,
        service(FORM, api_url) as (unchanged, _, public, _),
        service(FORM, api_url, arguments=plain) as (other, _, other_public, _),
    ):
        pairs = [
            (up, int(address.rpartition(":")[2]), [Clicker(n) for n in range(CLIENTS)], times)
            for up, address, times in ((unchanged, public, took[0]), (other, other_public, took[1]))
        ]
        for number in range(ROUNDS + 1):
            for up, port, clickers, times in pairs:
                measured = await each(up, port, clickers)
                if number:  # the first round warms up
                    times.append(measured)
    return median(took[0]), median(took[1])


async def main(requested: list[str]) -> None:
    """Compare the optimisations, and print a table."""
    os.sched_setaffinity(0, OTHERS)
    table = Table("without", "µs a click", "µs unchanged", "increase without it")
    for place in requested or PLACES:
        as_it_is, plain = await compared(place)
        table.add_row(place, f"{plain:.0f}", f"{as_it_is:.0f}", f"{plain / as_it_is - 1:+.0%}")
    Console(width=100).print(table)


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        PLACES[sys.argv.pop(2)]()
        program.main()
    else:
        asyncio.run(main(sys.argv[1:]))
