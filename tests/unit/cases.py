"""The inputs in ``tests/data/cases``: each a call, and how it must come out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

CASES: Final = Path(__file__).parents[1] / "data" / "cases"


def case_call(name: str) -> dict[str, Any]:
    """Return the call of a case: its ``name`` and ``arguments``."""
    call: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())["call"]
    return call
