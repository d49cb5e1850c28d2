"""The command line: run seeds, repeat one with its trace, and shorten the schedules of failures."""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator

from tests.simulation.faults import WEIGHTS, Fault, Schedule
from tests.simulation.planted import PLANTED
from tests.simulation.running import kinds_of, run_seed, run_seeds, shorten
from tests.simulation.universe import Result, front_of


def main() -> None:
    given = _parse()
    if given.planted is not None:
        sys.exit(_find_planted(given.planted, given.seeds, given.first))
    if given.seed is not None:
        sys.exit(_repeat(given))
    began, virtual = time.perf_counter(), 0.0
    count = failed = steps = 0
    judged: Counter[str] = Counter()
    if given.minutes is None:
        seeds: Iterable[int] = range(given.first, given.first + given.seeds)
    else:
        given.first = random.SystemRandom().randrange(1_000_000, 1_000_000_000)
        seeds = _new_seeds(given.first, began + 60 * given.minutes)
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
        f"{count} seeds from {given.first} on, {failed} failed: {virtual / 3600:.0f} virtual hours and "
        f"{steps} callbacks in {seconds:.0f} s."
    )
    sys.exit(failed > 0)


def _new_seeds(first: int, until: float) -> Iterator[int]:
    seed = first
    while time.perf_counter() < until:
        yield seed
        seed += 1


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--minutes", type=float, help="run new seeds for so long, instead")
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


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
