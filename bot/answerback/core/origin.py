"""The origin of an ask, and how people read who asks. Pure."""

from __future__ import annotations

from typing import Final

from answerback.core.person import FrozenModel

UNKNOWN_ASKER: Final = "Assistant"
"""The display name of an agent that has none."""


class Origin(FrozenModel):
    """The place from which an agent asks."""

    host: str | None = None
    """The program that the agent runs in, as its hook or its kind of request says."""
    project: str | None = None
    folder: str | None = None
    session: str | None = None
    owner: str | None = None
    """The person in the directory whose agent it is."""

    def label(self, agent: str | None, own_label: str) -> str:
        """Return the agent's own label, or else its host's name, or else the agent's."""
        is_own = own_label not in {agent, UNKNOWN_ASKER}
        return own_label if is_own else self.host or own_label

    def asker(self, agent: str | None, own_label: str) -> str:
        """Return ``Claude Code (ann-laptop) in app``, as far as it is known."""
        label = self.label(agent, own_label)
        is_host = label == self.host and agent not in {None, label}
        who = f"{label} ({agent})" if is_host else label
        return f"{who} in {self.project}" if self.project else who
