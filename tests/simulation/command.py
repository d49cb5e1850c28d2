"""The command line: run seeds, repeat one with its trace, and shorten the schedules of failures."""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from tests.simulation.faults import WEIGHTS, Fault, Schedule
from tests.simulation.planted import PLANTED
from tests.simulation.platforms import front_of
from tests.simulation.running import kinds_of, run_seed, run_seeds, shorten
from tests.simulation.universe import Result

_PYTHON: Final = "Python " + platform.python_version()
"""The version of Python, on which a trace depends besides the seed and the code."""


def main() -> None:
    given = _parse()
    if given.planted is not None:
        sys.exit(_find_planted(given.planted, given.seeds, given.first or 1))
    if given.seed is not None:
        sys.exit(_repeat(given))
    began, virtual = time.perf_counter(), 0.0
    count = failed = steps = 0
    judged: Counter[str] = Counter()
    first = given.first
    if given.minutes is None:
        seeds: Iterable[int] = range(first or 1, (first or 1) + given.seeds)
    else:
        first = first or _new_seed()
        _say(f"New seeds from {first} on, for {given.minutes:g} minutes, on {_PYTHON}:")
        seeds = _new_seeds(first, began + 60 * given.minutes)
    seeds = (seed for seed in seeds if given.front in front_of(seed))
    for result in run_seeds(seeds, kinds=given.only or (), jobs=given.jobs):
        count += 1
        steps += result.steps
        virtual += result.virtual
        judged += result.judged
        if given.digests:
            _say(f"seed {result.seed}, {front_of(result.seed)}, digest {result.digest}")
        if result.violations:
            failed += 1
            _report(result if given.whole or given.until else shorten(result))
            if given.until in kinds_of(result):
                break
    seconds = time.perf_counter() - began
    _say(", ".join(f"{name} judged {count}" for name, count in judged.items()))
    _say(
        f"{count} seeds from {first or 1} on, {failed} failed: {virtual / 3600:.0f} virtual hours and "
        f"{steps} callbacks in {seconds:.0f} s."
    )
    sys.exit(failed > 0)


def _new_seed() -> int:
    """Return the first of the seeds of this day and this commit, which nobody has run before."""
    named = ["git", "rev-parse", "--short=6", "HEAD"]
    try:
        commit = subprocess.run(named, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):  # a copy without its history
        commit = "0"
    return int(f"{datetime.now(UTC):%Y%m%d}{int(commit, 16):08}000000")


def _new_seeds(first: int, until: float) -> Iterator[int]:
    seed = first
    while time.perf_counter() < until:
        yield seed
        seed += 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds to run")
    parser.add_argument("--first", type=int, help="the first of them; 1 unless they are new ones")
    parser.add_argument(
        "--minutes",
        type=float,
        help="run new seeds for so long, instead: which ones follows from the day and the commit",
    )
    parser.add_argument("--jobs", type=int, default=1, help="how many to run at a time")
    parser.add_argument(
        "--until", metavar="INVARIANT", help="stop at the first seed in which it fails"
    )
    parser.add_argument(
        "--planted",
        nargs="?",
        const="",
        metavar="WORD",
        help="plant each bug (whose name has this word), and say within how many seeds it is found",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=list(WEIGHTS),
        help="let seeds have faults of this kind alone; may be repeated",
    )
    parser.add_argument(
        "--front",
        default="",
        metavar="WORD",
        help="run only the seeds in whose front this word is: Slack, Discord, HTTP, …",
    )
    parser.add_argument("--whole", action="store_true", help="do not shorten schedules")
    parser.add_argument("--digests", action="store_true", help="print the digest of each trace")
    parser.add_argument("--seed", type=int, help="run this seed alone")
    parser.add_argument("--trace", action="store_true", help="print all that happened in it")
    parser.add_argument(
        "--fault",
        action="append",
        metavar="LINE",
        help="with --seed: a line of a schedule, instead of the seed's own",
    )
    return parser.parse_args()


def _repeat(given: argparse.Namespace) -> int:
    lines, kinds = given.fault, given.only or ()
    schedule = None if lines is None else Schedule([Fault.parse(line) for line in lines if line])
    result = run_seed(given.seed, schedule, kinds=kinds, keep_trace=given.trace)
    for line in result.trace or ():
        _say(line)
    _report(result)
    return int(bool(result.violations))


def _find_planted(word: str, seeds: int, first: int) -> int:
    """Print a table of the planted bugs; return how many were not found by the invariant that was meant to see them."""
    missed = 0
    for planted in PLANTED:
        if word not in planted.name:
            continue
        arguments = ["--until", planted.finds, "--seeds", str(seeds), "--first", str(first)]
        arguments += [part for kind in planted.faults for part in ("--only", kind)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.simulation", *arguments],
            env={**os.environ, "PLANTED": planted.name},
            capture_output=True,
            text=True,
            check=False,
        )
        failed = re.findall(r"^seed (\d+),", done.stdout, re.MULTILINE)
        is_found = f"\n  {planted.finds}:" in done.stdout
        missed += not is_found
        count = int(failed[-1]) - first + 1 if is_found else f"not in {seeds}"
        _say(f"| {planted.name} | {planted.finds} | {count} |")
    return missed


def _report(result: Result) -> None:
    front, count = front_of(result.seed), len(result.faults)
    _say(f"seed {result.seed}, {front}, digest {result.digest}, {count} faults:")
    for line in result.faults:
        _say(f"  --fault '{line}'")
    for violation in result.violations:
        _say(f"  {violation}")
    if result.violations:
        faults = "".join(f" --fault '{line}'" for line in result.faults or [""])
        _say(f'To repeat it, on {_PYTHON}: make simulate ARGS="--seed {result.seed}{faults}"')


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
