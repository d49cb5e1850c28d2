"""The schema of the PostgreSQL database, as migrations that are applied in order and never edited once released.

A migration only adds to what the previous version uses. What no version uses any more is removed one release later,
because old and new replicas run side by side. Times are in seconds (UTC). JSON is text: ``jsonb`` rejects U+0000.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from answerback.core.errors import DatabaseTooNewError, StoreError
from answerback_storage.postgres import ask_limits, content_statistics, people, receipts, search
from answerback_storage.postgres.connections import Connection, Database
from answerback_storage.postgres.grants import TABLES as GRANT_TABLES
from answerback_storage.postgres.links import TABLE as LINK_TABLE
from answerback_storage.postgres.server_check import check_server
from answerback_storage.postgres.sql import index_expression
from answerback_storage.schema_upgrades import log_upgrade

logger = logging.getLogger(__name__)

_LOCK: Final = 0x416E7362
"""The advisory lock that a migrating process holds for its transaction: "Ansb"."""


class Migration(NamedTuple):
    """One step: its name, which never changes once released, and its statements."""

    name: str
    statements: tuple[str, ...]
    then: Callable[[Connection], Awaitable[None]] | None = None
    """Further work in the same transaction."""


def _index_columns(*columns: str) -> str:
    return ", ".join(map(index_expression, columns))


def _counter_statements(table: str, column: str) -> tuple[str, ...]:
    """Return the statements that count a table's rows by a column.

    Each server process adds to one of 64 rows per name, so that processes seldom wait for each other.
    """
    return (
        f"""CREATE FUNCTION count_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF TG_OP <> 'INSERT' THEN
                INSERT INTO counters VALUES (OLD.{column}, pg_backend_pid() % 64, -1)
                    ON CONFLICT (name, slot) DO UPDATE SET n = counters.n - 1;
            END IF;
            INSERT INTO counters VALUES (NEW.{column}, pg_backend_pid() % 64, 1)
                ON CONFLICT (name, slot) DO UPDATE SET n = counters.n + 1;
            RETURN NULL;
        END $$""",
        f"""CREATE TRIGGER {table}_counted AFTER INSERT ON {table}
            FOR EACH ROW EXECUTE FUNCTION count_{table}()""",
        f"""CREATE TRIGGER {table}_recounted AFTER UPDATE OF {column} ON {table}
            FOR EACH ROW WHEN (OLD.{column} <> NEW.{column}) EXECUTE FUNCTION count_{table}()""",
    )


_FIRST: Final = (
    # What the agent sent can be 256 KiB and never changes. It has a row of its own, so that a click does not write it
    # again.
    """CREATE TABLE requests (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        request text NOT NULL
    )""",
    # `version` grows with every write, and writes compare it; `revision` is what people see.
    """CREATE TABLE asks (
        seq bigint PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        version bigint NOT NULL DEFAULT 0,
        status text NOT NULL,
        surface text NOT NULL,
        channel text,
        thread_id text,
        conversation text,
        agent text,
        revision bigint NOT NULL,
        shown_revision bigint NOT NULL,
        due double precision,
        created_at double precision NOT NULL,
        updated_at double precision NOT NULL,
        message text,
        message_id text,
        thread text,
        state text NOT NULL,
        show_holder text,
        show_until timestamptz,
        due_holder text,
        due_until timestamptz
    )""",
    "CREATE INDEX asks_by_status ON asks (status, seq)",
    f"CREATE INDEX asks_by_surface ON asks ({_index_columns('surface')}, seq)",
    f"CREATE INDEX asks_by_surface_status ON asks ({_index_columns('surface')}, status, seq)",
    f"CREATE INDEX asks_by_agent ON asks ({_index_columns('agent')}, seq) WHERE agent IS NOT NULL",
    f"CREATE INDEX asks_by_agent_status ON asks ({_index_columns('agent')}, status, seq) WHERE agent IS NOT NULL",
    f"""CREATE INDEX asks_by_conversation ON asks ({_index_columns("conversation")}, seq)
        WHERE conversation IS NOT NULL""",
    f"""CREATE INDEX asks_in_channel ON asks ({_index_columns("surface", "channel")}, seq)
        WHERE status = 'open' AND channel IS NOT NULL""",
    f"""CREATE INDEX asks_in_thread ON asks ({_index_columns("surface", "channel", "thread_id")}, seq)
        WHERE status = 'open' AND thread_id IS NOT NULL""",
    f"""CREATE INDEX asks_by_message ON asks ({_index_columns("surface", "message_id")})
        WHERE status = 'open' AND message_id IS NOT NULL""",
    "CREATE INDEX asks_due ON asks (due) WHERE due IS NOT NULL",
    "CREATE INDEX asks_due_claimed ON asks (due_holder) WHERE due_holder IS NOT NULL",
    f"""CREATE INDEX asks_behind ON asks ({_index_columns("surface", "channel")}, (message IS NULL), updated_at)
        WHERE shown_revision < revision""",
    # The record refers to an ask only by id, because it outlives the ask.
    """CREATE TABLE record (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        ask_id text COLLATE "C",
        at double precision NOT NULL,
        kind text NOT NULL,
        entry text NOT NULL
    )""",
    "CREATE INDEX record_by_ask ON record (ask_id, seq) WHERE ask_id IS NOT NULL",
    """CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'the record is append-only';
    END $$""",
    """CREATE TRIGGER record_is_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON record
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()""",
    """CREATE TABLE deliveries (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        id text COLLATE "C" NOT NULL UNIQUE,
        ask_id text COLLATE "C" NOT NULL,
        type text NOT NULL,
        url text NOT NULL,
        agent text,
        body text NOT NULL,
        created_at double precision NOT NULL,
        state text NOT NULL,
        tries bigint NOT NULL,
        next_at double precision,
        last_status bigint,
        last_error text,
        updated_at double precision NOT NULL,
        holder text,
        claimed_until timestamptz
    )""",
    "CREATE INDEX deliveries_by_state ON deliveries (state, seq)",
    f"CREATE INDEX deliveries_by_agent ON deliveries ({_index_columns('agent')}, seq) WHERE agent IS NOT NULL",
    f"""CREATE INDEX deliveries_by_agent_state ON deliveries ({_index_columns("agent")}, state, seq)
        WHERE agent IS NOT NULL""",
    "CREATE INDEX deliveries_due ON deliveries (next_at) WHERE state = 'pending'",
    "CREATE INDEX deliveries_claimed ON deliveries (holder) WHERE state = 'pending' AND holder IS NOT NULL",
    "CREATE INDEX deliveries_waiting ON deliveries (ask_id, seq) WHERE state = 'pending'",
    'CREATE TABLE seen (id text COLLATE "C" PRIMARY KEY, at double precision NOT NULL)',
    "CREATE INDEX seen_by_time ON seen (at)",
    # A key may be longer than an index entry can be, so its SHA-256 (`asks.unique_hash`) is what is unique.
    """CREATE TABLE idempotency (
        hash bytea PRIMARY KEY,
        agent text NOT NULL,
        key text NOT NULL,
        digest text NOT NULL,
        ask_id text COLLATE "C" NOT NULL,
        at double precision NOT NULL
    )""",
    "CREATE INDEX idempotency_by_time ON idempotency (at)",
    """CREATE TABLE remembered (
        hash bytea PRIMARY KEY,
        agent text NOT NULL,
        conversation text NOT NULL,
        turn text NOT NULL,
        tool text NOT NULL,
        question_id text NOT NULL,
        value text NOT NULL,
        at double precision NOT NULL
    )""",
    "CREATE INDEX remembered_by_time ON remembered (at)",
    """CREATE TABLE drafts (
        hash bytea PRIMARY KEY,
        key text NOT NULL,
        value text NOT NULL,
        at double precision NOT NULL
    )""",
    "CREATE INDEX drafts_by_time ON drafts (at)",
    """CREATE TABLE owed (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        ask_id text COLLATE "C" NOT NULL UNIQUE,
        agent text NOT NULL,
        conversation text NOT NULL,
        told bigint NOT NULL,
        number bigint,
        at double precision NOT NULL
    )""",
    f"CREATE INDEX owed_to_agent ON owed ({_index_columns('agent', 'conversation')}) WHERE told < 2",
    "CREATE INDEX owed_by_time ON owed (at) WHERE told > 0",
    # The number assigned last: it grows even when rows are deleted.
    "CREATE TABLE listed (id int PRIMARY KEY CHECK (id = 1), last bigint NOT NULL)",
    "INSERT INTO listed VALUES (1, 0)",
    """CREATE TABLE leases (
        name text PRIMARY KEY,
        holder text NOT NULL,
        epoch bigint NOT NULL,
        until timestamptz NOT NULL
    )""",
    "CREATE TABLE buckets (bucket text PRIMARY KEY, not_before timestamptz NOT NULL)",
    "CREATE TABLE secrets (name text PRIMARY KEY, value bytea NOT NULL)",
    # One row that `check` writes, to prove that writing works.
    "CREATE TABLE health (id int PRIMARY KEY CHECK (id = 1), checks bigint NOT NULL)",
    "INSERT INTO health VALUES (1, 0)",
    # The number of rows by status and state, since count(*) would read them all.
    """CREATE TABLE counters (
        name text,
        slot int,
        n bigint NOT NULL,
        PRIMARY KEY (name, slot)
    ) WITH (fillfactor = 50)""",
    *_counter_statements("asks", "status"),
    *_counter_statements("deliveries", "state"),
)

_ERASING: Final = (
    "ALTER TABLE asks ADD COLUMN erased_at double precision",
    """CREATE INDEX asks_to_erase ON asks (updated_at)
        WHERE status <> 'open' AND erased_at IS NULL""",
    "CREATE INDEX record_of_no_ask ON record (at) WHERE ask_id IS NULL",
    "CREATE INDEX deliveries_of_ask ON deliveries (ask_id)",
    "CREATE INDEX idempotency_of_ask ON idempotency (ask_id)",
    "DROP TRIGGER record_is_not_changed ON record",
    """CREATE TRIGGER record_is_not_truncated BEFORE TRUNCATE ON record
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()""",
    """CREATE FUNCTION is_erased(wanted text) RETURNS boolean LANGUAGE sql STABLE AS $$
        SELECT EXISTS (SELECT 1 FROM asks WHERE id = wanted AND erased_at IS NOT NULL)
    $$""",
    """CREATE TRIGGER record_is_not_changed BEFORE UPDATE ON record FOR EACH ROW WHEN (
        (NEW.seq, NEW.ask_id, NEW.at, NEW.kind) IS DISTINCT FROM (OLD.seq, OLD.ask_id, OLD.at, OLD.kind)
        OR NOT is_erased(OLD.ask_id)) EXECUTE FUNCTION refuse_change()""",
    """CREATE TRIGGER record_is_not_deleted BEFORE DELETE ON record FOR EACH ROW
        WHEN (OLD.ask_id IS NOT NULL) EXECUTE FUNCTION refuse_change()""",
)
"""Let the content of ended asks be erased, and lines of no ask deleted. Otherwise the record stays append-only."""

_SEARCHED: Final = (
    "CREATE TABLE asks_words (seq bigint PRIMARY KEY, words tsvector NOT NULL)",
    "CREATE INDEX asks_by_words ON asks_words USING gin (words)",
    """CREATE FUNCTION erase_words() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        DELETE FROM asks_words WHERE seq = OLD.seq;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER words_are_erased AFTER UPDATE ON requests
        FOR EACH ROW EXECUTE FUNCTION erase_words()""",
)
_DIGESTS: Final = ("ALTER TABLE seen ADD COLUMN digest text NOT NULL DEFAULT ''",)
"""Tell deliveries apart that share a caller-chosen id but have different content."""
_IN_PLACE: Final = (
    # Nobody writes in the meantime, and no reader waits for this transaction to write.
    "LOCK TABLE asks IN ACCESS EXCLUSIVE MODE",
    "DROP INDEX asks_behind",
    "DROP INDEX asks_to_erase",
    # The asks with outdated messages. A trigger maintains the table, so that replicas of older versions do too.
    "CREATE TABLE behind (seq bigint PRIMARY KEY)",
    """CREATE FUNCTION note_behind() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.shown_revision < NEW.revision THEN
            INSERT INTO behind VALUES (NEW.seq) ON CONFLICT DO NOTHING;
        ELSE
            DELETE FROM behind WHERE seq = NEW.seq;
        END IF;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER asks_fall_behind AFTER INSERT ON asks FOR EACH ROW
        WHEN (NEW.shown_revision < NEW.revision) EXECUTE FUNCTION note_behind()""",
    """CREATE TRIGGER asks_are_shown AFTER UPDATE OF revision, shown_revision ON asks FOR EACH ROW
        WHEN ((OLD.shown_revision < OLD.revision) <> (NEW.shown_revision < NEW.revision))
        EXECUTE FUNCTION note_behind()""",
    "INSERT INTO behind SELECT seq FROM asks WHERE shown_revision < revision",
    # Leave space for the next version of a row next to it.
    "ALTER TABLE asks SET (fillfactor = 70)",
    """ALTER TABLE asks ADD COLUMN settled_at double precision
        GENERATED ALWAYS AS (CASE WHEN status <> 'open' THEN updated_at END) STORED""",
    """CREATE INDEX asks_to_erase ON asks (settled_at)
        WHERE settled_at IS NOT NULL AND erased_at IS NULL""",
)
"""Let a click change no indexed column of ``asks``, so that the server does not rewrite its ten index entries.
Older replicas only read more slowly: https://www.postgresql.org/docs/current/storage-hot.html"""
_LEFT_BEHIND: Final = (
    "ALTER TABLE asks ADD COLUMN left_channel text, ADD COLUMN left_until double precision",
    f"""CREATE INDEX asks_left_behind ON asks ({index_expression("left_channel")}, left_until)
        WHERE left_channel IS NOT NULL""",
)
"""Find asks by the channel that they moved away from, and until when they looked open there."""
_CHANGES: Final = (
    "ALTER TABLE record ADD COLUMN tx bigint NOT NULL DEFAULT 0",
    "ALTER TABLE record ALTER COLUMN tx SET DEFAULT pg_current_xact_id()::text::bigint",
    "CREATE INDEX record_by_change ON record (tx, seq) WHERE ask_id IS NOT NULL",
    "DROP TRIGGER record_is_not_changed ON record",
    """CREATE TRIGGER record_is_not_changed BEFORE UPDATE ON record FOR EACH ROW WHEN (
        (NEW.seq, NEW.ask_id, NEW.at, NEW.kind) IS DISTINCT FROM (OLD.seq, OLD.ask_id, OLD.at, OLD.kind)
        OR (NEW.entry IS DISTINCT FROM OLD.entry AND NOT is_erased(OLD.ask_id))) EXECUTE FUNCTION refuse_change()""",
)
"""Number the lines by the transactions that wrote them, so that exports can follow the changes."""
MIGRATIONS: Final = (
    Migration("asks_record_and_outbox", _FIRST),
    Migration("erasing", _ERASING),
    Migration("searched", _SEARCHED, search.index_existing_asks),
    Migration("digests", _DIGESTS),
    Migration("in_place", _IN_PLACE),
    Migration("without_statistics", content_statistics.STATEMENTS),
    Migration("limited", ask_limits.STATEMENTS),
    Migration("left_behind", _LEFT_BEHIND),
    Migration("changes", _CHANGES),
    Migration("receipts", receipts.TABLES),
    Migration("pushed", people.PUSH_STATEMENTS),
    Migration("grants", GRANT_TABLES),
    Migration("agent_tokens", people.TABLES),
    Migration("linked", (LINK_TABLE,)),
)
_OURS: Final = ("requests", "asks", "record", "deliveries", "seen", "idempotency", "health")


async def migrate(database: Database) -> None:
    """Bring the schema up to date. If several processes start at once, the others wait for the first.

    Raises:
        DatabaseTooNewError: a newer Answerback wrote it.
        StoreError: it cannot be used. The message says why.
    """
    async with database.transaction() as connection:
        await check_server(connection, database.name)
        applied = await _applied(connection, database.name)
        if applied == {step.name for step in MIGRATIONS}:
            return
        await connection.execute("SELECT pg_advisory_xact_lock($1)", (_LOCK,))
        applied = await _applied(connection, database.name)
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS answerback_migrations (name text PRIMARY KEY, at timestamptz NOT NULL)"
        )
        missing = [step for step in MIGRATIONS if step.name not in applied]
        for step in missing:
            for statement in step.statements:
                await connection.execute(statement.encode())
            if step.then is not None:
                await step.then(connection)
            await connection.execute(
                "INSERT INTO answerback_migrations VALUES ($1, now())", (step.name,)
            )
    if missing and applied:
        log_upgrade(logger, [step.name for step in missing])


async def unapplied(connection: Connection, name: str) -> list[str] | None:
    """Return the migrations that a start would apply, or None if there are no tables yet.

    Raises:
        StoreError: it cannot be used; DatabaseTooNewError, if a newer Answerback wrote it. The message says why.
    """
    await check_server(connection, name)
    applied = await _applied(connection, name)
    return [step.name for step in MIGRATIONS if step.name not in applied] if applied else None


async def _applied(connection: Connection, name: str) -> set[str]:
    """Return the migrations that were applied. Refuse a schema that is not ours, or newer than this version."""
    found = await connection.execute(
        "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
    )
    tables = {table for (table,) in await found.fetchall()}
    if "answerback_migrations" not in tables:
        if others := sorted(tables.intersection(_OURS)):
            raise StoreError(
                f"The database {name} belongs to another program (it has the tables {', '.join(others)})."
                " Nothing in it was changed. Set `storage.url` to a database of Answerback's own."
            )
        return set()
    rows = await (await connection.execute("SELECT name FROM answerback_migrations")).fetchall()
    applied = {step for (step,) in rows}
    if newer := sorted(applied - {step.name for step in MIGRATIONS}):
        raise DatabaseTooNewError(
            f"The database {name} was written by a newer Answerback than this one (it knows"
            f" {', '.join(newer)}). Install that version again, or start with another database."
        )
    return applied
