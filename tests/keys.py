"""The person's key in tests: how a test acts at a service whose database lies in a folder."""

from __future__ import annotations

from pathlib import Path


def read_person_key(folder: Path) -> str:
    """The key of the one service that keeps its database in this folder."""
    (file,) = folder.glob("*.db.key")
    return file.read_text().strip()


def bearer(folder: Path) -> dict[str, str]:
    """The header with which a person's tools act at that service."""
    return {"Authorization": f"Bearer {read_person_key(folder)}"}
