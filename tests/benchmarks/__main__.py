"""`make bench`: run the benchmarks one after the other, each in a separate process.

`python -m tests.benchmarks [NAME …]` runs all of them, or those named. A benchmark is a module of this package that can
be run. It prints its figures next to a baseline measured in the same run.
"""

import subprocess
import sys
from pathlib import Path

_RUNNABLE = 'if __name__ == "__main__":'


def main(requested: list[str]) -> int:
    """Run the benchmarks. Return exit status 1 if one of them failed to run."""
    here = Path(__file__)
    known = [
        path.stem
        for path in sorted(here.parent.glob("*.py"))
        if path != here and _RUNNABLE in path.read_text("utf-8")
    ]
    unknown = sorted(set(requested) - set(known))
    if unknown:
        sys.stderr.write(f"No benchmark {', '.join(unknown)}; there are: {', '.join(known)}.\n")
        return 2
    failed = []
    for number, name in enumerate(names := requested or known, 1):
        sys.stderr.write(f"[{number}/{len(names)}] {name}\n")
        if subprocess.run(
            [sys.executable, "-m", f"tests.benchmarks.{name}"], check=False
        ).returncode:
            failed.append(name)
    if failed:
        sys.stderr.write(f"Failed: {', '.join(failed)}.\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
