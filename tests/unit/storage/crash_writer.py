"""A process that writes to a store and says into a pipe what was acknowledged, until it is killed.

A line is ``ASK DELIVERY``: the change of this delivery was acknowledged.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from multiprocessing.connection import Connection

from answerback.core.ask import Ask, RecordEntry
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import Idempotency
from answerback.testing.store_examples import new_ask
from tests.postgres import store_at

CLIENTS = 8


def step(ask: Ask | None) -> Decision[None]:
    """The next revision, with one line of the record."""
    assert ask is not None
    moved = replace(ask, revision=ask.revision + 1)
    return Decision(Write(moved, (RecordEntry(at=1.0, kind="note"),)), None)


async def client(store: Store, number: int, start: str, told: int) -> None:
    """Submits its ask (again) and changes it for ever."""
    ask = new_ask(number)
    await store.create(Write(ask), Idempotency("coder", ask.id, "d"))
    n = 0
    while True:
        delivery = f"{start}-{number}-{n}"
        await store.change(ask.id, step, delivery=delivery)
        os.write(told, f"{ask.id} {delivery}\n".encode())
        n += 1


async def _clients(url: str, start: str, told: int) -> None:
    store = store_at(url)
    await store.open()
    await asyncio.gather(*(client(store, n, start, told) for n in range(CLIENTS)))


def write(url: str, start: str, told: Connection) -> None:
    """Runs every client at once."""
    asyncio.run(_clients(url, start, told.fileno()))
