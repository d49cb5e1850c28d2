"""The tables of the SQLite file, as the migrations create them: never edited once released.

Times are seconds since the epoch, UTC, except those of claims and leases (``…until``), which use the machine's
monotonic clock. JSON is UTF-8 text.
"""

from __future__ import annotations

from typing import Final

APPLICATION_ID: Final = 0x416E7362
"""``PRAGMA application_id`` of our files: "Ansb"."""

FIRST: Final = (
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
LINK_LINES: Final = (
    """UPDATE record SET before = found.before FROM (
            SELECT seq, lag(seq) OVER (PARTITION BY ask_id ORDER BY seq) AS before FROM record WHERE ask_id IS NOT NULL
        ) AS found WHERE record.seq = found.seq AND found.before IS NOT NULL""",
    """UPDATE asks SET last_line = found.seq FROM (
            SELECT ask_id, max(seq) AS seq FROM record WHERE ask_id IS NOT NULL GROUP BY ask_id
        ) AS found WHERE asks.id = found.ask_id""",
)
"""Link each line to the previous one and each ask to its last line, for rows that lack these links."""
REMEMBERED_BY_AGENT: Final = (
    "DROP TABLE remembered",
    """CREATE TABLE remembered (
            agent TEXT NOT NULL,
            conversation TEXT NOT NULL,
            turn TEXT NOT NULL,
            tool TEXT NOT NULL,
            question_id TEXT NOT NULL,
            value TEXT NOT NULL,
            at REAL NOT NULL,
            PRIMARY KEY (agent, conversation, turn, tool, question_id)
        ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX remembered_by_time ON remembered (at)",
)
"""Remember answers per agent. Answers remembered for turns in progress are asked for again."""
ASKS_BY_MESSAGE: Final = (
    """CREATE INDEX asks_by_message ON asks (surface, json_extract(message, '$.id'))
            WHERE status = 'open' AND message IS NOT NULL""",
)
"""Find an open ask by the id of its live message, when the platform reports that message as deleted."""
HEALTH_OF_SIZE: Final = ("ALTER TABLE health ADD COLUMN filling TEXT NOT NULL DEFAULT ''",)
"""Let a check write as much as a large ask takes: a disk may have space for a number and nothing else."""
BEHIND_BY_PLACE: Final = (
    "DROP INDEX asks_behind",
    """CREATE INDEX asks_behind ON asks (surface, channel, message IS NULL, updated_at)
            WHERE shown_revision < revision""",
)
"""Find asks with outdated messages place by place, without reading any other ask."""
OWED: Final = (
    """CREATE TABLE owed (
            seq INTEGER PRIMARY KEY,
            ask_id TEXT NOT NULL UNIQUE,
            agent TEXT NOT NULL,
            conversation TEXT NOT NULL,
            told INTEGER NOT NULL,
            number INTEGER,
            at REAL NOT NULL
        ) STRICT""",
    "CREATE INDEX owed_to_agent ON owed (agent, conversation) WHERE told < 2",
    "CREATE INDEX owed_by_time ON owed (at) WHERE told > 0",
    # The number assigned last: it grows even when rows are deleted.
    "CREATE TABLE listed (id INTEGER PRIMARY KEY CHECK (id = 1), last INTEGER NOT NULL) STRICT",
    "INSERT INTO listed VALUES (1, 0)",
)
"""Record which outcomes agents have yet to see. Those of asks that ended before this version count as seen."""
CLAIMS: Final = (
    "ALTER TABLE asks ADD COLUMN show_holder TEXT",
    "ALTER TABLE asks ADD COLUMN show_until REAL",
    "ALTER TABLE asks ADD COLUMN due_holder TEXT",
    "ALTER TABLE asks ADD COLUMN due_until REAL",
    "ALTER TABLE deliveries ADD COLUMN holder TEXT",
    "ALTER TABLE deliveries ADD COLUMN claimed_until REAL",
    # The search for free deliveries does not have to skip those that are being processed.
    (
        "CREATE INDEX deliveries_free ON deliveries (next_at)"
        " WHERE state = 'pending' AND holder IS NULL"
    ),
    (
        "CREATE INDEX deliveries_held ON deliveries (claimed_until)"
        " WHERE state = 'pending' AND holder IS NOT NULL"
    ),
    "CREATE INDEX asks_due_claimed ON asks (due_holder) WHERE due_holder IS NOT NULL",
    """CREATE TABLE leases (
            name TEXT PRIMARY KEY,
            holder TEXT NOT NULL,
            epoch INTEGER NOT NULL,
            until REAL NOT NULL
        ) STRICT, WITHOUT ROWID""",
)
"""Add claims of messages, timers and deliveries, and named leases."""
ERASING: Final = (
    "ALTER TABLE asks ADD COLUMN erased_at REAL",
    """CREATE INDEX asks_to_erase ON asks (updated_at)
            WHERE status <> 'open' AND erased_at IS NULL""",
    "CREATE INDEX record_of_no_ask ON record (at) WHERE ask_id IS NULL",
    "CREATE INDEX deliveries_of_ask ON deliveries (ask_id)",
    "CREATE INDEX idempotency_of_ask ON idempotency (ask_id)",
    "DROP TRIGGER record_is_not_changed",
    """CREATE TRIGGER record_is_not_changed BEFORE UPDATE ON record
            WHEN NEW.seq IS NOT OLD.seq OR NEW.ask_id IS NOT OLD.ask_id
                OR NEW.at IS NOT OLD.at OR NEW.kind IS NOT OLD.kind
                OR NOT EXISTS (SELECT 1 FROM asks WHERE id = OLD.ask_id AND erased_at IS NOT NULL)
            BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END""",
    "DROP TRIGGER record_is_not_deleted",
    """CREATE TRIGGER record_is_not_deleted BEFORE DELETE ON record
            WHEN OLD.ask_id IS NOT NULL
            BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END""",
)
"""Let the content of ended asks be erased, and lines of no ask deleted. Otherwise the record stays append-only."""
SEARCHED: Final = (
    (
        "CREATE VIRTUAL TABLE asks_words"
        " USING fts5(words, detail=none, columnsize=0, tokenize='unicode61 remove_diacritics 0')"
    ),
    """CREATE TRIGGER words_are_erased AFTER UPDATE ON requests
            BEGIN DELETE FROM asks_words WHERE rowid IN (OLD.seq * 2, OLD.seq * 2 + 1); END""",
)
"""Index asks for search, except those that this version cannot read."""
DIGESTS: Final = ("ALTER TABLE seen ADD COLUMN digest TEXT NOT NULL DEFAULT ''",)
"""Tell deliveries apart that share a caller-chosen id but have different content."""
CHAINED: Final = (
    "ALTER TABLE record ADD COLUMN before INTEGER",
    "ALTER TABLE asks ADD COLUMN last_line INTEGER",
    "DROP TRIGGER record_is_not_changed",
    *LINK_LINES,
    """CREATE TRIGGER record_is_not_changed BEFORE UPDATE ON record
            WHEN NEW.seq IS NOT OLD.seq OR NEW.ask_id IS NOT OLD.ask_id
                OR NEW.at IS NOT OLD.at OR NEW.kind IS NOT OLD.kind
                OR (OLD.before IS NOT NULL AND NEW.before IS NOT OLD.before)
                OR (NEW.entry IS NOT OLD.entry AND NOT EXISTS (
                    SELECT 1 FROM asks WHERE id = OLD.ask_id AND erased_at IS NOT NULL))
            BEGIN SELECT RAISE(ABORT, 'the record is append-only'); END""",
    "DROP INDEX record_by_ask",
)
"""Link the lines of each ask in a chain. With an index, each click would write one more page."""
UNINDEXED: Final = ("DROP INDEX seen_by_time",)
"""Prune deliveries by scanning their keys. With an index by time, each click would write one more page."""
LIMITED: Final = (
    """CREATE INDEX asks_open_in_conversation ON asks (conversation, agent)
            WHERE status = 'open' AND conversation IS NOT NULL""",
)
"""Find the open asks of an agent's conversation without reading those that have ended."""
LEFT_BEHIND: Final = (
    "ALTER TABLE asks ADD COLUMN left_channel TEXT",
    "ALTER TABLE asks ADD COLUMN left_until REAL",
    "CREATE INDEX asks_left_behind ON asks (left_channel, left_until) WHERE left_channel IS NOT NULL",
)
"""Find asks by the channel that they moved away from, and until when they looked open there."""
RECEIPTS: Final = (
    # The number of a receipt is that of its ask.
    """CREATE TABLE receipts (
        seq INTEGER PRIMARY KEY,
        receipt TEXT NOT NULL,
        beside TEXT,
        n INTEGER,
        link TEXT
    ) STRICT""",
    "CREATE UNIQUE INDEX receipts_in_chain ON receipts (n) WHERE n IS NOT NULL",
    "CREATE INDEX receipts_unlinked ON receipts (seq) WHERE n IS NULL",
    "CREATE TABLE receipt_keys (seq INTEGER PRIMARY KEY, x TEXT NOT NULL UNIQUE, at REAL NOT NULL) STRICT",
)
"""Store receipts, their chain, and the public keys that check them."""
PUSHES: Final = (
    """CREATE TABLE push_subscriptions (
        id TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) STRICT, WITHOUT ROWID""",
    # Pushes are sent as webhooks are, but not counted as such.
    "DROP TRIGGER deliveries_counted",
    """CREATE TRIGGER deliveries_counted AFTER INSERT ON deliveries WHEN NEW.type NOT LIKE 'push.%'
        BEGIN UPDATE counters SET n = n + 1 WHERE name = NEW.state; END""",
    "DROP TRIGGER deliveries_recounted",
    """CREATE TRIGGER deliveries_recounted AFTER UPDATE OF state ON deliveries
        WHEN OLD.state <> NEW.state AND NEW.type NOT LIKE 'push.%' BEGIN
            UPDATE counters SET n = n - 1 WHERE name = OLD.state;
            UPDATE counters SET n = n + 1 WHERE name = NEW.state;
        END""",
)
"""Keep the browsers in which people are notified, and count no pushes."""
PRUNED: Final = (
    """CREATE TRIGGER deliveries_uncounted AFTER DELETE ON deliveries WHEN OLD.type NOT LIKE 'push.%'
        BEGIN UPDATE counters SET n = n - 1 WHERE name = OLD.state; END""",
)
"""Let old webhooks be deleted."""
GRANTS: Final = (
    """CREATE TABLE grants (
        id TEXT PRIMARY KEY,
        scope TEXT NOT NULL,
        ask_id TEXT NOT NULL,
        at REAL NOT NULL,
        until REAL NOT NULL,
        uses INTEGER NOT NULL,
        used INTEGER NOT NULL,
        ended_at REAL,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX grants_by_scope ON grants (scope)",
    "CREATE INDEX grants_by_time ON grants (at)",
)
"""Keep what people have allowed again."""
AGENT_TOKENS: Final = (
    """CREATE TABLE sign_ins (
        id TEXT PRIMARY KEY,
        device_hash TEXT NOT NULL UNIQUE,
        user_hash TEXT NOT NULL UNIQUE,
        address TEXT NOT NULL,
        at REAL NOT NULL,
        until REAL NOT NULL,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    """CREATE TABLE agent_tokens (
        token_hash TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        owner TEXT NOT NULL,
        at REAL NOT NULL,
        until REAL NOT NULL,
        value TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    "CREATE INDEX sign_ins_by_end ON sign_ins (until)",
    "CREATE INDEX agent_tokens_by_end ON agent_tokens (until)",
)
"""Keep the agents that people have connected themselves."""
ACCOUNT_LINKS: Final = (
    """CREATE TABLE account_links (
    account TEXT PRIMARY KEY, revision INTEGER NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID""",
)
"""Keep the accounts that people have linked."""
EXTENSION_ROWS: Final = (
    # AUTOINCREMENT: no number is used again.
    """CREATE TABLE extension_rows (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        ask_id TEXT NOT NULL,
        value TEXT NOT NULL,
        at REAL NOT NULL
    ) STRICT""",
    "CREATE INDEX extension_rows_by_name ON extension_rows (name)",
    "CREATE INDEX extension_rows_of_ask ON extension_rows (ask_id)",
)
"""Keep what extensions store with changes of asks."""
URGENT: Final = (
    # The place of an ask's urgency in lists. An older version stores none: it is 1, normal, as it takes all asks for.
    "ALTER TABLE asks ADD COLUMN urgency INTEGER NOT NULL DEFAULT 1",
    "CREATE INDEX asks_waiting ON asks (status, urgency) WHERE status = 'open'",
)
"""List open asks by their urgency."""
OWED_IN_ORDER: Final = (
    "DROP INDEX owed_to_agent",
    """CREATE INDEX owed_to_agent ON owed (agent, conversation, number IS NULL, number)
        WHERE told < 2""",
)
"""Read an agent's outcomes by number, without sorting all that it has not seen."""
AWAY: Final = (
    "CREATE TABLE away (person TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL NOT NULL) STRICT, WITHOUT ROWID",
)
"""Keep who is away, and in which hours people are told of what waits."""
SNOOZES: Final = (
    """CREATE TABLE snoozes (
        person TEXT NOT NULL, ask_id TEXT NOT NULL, until REAL NOT NULL, needs TEXT NOT NULL,
        PRIMARY KEY (person, ask_id)) STRICT, WITHOUT ROWID""",
    "CREATE INDEX snoozes_by_end ON snoozes (until)",
    "CREATE INDEX snoozes_of_ask ON snoozes (ask_id)",
)
"""Keep what people have taken off their own lists until a time."""
NUMBERS: Final = (
    # The number of a row is that of its ask.
    """CREATE TABLE numbers (
        seq INTEGER PRIMARY KEY,
        week TEXT NOT NULL,
        agent TEXT NOT NULL,
        route TEXT NOT NULL,
        result TEXT NOT NULL,
        wait TEXT NOT NULL,
        call TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX numbers_summed ON numbers (week, agent, result, wait, route)",
    "CREATE INDEX numbers_by_call ON numbers (call, week, result) WHERE call <> ''",
)
"""Count how asks ended and how long agents waited."""
FILES: Final = (
    """CREATE TABLE files (
        id TEXT PRIMARY KEY, agent TEXT NOT NULL, ask_id TEXT, at REAL NOT NULL, value TEXT) STRICT, WITHOUT ROWID""",
    "CREATE INDEX files_of_ask ON files (ask_id) WHERE ask_id IS NOT NULL",
    "CREATE INDEX files_unclaimed ON files (agent, at) WHERE ask_id IS NULL",
    """CREATE TABLE file_chunks (
        file_id TEXT NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (file_id, n)) STRICT""",
)
"""Keep the files that agents send. Without a ``value``, an upload is not complete."""
OPEN_OF_ROUTES: Final = (
    # An older version stores none: it is empty, as for asks that took no route.
    "ALTER TABLE asks ADD COLUMN route TEXT NOT NULL DEFAULT ''",
    """UPDATE asks SET route = found.route FROM (
            SELECT seq, substr(request ->> 'route', 1, 128) AS route FROM asks JOIN requests USING (seq)
            WHERE status = 'open' AND json_valid(request)
        ) AS found WHERE asks.seq = found.seq AND found.route IS NOT NULL""",
    "CREATE INDEX asks_open_of_route ON asks (status, route) WHERE status = 'open'",
)
"""Find the oldest open ask of each route without reading the others."""
GRANTS_LOOKED_UP: Final = (
    "CREATE INDEX grants_of_ask ON grants (ask_id)",
    "CREATE INDEX grants_running ON grants (until) WHERE ended_at IS NULL",
)
"""Find the grant that was made with an ask, and those that can still be used, without reading the others."""
DRAFTS_OF_ASKS: Final = (
    # NULL: it is not known, as with those that are already there. They are pruned soon.
    "ALTER TABLE drafts ADD COLUMN ask_id TEXT",
    "CREATE INDEX drafts_of_ask ON drafts (ask_id)",
)
"""Find the drafts of an ask when it is erased."""
ASKS_BY_TIME: Final = ("CREATE INDEX asks_by_time ON asks (created_at)",)
"""Find the asks of some days without reading those of others."""
OIDC_SESSIONS: Final = (
    """CREATE TABLE oidc_sessions (
        id TEXT PRIMARY KEY, person TEXT NOT NULL, at REAL NOT NULL, until REAL NOT NULL) STRICT, WITHOUT ROWID""",
    "CREATE INDEX oidc_sessions_by_end ON oidc_sessions (until)",
)
"""Keep who has signed in with the identity provider."""
