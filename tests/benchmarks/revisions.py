"""The CPU time of a click now and at another commit, in pairs of short rounds.

Run as ``python -m tests.benchmarks.revisions [COMMIT]``, by default the last one. Two services share a core, that of
the working tree and that of the commit, each with a database of its own, and 32 people click on each in turn. CPU time
depends on the machine's other load much less than rates do, and what is left hits both sides of a pair.
"""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from tests.benchmarks.optimisations import ROUNDS, each
from tests.benchmarks.processes import (
    OTHERS,
    SERVE,
    Process,
    environment,
    process,
    slow_slack,
    store_shown_asks,
)
from tests.benchmarks.slack import CLIENTS, FORM, Clicker
from tests.meta.project import ROOT, SOURCE_FOLDERS

SEED: Final = ("-m", "tests.benchmarks.revisions", "seed")


def unpack(commit: str, folder: Path) -> Mapping[str, str]:
    """Unpack a commit, and return the environment in which its packages are imported."""
    packed = subprocess.run(
        ["git", "archive", "--format=tar", commit, "--", *SOURCE_FOLDERS],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return {"PYTHONPATH": os.pathsep.join(str(folder / each) for each in SOURCE_FOLDERS)}


@asynccontextmanager
async def clicked(
    api_url: str, code: Mapping[str, str]
) -> AsyncIterator[tuple[Process, int, list[Clicker]]]:
    """Run a service with shown asks. Yield its process, its public port and the people."""
    with tempfile.TemporaryDirectory() as name:
        async with process(*SEED, name, environment=code) as seeding:
            assert await seeding.child.wait() == 0
        settings = {**environment(Path(name), api_url), **code}
        async with process(*SERVE, environment=settings) as up:
            await up.line()
            port = int((await up.line()).rpartition(":")[2])
            yield up, port, [Clicker(n) for n in range(CLIENTS)]


async def main(commit: str) -> None:
    """Compare, and print the figures."""
    os.sched_setaffinity(0, OTHERS)
    took: dict[str, list[float]] = {"now": [], commit: []}
    with tempfile.TemporaryDirectory() as name:
        code = {"now": {}, commit: unpack(commit, Path(name))}
        async with slow_slack() as api_url, AsyncExitStack() as stack:
            running = {
                kind: await stack.enter_async_context(clicked(api_url, code[kind])) for kind in took
            }
            for number in range(ROUNDS + 1):
                order = [*took] if number % 2 else [*reversed(took)]
                for kind in order:
                    measured = await each(*running[kind])
                    if number:  # the first round warms up
                        took[kind].append(measured)
    ratios = [now / then for now, then in zip(*took.values(), strict=True)]
    low, middle, high = quantiles(ratios, n=4)
    figures = ", ".join(f"{kind} {median(found):.0f} µs" for kind, found in took.items())
    sys.stdout.write(
        f"CPU time of a click: {figures}; now/{commit} in {len(ratios)} pairs: median {middle:.3f},"
        f" half of them between {low:.3f} and {high:.3f}\n"
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["seed"]:
        asyncio.run(store_shown_asks(Path(sys.argv[2]), FORM, CLIENTS))
    else:
        asyncio.run(main(*sys.argv[1:2] or ["HEAD"]))
