"""The names of responders, who are configured by their ids. A name as text notifies nobody.

Names are looked up when a message is rendered, and remembered for an hour. A click is answered with what is known.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final

from answerback.core.errors import PlatformError
from answerback.core.labels import Labels
from answerback.presentation.attribution import MAX_NAMED
from answerback_chat.control_codec import object_of, texts_of
from answerback_telegram.api_client import TelegramApi
from answerback_telegram.parse import Place
from answerback_telegram.people_text import Names

NAME_SECONDS: Final = 3_600.0
MAX_NAMES: Final = 10_000


class ResponderNames:
    """Looks up names of people and chats, by their ids, and of a group's administrators, by its id after an ``@``.

    A message waits up to ``timeout`` seconds for them.
    """

    def __init__(self, calls: TelegramApi, labels: Labels, timeout: float) -> None:
        self._calls, self._labels, self._timeout = calls, labels, timeout
        self._found: dict[str, tuple[str, float]] = {}

    def known(self, responders: Sequence[str]) -> Names:
        """Return the names that are known already."""
        since = time.monotonic() - NAME_SECONDS
        found = {who: self._found.get(who, ("", float("-inf"))) for who in responders}
        return {who: name for who, (name, at) in found.items() if at > since}

    async def look_up(self, responders: Sequence[str], place: Place) -> Names:
        """Return the names of the first responders, as far as Telegram tells them in time."""
        wanted = [who for who in responders[:MAX_NAMED] if who.lstrip("@-").isdigit()]
        missing = [who for who in wanted if who not in self.known(wanted)]
        if missing:
            tasks = [asyncio.ensure_future(self._find(who, place)) for who in missing]
            _, late = await asyncio.wait(tasks, timeout=self._timeout)
            for task in late:
                task.cancel()
        return self.known(wanted)

    async def _find(self, who: str, place: Place) -> None:
        try:
            if place.is_group and who.isdigit():
                member = await self._calls.call_object(
                    "getChatMember", {"chat_id": place.chat, "user_id": int(who)}
                )
                found = object_of(member.get("user"))
            else:
                found = await self._calls.call_object("getChat", {"chat_id": who.lstrip("@")})
        except PlatformError:
            return
        keys = ("title", "first_name", "last_name")
        name = " ".join(texts_of([found.get(key) for key in keys]))
        if name and who.startswith("@"):
            name = self._labels.administrators.format(group=name)
        if len(self._found) >= MAX_NAMES:
            self._found.clear()
        self._found[who] = (name or who, time.monotonic())
