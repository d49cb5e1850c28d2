"""Which calls over MCP can be cancelled, and for how long; and what a session's id says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import pytest

from answerback.mcp import cancellation
from answerback.mcp.cancellation import CancellableCall, CancellableCalls, call_key
from answerback_storage.sqlite.store import SqliteStore

CHANGES: Final = SqliteStore("never opened").changes
"""Those of a process that has its store to itself."""


@pytest.mark.rule("MCP-14")
async def test_a_call_that_was_answered_a_while_ago_is_not_cancelled() -> None:
    calls = CancellableCalls(CHANGES, crossing=0.0)
    first, second = CancellableCall(None), CancellableCall(None)
    key = call_key(None, "session", 1)
    with calls.track(key, first):
        pass
    # The client uses the number again before the first call is forgotten.
    with calls.track(key, second):
        await _forgotten()
        await calls.cancel(key)
    assert (first.scope.cancel_called, second.scope.cancel_called) == (False, True)
    third = CancellableCall(None)
    with calls.track(key, third):
        pass
    await _forgotten()
    await calls.cancel(key)
    assert not third.scope.cancel_called


@pytest.mark.rule("MCP-14")
@pytest.mark.parametrize("elsewhere", [False, True])
async def test_a_cancellation_that_overtakes_its_call_cancels_it(
    monkeypatch: pytest.MonkeyPatch, *, elsewhere: bool
) -> None:
    listeners = list[Callable[[str | None], None]]()
    monkeypatch.setattr(CHANGES, "listen", listeners.append)
    calls, call = CancellableCalls(CHANGES), CancellableCall(None)
    key = call_key(None, "session", 1)
    if elsewhere:
        listeners[0](key)
    else:
        await calls.cancel(key)
    with calls.track(key, call):
        await asyncio.sleep(0)
    assert call.scope.cancel_called


async def test_a_thousand_cancellations_without_a_call_are_remembered() -> None:
    calls = CancellableCalls(CHANGES)
    keys = [call_key(None, "session", number) for number in range(1_001)]
    for key in keys:
        await calls.cancel(key)
    for key, remembered in ((keys[999], True), (keys[1_000], False)):
        call = CancellableCall(None)
        with calls.track(key, call):
            await asyncio.sleep(0)
        assert call.scope.cancel_called is remembered


async def _forgotten() -> None:
    """Return after everything that the loop was to do by now."""
    done = asyncio.Event()
    asyncio.get_running_loop().call_later(0.0, done.set)
    await done.wait()


@pytest.mark.parametrize(
    ("session", "request_id"), [(None, 1), ("s", None), ("s", True), ("s", [1]), ("s", 1.5)]
)
async def test_a_call_without_a_session_or_a_number_is_not_tracked(
    session: str | None, request_id: Any
) -> None:
    key = call_key("agent", session, request_id)
    assert key is None
    calls, call = CancellableCalls(CHANGES), CancellableCall(None)
    with calls.track(key, call):
        await calls.cancel(key)
    assert not call.scope.cancel_called


def test_a_number_and_its_text_are_the_same_call() -> None:
    assert call_key("agent", "s", 7) == call_key("agent", "s", "7") != call_key("other", "s", 7)


def test_a_sessions_id_has_its_clients_name() -> None:
    def name_of(params: Any) -> str | None:
        return cancellation.client_name_in(cancellation.new_session_id(params))

    assert name_of({"clientInfo": {"name": "Zed é"}}) == "Zed é"
    assert name_of({"clientInfo": {"name": "x" * 500}}) == "x" * 100
    for nameless in (None, {}, {"clientInfo": 1}, {"clientInfo": {"name": 7}}):
        assert name_of(nameless) is None
    for foreign in (None, "", "abc", "abc.!", "abc._w==", "abc.A"):
        assert cancellation.client_name_in(foreign) is None
