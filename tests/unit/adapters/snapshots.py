"""Where the snapshots of a surface's payloads are stored: one file per test case.

pytest's main process imports this module at the end of a run, so it imports nothing of the project.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from syrupy.extensions.json import JSONSnapshotExtension
from syrupy.location import PyTestLocation

_FOLDER: Final = Path(__file__).parents[2] / "snapshots"


class InFolder(JSONSnapshotExtension):
    """Stores one file per test case, in tests/snapshots/<surface>/<test module>."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """Return the folder of a test's files."""
        module = Path(test_location.filepath)
        return str(_FOLDER / module.parent.name / module.stem)
