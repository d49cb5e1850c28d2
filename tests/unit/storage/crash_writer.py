"""A process that writes to a store and reports acknowledged changes through a pipe, until it is killed.

Each line is ``ASK DELIVERY``: the change of this delivery was acknowledged.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from multiprocessing.connection import Connection

from answerback.core.ask import Ask, RecordEntry
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import Idempotency
from answerback_testing.example_asks import new_ask
from tests.postgres import store_at

CLIENTS = 8


def step(ask: Ask | None) -> Decision[None]:
    """Return the next revision, with one record entry."""
    assert ask is not None
    moved = replace(ask, revision=ask.revision + 1)
    return Decision(Write(moved, (RecordEntry(at=1.0, kind="note"),)), None)


async def client(store: Store, number: int, start: str, pipe: int) -> None:
    """Submit this client's ask (again), and change it forever."""
    ask = new_ask(number)
    await store.asks.create(Write(ask), Idempotency("coder", ask.id, "d"))
    n = 0
    while True:
        delivery = f"{start}-{number}-{n}"
        await store.asks.change(ask.id, step, delivery=delivery)
        os.write(pipe, f"{ask.id} {delivery}\n".encode())
        n += 1


async def _clients(url: str, start: str, pipe: int) -> None:
    store = store_at(url)
    await store.open()
    await asyncio.gather(*(client(store, n, start, pipe) for n in range(CLIENTS)))


def write(url: str, start: str, pipe: Connection) -> None:
    """Run all clients concurrently."""
    asyncio.run(_clients(url, start, pipe.fileno()))
