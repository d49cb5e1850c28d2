"""The table of budgets: the numbers that were measured when they were last agreed on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

TABLE: Final = Path(__file__).with_name("budgets.json")
GROWTH: Final = 0.02
"""The part by which a number may exceed its budget."""
HOW_TO_RAISE: Final = """
If the growth is worth it, run

    make budgets

which measures everything again and rewrites tests/budgets/budgets.json. Commit the lines that you mean to raise, and
give the reason in the commit's message. If it is not, `.venv/bin/python -m tests.budgets calls "NAME"` lists a
journey's calls by function; compare them with those at the commit before.
"""


def load() -> dict[str, dict[str, Any]]:
    """Return the budgets: by store, then by what is measured."""
    found: dict[str, dict[str, Any]] = json.loads(TABLE.read_text("utf-8"))
    return found


def save(budgets: Mapping[str, Any]) -> None:
    """Write the table."""
    TABLE.write_text(f"{json.dumps(budgets, indent=1)}\n", "utf-8")


def flat(numbers: Mapping[str, Any], *names: str) -> Iterator[tuple[str, int]]:
    """Yield each number with its names, as ``submission / commit / calls``."""
    for name, value in numbers.items():
        if isinstance(value, Mapping):
            yield from flat(value, *names, name)
        else:
            yield " / ".join((*names, name)), value


def exceeded(numbers: Mapping[str, Any], budgets: Mapping[str, Any]) -> list[str]:
    """Return a line for each number that is over its budget, or has none, and for each budget without a number."""
    found, allowed = dict(flat(numbers)), dict(flat(budgets))
    lines = [f"{name}: measured no more" for name in allowed.keys() - found.keys()]
    for name, number in found.items():
        if name not in allowed:
            lines.append(f"{name}: {number}, without a budget")
        elif number > allowed[name] * (1 + GROWTH):
            lines.append(f"{name}: {number}, budget {allowed[name]}")
    return lines
