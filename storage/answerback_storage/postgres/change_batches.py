"""Changes of asks, a batch at a time: read by one statement, decided one by one, written by another.

The second statement compares the version of each ask and writes only what belongs to those that nobody changed
meanwhile; the others are read and decided anew. So a click takes two round trips, commit included, no lock outlives a
statement, and clicks that arrive while others are under way share the next two.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import psycopg

from answerback.core.ask import Ask
from answerback.core.errors import LeaseLostError, StoreError, UnreadableRowError
from answerback.ports.claims import Fence
from answerback.ports.store import Decision, Write
from answerback_storage import rows
from answerback_storage.postgres import ask_writes, asks
from answerback_storage.postgres.connections import Database
from answerback_storage.postgres.sql import Parameters

logger = logging.getLogger(__name__)

T = TypeVar("T")

_BATCH: Final = 64
"""Changes in one statement, at the most."""
_LANES: Final = 2
"""Batches under way at once: the server writes one while the next is decided."""
_WORTH_SPLITTING: Final = 16
"""Changes that two batches share: fewer go together, and one batch would have the other lane wait for more."""
MAX_TRIES: Final = 20
"""How often a change is decided anew because somebody else changed its ask meanwhile."""
_OF_ONE: Final = (psycopg.IntegrityError, psycopg.DataError, UnicodeError)
"""Why a statement fails for the sake of one of those that share it."""
_LOAD: Final = f"""SELECT a.{asks.COLUMNS.replace(", ", ", a.")},
        CASE WHEN wanted.held THEN NULL ELSE (SELECT request FROM requests WHERE seq = a.seq) END
    FROM ({{values}}) AS wanted (id, held, n)
    CROSS JOIN LATERAL (SELECT seq, {asks.COLUMNS} FROM asks WHERE id = wanted.id OFFSET 0) AS a"""
"""OFFSET has each row looked up by the index, also by a plan that was made, and kept, while there were few rows."""
_SEEN: Final = """ UNION ALL SELECT NULL, id, NULL, NULL, NULL, NULL, digest, NULL
    FROM ({values}) AS wanted (name, n)
    CROSS JOIN LATERAL (SELECT id, digest FROM seen WHERE id = wanted.name OFFSET 0) AS found"""
"""More rows for `_LOAD`, without a version: deliveries that were stored before; digests are where the state is."""


class ChangeJob(Generic[T]):
    """One change: what `answerback.ports.store.Store.change` was given, and what came of it."""

    __slots__ = (
        *("_decide", "_result", "_then", "ask_id", "delivery", "digest", "error", "fence"),
        "future",
    )

    def __init__(
        self,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        delivery: str | None = None,
        digest: str = "",
        then: Callable[[T], None] | None = None,
        fence: Fence | None = None,
    ) -> None:
        self.fence = fence
        self.digest = digest
        self.ask_id = ask_id
        self.delivery = delivery
        self.future: asyncio.Future[tuple[T, bool]] = asyncio.get_running_loop().create_future()
        self.error: Exception | None = None
        self._decide = decide
        self._then = then
        self._result: tuple[T, bool] | None = None

    def decide(self, ask: Ask | None, seen: Mapping[str, str]) -> Write | None:
        """What is to be stored with the ask as it is."""
        write, result = self._decide(ask)
        repeated = self.delivery is not None and self.delivery in seen
        if repeated:
            rows.check_digest(seen[str(self.delivery)], self.digest)
        self._result = result, repeated
        if repeated or write is None:
            return None
        if ask is None or write.ask.id != ask.id:
            raise AssertionError(f"a decision about {self.ask_id} stored {write.ask.id}")
        return write

    def resolve(self) -> None:
        """Tells whoever is to be told of the result, and the caller, unless it has left, of that or the error."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
            self.future.exception()  # whoever left does not ask
            return
        if self._result is None:
            raise AssertionError("a change that was not decided has no result")
        result, repeated = self._result
        if self._then is not None and not repeated:
            try:
                self._then(result)
            except Exception:  # what is done is done, and the others of the batch wait to be told
                logger.exception("A result was not told on", extra={"action": "tell"})
        self.future.set_result(self._result)


class _Unit:
    """What the changes of one ask in a batch come to."""

    def __init__(self, loaded: asks.VersionedAsk | None) -> None:
        self.version = 0 if loaded is None else loaded.version
        self.jobs: list[ChangeJob[Any]] = []
        self.ask_columns: ask_writes.AskWriteRows | None = None
        self._ask = None if loaded is None else loaded.ask

    def attempt(self, job: ChangeJob[Any], seen: dict[str, str]) -> None:
        """Decides a change on the ask as those before it left it."""
        try:
            write = job.decide(self._ask, seen)
            if write is not None:
                ask_columns = self.ask_columns or ask_writes.AskWriteRows()
                ask_columns.add(write, job.delivery, job.digest)
                self.ask_columns, self._ask = ask_columns, write.ask
        except Exception as error:  # noqa: BLE001 it is raised again where the change came from
            job.error = error
            job.resolve()
            return
        self.jobs.append(job)
        if write is not None and job.delivery is not None:
            seen[job.delivery] = job.digest


class ChangeQueue:
    """The queue of changes, and the batches that are under way.

    Args:
        changed: is told the ids of asks that were changed, once they are.
    """

    def __init__(
        self,
        database: Database,
        cache: rows.RequestCache,
        changed: Callable[[Iterable[str]], None],
    ) -> None:
        self._database = database
        self._cache = cache
        self._changed = changed
        self._queue: deque[ChangeJob[Any]] = deque()
        self._busy: set[str] = set()
        """Asks in a batch that is under way: later changes of them wait for it."""
        self._lanes: set[asyncio.Task[None]] = set()
        self._under_way = 0
        """Lanes that have a batch."""

    def submit(self, job: ChangeJob[T]) -> asyncio.Future[tuple[T, bool]]:
        """What a change will come to. It is made even if whoever waits for it leaves."""
        self._queue.append(job)
        if len(self._lanes) < _LANES:
            lane = asyncio.create_task(self._lane())
            self._lanes.add(lane)
            lane.add_done_callback(self._lanes.discard)
        return asyncio.shield(job.future)

    async def finish(self) -> None:
        """Returns once everything that was handed in is done."""
        while self._lanes:
            await asyncio.wait(self._lanes)

    async def _lane(self) -> None:
        while batch := self._take():
            self._under_way += 1
            try:
                await self._make(batch)
            except Exception as error:  # noqa: BLE001 a dead lane would let everybody wait for ever
                for job in batch:
                    job.error = error
                    job.resolve()
            finally:
                self._under_way -= 1
                self._busy.difference_update([job.ask_id for job in batch])

    def _take(self) -> list[ChangeJob[Any]]:
        """The oldest changes of asks that are in no other batch, a share of them; of those with a fence only one."""
        most, waiting = _BATCH, len(self._queue)
        if waiting >= _WORTH_SPLITTING:
            most = min(most, -(-waiting // (_LANES - self._under_way)))
        taken: list[ChangeJob[Any]] = []
        left: list[ChangeJob[Any]] = []
        while self._queue and len(taken) < most and not (taken and taken[-1].fence):
            job = self._queue.popleft()
            alone = job.fence is not None and bool(taken)
            (left if job.ask_id in self._busy or alone else taken).append(job)
        self._queue.extendleft(reversed(left))
        self._busy.update(job.ask_id for job in taken)
        return taken

    async def _make(self, batch: Sequence[ChangeJob[Any]]) -> None:
        for _ in range(MAX_TRIES):
            batch = await self._attempt(batch)
            if not batch:
                return
        raise StoreError(
            f"The ask {batch[0].ask_id} was changed by others each of the {MAX_TRIES} times that this change was tried."
            " Try again."
        )

    async def _attempt(self, batch: Sequence[ChangeJob[Any]]) -> Sequence[ChangeJob[Any]]:
        """Decides and writes; the changes that are to be decided anew."""
        units = await self._decided(batch)
        written = {name: unit for name, unit in units.items() if unit.ask_columns is not None}
        moved: set[str] = set()
        try:
            if written:
                moved = await self._write(written, batch[0].fence)
        except StoreError as error:
            if not isinstance(error.__cause__, _OF_ONE):
                raise
            if len(batch) == 1:
                if "seen_pkey" in str(error):  # stored by another replica meanwhile: it is a repeat
                    return batch
                raise
            await self._one_by_one(batch)
            return ()
        again = []
        for name, unit in units.items():
            if name in moved or unit.ask_columns is None:
                for job in unit.jobs:
                    job.resolve()
            else:
                again += unit.jobs
        return again

    async def _one_by_one(self, batch: Sequence[ChangeJob[Any]]) -> None:
        """Nobody of a batch is stored, for the sake of one: each is made on its own."""
        for job in batch:
            try:
                await self._make([job])
            except StoreError as error:
                job.error = error
                job.resolve()

    async def _decided(self, batch: Sequence[ChangeJob[Any]]) -> dict[str, _Unit]:
        """The asks that the changes are about, with what is to be stored."""
        if (fence := batch[0].fence) is not None:
            held = (
                "SELECT 1 FROM leases WHERE name = $1 AND epoch = $2 AND until > clock_timestamp()"
            )
            if not await self._database.read(held, fence):
                raise LeaseLostError(fence.lease)
        found, seen = await self._loaded(batch)
        units: dict[str, _Unit] = {}
        for job in batch:
            loaded = found.get(job.ask_id)
            if isinstance(loaded, UnreadableRowError):
                job.error = loaded
                job.resolve()
            else:
                units.setdefault(job.ask_id, _Unit(loaded)).attempt(job, seen)
        return units

    async def _loaded(
        self, batch: Sequence[ChangeJob[Any]]
    ) -> tuple[dict[str, asks.VersionedAsk | UnreadableRowError], dict[str, str]]:
        """The asks that changes are about, and the digests of those of their deliveries that were stored before."""
        given = Parameters()
        held = {name: self._cache.peek(name) for name in {job.ask_id for job in batch}}
        wanted = [(name, request is not None) for name, request in held.items()]
        statement = _LOAD.format(values=given.rows(wanted, ("text", "boolean")))
        if deliveries := {job.delivery for job in batch if job.delivery is not None}:
            values = given.rows([(name,) for name in deliveries], ("text",))
            statement += _SEEN.format(values=values)
        found: dict[str, asks.VersionedAsk | UnreadableRowError] = {}
        seen: dict[str, str] = {}
        for row in await self._database.read(statement, given.values):
            version, name = row[:2]
            if version is None:
                seen[name] = row[6]
                continue
            try:
                found[name] = asks.parse_row(self._cache, row, held[name])
            except UnreadableRowError as error:
                found[name] = error
        return found, seen

    async def _write(self, units: dict[str, _Unit], fence: Fence | None) -> set[str]:
        """The ids of the asks that nobody else changed meanwhile: these are stored."""
        statement, given = ask_writes.build_update(
            {
                (name, unit.version): unit.ask_columns
                for name, unit in units.items()
                if unit.ask_columns
            },
            fence,
        )
        moved = {name for (name,) in await self._database.write(statement, given.values)}
        self._changed(moved)
        return moved
