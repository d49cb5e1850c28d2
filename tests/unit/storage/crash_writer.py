"""A process that writes to a store and says on standard output what was acknowledged, until it is killed.

Run as ``python -m tests.unit.storage.crash_writer URL ROUND``. A line is ``ASK DELIVERY``: the
change of this delivery was acknowledged.
"""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace

from answerback.core.ask import Ask, Entry
from answerback.ports.records import Idempotency
from answerback.ports.store import Decision, Store, Write
from answerback.testing.store_examples import new_ask
from tests.postgres import store_at

CLIENTS = 8


def step(ask: Ask | None) -> Decision[None]:
    """The next revision, with one line of the record."""
    assert ask is not None
    moved = replace(ask, revision=ask.revision + 1)
    return Decision(Write(moved, (Entry(at=1.0, kind="note"),)), None)


async def client(store: Store, number: int, start: str) -> None:
    """Submits its ask (again) and changes it for ever."""
    ask = new_ask(number)
    await store.create(Write(ask), Idempotency("coder", ask.id, "d"))
    n = 0
    while True:
        delivery = f"{start}-{number}-{n}"
        await store.change(ask.id, step, delivery=delivery)
        os.write(1, f"{ask.id} {delivery}\n".encode())
        n += 1


async def main(url: str, start: str) -> None:
    """Runs every client at once."""
    store = store_at(url)
    await store.open()
    await asyncio.gather(*(client(store, n, start) for n in range(CLIENTS)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
