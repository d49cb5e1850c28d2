"""The file of a running service."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from answerback.core.ask import Ask, Change
from answerback.ports.extension import Running, ServiceParts
from answerback.ports.extension_rows import NO_ROWS, NewRow, Rows, StoredRow

PATIENCE = 30.0
"""Seconds after which the rows are looked at, in case another replica has stored some."""


class OutcomeFile(Running):
    """Stores a row with each outcome, and moves the rows to the file."""

    kinds = frozenset({"ended"})

    def __init__(self, parts: ServiceParts, path: Path) -> None:
        self._rows, self._path = parts.store.rows, path
        self._new = asyncio.Event()
        parts.on_ended(lambda _ask: self._new.set())

    def on_change(self, before: Ask | None, change: Change, at: float) -> Rows:
        ask = change.ask
        if ask.outcome is None:
            return NO_ROWS
        line = {"ask": ask.id, "agent": ask.request.agent, "status": ask.status.value, "at": at}
        return Rows(rows=(NewRow("outcomefile", {**line}),))

    def loops(self) -> Mapping[str, Callable[[], Awaitable[None]]]:
        return {"outcomefile": self.run}

    async def run(self) -> None:
        """Move the rows. A line is written twice if the process dies in between: its number tells."""
        while True:
            self._new.clear()
            while rows := await self._rows.list("outcomefile"):
                await asyncio.to_thread(self._append, rows)
                await self._rows.delete("outcomefile", [row.number for row in rows])
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._new.wait()

    def _append(self, rows: Sequence[StoredRow]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps({"number": row.number, "outcome": row.value}) + "\n")
            file.flush()
            os.fsync(file.fileno())
