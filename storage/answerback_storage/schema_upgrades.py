"""Logs that a database's schema was upgraded, the same way for every store."""

from __future__ import annotations

import logging
from collections.abc import Sequence


def log_upgrade(logger: logging.Logger, steps: Sequence[str]) -> None:
    """Log which migrations were applied to a database that an older version had written."""
    logger.info(
        "The database's schema was upgraded: %s",
        ", ".join(steps),
        extra={"action": "schema_upgraded"},
    )
