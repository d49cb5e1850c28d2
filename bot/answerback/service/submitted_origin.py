"""From where an agent asks, by its submission and by the hook that carried it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from answerback.core.ask import DEFAULT_ASKER
from answerback.core.headline import file_name
from answerback.core.origin import Origin
from answerback.core.visible_text import one_line

MAX_PLACE: Final = 100
"""Characters of a part of an origin."""
_Place = Annotated[str, Field(min_length=1, max_length=MAX_PLACE)]


class SubmittedOrigin(BaseModel):
    """From where the agent asks. Who it is, its token says."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    project: _Place | None = None
    folder: _Place | None = None
    session: _Place | None = None


_HOSTS: Final = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "copilot": "Copilot CLI",
    "grok": "Grok",
    "item/commandExecution/requestApproval": "Codex",
    "item/fileChange/requestApproval": "Codex",
    "item/permissions/requestApproval": "Codex",
    "permission.asked": "opencode",
    "exec.approval.requested": "OpenClaw",
    "plugin.approval.requested": "OpenClaw",
}
"""The names of hosts, by their hook, or by a kind of request that only they make."""


def read_origin(
    sent: SubmittedOrigin,
    name: str,
    metadata: Mapping[str, JsonValue],
    carrier: str | None,
    owner: str | None,
) -> Origin:
    """From where an agent asks: its project or the last part of its folder, and a hook's subagent beside the host."""
    named = metadata.get("project")
    from_folder = file_name(sent.folder) if sent.folder else None
    project = sent.project or from_folder or (named if isinstance(named, str) else None)
    host = _HOSTS.get(name if carrier is None else carrier)
    subagent = metadata.get("subagent") if carrier else None
    if isinstance(subagent, str) and subagent.strip():
        host = f"{host or DEFAULT_ASKER} ({subagent})"
    return Origin(
        host=host,
        project=_place(project),
        folder=_place(sent.folder),
        session=_place(sent.session),
        owner=owner,
    )


def _place(sent: str | None) -> str | None:
    """Return a part of an origin as people read it."""
    return one_line(sent)[:MAX_PLACE] or None if sent else None
