"""Build the parts that the first calls need while the service starts, in the time that it waits for other services."""

from __future__ import annotations

from answerback.api.action_bodies import ACTIONS
from answerback.api.wire import Wire


def prepare_first_calls() -> None:
    """Build what a first submission, action and read need; takes 6 ms, in another thread."""
    import encodings.idna  # noqa: F401 - imported to load it: a webhook's address may need it

    for model in (Wire, *ACTIONS.values()):
        model.model_rebuild()
