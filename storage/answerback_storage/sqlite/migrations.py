"""The schema of the SQLite file, as migrations that are applied in order and never edited once released.

Owns every table, index and trigger. Times are seconds since the epoch, UTC, except those of claims and leases
(``…until``), which use the machine's monotonic clock. JSON is UTF-8 text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from answerback_storage.sqlite import asks, grants, links, people, receipts, record_lines

# Dozens of modules, which a start needs only if there is something to migrate.
if TYPE_CHECKING:
    from sqlite_utils import Database

APPLICATION_ID: Final = 0x416E7362
"""``PRAGMA application_id`` of our files: "Ansb"."""

NAME: Final = "answerback"
"""The name of the set of migrations in the file."""
Step = Callable[["Database"], None]
STEPS: Final[list[Step]] = []
"""The migrations, in the order in which they are applied."""


def _step(step: Step) -> Step:
    STEPS.append(step)
    return step


def is_current(connection: sqlite3.Connection) -> bool:
    """Return whether a file is ours, with exactly the migrations of this version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        return False
    try:
        rows = connection.execute(
            "SELECT name FROM _sqlite_migrations WHERE migration_set = ?", (NAME,)
        ).fetchall()
    except sqlite3.OperationalError:  # without that table, it says nothing about itself
        return False
    return {name for (name,) in rows} == {step.__name__ for step in STEPS}


_FIRST: Final = (
    f"PRAGMA application_id = {APPLICATION_ID}",
    # What the agent sent can be 256 KiB and never changes. It has a row of its own, so that a click does not write it
    # again.
    "CREATE TABLE requests (seq INTEGER PRIMARY KEY, request TEXT NOT NULL) STRICT",
    """CREATE TABLE asks (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        status TEXT NOT NULL,
        surface TEXT NOT NULL,
        channel TEXT,
        thread_id TEXT,
        conversation TEXT,
        agent TEXT,
        revision INTEGER NOT NULL,
        shown_revision INTEGER NOT NULL,
        due REAL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        message TEXT,
        thread TEXT,
        state TEXT NOT NULL
    ) STRICT""",
    # An index ends in the row's seq, so each of these also returns its rows newest first.
    "CREATE INDEX asks_by_status ON asks (status)",
    "CREATE INDEX asks_by_surface ON asks (surface)",
    "CREATE INDEX asks_by_surface_status ON asks (surface, status)",
    "CREATE INDEX asks_by_agent ON asks (agent) WHERE agent IS NOT NULL",
    "CREATE INDEX asks_by_agent_status ON asks (agent, status) WHERE agent IS NOT NULL",
    "CREATE INDEX asks_by_conversation ON asks (conversation) WHERE conversation IS NOT NULL",
    """CREATE INDEX asks_in_channel ON asks (surface, channel)
        WHERE status = 'open' AND channel IS NOT NULL""",
    """CREATE INDEX asks_in_thread ON asks (surface, channel, thread_id)
        WHERE status = 'open' AND thread_id IS NOT NULL""",
    "CREATE INDEX asks_due ON asks (due) WHERE due IS NOT NULL",
    "CREATE INDEX asks_behind ON asks (updated_at) WHERE shown_revision < revision",
    # The record refers to an ask only by id, because it outlives the ask.
    """CREATE TABLE record (
        seq INTEGER PRIMARY KEY,
        ask_id TEXT,
        at REAL NOT NULL,
        kind TEXT NOT NULL,
        entry TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX record_by_ask ON record (ask_id) WHERE ask_id IS NOT NULL",
    """CREATE TRIGGER record_is_not_changed BEFORE UPDATE ON record
        BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END""",
    """CREATE TRIGGER record_is_not_deleted BEFORE DELETE ON record
        BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END""",
    """CREATE TABLE deliveries (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        ask_id TEXT NOT NULL,
        type TEXT NOT NULL,
        url TEXT NOT NULL,
        agent TEXT,
        body TEXT NOT NULL,
        created_at REAL NOT NULL,
        state TEXT NOT NULL,
        tries INTEGER NOT NULL,
        next_at REAL,
        last_status INTEGER,
        last_error TEXT,
        updated_at REAL NOT NULL
    ) STRICT""",
    "CREATE INDEX deliveries_by_state ON deliveries (state)",
    "CREATE INDEX deliveries_by_agent ON deliveries (agent) WHERE agent IS NOT NULL",
    """CREATE INDEX deliveries_by_agent_state ON deliveries (agent, state)
        WHERE agent IS NOT NULL""",
    "CREATE INDEX deliveries_due ON deliveries (next_at) WHERE state = 'pending'",
    "CREATE INDEX deliveries_waiting ON deliveries (ask_id) WHERE state = 'pending'",
    "CREATE TABLE seen (id TEXT PRIMARY KEY, at REAL NOT NULL) STRICT, WITHOUT ROWID",
    "CREATE INDEX seen_by_time ON seen (at)",
    """CREATE TABLE idempotency (
        agent TEXT NOT NULL,
        key TEXT NOT NULL,
        digest TEXT NOT NULL,
        ask_id TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (agent, key)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX idempotency_by_time ON idempotency (at)",
    """CREATE TABLE remembered (
        conversation TEXT NOT NULL,
        turn TEXT NOT NULL,
        tool TEXT NOT NULL,
        question_id TEXT NOT NULL,
        value TEXT NOT NULL,
        at REAL NOT NULL,
        PRIMARY KEY (conversation, turn, tool, question_id)
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX remembered_by_time ON remembered (at)",
    """CREATE TABLE drafts (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL,
        at REAL NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX drafts_by_time ON drafts (at)",
    "CREATE TABLE secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID",
    # One row that `check` writes, to prove that writing works.
    "CREATE TABLE health (id INTEGER PRIMARY KEY CHECK (id = 1), checks INTEGER NOT NULL) STRICT",
    "INSERT INTO health VALUES (1, 0)",
    # The number of rows by status and state, since count(*) would read them all.
    """CREATE TABLE counters (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID""",
    """INSERT INTO counters VALUES ('open', 0), ('answered', 0), ('cancelled', 0),
        ('turn_ended', 0), ('expired', 0), ('withdrawn', 0), ('failed', 0),
        ('pending', 0), ('delivered', 0), ('dead', 0)""",
    """CREATE TRIGGER asks_counted AFTER INSERT ON asks
        BEGIN UPDATE counters SET n = n + 1 WHERE name = NEW.status; END""",
    """CREATE TRIGGER asks_recounted AFTER UPDATE OF status ON asks
        WHEN OLD.status <> NEW.status BEGIN
            UPDATE counters SET n = n - 1 WHERE name = OLD.status;
            UPDATE counters SET n = n + 1 WHERE name = NEW.status;
        END""",
    """CREATE TRIGGER deliveries_counted AFTER INSERT ON deliveries
        BEGIN UPDATE counters SET n = n + 1 WHERE name = NEW.state; END""",
    """CREATE TRIGGER deliveries_recounted AFTER UPDATE OF state ON deliveries
        WHEN OLD.state <> NEW.state BEGIN
            UPDATE counters SET n = n - 1 WHERE name = OLD.state;
            UPDATE counters SET n = n + 1 WHERE name = NEW.state;
        END""",
)


@_step
def asks_record_and_outbox(db: Database) -> None:
    """Create the schema of the first release."""
    for statement in _FIRST:
        db.execute(statement)


@_step
def remembered_by_agent(db: Database) -> None:
    """Remember answers per agent. Answers remembered for turns in progress are asked for again."""
    db.execute("DROP TABLE remembered")
    db.execute(
        """CREATE TABLE remembered (
            agent TEXT NOT NULL,
            conversation TEXT NOT NULL,
            turn TEXT NOT NULL,
            tool TEXT NOT NULL,
            question_id TEXT NOT NULL,
            value TEXT NOT NULL,
            at REAL NOT NULL,
            PRIMARY KEY (agent, conversation, turn, tool, question_id)
        ) STRICT, WITHOUT ROWID"""
    )
    db.execute("CREATE INDEX remembered_by_time ON remembered (at)")


@_step
def asks_by_message(db: Database) -> None:
    """Find an open ask by the id of its live message, when the platform reports that message as deleted."""
    db.execute(
        """CREATE INDEX asks_by_message ON asks (surface, json_extract(message, '$.id'))
            WHERE status = 'open' AND message IS NOT NULL"""
    )


@_step
def health_of_size(db: Database) -> None:
    """Let a check write as much as a large ask takes: a disk may have space for a number and nothing else."""
    db.execute("ALTER TABLE health ADD COLUMN filling TEXT NOT NULL DEFAULT ''")


@_step
def behind_by_place(db: Database) -> None:
    """Find asks with outdated messages place by place, without reading any other ask."""
    db.execute("DROP INDEX asks_behind")
    db.execute(
        """CREATE INDEX asks_behind ON asks (surface, channel, message IS NULL, updated_at)
            WHERE shown_revision < revision"""
    )


@_step
def owed(db: Database) -> None:
    """Record which outcomes agents have yet to see. Those of asks that ended before this version count as seen."""
    db.execute(
        """CREATE TABLE owed (
            seq INTEGER PRIMARY KEY,
            ask_id TEXT NOT NULL UNIQUE,
            agent TEXT NOT NULL,
            conversation TEXT NOT NULL,
            told INTEGER NOT NULL,
            number INTEGER,
            at REAL NOT NULL
        ) STRICT"""
    )
    db.execute("CREATE INDEX owed_to_agent ON owed (agent, conversation) WHERE told < 2")
    db.execute("CREATE INDEX owed_by_time ON owed (at) WHERE told > 0")
    # The number assigned last: it grows even when rows are deleted.
    db.execute(
        "CREATE TABLE listed (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT"
    )
    db.execute("INSERT INTO listed VALUES (1, 0)")


@_step
def claims(db: Database) -> None:
    """Add claims of messages, timers and deliveries, and named leases."""
    for table, columns in (
        ("asks", "show_holder TEXT, show_until REAL, due_holder TEXT, due_until REAL"),
        ("deliveries", "holder TEXT, claimed_until REAL"),
    ):
        for column in columns.split(", "):
            db.execute(f"ALTER TABLE {table} ADD COLUMN {column}")
    # The search for free deliveries does not have to skip those that are being processed.
    db.execute(
        "CREATE INDEX deliveries_free ON deliveries (next_at)"
        " WHERE state = 'pending' AND holder IS NULL"
    )
    db.execute(
        "CREATE INDEX deliveries_held ON deliveries (claimed_until)"
        " WHERE state = 'pending' AND holder IS NOT NULL"
    )
    db.execute("CREATE INDEX asks_due_claimed ON asks (due_holder) WHERE due_holder IS NOT NULL")
    db.execute(
        """CREATE TABLE leases (
            name TEXT PRIMARY KEY,
            holder TEXT NOT NULL,
            epoch INTEGER NOT NULL,
            until REAL NOT NULL
        ) STRICT, WITHOUT ROWID"""
    )


@_step
def erasing(db: Database) -> None:
    """Let the content of ended asks be erased, and lines of no ask deleted. Otherwise the record stays append-only."""
    db.execute("ALTER TABLE asks ADD COLUMN erased_at REAL")
    db.execute(
        """CREATE INDEX asks_to_erase ON asks (updated_at)
            WHERE status <> 'open' AND erased_at IS NULL"""
    )
    db.execute("CREATE INDEX record_of_no_ask ON record (at) WHERE ask_id IS NULL")
    for table in ("deliveries", "idempotency"):
        db.execute(f"CREATE INDEX {table}_of_ask ON {table} (ask_id)")
    db.execute("DROP TRIGGER record_is_not_changed")
    db.execute(
        """CREATE TRIGGER record_is_not_changed BEFORE UPDATE ON record
            WHEN NEW.seq IS NOT OLD.seq OR NEW.ask_id IS NOT OLD.ask_id
                OR NEW.at IS NOT OLD.at OR NEW.kind IS NOT OLD.kind
                OR NOT EXISTS (SELECT 1 FROM asks WHERE id = OLD.ask_id AND erased_at IS NOT NULL)
            BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END"""
    )
    db.execute("DROP TRIGGER record_is_not_deleted")
    db.execute(
        """CREATE TRIGGER record_is_not_deleted BEFORE DELETE ON record
            WHEN OLD.ask_id IS NOT NULL
            BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END"""
    )


@_step
def searched(db: Database) -> None:
    """Index asks for search, except those that this version cannot read."""
    db.execute(
        "CREATE VIRTUAL TABLE asks_words"
        " USING fts5(words, detail=none, columnsize=0, tokenize='unicode61 remove_diacritics 0')"
    )
    db.execute(
        """CREATE TRIGGER words_are_erased AFTER UPDATE ON requests
            BEGIN DELETE FROM asks_words WHERE rowid IN (OLD.seq * 2, OLD.seq * 2 + 1); END"""
    )
    asks.index_existing_asks(db.conn)


@_step
def digests(db: Database) -> None:
    """Tell deliveries apart that share a caller-chosen id but have different content."""
    db.execute("ALTER TABLE seen ADD COLUMN digest TEXT NOT NULL DEFAULT ''")


@_step
def chained(db: Database) -> None:
    """Link the lines of each ask in a chain. With an index, each click would write one more page."""
    db.execute("ALTER TABLE record ADD COLUMN before INTEGER")
    db.execute("ALTER TABLE asks ADD COLUMN last_line INTEGER")
    db.execute("DROP TRIGGER record_is_not_changed")
    record_lines.link_lines(db.conn)
    db.execute(
        """CREATE TRIGGER record_is_not_changed BEFORE UPDATE ON record
            WHEN NEW.seq IS NOT OLD.seq OR NEW.ask_id IS NOT OLD.ask_id
                OR NEW.at IS NOT OLD.at OR NEW.kind IS NOT OLD.kind
                OR (OLD.before IS NOT NULL AND NEW.before IS NOT OLD.before)
                OR (NEW.entry IS NOT OLD.entry AND NOT EXISTS (
                    SELECT 1 FROM asks WHERE id = OLD.ask_id AND erased_at IS NOT NULL))
            BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END"""
    )
    db.execute("DROP INDEX record_by_ask")


@_step
def unindexed(db: Database) -> None:
    """Prune deliveries by scanning their keys. With an index by time, each click would write one more page."""
    db.execute("DROP INDEX seen_by_time")


@_step
def limited(db: Database) -> None:
    """Find the open asks of an agent's conversation without reading those that have ended."""
    db.execute(
        """CREATE INDEX asks_open_in_conversation ON asks (conversation, agent)
            WHERE status = 'open' AND conversation IS NOT NULL"""
    )


@_step
def left_behind(db: Database) -> None:
    """Find asks by the channel that they moved away from, and until when they looked open there."""
    db.execute("ALTER TABLE asks ADD COLUMN left_channel TEXT")
    db.execute("ALTER TABLE asks ADD COLUMN left_until REAL")
    db.execute(
        "CREATE INDEX asks_left_behind ON asks (left_channel, left_until) WHERE left_channel IS NOT NULL"
    )


@_step
def receipts_and_keys(db: Database) -> None:
    """Store receipts, their chain, and the public keys that check them."""
    for statement in receipts.TABLES:
        db.execute(statement)


@_step
def pushed(db: Database) -> None:
    """Keep the browsers in which people are notified, and count no pushes."""
    for statement in people.PUSH_STATEMENTS:
        db.execute(statement)


@_step
def granted(db: Database) -> None:
    """Keep what people have allowed again."""
    for statement in grants.TABLES:
        db.execute(statement)


@_step
def signed_in(db: Database) -> None:
    """Keep the agents that people have connected themselves."""
    for statement in people.TABLES:
        db.execute(statement)


@_step
def linked(db: Database) -> None:
    """Keep the accounts that people have linked."""
    db.execute(links.TABLE)
