"""Ten fixed seeds of the simulation, which `make simulate` runs without end: see `docs/reliability.md`."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.project import ROOT
from tests.simulation.planted import PLANTED, Planted, mutated
from tests.simulation.platforms import FRONTS

FIRST, COUNT = 1, 10
SHORT = 15
"""A seed with one fault."""
INVARIANTS = 20
MOST_CALLBACKS = 60_000
"""The most callbacks of a seed, on average: something that looks again and again takes more."""
_CALLBACKS = re.compile(r"and (\d+) callbacks in")
_REPEAT = re.compile(r'^To repeat it, .*: make simulate ARGS="(.*)"$', re.MULTILINE)
_JUDGED = re.compile(r"([A-Z]+) judged ([1-9]\d*)")
_COMMITS = 50
_LOSE_POWER = f"""
import random, sqlite3, sys
from pathlib import Path
from tests.simulation.disk import Disk

disk = Disk()
disk.install()
least = {_COMMITS}
for seed in range(10):
    before, after = Path(sys.argv[1], f"{{seed}}"), Path(sys.argv[1], f"{{seed}} after")
    before.mkdir()
    after.mkdir()
    database = sqlite3.connect(before / "x", isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    database.execute("CREATE TABLE commits (number)")
    database.execute("PRAGMA synchronous = " + sys.argv[2])
    for number in range({_COMMITS}):
        database.execute("INSERT INTO commits VALUES (?)", (number,))
    disk.fail(before, after, random.Random(seed))
    database.close()
    database = sqlite3.connect(after / "x")
    [(left,)] = database.execute("SELECT count(*) FROM commits")
    least = min(least, left)
    database.close()
print(least)
"""
"""Prints the fewest commits that ten power failures left."""
_DIGEST = re.compile(r"seed (\d+), ([^,]+), digest ([0-9a-f]{64})")
"""The number of a seed, how its chat is connected, and the digest of its trace."""


def _run(*arguments: str, planted: str = "", variables: int = 0) -> tuple[int, str]:
    """Run the simulation in a process of its own, whose standard library is the simulated machine's.

    Args:
        variables: how many more the environment has, which changes the addresses of all objects.
    """
    command = [sys.executable, "-m", "tests.simulation", *arguments]
    more = {f"VARIABLE_{number}": "x" * number for number in range(variables)}
    environment = {**os.environ, **more, "PLANTED": planted}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.early
def test_ten_simulated_hours_full_of_faults_keep_every_promise_and_repeat_exactly() -> None:
    status, printed = _run("--first", str(FIRST), "--seeds", str(COUNT), "--digests")
    assert status == 0, printed
    seeds = _DIGEST.findall(printed)
    assert len({digest for _, _, digest in seeds}) == COUNT, printed
    judged = dict(_JUDGED.findall(printed))
    assert len(judged) == INVARIANTS, printed  # there was something for each invariant
    [callbacks] = _CALLBACKS.findall(printed)
    assert int(callbacks) < COUNT * MOST_CALLBACKS
    fronts = len(FRONTS)
    assert {front for _, front, _ in seeds[:fronts]} == set(FRONTS)
    again = ("--first", str(FIRST), "--seeds", str(fronts), "--digests")
    status, repeated = _run(*again, variables=60)
    assert status == 0, repeated
    assert _DIGEST.findall(repeated) == seeds[:fronts]


def test_a_planted_bug_is_found_with_the_shortest_schedule_and_repeated_as_it_says() -> None:
    planted = PLANTED[0]
    status, printed = _run("--first", str(SHORT), "--seeds", "1", planted=planted.name)
    assert status == 1
    assert f"{planted.finds}:" in printed
    assert re.search(rf"^seed {SHORT}, .*, 0 faults:$", printed, re.MULTILINE)
    [arguments] = _REPEAT.findall(printed)
    status, repeated = _run(*shlex.split(arguments), planted=planted.name)
    assert status == 1
    assert _DIGEST.findall(repeated) == _DIGEST.findall(printed)


@pytest.mark.parametrize(("synchronous", "is_lost"), [("FULL", False), ("NORMAL", True)])
def test_a_commit_is_lost_in_a_power_failure_if_it_was_not_synced(
    tmp_path: Path, synchronous: str, is_lost: bool
) -> None:
    command = [sys.executable, "-c", _LOSE_POWER, str(tmp_path), synchronous]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert (int(done.stdout) < _COMMITS) is is_lost


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_each_bug_can_be_planted(planted: Planted) -> None:
    [source] = [
        path
        for folder in ("bot", "adapters", "storage")
        if (path := Path(ROOT, folder, f"{planted.module.replace('.', '/')}.py")).exists()
    ]
    compile(mutated(planted, source.read_text()), str(source), "exec")
