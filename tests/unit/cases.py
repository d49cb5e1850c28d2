"""The inputs in ``tests/data/cases``: each a call, and how it must come out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

CASES: Final = Path(__file__).parents[1] / "data" / "cases"


def read_case(name: str) -> dict[str, Any]:
    """Return a case."""
    case: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    return case


def case_call(name: str) -> dict[str, Any]:
    """Return the call of a case: its ``name`` and ``arguments``."""
    call: dict[str, Any] = read_case(name)["call"]
    return call
