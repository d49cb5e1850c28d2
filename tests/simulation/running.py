"""Run seeds, each in a process of its own that was forked from this one, and shorten the schedules of failures."""

from __future__ import annotations

import os
import pickle
import select
import signal
import tempfile
import traceback
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.simulation.faults import Fault, Schedule
from tests.simulation.service import warm_up
from tests.simulation.universe import Result, simulate

LONGEST: Final = 120
"""Seconds of a processor that a seed may take; one that takes longer spins."""
_MEMORY: Final = Path("/dev/shm")
_TRIES: Final = 80
"""The most simulations that are spent on shortening a schedule."""


def run_seed(
    seed: int,
    schedule: Schedule | None = None,
    *,
    kinds: Sequence[str] = (),
    keep_trace: bool = False,
) -> Result:
    """Run one seed in a forked process: it starts from the same state whatever ran before, and repeats exactly."""
    [result] = run_seeds([seed], schedule, kinds=kinds, keep_trace=keep_trace)
    return result


def run_seeds(
    seeds: Iterable[int],
    schedule: Schedule | None = None,
    *,
    kinds: Sequence[str] = (),
    jobs: int = 1,
    keep_trace: bool = False,
) -> Iterator[Result]:
    """Run seeds, so many at a time, and yield their results in order."""
    warm_up()
    waiting: deque[int] = deque()
    running: dict[int, tuple[int, int]] = {}
    """The seeds that run and their processes, by the pipes of their results."""
    results: dict[int, Result] = {}
    for seed in seeds:
        waiting.append(seed)
        child, reading = _fork(seed, schedule, kinds, keep_trace=keep_trace)
        running[reading] = seed, child
        if len(running) == jobs:
            _collect_one(running, results)
        while waiting and waiting[0] in results:
            yield results.pop(waiting.popleft())
    while running:
        _collect_one(running, results)
    for seed in waiting:
        yield results[seed]


def _fork(
    seed: int, schedule: Schedule | None, kinds: Sequence[str], *, keep_trace: bool
) -> tuple[int, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    os.close(reading)
    signal.signal(signal.SIGPROF, _give_up)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        where = _MEMORY if _MEMORY.is_dir() else None
        with tempfile.TemporaryDirectory(dir=where, prefix="simulation-") as folder:
            try:
                result = simulate(seed, Path(folder), schedule, kinds=kinds, keep_trace=keep_trace)
            except BaseException:  # noqa: BLE001 - the parent reports it
                result = Result(seed, "", [f"CRASH: {traceback.format_exc()}"])
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(result, pipe)
    finally:
        os._exit(0)  # no handler of the parent's may run here, and no destructor of what was killed


def _give_up(_signal: int, _frame: object) -> None:
    raise TimeoutError(f"it took longer than {LONGEST} s of a processor")


def _collect_one(running: dict[int, tuple[int, int]], results: dict[int, Result]) -> None:
    """Wait until one of the seeds has its result, which it writes as its process ends."""
    [reading, *_], _, _ = select.select(running, (), ())
    seed, child = running.pop(reading)
    with os.fdopen(reading, "rb") as pipe:
        sent = pipe.read()
    os.waitpid(child, 0)
    if sent:
        results[seed] = pickle.loads(sent)
    else:
        results[seed] = Result(seed, "", ["CRASH: the process ended without a result"])


def shorten(failed: Result) -> Result:
    """Leave out the faults without which a seed fails in the same way; return the shortest failure that was found."""
    kinds = kinds_of(failed)
    best, tries, size = failed, 0, max(1, len(failed.faults) // 2)
    while size and tries < _TRIES:
        start, shorter = 0, False
        while start < len(best.faults) and tries < _TRIES:
            left = [*best.faults[:start], *best.faults[start + size :]]
            tries += 1
            result = run_seed(failed.seed, Schedule([Fault.parse(line) for line in left]))
            if kinds_of(result) & kinds:
                best, shorter = result, True
            else:
                start += size
        size = size if shorter and size == 1 else size // 2
    return best


def kinds_of(result: Result) -> set[str]:
    """Return the ids of the invariants that did not hold."""
    return {violation.partition(":")[0] for violation in result.violations}
