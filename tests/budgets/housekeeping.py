"""What the service does now and then, whatever people and agents do: on a slow machine, it would run alongside."""

from __future__ import annotations

import asyncio
from typing import Final

_HOUSEKEEPING: Final = {
    f"loop {name}" for name in ("clock", "missed changes", "presence", "leases")
}


def stop_housekeeping() -> None:
    """End these tasks of a running service."""
    for task in asyncio.all_tasks():
        if task.get_name() in _HOUSEKEEPING:
            task.cancel()
