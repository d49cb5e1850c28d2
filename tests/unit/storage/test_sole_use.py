"""Only one service runs on a database file, and a killed one does not stand in the next one's way."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bot.errors import StoreError
from storage.sole_use import sole_use

HOLD = """
import sys, time
from pathlib import Path
from storage.sole_use import sole_use
with sole_use(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_refused_in_words_until_the_first_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "asks.db"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(StoreError, match="Another Answerback is running"), sole_use(path):
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait(10)
    with sole_use(path):
        pass


def test_the_lock_is_given_back(tmp_path: Path) -> None:
    for _ in range(2):
        with sole_use(tmp_path / "asks.db"):
            pass


def test_a_directory_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be made"), sole_use(tmp_path / "none" / "asks.db"):
        pass
