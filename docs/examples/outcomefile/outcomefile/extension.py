"""Every outcome is appended to a file, as a line of JSON that another program follows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from answerback.ports.extension import Configured, Extension, Running, ServiceParts
from answerback.ports.extension_rows import RowTable
from answerback.ports.plugin import Finding
from answerback.ports.settings_tables import Table


class OutcomeFileSettings(Table):
    """``[outcomefile]``."""

    path: str = ""
    """The file; empty: there is none."""


class OutcomeFileExtension(Extension):
    """The class that the entry point names."""

    name = "outcomefile"
    table = "outcomefile"
    settings = OutcomeFileSettings
    tables = (RowTable("outcomefile"),)

    async def open(self, parts: ServiceParts) -> Running | None:
        if not parts.configured.table.path:
            return None
        from outcomefile.writer import OutcomeFile

        return OutcomeFile(parts, Path(parts.configured.table.path))

    async def findings(self, configured: Configured) -> AsyncIterator[Finding]:
        if configured.table.path:
            wrong = folder_problem(Path(configured.table.path))
            yield Finding("outcomefile", wrong, "Make the folder, or name another file.")


def folder_problem(path: Path) -> str | None:
    """Say why the file cannot be written; None if it can."""
    return None if path.parent.is_dir() else f"there is no folder {path.parent}"
