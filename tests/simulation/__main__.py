"""Run seeds: ``python -m tests.simulation --seeds 100``. See `docs/reliability.md`."""

import os
import sys

from tests.simulation import machine, planted, threads

_HASH_SEED = "PYTHONHASHSEED"
if os.environ.get(_HASH_SEED) != "0":  # it decides the order of sets, and is read at the start
    os.environ[_HASH_SEED] = "0"
    os.execv(sys.executable, [sys.executable, "-m", "tests.simulation", *sys.argv[1:]])
machine.install()  # before anything of the product is imported
threads.install()
if bug := os.environ.get("PLANTED"):
    planted.plant(bug)

from tests.simulation.command import main  # noqa: E402

if __name__ == "__main__":
    main()
