"""`make budgets`: measure everything again and rewrite the table, saying which numbers have changed.

`python -m tests.budgets calls "JOURNEY"` lists the calls of a journey by function instead, on SQLite.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from tests import postgres
from tests.budgets import measure, table


def main() -> None:
    """Measure, save, and print what has changed."""
    before = table.load() if table.TABLE.exists() else {}
    with postgres.server() as server:
        found: dict[str, Any] = {name: {} for name in postgres.STORES}
        for name, parts in found.items():
            for part in measure.PARTS:
                sys.stderr.write(f"{name}: {part}\n")
                if name == "sqlite":
                    parts[part] = measure.measured(part, None)
                else:
                    with server.borrow_database() as database:
                        parts[part] = measure.measured(part, server.url(database))
    old, new = dict(table.flat(before)), dict(table.flat(found))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            sys.stdout.write(f"{name}: {old.get(name, 'none')} → {new.get(name, 'none')}\n")
    table.save(found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.budgets", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("calls", help="list the calls of a journey").add_argument("journey")
    options = parser.parse_args()
    if options.command == "calls":
        for name, times in measure.measured("calls", None, options.journey).items():
            sys.stdout.write(f"{times:5} {name}\n")
    else:
        main()
