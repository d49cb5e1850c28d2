"""The first calls of a process are like the others: what they need is built while the service starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.meta.project import PYTHONPATH


@pytest.mark.parametrize("prepared", ["prepared", "unprepared"])
def test_the_first_calls_load_nothing_once_the_service_is_prepared(
    tmp_path: Path, prepared: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"{__package__}.first_calls_program", str(tmp_path), prepared],
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
        capture_output=True,
        text=True,
        check=True,
        timeout=250,
    )
    loaded = json.loads(done.stdout)
    assert loaded == [] if prepared == "prepared" else "model AnswerBody" in loaded, done.stderr
