"""Where the snapshots of a surface's payloads lie: one file a case.

pytest's main process imports this module at the end of a run, so it imports nothing of the project.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from syrupy.extensions.json import JSONSnapshotExtension
from syrupy.location import PyTestLocation

_FOLDER: Final = Path(__file__).parents[2] / "snapshots"


class InFolder(JSONSnapshotExtension):
    """One file a case, in tests/snapshots, below the names of the surface and of the test's module."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The folder of a test's files."""
        module = Path(test_location.filepath)
        return str(_FOLDER / module.parent.name / module.stem)
