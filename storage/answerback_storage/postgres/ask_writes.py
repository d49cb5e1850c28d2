"""The statements that store asks: each writes an ask and all that belongs to it, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from answerback.core.ask import Ask
from answerback.ports.claims import Claim, Fence
from answerback.ports.store import Write
from answerback.ports.store_values import Delivery, Idempotency
from answerback_storage import rows
from answerback_storage.postgres import asks, late_answer_statements, outbox, search
from answerback_storage.postgres.sql import (
    Parameters,
    column_list,
    combine_statements,
    now_plus,
    unclaimed,
)

_SEEN: Final = ("text", "text", "float8", "text")
_MEMORY: Final = ("text", "bytea", "text", "text", "text", "text", "text", "text", "float8")
_KEY: Final = ("bytea", "text", "text", "text", "text", "float8")
_NEW: Final = ("text", "float8", "text", "text", *asks.WRITE_COLUMN_TYPES, "text")
_CLAIM: Final = ("boolean", "text", "float8")
_MOVED: Final = ("text", "bigint", *_CLAIM, *asks.WRITE_COLUMN_TYPES)
_DUE: Final = 5 + asks.WRITE_COLUMNS.split(", ").index("due")
_CLAIMED: Final = ", ".join(
    f"""{column} = CASE WHEN c3 IS NOT NULL AND (c2 OR {unclaimed("show_holder", "show_until")} OR show_holder = c3)
        THEN {value} WHEN NOT c2 THEN {column} END"""
    for column, value in (("show_holder", "c3"), ("show_until", now_plus("c4")))
)
"""A message that is up to date is nobody's, another is claimed if it is free."""


@dataclass(slots=True)
class AskWriteRows:
    """What one or more writes to an ask come to, as rows: made before others share a statement with it."""

    columns: rows.Row = ()
    """Those of `asks.WRITE_COLUMNS`, as the last write has them."""
    claimed: tuple[bool, Claim | None] = (False, None)
    """Whether the message was up to date in between, which ended its claim, and who claims it now."""
    lines: list[rows.Row] = field(default_factory=list)
    deliveries: list[tuple[str, Delivery]] = field(default_factory=list)
    memories: dict[bytes, rows.Row] = field(default_factory=dict)
    seen: list[rows.Row] = field(default_factory=list)
    owed: Ask | None = None
    ended: Ask | None = None

    def add(self, write: Write, delivery: str | None = None, digest: str = "") -> None:
        """Takes a write down; of something that is no text, StoreError and nothing."""
        ask, memory = write.ask, write.memory
        columns, lines = asks.ask_columns(ask), rows.entry_rows(ask.id, write.entries)
        if memory is not None:
            names = (
                memory.agent,
                memory.conversation,
                memory.turn,
                memory.tool,
                memory.question_id,
            )
            row = (
                ask.id,
                asks.unique_hash(*names),
                *names,
                rows.dump(memory.value),
                ask.updated_at,
            )
            self.memories[row[1]] = row
        self.columns = columns
        self.lines += lines
        self.deliveries += [(ask.id, one) for one in write.deliveries]
        ended, claim = self.claimed
        behind = ask.shown_revision < ask.revision
        self.claimed = (ended, claim or write.claim) if behind else (True, None)
        if write.owed:
            self.owed = ask
        if any(entry.kind == "ended" for entry in write.entries):
            self.ended = ask
        if delivery is not None:
            self.seen.append((ask.id, delivery, ask.updated_at, digest))

    def claim(self) -> rows.Row:
        """The columns of `_CLAIM`."""
        ended, claim = self.claimed
        return (ended, None, None) if claim is None else (ended, claim.holder, claim.seconds)


def build_update(
    units: Mapping[tuple[str, int], AskWriteRows], fence: Fence | None
) -> tuple[str, Parameters]:
    """The statement that moves asks, by their ids and the versions that were read; it tells which it moved."""
    given = Parameters()
    found = [
        (*named, *ask_columns.claim(), *ask_columns.columns)
        for named, ask_columns in sorted(units.items(), key=_by_name)
    ]
    sets = ", ".join(
        f"{name} = new.c{n}" for n, name in enumerate(asks.WRITE_COLUMNS.split(", "), 5)
    )
    parts = {
        "new": f"SELECT * FROM ({given.rows(found, _MOVED)}) AS new ({column_list(0, len(_MOVED) - 1)}, n)"
    }
    held = ""
    if fence is not None:
        parts["fenced"] = f"""SELECT 1 FROM leases WHERE name = {given.add(fence.lease)}
            AND epoch = {given.add(fence.epoch, "bigint")} AND until > clock_timestamp() FOR SHARE"""
        held = "AND EXISTS (SELECT 1 FROM fenced)"
    # Locked in the order of their ids: two replicas that move the same asks do not meet halfway.
    parts["same"] = f"""SELECT asks.id FROM asks JOIN new ON asks.id = c0 AND asks.version = c1
        WHERE true {held} ORDER BY asks.id FOR UPDATE OF asks"""
    parts["moved"] = f"""UPDATE asks SET version = asks.version + 1, {sets}, {_CLAIMED},
        due_holder = CASE WHEN asks.due IS NOT DISTINCT FROM new.c{_DUE} THEN due_holder END
        FROM new WHERE asks.id = c0 AND asks.id IN (SELECT id FROM same) RETURNING asks.id"""
    if ended := [unit.ended for unit in units.values() if unit.ended is not None]:
        parts["worded"] = search.add_answers(given, ended)
    parts |= _beside(given, units.values())
    return combine_statements(parts, "SELECT id FROM moved"), given


def _by_name(item: tuple[tuple[str, int], AskWriteRows]) -> tuple[str, int]:
    return item[0]


def build_insert(write: Write, idempotency: Idempotency | None) -> tuple[str, Parameters]:
    """The statement that stores a new ask, and tells its id; nothing, where the idempotency key is there already."""
    given, ask, request = Parameters(), write.ask, write.ask.request
    ask_columns = AskWriteRows()
    ask_columns.add(write)
    parts = {}
    key = "(SELECT) AS key"
    if idempotency is not None:
        names = (idempotency.agent, idempotency.key)
        values = (asks.unique_hash(*names), *names, idempotency.digest, ask.id, ask.created_at)
        parts["key"] = f"""INSERT INTO idempotency (hash, agent, key, digest, ask_id, at)
            VALUES ({given.row(values, _KEY)}) ON CONFLICT DO NOTHING RETURNING 1"""
        key = "key"
    parts["requested"] = f"""INSERT INTO requests (request)
        SELECT {given.add(rows.dump_request(request))} FROM {key} RETURNING seq"""
    _, holder, seconds = ask_columns.claim()
    named = (
        ask.id,
        ask.created_at,
        request.conversation,
        request.agent,
        *ask_columns.columns,
        holder,
    )
    parts["moved"] = f"""INSERT INTO asks
        (seq, id, created_at, conversation, agent, {asks.WRITE_COLUMNS}, show_holder, show_until)
        SELECT seq, {given.row(named, _NEW)}, {now_plus(given.add(seconds, "float8"))}
        FROM requested RETURNING id"""
    parts["worded"] = search.insert(given, ask)
    parts |= _beside(given, [ask_columns])
    return combine_statements(parts, "SELECT id FROM moved"), given


def _beside(given: Parameters, units: Iterable[AskWriteRows]) -> Mapping[str, str]:
    """What is stored beside the asks in ``moved``, where there is any."""
    units = list(units)
    parts = {}
    if lines := [line for unit in units for line in unit.lines]:
        parts["noted"] = asks.record_lines(given, lines, "moved")
    if deliveries := [one for unit in units for one in unit.deliveries]:
        parts["told"] = outbox.insert(given, deliveries, "moved")
    if memories := [row for unit in units for row in unit.memories.values()]:
        parts["remembering"] = _remember(given, memories)
    if ended := [unit.owed for unit in units if unit.owed is not None]:
        parts["owing"] = late_answer_statements.insert_owed(given, ended)
    if seen := [row for unit in units for row in unit.seen]:
        parts["noticed"] = f"""INSERT INTO seen (id, at, digest) SELECT c1, c2, c3
            FROM ({given.rows(seen, _SEEN)}) AS new ({column_list(0, len(_SEEN) - 1)}, n) JOIN moved ON moved.id = c0"""
    return parts


def _remember(given: Parameters, memories: Sequence[rows.Row]) -> str:
    """The last answer counts, also among those of one statement, which PostgreSQL takes no two of."""
    last = {row[1]: row for row in memories}.values()
    return f"""INSERT INTO remembered (hash, agent, conversation, turn, tool, question_id, value, at)
        SELECT {column_list(1, 8)}
        FROM ({given.rows(last, _MEMORY)}) AS new ({column_list(0, len(_MEMORY) - 1)}, n) JOIN moved ON moved.id = c0
        ON CONFLICT (hash) DO UPDATE SET value = excluded.value, at = excluded.at"""
