"""The harness that the contract of surfaces runs on."""

from __future__ import annotations

import pytest

from answerback.core.ask import Destination
from answerback.core.errors import RateLimitedError
from answerback.ports.store import Store
from answerback.runtime.clock import SystemClock
from answerback.service.service import Service
from answerback.workers.message_sync import MessageSync
from answerback_testing.example_asks import FORM, new_ask
from answerback_testing.surface_harness import SurfaceHarness
from tests.service_support import FakeSurface


@pytest.mark.rule("SURFACE-13")
async def test_a_reminder_waits_until_the_platform_accepts_calls(store: Store) -> None:
    chat = FakeSurface()
    chat.failures.append(RateLimitedError("slow down", retry_after=0.001))
    service = Service(store, SystemClock(), {"chat": chat}, known_surfaces=frozenset())
    await SurfaceHarness(service, MessageSync(service)).remind(new_ask(), 0)
    assert chat.reminders == [("ask_1", 0)]


async def test_what_is_not_shown_in_time_fails_with_what_is_known_of_it(store: Store) -> None:
    chat = FakeSurface()
    chat.failures.append(RateLimitedError("slow down", retry_after=300))
    service = Service(store, SystemClock(), {"chat": chat}, known_surfaces=frozenset())
    harness = SurfaceHarness(service, MessageSync(service), patience=1.0)
    with pytest.raises(AssertionError, match=r"limited.*ask_0"):
        await harness.create_ask(FORM, Destination(surface="chat", channel="C1"))
    await harness.stop_showing()
