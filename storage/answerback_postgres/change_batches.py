"""Changes of asks in batches: one statement reads them, each is decided separately, and another statement writes them.

The second statement compares the version of each ask, and writes only what belongs to asks that have not changed
in the meantime. The others are read and decided again. So a click takes two round trips, including the commit, no lock
outlives a statement, and clicks that arrive while others are in progress share the next two.
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
from answerback_postgres import ask_writes, asks
from answerback_postgres.connections import Database
from answerback_postgres.sql import Parameters
from answerback_storage import rows

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_BATCH: Final = 64
"""The most changes in one statement."""
_MAX_LANES: Final = 2
"""Batches in progress at once: the server writes one while the next is being decided."""
_MIN_TO_SPLIT: Final = 16
"""The number of changes from which two lanes share them. With fewer, a second batch would only delay the next one."""
MAX_TRIES: Final = 20
"""Times that a change is decided again because another change of its ask came first."""
_SINGLE_CHANGE_ERRORS: Final = (psycopg.IntegrityError, psycopg.DataError, UnicodeError)
"""The errors of a statement that a single one of its changes can cause."""
_LOAD: Final = f"""SELECT a.{asks.COLUMNS.replace(", ", ", a.")},
        CASE WHEN wanted.held THEN NULL ELSE (SELECT request FROM requests WHERE seq = a.seq) END
    FROM ({{values}}) AS wanted (id, held, n)
    CROSS JOIN LATERAL (SELECT seq, {asks.COLUMNS} FROM asks WHERE id = wanted.id OFFSET 0) AS a"""
"""OFFSET makes PostgreSQL look up each row by the index, even with a plan that was cached while there were few rows."""
_SEEN: Final = """ UNION ALL SELECT NULL, id, NULL, NULL, NULL, NULL, digest, NULL
    FROM ({values}) AS wanted (name, n)
    CROSS JOIN LATERAL (SELECT id, digest FROM seen WHERE id = wanted.name OFFSET 0) AS found"""
"""Further rows for `_LOAD`, without a version: deliveries stored before, with the digest in place of the state."""
_WITHOUT_FILES: Final = """SELECT DISTINCT c0 FROM {claimed} LEFT JOIN files ON files.id = c1
    WHERE files.value IS NULL OR files.ask_id <> c0"""


class ChangeJob(Generic[T]):
    """One change: the arguments of `answerback.ports.store.AskStore.change`, and its outcome."""

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
        """Decide on the ask in its current state, and return what to store."""
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
        """Pass the result to ``then`` and to the caller, or the error to the caller, unless the caller is gone."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
            self.future.exception()  # marks it as retrieved, in case the caller is gone
            return
        if self._result is None:
            raise AssertionError("a change that was not decided has no result")
        result, repeated = self._result
        if self._then is not None and not repeated:
            try:
                self._then(result)
            except Exception:  # the change is committed, and the others still have to be resolved
                logger.exception("A callback failed after a write", extra={"action": "tell"})
        self.future.set_result(self._result)


class _AskChanges:
    """The combined effect of the changes of one ask in a batch."""

    def __init__(self, loaded: asks.VersionedAsk | None) -> None:
        self.version = 0 if loaded is None else loaded.version
        self.jobs: list[ChangeJob[Any]] = []
        self.write_rows: ask_writes.AskWriteRows | None = None
        self._ask = None if loaded is None else loaded.ask

    def attempt(self, job: ChangeJob[Any], seen: dict[str, str]) -> None:
        """Decide a change on the ask as the previous changes left it."""
        try:
            write = job.decide(self._ask, seen)
            if write is not None:
                write_rows = self.write_rows or ask_writes.AskWriteRows()
                write_rows.add(write, job.delivery, job.digest)
                self.write_rows, self._ask = write_rows, write.ask
        except Exception as error:  # noqa: BLE001 it is raised again where the change came from
            job.error = error
            job.resolve()
            return
        self.jobs.append(job)
        if write is not None and job.delivery is not None:
            seen[job.delivery] = job.digest


class ChangeQueue:
    """The queue of changes, and the batches in progress.

    Args:
        changed: called with the ids of asks after they were changed.
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
        """Asks in a batch that is in progress. Later changes of them wait for it."""
        self._running_lanes: set[asyncio.Task[None]] = set()
        self._batches_in_progress = 0
        """The number of lanes that are working on a batch."""

    def submit(self, job: ChangeJob[T]) -> asyncio.Future[tuple[T, bool]]:
        """Queue a change and return its future. It is made even if its caller stops waiting."""
        self._queue.append(job)
        # One that has just ended is still in the set until its callback is called.
        if sum(not lane.done() for lane in self._running_lanes) < _MAX_LANES:
            lane = asyncio.create_task(self._run_lane())
            self._running_lanes.add(lane)
            lane.add_done_callback(self._running_lanes.discard)
        return asyncio.shield(job.future)

    async def finish(self) -> None:
        """Return once all submitted changes are done."""
        while self._running_lanes:
            await asyncio.wait(self._running_lanes)

    async def _run_lane(self) -> None:
        while batch := self._take_batch():
            self._batches_in_progress += 1
            try:
                await self._process(batch)
            except Exception as error:  # noqa: BLE001 a dead lane would make every caller wait forever
                for job in batch:
                    job.error = error
                    job.resolve()
            finally:
                self._batches_in_progress -= 1
                self._busy.difference_update([job.ask_id for job in batch])

    def _take_batch(self) -> list[ChangeJob[Any]]:
        """Take this lane's share of the oldest changes whose asks are in no other batch; at most one has a fence."""
        limit, waiting = _MAX_BATCH, len(self._queue)
        if waiting >= _MIN_TO_SPLIT:
            idle_lanes = _MAX_LANES - self._batches_in_progress
            limit = min(limit, -(-waiting // idle_lanes))  # rounded up
        taken: list[ChangeJob[Any]] = []
        postponed: list[ChangeJob[Any]] = []
        while self._queue and len(taken) < limit and not (taken and taken[-1].fence):
            job = self._queue.popleft()
            must_go_alone = job.fence is not None and bool(taken)
            (postponed if job.ask_id in self._busy or must_go_alone else taken).append(job)
        self._queue.extendleft(reversed(postponed))  # back to the front, in their order
        self._busy.update(job.ask_id for job in taken)
        return taken

    async def _process(self, batch: Sequence[ChangeJob[Any]]) -> None:
        for _ in range(MAX_TRIES):
            batch = await self._attempt(batch)
            if not batch:
                return
        raise StoreError(
            f"The ask {batch[0].ask_id} was changed by others during each of the {MAX_TRIES} attempts at this"
            " change. Try again."
        )

    async def _attempt(self, batch: Sequence[ChangeJob[Any]]) -> Sequence[ChangeJob[Any]]:
        """Decide and write, and return the changes that have to be decided again."""
        changes_by_ask = await self._decide_batch(batch)
        written = {
            name: ask_changes
            for name, ask_changes in changes_by_ask.items()
            if ask_changes.write_rows is not None
        }
        moved: set[str] = set()
        try:
            if written:
                moved = await self._write(written, batch[0].fence)
        except StoreError as error:
            if not isinstance(error.__cause__, _SINGLE_CHANGE_ERRORS):
                raise
            if len(batch) == 1:
                if "seen_pkey" in str(error):  # another replica has stored it: it is a repeat
                    return batch
                raise
            await self._process_separately(batch)
            return ()
        missed = {name: each for name, each in written.items() if name not in moved}
        return await self._settle(changes_by_ask, missed)

    async def _settle(
        self, changes_by_ask: Mapping[str, _AskChanges], missed: Mapping[str, _AskChanges]
    ) -> Sequence[ChangeJob[Any]]:
        """Resolve the changes that are made or cannot be made, and return those that have to be decided again.

        Args:
            missed: what was not stored.
        """
        without_files = await self._find_without_files(missed)
        to_retry: list[ChangeJob[Any]] = []
        for name, ask_changes in changes_by_ask.items():
            if name not in missed:
                for job in ask_changes.jobs:
                    job.resolve()
            elif name not in without_files:
                to_retry += ask_changes.jobs
            elif len(ask_changes.jobs) > 1:
                await self._process_separately(ask_changes.jobs)
            else:
                [job] = ask_changes.jobs
                job.error = StoreError(rows.FILE_GONE)
                job.resolve()
        return to_retry

    async def _find_without_files(self, missed: Mapping[str, _AskChanges]) -> set[str]:
        """Return those of the asks that claim a file which is gone, or which another ask has."""
        claimed = [
            (name, file_id)
            for name, each in missed.items()
            for file_id, is_claimed in (each.write_rows.files if each.write_rows else {}).items()
            if is_claimed
        ]
        if not claimed:
            return set()
        params = Parameters()
        statement = _WITHOUT_FILES.format(claimed=params.table(claimed, ("text", "text")))
        return {name for (name,) in await self._database.read(statement, params.values)}

    async def _process_separately(self, batch: Sequence[ChangeJob[Any]]) -> None:
        """Make each change separately, because one of the batch made the whole statement fail."""
        for job in batch:
            try:
                await self._process([job])
            except StoreError as error:
                job.error = error
                job.resolve()

    async def _decide_batch(self, batch: Sequence[ChangeJob[Any]]) -> dict[str, _AskChanges]:
        """Decide the changes, and return the asks with what is to be stored."""
        if (fence := batch[0].fence) is not None:
            lease_statement = (
                "SELECT 1 FROM leases WHERE name = $1 AND epoch = $2 AND until > clock_timestamp()"
            )
            if not await self._database.read(lease_statement, fence):
                raise LeaseLostError(fence.lease)
        loaded_asks, seen = await self._load(batch)
        changes_by_ask: dict[str, _AskChanges] = {}
        for job in batch:
            loaded = loaded_asks.get(job.ask_id)
            if isinstance(loaded, UnreadableRowError):
                job.error = loaded
                job.resolve()
            else:
                changes_by_ask.setdefault(job.ask_id, _AskChanges(loaded)).attempt(job, seen)
        return changes_by_ask

    async def _load(
        self, batch: Sequence[ChangeJob[Any]]
    ) -> tuple[dict[str, asks.VersionedAsk | UnreadableRowError], dict[str, str]]:
        """Load the asks that the changes are about, and the digests of those deliveries that were stored before."""
        params = Parameters()
        cached = {name: self._cache.peek(name) for name in {job.ask_id for job in batch}}
        wanted = [(name, request is not None) for name, request in cached.items()]
        statement = _LOAD.format(values=params.rows(wanted, ("text", "boolean")))
        if deliveries := {job.delivery for job in batch if job.delivery is not None}:
            values = params.rows([(name,) for name in deliveries], ("text",))
            statement += _SEEN.format(values=values)
        loaded_asks: dict[str, asks.VersionedAsk | UnreadableRowError] = {}
        seen: dict[str, str] = {}
        for row in await self._database.read(statement, params.values):
            version, name = row[:2]
            if version is None:
                seen[name] = row[6]
                continue
            try:
                loaded_asks[name] = asks.parse_row(self._cache, row, cached[name])
            except UnreadableRowError as error:
                loaded_asks[name] = error
        return loaded_asks, seen

    async def _write(self, changes_by_ask: dict[str, _AskChanges], fence: Fence | None) -> set[str]:
        """Store the asks that have not changed in the meantime, and return their ids."""
        statement, params = ask_writes.build_update(
            {
                (name, ask_changes.version): ask_changes.write_rows
                for name, ask_changes in changes_by_ask.items()
                if ask_changes.write_rows
            },
            fence,
        )
        moved = {name for (name,) in await self._database.write(statement, params.values)}
        self._changed(moved)
        return moved
