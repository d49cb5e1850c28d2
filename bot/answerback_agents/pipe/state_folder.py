"""Where commands keep what they have to remember between their runs."""

import os
from pathlib import Path


def state_folder() -> Path:
    """The folder, which may not exist yet."""
    folder = os.environ.get("XDG_STATE_HOME")
    return (Path(folder) if folder else Path.home() / ".local" / "state") / "answerback"
