"""The test suite's own promises: a clean environment, and a loop that cannot be blocked unseen."""

import os
import time
from pathlib import Path

import pytest
from blockbuster import BlockingError

import answerback


def test_no_variable_of_ours_reaches_a_test() -> None:
    assert [name for name in os.environ if name.startswith(("ANSWERBACK_", "SLACK_"))] == []


async def test_a_blocking_call_from_our_packages_on_the_loop_raises() -> None:
    # What one of our modules would run: compiled under a path inside the package.
    inside = Path(str(answerback.__file__)).with_name("imagined.py")
    blocking = compile("time.sleep(0)", str(inside), "exec")
    with pytest.raises(BlockingError):
        exec(blocking, {"time": time})
