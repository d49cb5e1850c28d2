"""`make mutants`: change one line of the product at a time, and see the named tests fail.

`python -m tests.mutants [--quick] [WORD …]` runs every mutant; `--quick` leaves out those whose tests need minutes, and
words select those whose file or line has one of them. The tests first have to pass without a mutant, save with
`--quick`: `make check` has run them all by then. Exit status 1: a mutant survived, or the table is wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Final, NamedTuple

from tests.meta.project import ROOT, files
from tests.mutants.mutant import Mutant
from tests.mutants.table import MUTANTS

_TIMEOUT = 600
"""Seconds for the tests of one mutant."""
_TEST_TIMEOUT = 20
"""Seconds for one test, unless the mutant is slow: with a mutant, tests often wait for what never happens."""
_RESULTS: Final = {0: "SURVIVED", 1: "noticed", 5: "SURVIVED"}
"""What pytest's exit status says about a mutant: no test failed, some did, none ran. Others say nothing about it."""
_NOTHING: Final = "NO RESULT"
_LIBRARIES: Final = (
    "aiohttp.web",
    "blockbuster",
    "hypothesis.strategies",
    "inline_snapshot",
    "jsonschema_rs",
    "psycopg",
    "pydantic_settings",
    "pytest_asyncio",
    "rich",
    "sqlite_utils",
    "syrupy",
)
"""What nearly all tests import, and no mutant changes."""


class Checkout(NamedTuple):
    """A copy of the project, and the process that runs pytest in it."""

    path: Path
    pytest: subprocess.Popen[str]

    def run(self, tests: Sequence[str], timeout: float) -> tuple[int | None, str]:
        """Return pytest's exit status, None if it took too long, and the first line that says what failed."""
        to, answers = self.pytest.stdin, self.pytest.stdout
        if to is None or answers is None:
            raise AssertionError("both are pipes")
        # Plain, because pytest rewrites no assertions of libraries that are imported already.
        arguments = ("-q", "-x", "-p", "no:cacheprovider", "--assert=plain", *tests)
        to.write(json.dumps([timeout, *arguments]) + "\n")
        to.flush()
        status, output = json.loads(answers.readline())
        # Captured logs have lines that begin with ERROR, too.
        beginnings = ("FAILED ", "ERROR tests", "ERROR: ")
        lines = output.splitlines()
        return status, next((line for line in lines if line.startswith(beginnings)), "")


@contextmanager
def checkout_in(path: Path, libraries: Sequence[str] = ()) -> Iterator[Checkout]:
    """Start the process that runs pytest in a checkout, with libraries that it imports before all tests."""
    # The processes that tests start must import the changed copy, not what is installed.
    paths = os.pathsep.join(str(path / each) for each in (".", "bot", "adapters", "storage"))
    with subprocess.Popen(
        [sys.executable, "-P", ROOT / "tests/mutants/forks.py", *libraries],
        cwd=path,
        env={**os.environ, "PYTHONPATH": paths},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield Checkout(path, process)


def main(arguments: Sequence[str]) -> int:
    """Run the chosen mutants, one more at a time than there are processors."""
    options = [argument for argument in arguments if not argument.startswith("--")]
    chosen = [
        mutant
        for mutant in MUTANTS
        if not options or any(word in f"{mutant.file} {mutant.line}" for word in options)
        if not ("--quick" in arguments and mutant.slow)
    ]
    if not chosen:
        sys.exit("No mutant has one of these words in its file or line.")
    workers = len(os.sched_getaffinity(0)) + 1  # some tests wait for what never happens
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        checkouts = [
            stack.enter_context(checkout_in(_copy(folder / str(number)), _LIBRARIES))
            for number in range(workers)
        ]
        copies: SimpleQueue[Checkout] = SimpleQueue()
        for checkout in checkouts:
            copies.put(checkout)
        if "--quick" not in arguments:
            verify_passing(chosen, checkouts[0])
        pool = stack.enter_context(ThreadPoolExecutor(workers))
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


def _in_a_copy(mutant: Mutant, copies: SimpleQueue[Checkout]) -> str:
    copy = copies.get()
    try:
        result, reason = tried(mutant, copy)
    finally:
        copies.put(copy)
    sys.stdout.write(f"{result:9} {mutant.file}: {mutant.line.strip()}\n          {reason}\n")
    sys.stdout.flush()
    return result


def tried(mutant: Mutant, checkout: Checkout) -> tuple[str, str]:
    """Return what the tests of a mutant say about it, and the first line in which they say so."""
    file = checkout.path / mutant.file
    original = file.read_text("utf-8")
    try:
        file.write_text(original.replace(mutant.line, mutant.mutant), "utf-8")
        limit = () if mutant.slow else ("-o", f"timeout={_TEST_TIMEOUT}")
        status, reason = checkout.run((*limit, *mutant.tests), _TIMEOUT)
    finally:
        file.write_text(original, "utf-8")
    if status is None:  # neither noticed nor survived: it has to be run again
        return _NOTHING, f"{_TIMEOUT} s"
    result = _RESULTS.get(status, _NOTHING)
    return (_NOTHING if result == "noticed" and not reason else result), reason


def verify_passing(mutants: Iterable[Mutant], checkout: Checkout) -> None:
    """Exit if one of their tests fails without a mutant: it would seem to notice them all."""
    tests = sorted({test for mutant in mutants for test in mutant.tests})
    status, reason = checkout.run(tests, len(tests) * _TIMEOUT)
    if status != 0:
        sys.exit(f"Without any mutant: {reason}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
