"""What `answerback doctor` finds out: one thing looked at, and how to fix it when it is wrong."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at. ``wrong`` is None when it is well; ``mend`` says what to do, or is empty."""

    what: str
    wrong: str | None = None
    mend: str = ""
    warning: bool = False
    """Whether ``wrong`` is a risk to know of, and nothing is broken."""

    @property
    def well(self) -> bool:
        """Whether nothing is broken."""
        return self.wrong is None or self.warning
