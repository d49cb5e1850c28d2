"""Background tasks: a limit drops what comes beyond it, and says so."""

from __future__ import annotations

import asyncio

import pytest

from answerback_chat.background_tasks import BackgroundTasks


async def test_a_task_beyond_the_limit_is_dropped_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tasks, go_on, done = BackgroundTasks(limit=1), asyncio.Event(), []

    async def work(name: str) -> None:
        await go_on.wait()
        done.append(name)

    tasks.spawn("first", work("first"))
    tasks.spawn(
        "second", work("second")
    )  # its coroutine is closed: no warning that nobody awaits it
    go_on.set()
    await tasks.stop(5)
    assert done == ["first"]
    assert "Too many background tasks: a second was dropped" in caplog.text


async def test_a_task_that_has_just_ended_does_not_count() -> None:
    tasks, ending, done = BackgroundTasks(limit=1), asyncio.Event(), asyncio.Event()

    async def first() -> None:
        ending.set()

    async def second() -> None:
        done.set()

    tasks.spawn("first", first())
    await ending.wait()  # the callbacks of the first task come next
    tasks.spawn("second", second())
    await tasks.stop(5)
    assert done.is_set()
