"""`make mutants`: change one line of the product at a time, and see the named tests fail.

`python -m tests.mutants [--quick] [WORD …]` runs every mutant; `--quick` leaves out those whose tests need minutes, and
words select those whose file or line has one of them. The tests first have to pass without a mutant, save with
`--quick`: `make check` has run them all by then. Exit status 1: a mutant survived, or the table is wrong.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tests.meta.project import ROOT, files
from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS

_TIMEOUT = 600
"""Seconds for the tests of one mutant."""
_RESULTS: Final = {0: "SURVIVED", 1: "noticed", 5: "SURVIVED"}
"""What pytest's exit status says about a mutant: no test failed, some did, none ran. Others say nothing about it."""
_NOTHING: Final = "NO RESULT"


def main(arguments: Sequence[str]) -> int:
    """Run the chosen mutants, as many at a time as there are processors."""
    options = [argument for argument in arguments if not argument.startswith("--")]
    chosen = [
        mutant
        for mutant in MUTANTS
        if not options or any(word in f"{mutant.file} {mutant.line}" for word in options)
        if not ("--quick" in arguments and mutant.slow)
    ]
    if not chosen:
        sys.exit("No mutant has one of these words in its file or line.")
    workers = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            copies.put(_copy(Path(folder) / str(number)))
        if "--quick" not in arguments:
            verify_passing(chosen, Path(folder) / "0")
        with ThreadPoolExecutor(workers) as pool:
            results = [*pool.map(lambda mutant: _in_a_copy(mutant, copies), chosen)]
    wrong = sum(result != "noticed" for result in results)
    sys.stdout.write(f"{len(chosen)} mutants, {wrong} survived or without a result\n")
    return int(wrong > 0)


def _copy(target: Path) -> Path:
    """Copy the checkout, so that its own files never change."""
    for path in files():
        copied = target / path.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copied)
    (target / ".venv").symlink_to(ROOT / ".venv")
    subprocess.run(["git", "init", "--quiet", target], check=True)
    return target


def _in_a_copy(mutant: Mutant, copies: SimpleQueue[Path]) -> str:
    copy = copies.get()
    try:
        result, reason = tried(mutant, copy)
    finally:
        copies.put(copy)
    sys.stdout.write(f"{result:9} {mutant.file}: {mutant.line.strip()}\n          {reason}\n")
    sys.stdout.flush()
    return result


def tried(mutant: Mutant, checkout: Path) -> tuple[str, str]:
    """Return what the tests of a mutant say about it, and the first line in which they say so."""
    file = checkout / mutant.file
    original = file.read_text("utf-8")
    try:
        file.write_text(original.replace(mutant.line, mutant.mutant), "utf-8")
        ran = _run(mutant.tests, checkout, _TIMEOUT)
    except subprocess.TimeoutExpired:  # neither noticed nor survived: it has to be run again
        return _NOTHING, f"{_TIMEOUT} s"
    finally:
        file.write_text(original, "utf-8")
    return _RESULTS.get(ran.returncode, _NOTHING), _reason(ran)


def verify_passing(mutants: Iterable[Mutant], checkout: Path) -> None:
    """Exit if one of their tests fails without a mutant: it would seem to notice them all."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    ran = _run(tests, checkout, len(tests) * _TIMEOUT)
    if ran.returncode:
        sys.exit(f"Without any mutant: {_reason(ran)}")


def _run(tests: Sequence[str], checkout: Path, timeout: float) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    # The processes that tests start must import the changed copy, not what is installed.
    path = os.pathsep.join(str(checkout / each) for each in (".", "bot", "adapters", "storage"))
    return subprocess.run(
        command,
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=False,
        text=True,
        timeout=timeout,
    )


def _reason(ran: subprocess.CompletedProcess[str]) -> str:
    lines = (ran.stdout + ran.stderr).splitlines()
    # Captured logs have lines that begin with ERROR, too.
    beginnings = ("FAILED ", "ERROR tests", "ERROR: ")
    return next((line for line in lines if line.startswith(beginnings)), "")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
