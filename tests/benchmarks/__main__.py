"""`make bench`: run the benchmarks one after the other, each in a separate process.

`python -m tests.benchmarks [--against COMMIT] [NAME …]` runs all of them but `table` and `scale`, or those named. A
benchmark is a module of this package that can be run. It prints its figures next to a baseline measured in the same
run; `service` and `cycle` also print those of another commit.
"""

import argparse
import subprocess
import sys
from pathlib import Path

_RUNNABLE = 'if __name__ == "__main__":'
_NO_BENCHMARK = {"baselines"}
_AGAINST = {"service", "cycle"}
"""Those that take another commit."""
_ONLY_IF_NAMED = {"table", "scale"}
"""Those that repeat others, or take long."""


def main(requested: list[str], against: str | None) -> int:
    """Run the benchmarks. Return exit status 1 if one of them failed to run."""
    here = Path(__file__)
    known = [
        path.stem
        for path in sorted(here.parent.glob("*.py"))
        if path != here and path.stem not in _NO_BENCHMARK and _RUNNABLE in path.read_text("utf-8")
    ]
    usual = [name for name in known if name not in _ONLY_IF_NAMED]
    unknown = sorted(set(requested) - set(known))
    if unknown:
        sys.stderr.write(f"No benchmark {', '.join(unknown)}; there are: {', '.join(known)}.\n")
        return 2
    failed = []
    for number, name in enumerate(names := requested or usual, 1):
        sys.stderr.write(f"[{number}/{len(names)}] {name}\n")
        command = [sys.executable, "-m", f"tests.benchmarks.{name}"]
        if against is not None and name in _AGAINST:
            command += ["--against", against]
        if subprocess.run(command, check=False).returncode:
            failed.append(name)
    if failed:
        sys.stderr.write(f"Failed: {', '.join(failed)}.\n")
    return bool(failed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--against", metavar="COMMIT")
    given = parser.parse_args()
    sys.exit(main(given.names, given.against))
