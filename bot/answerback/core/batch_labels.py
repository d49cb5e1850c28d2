"""The texts of lists in which several permissions are decided together: a part of `answerback.core.labels`."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class BatchLabels(BaseModel):
    """What a list says where permissions can be ticked."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    batch: str = "Decide about those that are ticked:"
    allow_once: str = "Allow once"
    deny: str = "Deny"
    allow_several: str = "Allow several…"
    deny_several: str = "Deny several…"
    batch_open: str = "Not all of it is shown here: open it to allow it."
    batch_left: str = "Not decided: {count}. They have changed, or you have to open them."
