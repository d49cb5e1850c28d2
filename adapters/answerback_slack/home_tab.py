"""Each person's Home tab: published when they open it, and again when something of theirs has changed.

Owns at which page the Homes are that were opened: the store keeps that for a few days, so that it holds for every
process and over restarts. What is published is read when its turn comes, so a change that comes meanwhile is in it.
Of several processes, the one that brings an ask's message up to date publishes. https://docs.slack.dev/surfaces/app-home
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final

from answerback.core.ask import ANYONE, Ask
from answerback.core.errors import (
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    StoreError,
)
from answerback.core.labels import Labels
from answerback.core.walker import Person
from answerback.ports.store_values import Page
from answerback.ports.surface import Asks
from answerback_chat.background_tasks import BackgroundTasks
from answerback_client.backoff import Backoff
from answerback_slack import home_view
from answerback_slack.api_client import SlackApi
from answerback_slack.group_membership import GroupMembership
from answerback_slack.optional_features import OptionalFeature

logger = logging.getLogger(__name__)

DEBOUNCE_SECONDS: Final = 1.0
"""How long changes are gathered before Homes are published for them; who opens theirs does not wait."""
_MOST_QUEUED: Final = 2_000
"""People and groups whose Homes are to be published; further ones see the change when they open theirs again."""
_MOST_MEMBERS: Final = 1_000
"""Members of a group whose Homes are kept up to date."""
_LOOK_AGAIN_SECONDS: Final = 5.0
_POSTED_SECONDS: Final = 600.0
"""How long after an ask was made its message may still be on its way."""
_MOST_PAGES: Final = 200
"""Pages that lead back from where a person is."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


class HomeTabs:
    """Publishes Homes."""

    def __init__(
        self,
        asks: Asks,
        calls: SlackApi,
        groups: GroupMembership,
        labels: Labels,
        now: Callable[[], float],
    ) -> None:
        self._now = now
        self._asks = asks
        self._calls = calls
        self._groups = groups
        self._labels = labels
        self._enabled = OptionalFeature(
            "the Home tab",
            "switch the Home tab on under App Home, or paste the manifest again",
            {home_view.NOT_ENABLED_CODE},
        )
        self._opened: dict[str, None] = {}
        self._queue: dict[str, float] = {}
        """Whose Homes are to be published, and from when on."""
        self._news = asyncio.Event()
        self._work = BackgroundTasks()
        self._working = False

    async def stop(self) -> None:
        """Gives up what is queued: it is read again when the Homes are opened again."""
        await self._work.stop(0)

    async def open_first_page(self, user: str) -> None:
        """Somebody has opened their Home.

        Raises:
            StoreError: that could not be stored, so that later changes would not be shown.
        """
        await self._turned(user, [])

    async def handle_click(self, payload: Mapping[str, object]) -> bool:
        """Handles a control of a Home; False where it is none of those that only a Home has.

        Raises:
            StoreError: the page could not be stored.
        """
        match payload:
            case {
                "view": {"type": "home"},
                "user": {"id": str(user)},
                "actions": [{"action_id": str(name), **action}, *_],
            } if name.startswith("home."):
                pages = await self._pages(user)
                value = action.get("value")
                if (
                    name == home_view.NEXT_ACTION
                    and isinstance(value, str)
                    and [value] != pages[-1:]
                ):
                    await self._turned(user, [*pages, value][-_MOST_PAGES:])
                elif name == home_view.PREVIOUS_ACTION:
                    await self._turned(user, pages[:-1])
                return True  # what leads to an address is the client's matter
            case _:
                return False

    def refresh_for(self, ask: Ask) -> None:
        """An ask has changed: whoever may answer it, and has opened their Home, is to see that."""
        for who in ask.responders:
            self._enqueue(ask.destination.user if who == ANYONE else who)
        self._begin()

    async def _turned(self, user: str, pages: list[str]) -> None:
        await self._asks.save_draft(_key(user), [*pages])
        self._opened[user] = None
        self._begin()

    async def _pages(self, user: str) -> list[str]:
        kept = await self._asks.draft(_key(user))
        return [each for each in kept if isinstance(each, str)] if isinstance(kept, list) else []

    def _enqueue(self, who: str | None, seconds: float | None = None) -> None:
        if who is None or (len(self._queue) >= _MOST_QUEUED and who not in self._queue):
            return
        due = time.monotonic() + (DEBOUNCE_SECONDS if seconds is None else seconds)
        self._queue[who] = min(due, self._queue.get(who, due))

    def _begin(self) -> None:
        self._news.set()
        if not self._working and (self._queue or self._opened):
            self._working = True
            self._work.spawn("home", self._worked())

    async def _worked(self) -> None:
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        try:
            while self._queue or self._opened:
                await self._gathered()
                try:
                    await self._round()
                    backoff.reset()
                except (RateLimitedError, PlatformUnavailableError, StoreError) as error:
                    logger.info("Homes are published later: %s", error, extra={"action": "home"})
                    least = error.retry_after if isinstance(error, RateLimitedError) else 0.0
                    await backoff.wait(least)
        finally:
            self._working = False

    async def _gathered(self) -> None:
        """Returns when somebody has opened their Home, or the first change is due."""
        while not self._opened and (left := min(self._queue.values()) - time.monotonic()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._news.wait()
            self._news.clear()

    async def _round(self) -> None:
        """Publishes what is due; what fails for now stays queued."""
        while (who := self._next()) is not None:
            try:
                await self._bring_up(who)
            except (RateLimitedError, PlatformUnavailableError, StoreError):
                self._enqueue(who, 0.0)
                raise
            except PlatformError as error:
                self._refused(error)

    def _next(self) -> str | None:
        now = time.monotonic()
        who = next(iter(self._opened), None)
        who = who or next((one for one, due in self._queue.items() if due <= now), None)
        if who is not None:
            self._opened.pop(who, None)
            self._queue.pop(who, None)
        return who

    async def _bring_up(self, who: str) -> None:
        if not who.startswith("@"):
            if await self._asks.draft(_key(who)) is not None:
                await self._publish(who)
            return
        for user in sorted(await self._groups.members(who[1:]))[:_MOST_MEMBERS]:
            if await self._asks.draft(_key(user)) is not None:
                self._enqueue(user, 0.0)

    async def _publish(self, user: str) -> None:
        person = Person(surface="slack", user_id=user)
        pages = await self._pages(user)
        depth = len(pages)
        found = await self._read(person, pages)
        if len(pages) < depth:
            await self._asks.save_draft(_key(user), [*pages])
        recent = () if pages else await self._asks.list_answered_by(person, home_view.RECENT_SIZE)
        rows, following = found.rows, found.after
        view = home_view.build_home_view(
            rows, recent, self._labels, first=not pages, following=following
        )
        client = self._calls.client
        await self._calls.call(
            "views.publish", lambda: client.views_publish(user_id=user, view=view)
        )
        self._enabled.confirm_supported()
        if any(_is_being_shown(ask, self._now()) for ask in rows):
            self._enqueue(user, _LOOK_AGAIN_SECONDS)

    async def _read(self, person: Person, pages: list[str]) -> Page[Ask]:
        """The page where a person is, or the last one before it that is not empty; ``pages`` then leads there."""
        while True:
            after = pages[-1] if pages else None
            try:
                found = await self._asks.list_waiting_for(person, after, home_view.PAGE_SIZE)
            except ValueError:  # a cursor of another version
                found = Page((), None)
            if found.rows or not pages:
                return found
            pages.pop()

    def _refused(self, error: PlatformError) -> None:
        if not self._enabled.turn_off_if_unsupported(error):
            extra = {"action": "home_refused", "code": error.code}
            logger.warning("A Home could not be published: %s", error, extra=extra)


def _is_being_shown(ask: Ask, now: float) -> bool:
    """Whether its message is about to have an address: nothing tells of that but another look."""
    has_address = ask.thread is not None and ask.thread.url is not None
    return not has_address and now - ask.created_at < _POSTED_SECONDS


def _key(user: str) -> str:
    return f"slack.home:{user}"
