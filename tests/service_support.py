"""Helpers for tests of the service: a manual clock, a surface that can be made to fail, and submissions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import Ask, Change, Destination, Escalation, Thread
from answerback.core.escalation import escalate
from answerback.core.walker import Person
from answerback.outbox.address_policy import AddressRules
from answerback.outbox.attempts import DeliverySender
from answerback.ports.surface import Acted, Actor, RetryLater, Shown
from answerback.runtime.config import Settings, settings_type
from answerback.runtime.extensions import Extensions, configured_for
from answerback.service.service import Service
from answerback.service.submission_request import Submission, read_submission
from answerback_webhooks.extension import WebhooksExtension
from answerback_webhooks.sender import CallbackPolicy, build_callback_policy
from answerback_webhooks.webhooks import Webhooks

WAIT = 60.0
"""Seconds after which a test stops waiting for an event."""


_DEFAULT_SETTINGS: Final = settings_type().model_construct()
"""Built here, not when a test first needs them: extensions are found in files, which the event loop may not read."""


def settings_with(**tables: object) -> Settings:
    """Return settings with these validated tables; the others have their defaults, which all tests share."""
    return _DEFAULT_SETTINGS.model_copy(update=tables)


STORES_WEBHOOKS = Webhooks(CallbackPolicy(AddressRules(()), {}), DeliverySender([]))
"""The extension of webhooks for services whose webhooks are not sent."""


def webhooks(settings: Settings) -> Extensions:
    """Return the extension that sends webhooks as it runs with these settings, though it sends none."""
    policy = build_callback_policy(configured_for(settings, WebhooksExtension()))
    return Extensions({"webhooks": Webhooks(policy, DeliverySender([]))})


class ManualClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now = start
        self._passed = 1_000.0
        self._moved = asyncio.Condition()
        self._sleepers: list[Callable[[], bool]] = []
        """For each task that sleeps: returns True once it is time to wake up."""

    def now(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._passed

    async def sleep(self, seconds: float) -> None:
        until = self._passed + seconds
        await self._sleep(lambda: self._passed >= until)

    async def sleep_until(self, when: float) -> None:
        offset = self._now - self._passed
        await self._sleep(lambda: self._now >= when or self._now - self._passed < offset)

    async def _sleep(self, is_over: Callable[[], bool]) -> None:
        async with self._moved:
            self._sleepers.append(is_over)
            self._moved.notify_all()
            try:
                await self._moved.wait_for(is_over)
            finally:
                self._sleepers.remove(is_over)

    async def wait_for_sleepers(self, sleepers: int) -> None:
        """Return once the given number of tasks sleep: one that is not asleep yet would miss that the clock is set."""
        async with asyncio.timeout(WAIT), self._moved:
            await self._moved.wait_for(
                lambda: sum(not is_over() for is_over in self._sleepers) >= sleepers
            )

    async def advance(self, seconds: float) -> None:
        """Let time pass, and wake sleepers."""
        async with self._moved:
            self._passed += seconds
            self._now += seconds
            self._moved.notify_all()

    async def set(self, seconds: float) -> None:
        """Move the clock forward or back, without time passing."""
        async with self._moved:
            self._now += seconds
            self._moved.notify_all()


class FakeSurface:
    """A surface with one message per ask, kept in memory. The next shows raise the ``failures``, in order."""

    live = True

    def __init__(self, name: str = "chat", responders: tuple[str, ...] = ()) -> None:
        self.name = name
        self.messages: dict[str, Ask] = {}
        self.copies: dict[str, Ask] = {}
        """The asks shown last to people who may confirm, by their ids."""
        self.unreachable: dict[str, list[Exception]] = {}
        """The errors that showing to a person raises, by their id, in order."""
        self.shows = 0
        self.posts = 0
        self.reminders: list[tuple[str, int]] = []
        self.reminded: list[str | None] = []
        """In whose direct messages they were posted."""
        self.notes: list[tuple[str, Destination]] = []
        self.groups: dict[str, frozenset[str]] = {}
        self.failures: list[Exception] = []
        self.not_ready: str | None = None
        self.changed = asyncio.Condition()
        self.hold: asyncio.Event | None = None
        """If not None, shows and reminders block until this event is set."""
        self.later = 0.0
        """Seconds for which shows answer that messages are updated by other means; 0: they are not."""
        self._responders = responders

    async def start(self) -> None:
        pass

    async def stop(self) -> None:
        pass

    def unready_reason(self) -> str | None:
        return self.not_ready

    async def show(self, ask: Ask, save: Callable[[Shown], Awaitable[None]]) -> Shown | RetryLater:
        async with self.changed:
            self.shows += 1
            self.changed.notify_all()
        if self.later:
            return RetryLater(self.later)
        if self.hold is not None:
            await self.hold.wait()
        await self._raise_next_failure()
        if refusals := self.unreachable.get(ask.placement.destination.user or ""):
            raise refusals.pop(0)
        self.posts += ask.placement.message is None
        async with self.changed:
            if ask.is_copy:
                self.copies[ask.placement.destination.user or ""] = ask
            else:
                self.messages[ask.id] = ask
            self.changed.notify_all()
        channel = ask.placement.destination.channel or f"D{ask.placement.destination.user}"
        return Shown(
            ask.revision,
            {"ts": "1.1"},
            Thread(channel=channel, id="1.1", url="https://chat.example/1"),
        )

    async def shown(self, ask: Ask) -> Shown:
        """Show an ask, and return what would be recorded about it."""

        async def ignore(_shown: Shown) -> None:
            pass

        shown = await self.show(ask, ignore)
        assert isinstance(shown, Shown)
        return shown

    async def remind(self, ask: Ask, number: int) -> None:
        if self.hold is not None:
            await self.hold.wait()
        await self._raise_next_failure()
        async with self.changed:
            self.reminders.append((ask.id, number))
            self.reminded.append(ask.placement.destination.user)
            self.changed.notify_all()

    async def retire_message(
        self, ask: Ask, left: Mapping[str, JsonValue], to: Destination
    ) -> float | None:
        async with self.changed:
            self.notes.append((ask.id, to))
            self.changed.notify_all()
        return None

    async def groups_of(self, person: Person, groups: frozenset[str]) -> frozenset[str]:
        await self._raise_next_failure()
        return groups & self.groups.get(person.user_id, frozenset())

    async def _raise_next_failure(self) -> None:
        if self.failures:
            async with self.changed:
                self.changed.notify_all()
                raise self.failures.pop(0)

    def default_responders(self, destination: Destination) -> tuple[str, ...]:
        return self._responders

    def destination_problem(self, destination: Destination) -> str | None:
        return None if destination.channel or destination.user else f"{self.name} needs a channel."

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return once ``holds`` is true. It is checked after every change."""
        async with asyncio.timeout(WAIT), self.changed:
            await self.changed.wait_for(holds)


class FakePage(FakeSurface):
    """A surface without live messages, like the web page."""

    live = False

    def destination_problem(self, destination: Destination) -> str | None:
        return None

    async def show(self, ask: Ask, save: Callable[[Shown], Awaitable[None]]) -> Shown:
        return Shown(ask.revision, {}, Thread(url=f"http://127.0.0.1/asks/{ask.id}"))


def actor(user_id: str = "U1", surface: str = "chat") -> Actor:
    """Return somebody who acts."""
    return Actor(Person(surface=surface, user_id=user_id, name=user_id.lower()))


def boolean(question_id: str = "go", **more: JsonValue) -> dict[str, JsonValue]:
    """Build a yes-or-no question of an `ask_user` call."""
    return {"id": question_id, "text": f"{question_id}?", "answer_type": "boolean", **more}


def ask_user(*questions: dict[str, JsonValue], **envelope: JsonValue) -> Submission:
    """Build the submission of an `ask_user` call, by default to a channel where anyone may answer."""
    body: dict[str, JsonValue] = {
        "name": "ask_user",
        "arguments": {"questions": list(questions or (boolean(),))},
        "to": "chat:C1",
        "responders": "anyone",
        **envelope,
    }
    return read_submission({key: value for key, value in body.items() if value is not None})


async def escalate_to(
    service: Service, ask: Ask, to: Destination, responders: Sequence[str] = ()
) -> Ask:
    """Let an ask escalate to another place, as its route might say, and let people have seen it there.

    Unless others are named, its responders stay.
    """
    escalation = Escalation(
        after=1.0, to=to, responders=tuple(responders) or ask.placement.responders
    )
    request = ask.request.model_copy(update={"escalation": escalation})

    def arrive(latest: Ask, at: float) -> Change | None:
        change = escalate(replace(latest, request=request), at)
        return change and change._replace(
            ask=replace(change.ask, placement=replace(change.ask.placement, place_before=None))
        )

    done = await service.update(ask.id, arrive)
    assert isinstance(done, Acted)
    return done.ask
