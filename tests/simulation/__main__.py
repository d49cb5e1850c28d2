"""Run seeds: ``python -m tests.simulation --seeds 100``. See `docs/reliability.md`."""

import os

from tests.simulation import machine, planted

machine.install()  # before anything of the product is imported
if bug := os.environ.get("PLANTED"):
    planted.plant(bug)

from tests.simulation.command import main  # noqa: E402

if __name__ == "__main__":
    main()
