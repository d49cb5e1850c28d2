"""The origin of an ask, as a submission says it: the folder and the session, as far as they fit."""

from __future__ import annotations

from typing import Any, Final

MAX_PLACE: Final = 100
"""Characters of a part of an origin. A folder's last ones count: they name the project."""
MAX_FOLDERS: Final = 200
"""Sessions whose folders are remembered, those that were heard of last."""


def origin_of(folder: object, session: object) -> dict[str, Any]:
    """Return the origin, without what is not known."""
    found = {"folder": folder, "session": session}
    return {
        key: value[-MAX_PLACE:] for key, value in found.items() if isinstance(value, str) and value
    }


class Folders:
    """The folders of an agent's sessions."""

    def __init__(self) -> None:
        self._folders: dict[str, str] = {}

    def remember(self, session: object, folder: object) -> None:
        """Remember the folder of a session; anything but texts is ignored."""
        if not isinstance(session, str) or not isinstance(folder, str):
            return
        self._folders.pop(session, None)
        self._folders[session] = folder
        if len(self._folders) > MAX_FOLDERS:
            del self._folders[next(iter(self._folders))]

    def folder(self, session: object) -> str | None:
        """Return the folder of a session; None if it is not known."""
        return self._folders.get(session) if isinstance(session, str) else None

    def origin(self, session: object) -> dict[str, Any]:
        return origin_of(self.folder(session), session)
