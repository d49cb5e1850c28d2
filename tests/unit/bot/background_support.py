"""Shared by tests of background work: a running service with message sync and scheduler, and inquiry backends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.errors import InquiryError
from answerback.core.form import Question
from answerback.service.question_routing import Rules
from answerback.service.service import Service
from answerback.service.submission_request import NO_ROUTES, Route, Routes
from answerback.workers.housekeeping import Housekeeping
from answerback.workers.message_sync import MessageSync, SyncPace
from answerback.workers.retention import RetentionPolicy
from answerback.workers.scheduler import Scheduler
from answerback_storage.sqlite.store import SqliteStore
from tests.service_support import WAIT, ask_user
from tests.unit.bot.conftest import Parts


class ScriptedInquiry:
    """An inquiry backend with a scripted answer or failure."""

    def __init__(self, answer: JsonValue = None, error: str | None = None) -> None:
        self.asked: list[str] = []
        self._answer, self._error = answer, error

    async def answer(self, ask: Ask, question: Question) -> JsonValue:
        self.asked.append(question.id)
        if self._error is not None:
            raise InquiryError(self._error)
        return self._answer


class HangingInquiry:
    """An inquiry backend that never answers."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def answer(self, ask: Ask, question: Question) -> JsonValue:
        """Never return."""
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody sets this event")


@asynccontextmanager
async def running(
    parts: Parts,
    rules: Rules | None = None,
    inquiry: ScriptedInquiry | HangingInquiry | None = None,
    routes: Routes = NO_ROUTES,
    surfaces: tuple[str, ...] = ("chat", "web"),
    days: float | None = None,
    **pace: Any,
) -> AsyncIterator[tuple[Service, MessageSync]]:
    """A service with its background work running; leaving the context stops it."""
    service = parts.service(rules, inquiry=inquiry is not None, routes=routes, surfaces=surfaces)
    sync = MessageSync(
        service,
        pace=SyncPace(**{"first_pause": 0.01, **pace}),
        call_later=parts.timers.call_later,
    )
    answer = None if inquiry is None else inquiry.answer
    scheduler = Scheduler(service, sync, answer)
    loops = [asyncio.ensure_future(scheduler.run())]
    try:
        # Until its first sweep is over: it would deal with what a test does meanwhile.
        await parts.clock.wait_for_sleepers(1)
        if days is not None:
            retention = RetentionPolicy(service, days, None, is_busy=sync.is_busy)
            housekeeping = Housekeeping(service, retention)
            loops += [asyncio.ensure_future(run()) for _, run in housekeeping.loops()]
        yield service, sync
    finally:
        for loop in loops:
            loop.cancel()
        for loop in loops:
            with suppress(asyncio.CancelledError):
                await loop
        await scheduler.stop()
        await sync.stop()


async def reopen_store(parts: Parts, folder: Path) -> None:
    """Reopen the store as after a restart, with nothing in memory."""
    await parts.store.close()
    parts.store = SqliteStore(folder / "asks.db")
    await parts.store.open()


async def ended(service: Service, ask: Ask) -> Ask:
    """The ask, once it has ended."""
    now = await service.wait(ask.id, WAIT)
    assert now is not None
    assert not now.open
    return now


async def submit(service: Service, *questions: dict[str, Any], **envelope: Any) -> Ask:
    """A new ask."""
    return (await service.submit(ask_user(*questions, **envelope))).ask


def shows(parts: Parts, ask: Ask, revision: int) -> Callable[[], bool]:
    """Return True if the chat shows an ask at a revision."""
    return lambda: (
        ask.id in parts.chat.messages and parts.chat.messages[ask.id].revision == revision
    )


def inquiry_rules() -> tuple[Rules, dict[str, Any]]:
    """Rules that send a question to the inquiry backend, and a submission with that question."""
    rules = Rules.model_validate(
        {"tools": {"git": {"questions": {"force": {"target": "assistant"}}}}}
    )
    question = {"id": "force", "text": "Force?", "answer_type": "boolean"}
    return rules, {"name": "tool_question", "arguments": {"tool": "git", "question": question}}


def escalating_routes(to: str) -> Routes:
    """A default route that escalates an ask from #C1 after a minute."""
    escalate = {"after": 60, "to": to}
    route = {"to": "chat:C1", "responders": ["U1"], "escalate": escalate}
    return Routes("ops", {"ops": Route.model_validate(route)})


async def wait_for_escalation(parts: Parts, service: Service, ask: Ask) -> None:
    """Let the minute pass, and return once the ask has been escalated."""
    with service.follow(ask.id) as follower:
        await parts.clock.advance(61)
        async with asyncio.timeout(WAIT):
            await follower.next_commit()
