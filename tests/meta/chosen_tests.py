"""A plug-in of pytest, which writes down what `make test` runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import matrix
from tests.meta.project import ROOT

_FILE = "ANSWERBACKS_CHOSEN_TESTS"


class Chosen(NamedTuple):
    """A test that `make test` runs."""

    id: str
    module: str
    """The module that defines it, which its class may have inherited."""
    rules: Sequence[str]
    """Those that it proves."""


def chosen_tests(config: pytest.Config, folder: Path) -> list[Chosen]:
    """Return the tests that `make test` runs: those of this very run, or of one that only collects them."""
    if (items := config.stash.get(matrix.CHOSEN, None)) is not None:
        return [_describe(item) for item in items]
    file = folder / "chosen.json"
    command = (sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider")
    ran = subprocess.run(
        [*command, "-p", __name__],
        cwd=ROOT,
        env={**os.environ, "MATRIX": "once", _FILE: str(file)},
        check=False,
        capture_output=True,
        text=True,
    )
    assert file.exists(), ran.stdout + ran.stderr
    return [Chosen(*each) for each in json.loads(file.read_text())]


def _describe(item: pytest.Item) -> Chosen:
    rules = [rule for mark in item.iter_markers("rule") for rule in mark.args]
    return Chosen(item.nodeid, matrix.module_of(item), rules)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write them into the file that `chosen_tests` names."""
    found = [_describe(item) for item in session.config.stash[matrix.CHOSEN]]
    Path(os.environ[_FILE]).write_text(json.dumps(found))
