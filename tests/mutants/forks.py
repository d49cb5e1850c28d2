"""Runs pytest in a fork for each line on the standard input, so that no mutant waits until the libraries are imported.

The command's arguments are the libraries. A line is a JSON array: seconds, and the arguments of pytest. Its result is
one line, too: the exit status, or null after those seconds, and what pytest printed.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

import pytest


def run(arguments: list[str], output: int) -> None:
    """Run pytest in this process, and end it."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.exit(pytest.main(arguments))


if __name__ == "__main__":
    for library in sys.argv[1:]:
        importlib.import_module(library)
    for line in sys.stdin:
        seconds, *arguments = json.loads(line)
        with tempfile.NamedTemporaryFile() as output:
            process = get_context("fork").Process(target=run, args=(arguments, output.fileno()))
            process.start()
            process.join(seconds)
            status = process.exitcode
            process.kill()
            process.join()
            print(json.dumps([status, Path(output.name).read_text("utf-8", "replace")]), flush=True)  # noqa: T201
