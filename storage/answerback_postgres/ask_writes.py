"""The statements that store asks. Each writes an ask and everything that belongs to it, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from answerback.core.ask import Ask
from answerback.core.grants import Grant, GrantEnd, GrantUse
from answerback.core.urgency import PLACES
from answerback.ports.claims import Claim, Fence
from answerback.ports.store import Write
from answerback.ports.store_values import NO_LIMITS, AskLimits, Idempotency
from answerback_postgres import asks, search
from answerback_postgres.sql import (
    Parameters,
    column_list,
    combine_statements,
    now_plus,
    unclaimed,
)
from answerback_storage import extension_rows, grants, late_answers, rows

_SEEN_TYPES: Final = ("text", "float8", "text")
_MEMORY_TYPES: Final = ("bytea", "text", "text", "text", "text", "text", "text", "float8")
_KEY_TYPES: Final = ("bytea", "text", "text", "text", "text", "float8")
_NEW_TYPES: Final = (
    "text",
    "float8",
    "text",
    "text",
    "smallint",
    "text",
    *asks.WRITE_COLUMN_TYPES,
    "text",
)
_OWED_TYPES: Final = ("text", "text", "text", "float8", "int")
_NEWLY_SEEN_TYPES: Final = ("text", "int", "float8")
_GRANT_TYPES: Final = (
    *("text", "text", "text", "float8", "float8"),
    *("int", "int", "float8", "text"),
)
_DELIVERY_TYPES: Final = (
    *("text", "text", "text", "text", "text", "text", "float8", "text"),
    *("bigint", "float8", "bigint", "text", "float8"),
)
_ROW_TYPES: Final = ("text", "text", "text", "float8")
_LIMIT_TYPES: Final = ("text", "text", "float8", "boolean", "int", "int", "int")
_CLAIM_TYPES: Final = ("boolean", "text", "float8")
_UPDATE_TYPES: Final = ("text", "bigint", *_CLAIM_TYPES, *asks.WRITE_COLUMN_TYPES)
_DUE_COLUMN: Final = 5 + asks.WRITE_COLUMNS.split(", ").index("due")
_CLAIMED: Final = ", ".join(
    f"""{column} = CASE WHEN c3 IS NOT NULL AND (c2 OR {unclaimed("show_holder", "show_until")} OR show_holder = c3)
        THEN {value} WHEN NOT c2 THEN {column} END"""
    for column, value in (("show_holder", "c3"), ("show_until", now_plus("c4")))
)
"""A message that is up to date loses its claim; any other is claimed if it is free."""


@dataclass(slots=True)
class AskWriteRows:
    """The rows for one or more writes to an ask, built before other asks share a statement with it."""

    columns: rows.Row = ()
    """The values of `asks.WRITE_COLUMNS` after the last write."""
    claimed: tuple[bool, Claim | None] = (False, None)
    """True if the message was up to date in between, which ended its claim; and who claims it now."""
    lines: list[rows.Row] = field(default_factory=list)
    deliveries: list[rows.Row] = field(default_factory=list)
    extension_rows: list[rows.Row] = field(default_factory=list)
    """The rows of extensions."""
    memories: list[rows.Row] = field(default_factory=list)
    seen: list[rows.Row] = field(default_factory=list)
    owed: rows.Row | None = None
    """The debt to the agent from now on, and how much it has seen of it meanwhile: see `_OWED_TYPES`."""
    newly_seen: rows.Row | None = None
    """The part that the agent has seen of what was owed before: the ask's id, the state and the time."""
    ended: Ask | None = None
    ask_rows: dict[tuple[str, tuple[str, ...]], rows.Row] = field(default_factory=dict)
    """The rows of tables of extensions that are numbered as the asks, by table and columns."""
    files: dict[str, bool] = field(default_factory=dict)
    """The files of answers by their ids: true if the ask claims it, false if it is deleted."""
    made: Grant | None = None
    revoked: rows.Row | None = None

    def add(self, write: Write, delivery: str | None = None, digest: str = "") -> None:
        """Add a write. If it contains something that is not text, raise StoreError and add nothing."""
        ask, memory = write.ask, write.memory
        columns, lines = asks.ask_columns(ask), rows.entry_rows(ask.id, write.entries)
        if memory is not None:
            names = (memory.agent, memory.conversation, memory.turn, memory.tool, memory.question)
            value = rows.dump(memory.value)
            self.memories.append((ask.id, asks.unique_hash(*names), *names, value, ask.updated_at))
        self.columns = columns
        self.lines += lines
        self.deliveries += [
            (ask.id, *rows.delivery_row(rows.new_delivery(sent))) for sent in write.deliveries
        ]
        self.extension_rows += [
            (ask.id, *extension_rows.row(new, ask.id, ask.updated_at)) for new in write.rows
        ]
        ended, claim = self.claimed
        behind = ask.placement.shown_revision < ask.revision
        self.claimed = (ended, claim or write.claim) if behind else (True, None)
        if write.owed:
            self.owed, self.newly_seen = (*late_answers.owed_row(ask), 0), None
        if write.seen_state is not None:
            self._add_seen(ask, int(write.seen_state))
        if any(entry.kind == "ended" for entry in write.entries):
            self.ended = ask
        for table, columns_of_table, new_values in write.ask_rows:
            self.ask_rows[table, columns_of_table] = (ask.id, *new_values)
        if isinstance(write.grant, Grant):
            self.made = write.grant
        if isinstance(write.grant, GrantEnd):
            self.revoked = (ask.id, *write.grant)
        if write.files is not None:
            self.files |= dict.fromkeys(write.files.claimed, True)
            self.files |= dict.fromkeys(write.files.dropped, False)
        if delivery is not None:
            self.seen.append((ask.id, delivery, ask.updated_at, digest))

    def _add_seen(self, ask: Ask, state: int) -> None:
        # One statement cannot change a row twice.
        if self.owed is None:
            self.newly_seen = (ask.id, state, ask.collection.read_by_agent_at)
        else:
            self.owed = (*self.owed[:3], ask.collection.read_by_agent_at, state)

    def claim(self) -> rows.Row:
        """Return the values for `_CLAIM_TYPES`."""
        ended, claim = self.claimed
        return (ended, None, None) if claim is None else (ended, claim.holder, claim.seconds)


def build_update(
    writes: Mapping[tuple[str, int], AskWriteRows], fence: Fence | None
) -> tuple[str, Parameters]:
    """Build the statement that updates asks at the versions that were read, and returns the ids of those updated."""
    params = Parameters()
    new_rows = [
        (*identity, *writes[identity].claim(), *writes[identity].columns)
        for identity in sorted(writes)
    ]
    sets = ", ".join(
        f"{name} = new.c{n}" for n, name in enumerate(asks.WRITE_COLUMNS.split(", "), 5)
    )
    parts = {"new": f"SELECT * FROM {params.table(new_rows, _UPDATE_TYPES)}"}
    fence_condition = ""
    if fence is not None:
        parts["fenced"] = f"""SELECT 1 FROM leases WHERE name = {params.add(fence.lease)}
            AND epoch = {params.add(fence.epoch, "bigint")} AND until > clock_timestamp() FOR SHARE"""
        fence_condition = "AND EXISTS (SELECT 1 FROM fenced)"
    before, behind, files_found = _file_parts(params, writes)
    parts |= before
    # Lock rows in id order, so that two replicas that update the same asks do not deadlock.
    parts["locked"] = f"""SELECT asks.id FROM asks JOIN new ON asks.id = c0 AND asks.version = c1
        WHERE true {fence_condition} {files_found} ORDER BY asks.id FOR UPDATE OF asks"""
    parts["stored"] = f"""UPDATE asks SET version = asks.version + 1, {sets}, {_CLAIMED},
        due_holder = CASE WHEN asks.due IS NOT DISTINCT FROM new.c{_DUE_COLUMN} THEN due_holder END
        FROM new WHERE asks.id = c0 AND asks.id IN (SELECT id FROM locked) RETURNING asks.id, asks.seq"""
    if ended := [unit.ended for unit in writes.values() if unit.ended is not None]:
        parts["indexed"] = search.add_answers(params, ended)
    parts |= {**behind, **_related_parts(params, writes.values())}
    return combine_statements(parts, "SELECT id FROM stored"), params


def build_insert(
    write: Write, idempotency: Idempotency | None, limits: AskLimits
) -> tuple[str, Parameters]:
    """Build the statement that stores a new ask, unless the idempotency key exists or a limit is reached.

    It returns one row: the ask's id or null, the limit that was reached or null, and the seconds to wait or null.
    """
    params, ask, request = Parameters(), write.ask, write.ask.request
    write_rows = AskWriteRows()
    write_rows.add(write)
    parts = {
        "admitted": "SELECT NULL::text AS reached, NULL::float8 AS wait"
        if limits == NO_LIMITS
        else f"SELECT reached, wait FROM limit_reached({_limit_arguments(params, ask, limits)})"
    }
    source = "admitted WHERE reached IS NULL"
    names = () if idempotency is None else (idempotency.agent, idempotency.key)
    if request.files:
        parts["files_found"], parts["files_claimed"] = _claim_files(params, ask, source)
        parts["files_ready"] = "SELECT 1 FROM files_claimed LIMIT 1"
        source = "files_ready"
    if isinstance(write.grant, GrantUse):
        # A repeated submission uses no grant. Of two at the same time, one use is not the next any more.
        known = params.add(asks.unique_hash(*names), "bytea")
        unknown = f"AND NOT EXISTS (SELECT 1 FROM idempotency WHERE hash = {known})"
        parts["granted"] = _use_grant(params, write.grant, f"{source} {unknown}")
        source = "granted"
    if idempotency is not None:
        values = (asks.unique_hash(*names), *names, idempotency.digest, ask.id, ask.created_at)
        parts["key_stored"] = f"""INSERT INTO idempotency (hash, agent, key, digest, ask_id, at)
            SELECT {params.row(values, _KEY_TYPES)} FROM {source}
            ON CONFLICT DO NOTHING RETURNING 1"""
        source = "key_stored"
    parts["requested"] = f"""INSERT INTO requests (request)
        SELECT {params.add(rows.dump_request(request))} FROM {source} RETURNING seq"""
    _, holder, seconds = write_rows.claim()
    identity = (
        ask.id,
        ask.created_at,
        request.conversation,
        request.agent,
        PLACES[request.urgency],
        (request.route or "")[: rows.ROUTE_CHARACTERS],
        *write_rows.columns,
        holder,
    )
    parts["stored"] = f"""INSERT INTO asks
        (seq, id, created_at, conversation, agent, urgency, route, {asks.WRITE_COLUMNS}, show_holder, show_until)
        SELECT seq, {params.row(identity, _NEW_TYPES)}, {now_plus(params.add(seconds, "float8"))}
        FROM requested RETURNING id, seq"""
    parts["indexed"] = search.insert(params, ask)
    parts |= _related_parts(params, [write_rows])
    result = "SELECT stored.id, reached, wait FROM admitted LEFT JOIN stored ON true"
    return combine_statements(parts, result), params


def _limit_arguments(params: Parameters, ask: Ask, limits: AskLimits) -> str:
    whose = (ask.request.agent, ask.request.conversation)
    counts = (limits.asks_per_minute, limits.open_asks, limits.open_asks_per_conversation)
    return params.row((*whose, ask.created_at, ask.open, *counts), _LIMIT_TYPES)


def _related_parts(params: Parameters, writes: Iterable[AskWriteRows]) -> Mapping[str, str]:
    """Build the parts that store what belongs to the asks in ``stored``."""
    writes = list(writes)

    def insert(into: str, what: str, new: Iterable[rows.Row], kinds: Sequence[str]) -> str:
        """Insert rows, whose first column is the ask that they belong to."""
        table = params.table(new, ("text", *kinds))
        return f"INSERT INTO {into} SELECT {what} FROM {table} JOIN stored ON stored.id = c0 ORDER BY n"

    parts = _owed_parts(params, writes)
    if lines := [line for unit in writes for line in unit.lines]:
        parts["recorded"] = asks.insert_lines(params, lines, "stored")
    if deliveries := [row for unit in writes for row in unit.deliveries]:
        columns = column_list(1, len(_DELIVERY_TYPES))
        into = f"deliveries ({rows.DELIVERY_COLUMNS})"
        parts["queued"] = insert(into, columns, deliveries, _DELIVERY_TYPES)
    if new := [row for unit in writes for row in unit.extension_rows]:
        into = "extension_rows (name, ask_id, value, at)"
        parts["rows_of_extensions"] = insert(into, column_list(1, 4), new, _ROW_TYPES)
    # Only the last answer per key is sent: PostgreSQL rejects duplicates.
    if memories := {row[1]: row for unit in writes for row in unit.memories}:
        into = "remembered (hash, agent, conversation, turn, tool, question_id, value, at)"
        parts[
            "answers_remembered"
        ] = f"""{insert(into, column_list(1, 8), memories.values(), _MEMORY_TYPES)}
            ON CONFLICT (hash) DO UPDATE SET value = excluded.value, at = excluded.at"""
    for table, names in dict.fromkeys(key for unit in writes for key in unit.ask_rows):
        found = [unit.ask_rows[table, names] for unit in writes if (table, names) in unit.ask_rows]
        into, columns = f"{table} (seq, {', '.join(names)})", column_list(1, len(names))
        parts[f"{table}_stored"] = insert(
            into, f"stored.seq, {columns}", found, ["text"] * len(names)
        )
    if made := [unit.made for unit in writes if unit.made is not None]:
        columns = column_list(1, len(_GRANT_TYPES))
        granted = [(grant.ask_id, *grants.row(grant)) for grant in made]
        into = f"grants ({', '.join(grants.COLUMNS)})"
        parts["grants_made"] = insert(into, columns, granted, _GRANT_TYPES)
    if revoked := [unit.revoked for unit in writes if unit.revoked is not None]:
        ended = params.table(revoked, ("text", "text", "float8"))
        parts["grants_revoked"] = f"""UPDATE grants SET ended_at = c2 FROM {ended}
            JOIN stored ON stored.id = c0 WHERE grants.id = c1 AND ended_at IS NULL"""
    if seen := [row for unit in writes for row in unit.seen]:
        parts["deliveries_seen"] = insert("seen (id, at, digest)", "c1, c2, c3", seen, _SEEN_TYPES)
    return parts


def _owed_parts(params: Parameters, writes: Iterable[AskWriteRows]) -> dict[str, str]:
    """Build the parts that store what is owed to agents, and what they have seen of it."""
    parts = {}
    if owed := [unit.owed for unit in writes if unit.owed is not None]:
        parts["outcomes_owed"] = f"""INSERT INTO owed (ask_id, agent, conversation, at, told)
            SELECT c0, c1, c2, c3, c4 FROM {params.table(owed, _OWED_TYPES)}
            JOIN stored ON stored.id = c0 ORDER BY n
            ON CONFLICT (ask_id) DO UPDATE SET told = excluded.told, number = NULL, at = excluded.at"""
    if newly_seen := [unit.newly_seen for unit in writes if unit.newly_seen is not None]:
        parts["outcomes_told"] = f"""UPDATE owed SET told = c1, at = c2
            FROM {params.table(newly_seen, _NEWLY_SEEN_TYPES)} JOIN stored ON stored.id = c0
            WHERE ask_id = c0 AND told < c1"""
    return parts


def _file_parts(
    params: Parameters, writes: Mapping[tuple[str, int], AskWriteRows]
) -> tuple[dict[str, str], dict[str, str], str]:
    """Build the parts that claim the files of answers and delete those that no answer names any more.

    Returns the parts before and behind ``stored``, and the condition under which an ask is stored: all that it claims
    is there.
    """
    files = [
        (ask_id, file_id, is_claimed)
        for (ask_id, _), unit in writes.items()
        for file_id, is_claimed in unit.files.items()
    ]
    before, behind, condition = {}, {}, ""
    if claimed := [row[:2] for row in files if row[2]]:
        before["files_wanted"] = f"SELECT c0, c1 FROM {params.table(claimed, ('text', 'text'))}"
        # A file that is deleted or claimed at this moment is waited for, and is then found no more.
        before["files_found"] = """SELECT id FROM files WHERE id IN (SELECT c1 FROM files_wanted)
            AND ask_id IS NULL AND value IS NOT NULL ORDER BY id FOR UPDATE"""
        # Of several asks in this statement that claim a file, one gets it. The others find it no more and are refused.
        condition = """ AND NOT EXISTS (SELECT 1 FROM files_wanted AS wanted
            WHERE wanted.c0 = asks.id AND (wanted.c1 NOT IN (SELECT id FROM files_found) OR EXISTS
                (SELECT 1 FROM files_wanted AS other WHERE other.c1 = wanted.c1 AND other.c0 < wanted.c0)))"""
        behind["files_claimed"] = """UPDATE files SET ask_id = c0 FROM files_wanted
            JOIN stored ON stored.id = c0 WHERE files.id = c1"""
    if dropped := [row[:2] for row in files if not row[2]]:
        table = params.table(dropped, ("text", "text"))
        behind["files_dropped"] = f"""DELETE FROM files USING {table} JOIN stored ON stored.id = c0
            WHERE files.id = c1"""
    return before, behind, condition


def _claim_files(params: Parameters, ask: Ask, source: str) -> tuple[str, str]:
    """Build the parts that find the files of a new ask and, if all are there and ``source`` has a row, claim them.

    The second one returns a row for each if they are claimed. A repeated submission finds none any more.
    """
    wanted = [(each.id,) for each in ask.request.files]
    agent = params.add(ask.request.agent or "")
    # A file that another ask claims at this moment is waited for, and is then found no more.
    found = f"""SELECT id FROM files WHERE id IN (SELECT c0 FROM {params.table(wanted, ("text",))})
        AND agent = {agent} AND ask_id IS NULL AND value IS NOT NULL ORDER BY id FOR UPDATE"""
    claimed = f"""UPDATE files SET ask_id = {params.add(ask.id)} FROM {source}
        {"AND" if " WHERE " in source else "WHERE"} files.id IN (SELECT id FROM files_found)
        AND (SELECT count(*) FROM files_found) = {len(wanted)} RETURNING 1"""
    return found, claimed


def _use_grant(params: Parameters, used: GrantUse, source: str) -> str:
    """Build the part that counts a use if ``source`` has a row; it returns one if the use still was the next."""
    number, at = params.add(used.number, "int"), params.add(used.at, "float8")
    return f"""UPDATE grants SET used = used + 1 FROM {source} AND id = {params.add(used.id)}
        AND used = {number} - 1 AND used < uses AND grants.at <= {at} AND until > {at} AND ended_at IS NULL
        RETURNING 1"""
