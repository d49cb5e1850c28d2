"""Changes of asks in batches: read together, decided one by one, written together.

Every SQLite call releases the interpreter lock and has to win it back from a busy event loop. A click that made five
calls would wait for it five times, so the clicks in a batch share their calls: one reads all their asks, one looks for
deliveries seen before, and three write. Anything but a plain step in mid-form (an end, another place, a webhook, a
memory) is written separately.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import cache
from itertools import chain
from typing import Any, Final, Generic, TypeVar

from pydantic_core import from_json

from answerback.core.ask import Ask
from answerback.ports.claims import Fence
from answerback.ports.store import Decision, Write
from answerback_storage import rows
from answerback_storage.sqlite import asks
from answerback_storage.sqlite import claim_statements as claims

T = TypeVar("T")

_LOAD: Final = f"""SELECT json_group_array(json_array({rows.ASK_COLUMNS}))
    FROM asks WHERE id IN {{marks}}"""
_LINES: Final = """SELECT (SELECT ifnull(max(seq), 0) FROM record), json_group_object(id, last_line)
    FROM asks WHERE id IN {marks}"""
_SEEN: Final = "SELECT id, digest FROM seen WHERE id IN {marks}"
_CLAIMED: Final = claims.claim_assignments(
    revision="column3", shown="column5", holder="column7", now="column8", until="column9"
)
_CHANGE: Final = f"""UPDATE asks SET revision = column3, {{time}}shown_revision = column5,
    state = column6, last_line = ifnull(column10, last_line),
    {_CLAIMED} FROM (VALUES {{{{marks}}}}) AS step WHERE id = column1 AND revision = column2"""
_STEP: Final = _CHANGE.format(time="updated_at = column4, ")
_NOTE: Final = _CHANGE.format(time="")
"""A step that leaves the time of the last change as it is, and so the indexes by that time."""
_RECORD: Final = "INSERT INTO record (seq, ask_id, at, kind, entry, before) VALUES {marks}"
_NOTE_SEEN: Final = "INSERT INTO seen (id, at, digest) VALUES {marks}"
_NOTE_OUTCOME_SEEN: Final = """UPDATE owed SET told = column2, at = column3 FROM (VALUES {marks}) AS given
    WHERE ask_id = column1 AND told < column2"""
_MAX_ROWS: Final = 64
"""The most rows in one statement. Each number of rows is a separate statement, prepared once."""

KEPT_CHARACTERS: Final = 5_000_000
"""The limit for the forms of all cached asks together, in characters. Parsed, they take a few times as much memory."""


class ChangeJob(Generic[T]):
    """One change to be decided: the arguments of `answerback.ports.store.AskStore.change`."""

    __slots__ = ("_batch", "_decide", "_fence", "ask_id", "delivery", "digest")

    def __init__(
        self,
        batch: Batch,
        ask_id: str,
        decide: Callable[[Ask | None], Decision[T]],
        delivery: str | None,
        digest: str = "",
        fence: Fence | None = None,
    ) -> None:
        self._fence = fence
        self.digest = digest
        self.ask_id = ask_id
        self.delivery = delivery
        self._batch = batch
        self._decide = decide

    def __call__(self, db: sqlite3.Connection) -> tuple[T, bool]:
        """Decide, and queue or store what the decision writes, before the transaction ends."""
        if self._fence is not None:
            claims.check_fence(db, self._fence)
        ask = self._batch.ask(self.ask_id)
        decision = self._decide(ask)
        write = decision.write
        if (digest := self._batch.seen(self.delivery)) is not None:
            rows.check_digest(digest, self.digest)
            return decision.result, True
        if write is not None:
            if ask is None:
                raise AssertionError(f"there is no ask {self.ask_id} to be changed")
            self._batch.store(db, ask, write, (self.delivery, self.digest))
        return decision.result, False


class RecentAskCache:
    """The asks that changed most recently, as they are on disk. A person who has just clicked is likely to click again.

    An action then takes 50 µs of CPU time less with three questions, and 200 with 100.

    Args:
        most: the limit for their forms, in characters, all together.
    """

    def __init__(self, most: int = KEPT_CHARACTERS) -> None:
        self._most = most
        self._characters_cached = 0
        self._asks: OrderedDict[str, tuple[Ask, int]] = OrderedDict()

    def get_cached(self, wanted: set[str]) -> dict[str, Ask]:
        return {ask_id: self._asks[ask_id][0] for ask_id in wanted & self._asks.keys()}

    def add(self, ask: Ask) -> None:
        """Cache an ask that was read, evicting those that changed longest ago."""
        questions = ask.form.questions
        size = sum(
            len(q.text) + len(q.context or "") + 100 * (len(q.options) + 1) for q in questions
        )
        self._asks[ask.id] = ask, size
        self._characters_cached += size
        while self._characters_cached > self._most:
            self._characters_cached -= self._asks.popitem(last=False)[1][1]

    def update(self, ask: Ask) -> None:
        """Replace the cached ask after a change, and drop it once its agent has the outcome."""
        cached = self._asks.pop(ask.id, None)
        if cached is not None and (ask.open or ask.collection.unread_by_agent):
            self._asks[ask.id] = ask, cached[1]  # at the end: the first are dropped first
        elif cached is not None:
            self._characters_cached -= cached[1]

    def clear(self) -> None:
        self._asks.clear()
        self._characters_cached = 0


class _LineNumbers:
    """The end of the record and the last line of each ask, from which lines that are added together get their numbers.

    It is cleared as soon as lines may have been added elsewhere, so it stays small.
    """

    def __init__(self) -> None:
        self._end = 0
        self.last: dict[str, int | None] = {}
        """The last line of each ask that has been read."""

    def read(self, db: sqlite3.Connection, wanted: Set[str]) -> None:
        """Read the last lines of these asks too."""
        if missing := wanted - self.last.keys():
            text = _with_marks(_LINES, 1, len(missing))
            self._end, last = db.execute(text, [*missing]).fetchone()
            self.last |= from_json(last)

    def number_rows(self, entries: Iterable[rows.Row]) -> list[rows.Row]:
        """Number rows of `rows.entry_rows` from the end on. Each gets its number and that of the ask's last line."""
        numbered = []
        for row in entries:
            self._end += 1
            numbered.append((self._end, *row, self.last.get(row[0])))
            self.last[row[0]] = self._end
        return numbered

    def forget(self) -> None:
        self.last.clear()


class Batch:
    """The rows that the changes of one transaction have read and are about to write."""

    def __init__(self, requests: rows.RequestCache) -> None:
        self._requests = requests
        self._recent = RecentAskCache()
        self._version = 0
        self._asks: dict[str, Ask] = {}
        self._seen: dict[str, str] = {}
        """The digests of deliveries that were stored before."""
        self._new_seen: list[rows.Row] = []
        self._steps: dict[str, rows.Row] = {}
        """The row of `_STEP` for each changed ask, without its last line: the id, the revision on disk, the columns."""
        self._notes: dict[str, rows.Row] = {}
        """The rows of `_NOTE`."""
        self._lines = _LineNumbers()
        self.lines_moved = False
        """True if something other than steps may have added lines, so that line numbers have to be read again."""
        self._entries: list[rows.Row] = []
        self._newly_seen: list[rows.Row] = []
        """The outcomes that agents have seen: the ask's id, the state and the time."""

    def begin(self, db: sqlite3.Connection, changes: Sequence[ChangeJob[Any]]) -> None:
        """Read what changes will need, and forget the previous ones."""
        self._asks, self._seen, self._new_seen, self._steps, self._entries = {}, {}, [], {}, []
        self._newly_seen, self._notes = [], {}
        (version,) = db.execute("PRAGMA data_version").fetchone()
        if version != self._version:  # another connection wrote
            self.forget()
            self._version = version
        wanted = {change.ask_id for change in changes}
        self._asks = self._recent.get_cached(wanted)
        if missing := wanted - self._asks.keys():
            found = _load_asks(db, missing)
            for row in from_json(found):
                ask = asks.ask(db, self._requests, row)
                self._asks[ask.id] = ask
                self._recent.add(ask)
        deliveries = [change.delivery for change in changes if change.delivery is not None]
        if deliveries:
            text = _with_marks(_SEEN, 1, len(deliveries))
            self._seen = dict(db.execute(text, deliveries).fetchall())

    def ask(self, ask_id: str) -> Ask | None:
        """Return the ask as the previous changes left it."""
        return self._asks.get(ask_id)

    def seen(self, delivery: str | None) -> str | None:
        """Return the digest that this delivery's id was stored with before, or None."""
        return None if delivery is None else self._seen.get(delivery)

    def store(
        self, db: sqlite3.Connection, old: Ask, write: Write, delivery_seen: tuple[str | None, str]
    ) -> None:
        """Queue a plain step for `finish`; write anything else at once."""
        new = write.ask
        if new.id != old.id:
            raise AssertionError(f"a decision about {old.id} stored {new.id}")
        entries = rows.entry_rows(new.id, write.entries)
        if rows.is_step(old, new) and not (
            write.deliveries
            or write.rows
            or write.ask_rows
            or write.memory
            or write.owed
            or write.grant
            or write.files
        ):
            before = self._steps.get(new.id) or self._notes.pop(new.id, None)
            on_disk = before[1] if before else old.revision
            claimed = before[6:] if before and write.claim is None else rows.claim_row(write.claim)
            is_note = new.updated_at == old.updated_at and new.id not in self._steps
            row = (new.id, on_disk, *rows.step_columns(new), *claimed)
            (self._notes if is_note else self._steps)[new.id] = row
            self._entries += entries
        else:
            if write.files is not None:
                asks.change_files(db, new, write.files)
            self.finish(db)
            last_line = self._add_lines(db, {new.id}, entries).get(new.id)
            asks.update(db, old, new, write.claim, last_line)
            asks.insert_related(db, write)
            if write.grant is not None:
                asks.store_grant(db, write.grant)
        if write.seen_state is not None:
            self._newly_seen.append(
                (new.id, int(write.seen_state), new.collection.read_by_agent_at)
            )
        self._asks[new.id] = new
        self._recent.update(new)
        delivery, digest = delivery_seen
        if delivery is not None:
            self._seen[delivery] = digest
            self._new_seen.append((delivery, new.updated_at, digest))

    def forget(self) -> None:
        """Drop all cached state, because the transaction was not committed, or its outcome is unknown."""
        self._recent.clear()
        self.lines_moved = True

    def finish(self, db: sqlite3.Connection) -> None:
        """Write what was queued."""
        last = self._add_lines(db, self._steps.keys() | self._notes.keys(), self._entries)
        if self._steps:
            _write_steps(db, _STEP, self._steps, last)
        if self._notes:
            _write_steps(db, _NOTE, self._notes, last)
        if self._new_seen:
            _execute(db, _NOTE_SEEN, self._new_seen)
        if self._newly_seen:
            _execute(db, _NOTE_OUTCOME_SEEN, self._newly_seen)
        self._steps, self._entries, self._new_seen, self._newly_seen = {}, [], [], []
        self._notes = {}

    def _add_lines(
        self, db: sqlite3.Connection, ask_ids: Set[str], entries: Sequence[rows.Row]
    ) -> Mapping[str, int | None]:
        """Append entries of these asks to the record, and return the last line of each ask; nothing without entries."""
        if self.lines_moved:
            self._lines.forget()
            self.lines_moved = False
        if not entries:
            return {}
        self._lines.read(db, ask_ids)
        _execute(db, _RECORD, self._lines.number_rows(entries))
        return self._lines.last


def _write_steps(
    db: sqlite3.Connection,
    statement: str,
    found: Mapping[str, rows.Row],
    last: Mapping[str, int | None],
) -> None:
    """Store the changed asks, with the last line of each."""
    steps = [(*row, last.get(ask_id)) for ask_id, row in found.items()]
    if _execute(db, statement, steps) != len(steps):
        raise sqlite3.IntegrityError(asks.OUTDATED)


def _load_asks(db: sqlite3.Connection, wanted: set[str]) -> str:
    """Load the rows of these asks as JSON."""
    try:
        text = _with_marks(_LOAD, 1, len(wanted))
        found: str = db.execute(text, sorted(wanted)).fetchone()[0]
    except sqlite3.Error as error:
        if len(wanted) == 1 and rows.concerns_one_row(error):
            raise rows.unreadable_ask_error(next(iter(wanted)), error) from None
        raise
    return found


def _execute(db: sqlite3.Connection, statement: str, found: Sequence[rows.Row]) -> int:
    """Run a statement for many rows of values, in as few calls as possible, and return how many rows it wrote."""
    written = 0
    for first in range(0, len(found), _MAX_ROWS):
        part = found[first : first + _MAX_ROWS]
        text = _with_marks(statement, len(part), len(part[0]))
        written += db.execute(text, list(chain.from_iterable(part))).rowcount
    return written


@cache
def _with_marks(statement: str, count: int, width: int) -> str:
    """Return the statement with placeholders for the given number of rows. A single row is what IN takes.

    A click that comes alone waits 20 µs less than with json_each, and caching the text saves another 10 µs.
    """
    row = f"({','.join('?' * width)})"
    return statement.format(marks=",".join([row] * count))
