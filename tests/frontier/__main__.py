"""Look at the newest releases, and print what moved: ``python -m tests.frontier [--record] [HOST …]``."""

from __future__ import annotations

import json
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.frontier.compare import definitions, differences, fetch

HERE: Final = Path(__file__).parent
RECORDED: Final = HERE / "recorded.json"


def main(arguments: list[str]) -> int:
    """Return 0 if nothing moved, 1 if something did, and 2 if a package could not be fetched."""
    record, hosts = "--record" in arguments, [each for each in arguments if each != "--record"]
    sources: dict[str, dict[str, Any]] = tomllib.loads((HERE / "sources.toml").read_text())
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    chosen = {host: source for host, source in sources.items() if not hosts or host in hosts}
    with TemporaryDirectory() as folder, ThreadPoolExecutor(4) as threads:
        places = [Path(folder, str(i)) for i in range(len(chosen))]
        releases = [*threads.map(fetch, chosen.values(), places)]
        missing: list[str] = []
        moved: list[str] = []
        for (host, source), release in zip(chosen.items(), releases, strict=True):
            if release is None:
                missing.append(host)
                continue
            found = {"version": release.version, "definitions": definitions(source, release)}
            moved += differences(host, recorded.get(host, {}), found)
            recorded[host] = found
    lines = moved or ["Nothing has moved."]
    lines += [f"Could not be fetched: {', '.join(missing)}."] if missing else []
    sys.stdout.write("\n".join(lines) + "\n")
    if record:
        RECORDED.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")
    return 2 if missing else int(bool(moved) and not record)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
