"""Modals that were submitted with files, from their acknowledgement until they are decided: none is ever lost.

Slack waits three seconds for the acknowledgement, and reading files may take longer.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from answerback.ports.surface import Asks
from answerback_chat.control_codec import object_of
from answerback_slack.parse import Submission

_INDEX: Final = "slack:files"
"""The draft that names the drafts of all submissions, each with its owner and until when that has it."""


class PendingSubmissions:
    """The submissions of all processes with the same store.

    Args:
        lease: the seconds after which another process takes over a submission.
        is_alone: true if no other process can have the store.
    """

    def __init__(
        self, asks: Asks, now: Callable[[], float], lease: float, *, is_alone: bool
    ) -> None:
        self._asks = asks
        self._now = now
        self._lease = lease
        self._is_alone = is_alone
        self._owner = secrets.token_hex(8)

    async def keep(self, used: Submission) -> None:
        """Store a submission, before it is acknowledged."""
        key = _key(used)
        await self._asks.save_draft(key, {**used.body})
        await self._asks.change_draft(_INDEX, lambda draft: object_of(draft) | {key: self._mine()})

    async def drop(self, used: Submission) -> None:
        """Forget a submission that is decided."""
        await self._drop(_key(used))

    async def seconds_until_orphaned(self) -> float | None:
        """Return in how many seconds a submission of another process can be taken over; None if there is none."""
        now = self._now()
        left = [
            self._left(entry, now) for entry in object_of(await self._asks.draft(_INDEX)).values()
        ]
        return min((each for each in left if each is not None), default=None)

    async def take_over(self) -> Sequence[Mapping[str, JsonValue]]:
        """Return the payloads of the submissions whose processes have died, which are this process's from now on."""
        taken: list[str] = []

        def take(draft: JsonValue) -> JsonValue:
            entries, now = object_of(draft), self._now()
            left = {key: self._left(entry, now) for key, entry in entries.items()}
            taken[:] = [key for key, each in left.items() if each is not None and each <= 0]
            return (entries | dict.fromkeys(taken, self._mine())) or None

        await self._asks.change_draft(_INDEX, take)
        payloads = []
        for key in taken:
            payload = object_of(await self._asks.draft(key))
            if payload:
                payloads.append(payload)
            else:  # its ask was erased
                await self._drop(key)
        return payloads

    def _mine(self) -> JsonValue:
        return [self._owner, self._now() + self._lease]

    def _left(self, entry: JsonValue, now: float) -> float | None:
        """Return the seconds for which an entry still belongs to another process; None if it belongs to this one."""
        match entry:
            case [str(owner), float() | int() as until]:
                if owner == self._owner:
                    return None
                return 0.0 if self._is_alone else max(until - now, 0.0)
            case _:
                return 0.0

    async def _drop(self, key: str) -> None:
        def without(draft: JsonValue) -> JsonValue:
            entries = object_of(draft)
            return {name: entry for name, entry in entries.items() if name != key} or None

        await self._asks.save_draft(key, None)
        await self._asks.change_draft(_INDEX, without)


def _key(used: Submission) -> str:
    # The ask's id is a part of it, so that an erasure of the ask deletes the draft.
    return f"{_INDEX}:{used.control.ask_id}:{used.trigger_id}"
