"""The person's key in tests: lets a test act on a service whose database is in a given directory."""

from __future__ import annotations

import os
from pathlib import Path


def read_person_key(folder: Path) -> str:
    """Return the key of the only service that keeps its database in this directory."""
    (name,) = (name for name in os.listdir(folder) if name.endswith(".db.key"))
    return (folder / name).read_text().strip()


def bearer(folder: Path) -> dict[str, str]:
    """Return the header with which a person's tools act on that service."""
    return {"Authorization": f"Bearer {read_person_key(folder)}"}
