"""`make mutants`: change one line of the product at a time, and see the named tests fail.

`python -m tests.mutants [--quick] [WORD …]` runs every mutant; `--quick` leaves out those whose tests need minutes, and
words select those whose file or line has one of them. Exit status 1: a mutant survived.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from tests.meta.project import ROOT, files
from tests.mutants.table import MUTANTS, Mutant

_TIMEOUT = 600
"""Seconds for the tests of one mutant."""
_NO_TESTS_RAN = 5
"""The exit status of pytest if it found no test."""


def main(arguments: Sequence[str]) -> int:
    """Run the chosen mutants, as many at a time as there are processors."""
    options = [argument for argument in arguments if not argument.startswith("--")]
    chosen = [
        mutant
        for mutant in MUTANTS
        if not options or any(word in f"{mutant.file} {mutant.line}" for word in options)
        if not ("--quick" in arguments and mutant.slow)
    ]
    workers = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            copies.put(_copy(Path(folder) / str(number)))
        with ThreadPoolExecutor(workers) as pool:
            survived = [*pool.map(lambda mutant: _survives(mutant, copies), chosen)]
    sys.stdout.write(f"{len(chosen)} mutants, {sum(survived)} survived or without a result\n")
    return int(any(survived))


def _copy(target: Path) -> Path:
    """Copy the checkout, so that its own files never change."""
    for path in files():
        copied = target / path.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copied)
    (target / ".venv").symlink_to(ROOT / ".venv")
    subprocess.run(["git", "init", "--quiet", target], check=True)
    return target


def _survives(mutant: Mutant, copies: SimpleQueue[Path]) -> bool:
    copy = copies.get()
    file = copy / mutant.file
    original = file.read_text("utf-8")
    try:
        file.write_text(original.replace(mutant.line, mutant.mutant), "utf-8")
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            *mutant.tests,
        ]
        # The processes that tests start must import the changed copy, not what is installed.
        path = os.pathsep.join(str(copy / each) for each in (".", "bot", "adapters", "storage"))
        ran = subprocess.run(
            command,
            cwd=copy,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            check=False,
            text=True,
            timeout=_TIMEOUT,
        )
    except subprocess.TimeoutExpired:  # neither noticed nor survived: it has to be run again
        sys.stdout.write(
            f"NO RESULT {mutant.file}: {mutant.line.strip()}\n          {_TIMEOUT} s\n"
        )
        return True
    finally:
        file.write_text(original, "utf-8")
        copies.put(copy)
    survived = ran.returncode in {0, _NO_TESTS_RAN}
    lines = ran.stdout.splitlines()
    failed = next((line for line in lines if line.startswith(("FAILED", "ERROR"))), "")
    what = "SURVIVED" if survived else "noticed "
    sys.stdout.write(f"{what}  {mutant.file}: {mutant.line.strip()}\n          {failed}\n")
    sys.stdout.flush()
    return survived


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
