"""The pauses of a chat surface, and the times that it waits for an answer; in seconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """Pauses and timeouts, in seconds."""

    settling: float = 5.0
    """Before it looks for missed changes, after events arrive again: what people do then comes first."""
    first_pause: float = 1.0
    """After the first failure in a row to sign in or to connect; later pauses are longer."""
    groups: float = 2.0
    """Seconds that an action waits for the person's groups; the person is asked to try again after that."""
    call: float = 10.0
    """The most that a call of Slack may take."""
    webhook: float = 60.0
    """Between checks whether Telegram still posts updates to us."""
    names: float = 1.0
    """Seconds to wait for the names that a message mentions."""
    album: float = 1.5
    """Without a further part, after which an album on Telegram is whole."""
    pictures: float = 10.0
    """Seconds that a message waits for its pictures to be sent."""
    files: float = 60.0
    """Seconds that the files which a person sends with a message may take to be read."""

    @property
    def pending_files(self) -> float:
        """Seconds after which another process takes over what was acknowledged and came with files."""
        return 3 * self.files


DELAYS: Final = Delays()
