"""Contract tests for payloads of an odd shape: the platform's signature says who sent them, not what is in them."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from pydantic import JsonValue

from answerback.testing.simulated_people import (
    Capability,
    HasPayloads,
    SimulatedPerson,
    Stage,
    requires_capability,
)
from answerback.testing.surface_clicks import answered_values, create_viewed_ask, wait_for_steps
from answerback.testing.surface_questions import GO, WHERE, WHY

_ODD_VALUES: Final[tuple[Any, ...]] = (
    *(None, "", " ", "\x00", "x" * 3_000, 0, -1, 10**30, 0.5, True),
    *([], [None], [{}], {}, {"id": ""}),
)
_SAMPLE: Final = 300
"""Odd payloads in one test."""
_MAX_LAG: Final = 1.0
"""Seconds for which the event loop may be busy: a probe of the service's health waits no longer."""


class PayloadsContract:
    """Whatever arrives is handled or ignored; it holds up nothing else, and is no defect in the log."""

    @requires_capability(Capability.PAYLOADS)
    @pytest.mark.rule("DATA-13")
    async def test_payloads_of_an_odd_shape_affect_nothing_else(
        self, stage: Stage, ada: SimulatedPerson, caplog: pytest.LogCaptureFixture
    ) -> None:
        ask = await create_viewed_ask(stage, [GO, WHERE, WHY], ada)
        await ada.answer(GO, True)
        await wait_for_steps(stage, ask, ada, after=1)
        assert isinstance(stage, HasPayloads)
        caplog.set_level(logging.INFO)
        odd = {json.dumps(each): each for sent in stage.payloads() for each in odd_payloads(sent)}
        async with _responsive_loop():
            for each in random.Random(7).sample([*odd.values()], min(_SAMPLE, len(odd))):
                await stage.send_payload(each)
            await ada.answer(WHERE, "p")
            stored = await wait_for_steps(stage, ask, ada, after=2)
        assert answered_values(stored) == [True, "p"]
        defects = [each for each in caplog.records if each.exc_info or each.levelname == "ERROR"]
        assert [each.getMessage() for each in defects] == []


def odd_payloads(payload: JsonValue) -> Iterator[JsonValue]:
    """Yield copies of a payload in which one part has a value of another kind, or is missing."""
    for path in _paths(payload):
        for value in (*_ODD_VALUES, ...):
            odd: Any = copy.deepcopy(payload)
            part = odd
            for key in path[:-1]:
                part = part[key]
            if value is ...:
                del part[path[-1]]
            else:
                part[path[-1]] = value
            yield odd


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
    """Fail if the event loop is ever busy for longer than `_MAX_LAG`."""
    loop = asyncio.get_running_loop()
    lags = [0.0]

    async def beat() -> None:
        while True:
            due = loop.time() + 0.05
            await asyncio.sleep(0.05)
            lags.append(loop.time() - due)

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
    assert max(lags) <= _MAX_LAG
