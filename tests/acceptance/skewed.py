"""`answerback` as on a machine whose clock is wrong: by so many seconds as the variable `CLOCK_OFF` says."""

from __future__ import annotations

import os
import time
from typing import Final

CLOCK_OFF: Final = "CLOCK_OFF"


def main() -> None:
    """Sets the clock before anything of the program is imported, and runs it."""
    real, off = time.time, float(os.environ.pop(CLOCK_OFF))
    time.time = lambda: real() + off
    from answerback.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
