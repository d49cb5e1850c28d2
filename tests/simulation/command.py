"""The command line: run seeds, repeat one with its trace, and shorten the schedules of failures."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time

from tests.simulation.faults import Fault, Schedule
from tests.simulation.planted import PLANTED
from tests.simulation.running import run_seed, run_seeds, shorten
from tests.simulation.universe import Result


def main() -> None:
    given = _parse()
    if given.planted is not None:
        sys.exit(_find_planted(given.planted, given.seeds, given.first))
    if given.seed is not None:
        sys.exit(_repeat(given.seed, given.fault, keep_trace=given.trace))
    began, failed, steps, virtual = time.perf_counter(), 0, 0, 0.0
    seeds = range(given.first, given.first + given.seeds)
    for result in run_seeds(seeds, jobs=given.jobs):
        steps += result.steps
        virtual += result.virtual
        if given.digests:
            _say(f"seed {result.seed}, digest {result.digest}")
        if result.violations:
            failed += 1
            _report(result if given.whole or given.until_failed else shorten(result))
            if given.until_failed:
                break
    seconds = time.perf_counter() - began
    _say(
        f"{len(seeds)} seeds from {given.first} on, {failed} failed: {virtual / 3600:.0f} virtual hours and "
        f"{steps} callbacks in {seconds:.0f} s."
    )
    sys.exit(failed > 0)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--jobs", type=int, default=1, help="how many to run at a time")
    parser.add_argument("--until-failed", action="store_true", help="stop at the first failure")
    parser.add_argument(
        "--planted",
        nargs="?",
        const="",
        metavar="WORD",
        help="plant each bug (whose name has this word), and say within how many seeds it is found",
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


def _repeat(seed: int, faults: list[str] | None, *, keep_trace: bool) -> int:
    schedule = None if faults is None else Schedule([Fault.parse(line) for line in faults if line])
    result = run_seed(seed, schedule, keep_trace=keep_trace)
    for line in result.trace or ():
        _say(line)
    _report(result)
    return int(bool(result.violations))


def _find_planted(word: str, seeds: int, first: int) -> int:
    """Print a table of the planted bugs; return how many were not found as the invariant that was meant to see them."""
    missed = 0
    for planted in PLANTED:
        if word not in planted.name:
            continue
        arguments = ["--until-failed", "--seeds", str(seeds), "--first", str(first)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.simulation", *arguments],
            env={**os.environ, "PLANTED": planted.name},
            capture_output=True,
            text=True,
            check=False,
        )
        found = re.search(r"^seed (\d+),", done.stdout, re.MULTILINE)
        kinds = sorted(set(re.findall(r"^  ([A-Z]+):", done.stdout, re.MULTILINE)))
        count = "not found" if found is None else str(int(found[1]) - first + 1)
        missed += planted.finds not in kinds
        _say(f"| {planted.name} | {', '.join(kinds)} | {count} |")
    return missed


def _report(result: Result) -> None:
    _say(f"seed {result.seed}, digest {result.digest}, {len(result.faults)} faults:")
    for line in result.faults:
        _say(f"  --fault '{line}'")
    for violation in result.violations:
        _say(f"  {violation}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
