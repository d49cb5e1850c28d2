"""The service's periodic work, which on a slow machine would run alongside whatever is measured."""

from __future__ import annotations

import asyncio
from typing import Final

from answerback.runtime import clock, open_store
from answerback_chat.leader_lease import LeaderLease
from answerback_slack import inbox

_HOUSEKEEPING: Final = {
    f"loop {name}" for name in ("clock", "missed changes", "presence", "leases")
}
_LONGER_THAN_MEASURING: Final = 3_600.0


def lengthen_leases() -> None:
    """Let a service that starts from now on renew no lease and no claim while it is measured."""
    setattr(open_store, "_LEASE", _LONGER_THAN_MEASURING)  # noqa: B010 - mypy allows no other way
    setattr(LeaderLease.__init__, "__defaults__", (_LONGER_THAN_MEASURING,))  # noqa: B010 - mypy allows no other way


def stop_housekeeping() -> None:
    """End these tasks of a running service, and let what sleeps until a time look at the clock no more."""
    # The scheduler sleeps until the next deadline, and would check every second that the clock was not set.
    setattr(clock, "_CHECK_SECONDS", _LONGER_THAN_MEASURING)  # noqa: B010 - mypy allows no other way
    # Slack's Home tabs follow the changes of a second, so they would be read in whichever journey runs then.
    setattr(inbox, "DEBOUNCE_SECONDS", _LONGER_THAN_MEASURING)  # noqa: B010 - mypy allows no other way
    for task in asyncio.all_tasks():
        if task.get_name() in _HOUSEKEEPING:
            task.cancel()
