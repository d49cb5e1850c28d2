"""Each person's Home tab: published when they open it, and again when an ask that concerns them changes.

Owns the current page of each opened Home. The store keeps it for a few days, so that it holds across processes and
restarts. A Home's content is read just before it is published, so it includes changes made while it was queued. Of
several processes, the one that updates an ask's message publishes. https://docs.slack.dev/surfaces/app-home
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Final

from pydantic import JsonValue

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
from answerback.ports.surface import Asks, Batch
from answerback.presentation import wording
from answerback_base.backoff import Backoff
from answerback_chat.background_tasks import BackgroundTasks
from answerback_chat.control_codec import BATCH_VERBS, texts_of
from answerback_slack import inbox_view, parse
from answerback_slack.api_client import SlackApi
from answerback_slack.blocks import Block
from answerback_slack.group_membership import GroupMembership
from answerback_slack.optional_features import OptionalFeature
from answerback_slack.parse import Click, Submission

logger = logging.getLogger(__name__)

DEBOUNCE_SECONDS: Final = 1.0
"""Seconds for which changes are collected before Homes are published for them; a Home that was just opened does not
wait."""
_MAX_QUEUED: Final = 2_000
"""The most people and groups that are queued; any others see the change when they open their Home again."""
_MAX_MEMBERS: Final = 1_000
"""The most members of a group whose Homes are kept up to date."""
_RECHECK_SECONDS: Final = 5.0
_POSTING_SECONDS: Final = 600.0
"""Seconds after an ask was created for which its message may still be on its way."""
_MAX_PAGES: Final = 200
"""The most previous pages that are remembered for a person."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0


@dataclass(eq=False)
class HomeTabs:
    asks: Asks
    calls: SlackApi
    groups: GroupMembership
    labels: Labels
    now: Callable[[], float]

    def __post_init__(self) -> None:
        self._enabled = OptionalFeature(
            "the Home tab",
            "to enable it, switch the Home tab on under App Home, or paste the manifest again",
            {inbox_view.NOT_ENABLED_CODE},
        )
        self._opened: dict[str, None] = {}
        self._queue: dict[str, float] = {}
        """People and groups whose Homes have to be published, with the earliest time for each."""
        self._listed: dict[str, frozenset[str]] = {}
        """The ids of the asks that each person's Home shows: escalation can take one away from them."""
        self._changed = asyncio.Event()
        self._work = BackgroundTasks()
        self._working = False

    async def stop(self) -> None:
        """Drop the queue: Homes are read again when they are opened again."""
        await self._work.stop(0)

    async def open_first_page(self, user: str) -> None:
        """Show the first page to a person who has opened their Home.

        Raises:
            StoreError: the page could not be stored, so later changes would not be shown.
        """
        await self._show_page(user, [])

    async def handle_click(self, payload: Mapping[str, object]) -> bool:
        """Handle a click on a control that only a Home has; return False for any other control.

        Raises:
            StoreError: the page could not be stored.
        """
        user = parse.user_id_of(payload)
        match payload:
            case {
                "view": {"type": "home"},
                "actions": [{"action_id": str(name), **action}, *_],
            } if name.startswith("home.") and user is not None:
                pages = await self._pages(user)
                value = action.get("value")
                if (
                    name == inbox_view.NEXT_ACTION
                    and isinstance(value, str)
                    and [value] != pages[-1:]
                ):
                    await self._show_page(user, [*pages, value][-_MAX_PAGES:])
                elif name == inbox_view.PREVIOUS_ACTION:
                    await self._show_page(user, pages[:-1])
                return True  # the client opens links itself
            case _:
                return False

    async def batch_modal(self, click: Click) -> Block | None:
        """Return the modal in which several permissions of the page are decided; None if no permission is left."""
        pages = await self._pages(click.person.user_id)
        page = await self._read_page(click.person, pages)
        return inbox_view.batch_modal(page.rows, click.control.verb, self.labels)

    async def decide_batch(self, used: Submission) -> int:
        """Decide about what was ticked in that modal; returns how many asks are left undecided."""
        ticked = [tick for tick, boxes in used.values.items() if boxes]
        allow = BATCH_VERBS[used.control.verb]
        left = await self.asks.decide_batch(
            Batch(ticked, allow, used.delivery, inbox_view.BATCH.shows_whole), used.actor
        )
        # What was decided may be shown on another surface, which then updates no Home.
        self._enqueue(used.person.user_id, 0.0)
        self._start_worker()
        return left

    def refresh_for(self, ask: Ask) -> None:
        """Refresh the opened Homes that show an ask that has changed, and of everyone who may answer or confirm it."""
        for responder in ask.participants:
            self._enqueue(ask.placement.destination.user if responder == ANYONE else responder)
        for user, listed in self._listed.items():
            if ask.id in listed:
                self._enqueue(user)
        self._start_worker()

    def refresh_list(self, user: str) -> None:
        """Refresh a person's Home, if it was opened: their list has changed, and no ask has."""
        self._enqueue(user, 0.0)
        self._start_worker()

    async def _show_page(self, user: str, pages: list[str]) -> None:
        await self.asks.save_draft(_key(user), [*pages])
        self.groups.forget_recent()  # what they see depends on the groups that they are in now
        self._opened[user] = None
        self._start_worker()

    async def _pages(self, user: str) -> list[str]:
        return [*texts_of(await self.asks.draft(_key(user)))]

    def _enqueue(self, responder: str | None, seconds: float | None = None) -> None:
        if responder is None or (len(self._queue) >= _MAX_QUEUED and responder not in self._queue):
            return
        now = asyncio.get_running_loop().time()
        due = now + (DEBOUNCE_SECONDS if seconds is None else seconds)
        self._queue[responder] = min(due, self._queue.get(responder, due))

    def _start_worker(self) -> None:
        self._changed.set()
        if not self._working and (self._queue or self._opened):
            self._working = True
            self._work.spawn("home", self._work_through_queue())

    async def _work_through_queue(self) -> None:
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        try:
            while self._queue or self._opened:
                await self._wait_until_due()
                try:
                    await self._publish_due()
                    backoff.reset()
                except (RateLimitedError, PlatformUnavailableError, StoreError) as error:
                    logger.info(
                        "Home tabs will be published later: %s", error, extra={"action": "home"}
                    )
                    minimum = error.retry_after if isinstance(error, RateLimitedError) else 0.0
                    await backoff.wait(minimum)
        finally:
            self._working = False

    async def _wait_until_due(self) -> None:
        """Wait until a member has opened their Home, or the first change is due."""
        loop = asyncio.get_running_loop()
        while not self._opened and (due := min(self._queue.values())) > loop.time():
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._changed.wait()
            self._changed.clear()

    async def _publish_due(self) -> None:
        """Publish the Homes that are due. One that fails temporarily stays queued."""
        while (responder := self._next()) is not None:
            try:
                await self._refresh_responder(responder)
            except (RateLimitedError, PlatformUnavailableError, StoreError):
                self._enqueue(responder, 0.0)
                raise
            except PlatformError as error:
                self._log_rejection(error)
            except Exception:  # a defect in one Home must not stop the others
                logger.exception("Publishing a Home tab failed", extra={"action": "home"})

    def _next(self) -> str | None:
        now = asyncio.get_running_loop().time()
        due = (key for key, at in self._queue.items() if at <= now)
        responder = next(chain(self._opened, due), None)
        if responder is not None:
            self._opened.pop(responder, None)
            self._queue.pop(responder, None)
        return responder

    async def _refresh_responder(self, responder: str) -> None:
        if not responder.startswith("@"):
            if await self.asks.draft(_key(responder)) is not None:
                await self._publish(responder)
            return
        for user in sorted(await self.groups.recent_members(responder[1:]))[:_MAX_MEMBERS]:
            if await self.asks.draft(_key(user)) is not None:
                self._enqueue(user, 0.0)

    async def _publish(self, user: str) -> None:
        person = Person(surface="slack", user_id=user)
        pages = await self._pages(user)
        before: JsonValue = [*pages]
        page = await self._read_page(person, pages)
        # Before it is published: a change meanwhile has to publish it again.
        self._listed[user] = frozenset(ask.id for ask in page.rows)
        left: JsonValue = [*pages]
        if left != before:
            # Unless they have turned to another page meanwhile, which is published next.
            await self.asks.change_draft(_key(user), lambda now: left if now == before else now)
        recent = () if pages else await self.asks.list_answered_by(person, inbox_view.RECENT_SIZE)
        others: Sequence[Ask] = ()
        if not page.rows:
            others = await self.asks.list_open_to_anyone("slack", wording.MAX_OPEN_TO_ANYONE)
        view = inbox_view.build_home_view(
            page, recent, self.labels, open_to_anyone=others, first=not pages
        )
        await self.calls.call(self.calls.client.views_publish, user_id=user, view=view)
        self._enabled.confirm_supported()
        if any(_is_being_posted(ask, self.now()) for ask in page.rows):
            self._enqueue(user, _RECHECK_SECONDS)

    async def _read_page(self, person: Person, pages: list[str]) -> Page[Ask]:
        """Read a person's current page, or the nearest earlier one that is not empty; pop ``pages`` accordingly."""
        while True:
            after = pages[-1] if pages else None
            try:
                page = await self.asks.list_waiting_for(
                    self.groups.with_recent_groups(person), after, inbox_view.PAGE_SIZE
                )
            except ValueError:  # a cursor from another version
                page = Page((), None)
            if page.rows or not pages:
                return page
            pages.pop()

    def _log_rejection(self, error: PlatformError) -> None:
        if not self._enabled.turn_off_if_unsupported(error):
            extra = {"action": "home_refused", "code": error.code}
            logger.warning("A Home tab could not be published: %s", error, extra=extra)


def _is_being_posted(ask: Ask, now: float) -> bool:
    """Return True if the ask's message may get its permalink soon. Nothing notifies us of that, so we have to check
    again."""
    has_url = ask.placement.thread is not None and ask.placement.thread.url is not None
    return not has_url and now - ask.created_at < _POSTING_SECONDS


def _key(user: str) -> str:
    return f"slack.home:{user}"
