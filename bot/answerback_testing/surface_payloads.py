"""Contract tests for payloads of an odd shape: the platform's signature says who sent them, not what is in them."""

from __future__ import annotations

import asyncio
import copy
import logging
import random
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from pydantic import JsonValue

from answerback_testing.simulated_people import (
    Capability,
    HasPayloads,
    SimulatedPerson,
    requires_capability,
)
from answerback_testing.surface_clicks import answered_values, create_viewed_ask, wait_for_steps
from answerback_testing.surface_questions import GO, WHERE, WHY

_ODD_VALUES: Final[tuple[Any, ...]] = (
    *(None, "", " ", "\x00", "x" * 3_000, 0, -1, 10**30, 0.5, True),
    *([], [None], [{}], {}, {"id": ""}),
)
_SAMPLE: Final = 300
"""Odd payloads in one test."""
_MAX_WAIT: Final = 1.0
"""Seconds of processor time that everything else in the loop takes at most while a probe waits."""
_PROBE_INTERVAL: Final = 0.05


@requires_capability(Capability.PAYLOADS)
class PayloadsContract:
    """Whatever arrives is handled or ignored; it holds up nothing else, and is not a defect in the log."""

    @pytest.mark.rule("DATA-13")
    async def test_payloads_of_an_odd_shape_affect_nothing_else(
        self, stage: HasPayloads, ada: SimulatedPerson, caplog: pytest.LogCaptureFixture
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, WHERE, WHY], ada)
        await ada.answer(GO, True)
        await wait_for_steps(stage, ask, ada, after=1)
        caplog.set_level(logging.INFO)
        changes = [
            (payload, path, value)
            for payload in stage.payloads()
            for path in _paths(payload)
            for value in (*_ODD_VALUES, ...)
        ]
        async with _responsive_loop():
            for change in random.Random(7).sample(changes, min(_SAMPLE, len(changes))):
                await stage.send_payload(_odd_payload(*change))
            await ada.answer(WHERE, "p")
            stored = await wait_for_steps(stage, ask, ada, after=2)
        assert answered_values(stored) == [True, "p"]
        defects = [each for each in caplog.records if each.exc_info or each.levelname == "ERROR"]
        assert [each.getMessage() for each in defects] == []


def _odd_payload(payload: JsonValue, path: Sequence[str | int], value: Any) -> Any:
    """Return a copy of a payload in which one part has another value, or is missing if that is ``...``."""
    odd: Any = copy.deepcopy(payload)
    part = odd
    for key in path[:-1]:
        part = part[key]
    if value is ...:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return odd


def _paths(value: JsonValue) -> Iterator[tuple[str | int, ...]]:
    """The places in a JSON value, outermost first."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, item in items:
        yield (key,)
        yield from ((key, *path) for path in _paths(item))


@asynccontextmanager
async def _responsive_loop() -> AsyncIterator[None]:
    """Fail if anything holds up the event loop for longer than `_MAX_WAIT`, however slow the machine is."""
    waits: list[float] = []

    async def probe() -> None:
        while True:
            asked = time.thread_time()
            await asyncio.sleep(_PROBE_INTERVAL)
            waits.append(time.thread_time() - asked)

    probing = asyncio.create_task(probe())
    try:
        yield
    finally:
        probing.cancel()
        await asyncio.wait({probing})
    assert max(waits) <= _MAX_WAIT
