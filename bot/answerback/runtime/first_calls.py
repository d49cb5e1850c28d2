"""Build the parts that the first calls need once the service is ready: neither the start nor the first call waits for
it."""

from __future__ import annotations

from answerback.api.action_bodies import ACTIONS
from answerback.api.wire import Wire


def prepare_first_calls() -> None:
    """Build what a first submission, action and read need; takes some milliseconds, in another thread."""
    import encodings.idna  # noqa: F401 - imported to load it: a webhook's address may need it

    for model in (Wire, *ACTIONS.values()):
        model.model_rebuild()
