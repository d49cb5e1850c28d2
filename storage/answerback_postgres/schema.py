"""The tables of the PostgreSQL database, as the migrations create them: never edited once released.

A migration only adds to what the previous version uses. What no version uses any more is removed one release later,
because old and new replicas run side by side. Times are in seconds (UTC). JSON is text: ``jsonb`` rejects U+0000.
"""

from __future__ import annotations

from typing import Final

from answerback_postgres.sql import index_expression


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


FIRST: Final = (
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
    f"CREATE INDEX asks_by_surface ON asks ({index_expression('surface')}, seq)",
    f"CREATE INDEX asks_by_surface_status ON asks ({index_expression('surface')}, status, seq)",
    f"CREATE INDEX asks_by_agent ON asks ({index_expression('agent')}, seq) WHERE agent IS NOT NULL",
    f"CREATE INDEX asks_by_agent_status ON asks ({index_expression('agent')}, status, seq) WHERE agent IS NOT NULL",
    f"""CREATE INDEX asks_by_conversation ON asks ({index_expression("conversation")}, seq)
        WHERE conversation IS NOT NULL""",
    f"""CREATE INDEX asks_in_channel ON asks ({index_expression("surface", "channel")}, seq)
        WHERE status = 'open' AND channel IS NOT NULL""",
    f"""CREATE INDEX asks_in_thread ON asks ({index_expression("surface", "channel", "thread_id")}, seq)
        WHERE status = 'open' AND thread_id IS NOT NULL""",
    f"""CREATE INDEX asks_by_message ON asks ({index_expression("surface", "message_id")})
        WHERE status = 'open' AND message_id IS NOT NULL""",
    "CREATE INDEX asks_due ON asks (due) WHERE due IS NOT NULL",
    "CREATE INDEX asks_due_claimed ON asks (due_holder) WHERE due_holder IS NOT NULL",
    f"""CREATE INDEX asks_behind ON asks ({index_expression("surface", "channel")}, (message IS NULL), updated_at)
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
    f"CREATE INDEX deliveries_by_agent ON deliveries ({index_expression('agent')}, seq) WHERE agent IS NOT NULL",
    f"""CREATE INDEX deliveries_by_agent_state ON deliveries ({index_expression("agent")}, state, seq)
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
    f"CREATE INDEX owed_to_agent ON owed ({index_expression('agent', 'conversation')}) WHERE told < 2",
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

ERASING: Final = (
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

SEARCHED: Final = (
    "CREATE TABLE asks_words (seq bigint PRIMARY KEY, words tsvector NOT NULL)",
    "CREATE INDEX asks_by_words ON asks_words USING gin (words)",
    """CREATE FUNCTION erase_words() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        DELETE FROM asks_words WHERE seq = OLD.seq;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER words_are_erased AFTER UPDATE ON requests
        FOR EACH ROW EXECUTE FUNCTION erase_words()""",
)
DIGESTS: Final = ("ALTER TABLE seen ADD COLUMN digest text NOT NULL DEFAULT ''",)
"""Tell deliveries apart that share a caller-chosen id but have different content."""
IN_PLACE: Final = (
    # Nothing else writes in the meantime, and no reader waits for this transaction to write.
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
_CONTENT: Final = {
    "requests": ("request",),
    "asks": ("conversation", "message", "thread", "state"),
    "record": ("entry",),
    "deliveries": ("url", "body", "last_error"),
    "idempotency": ("key", "digest"),
    "drafts": ("key", "value"),
    "owed": ("conversation",),
    "remembered": ("conversation", "turn", "tool", "question_id", "value"),
}
"""The columns with what agents and people write, all of type text."""
WITHOUT_STATISTICS: Final = (
    *(
        f"ALTER TABLE {table} ALTER COLUMN {column} TYPE text, ALTER COLUMN {column} SET STATISTICS 0"
        for table, columns in _CONTENT.items()
        for column in columns
    ),
    "ALTER TABLE asks_words ALTER COLUMN words TYPE tsvector, ALTER COLUMN words SET STATISTICS 0",
    "ALTER INDEX asks_by_conversation ALTER COLUMN 1 SET STATISTICS 0",
    "ALTER INDEX owed_to_agent ALTER COLUMN 2 SET STATISTICS 0",
)
"""Keep content out of the planner's statistics, where an erasure would not reach it; setting a type drops them."""
_LIMIT_LOCKS: Final = 0x416E736C
"""The class of the advisory locks, one per agent, under which an agent's asks are counted: "Ansl"."""
LIMITED: Final = (
    f"""CREATE INDEX asks_open_in_conversation ON asks ({index_expression("conversation")}, {index_expression("agent")})
        WHERE status = 'open' AND conversation IS NOT NULL""",
    "ALTER INDEX asks_open_in_conversation ALTER COLUMN 1 SET STATISTICS 0",
    # Each query of a volatile function sees what was committed before it began. So whoever waited for the lock counts
    # the asks of the one that held it; the lock ends with the statement that calls the function.
    f"""CREATE FUNCTION limit_reached(asker text, talk text, now float8, still_open boolean,
            per_minute int, open_asks int, in_conversation int, OUT reached text, OUT wait float8)
        LANGUAGE plpgsql VOLATILE AS $$ BEGIN
        PERFORM pg_advisory_xact_lock({_LIMIT_LOCKS}, hashtext(coalesce(asker, '')));
        IF asker IS NULL THEN
            SELECT 60 - abs(now - created_at) INTO wait FROM asks WHERE agent IS NULL
                ORDER BY seq DESC LIMIT 1 OFFSET greatest(per_minute, 1) - 1;
        ELSE
            SELECT 60 - abs(now - created_at) INTO wait FROM asks
                WHERE {index_expression("agent")} = {index_expression("asker")} AND agent = asker
                ORDER BY seq DESC LIMIT 1 OFFSET greatest(per_minute, 1) - 1;
        END IF;
        IF per_minute > 0 AND wait > 0 THEN
            reached := 'asks_per_minute';
            RETURN;
        END IF;
        wait := NULL;
        IF still_open AND open_asks > 0 AND (
            (asker IS NULL AND EXISTS (SELECT FROM asks WHERE agent IS NULL AND status = 'open'
                OFFSET open_asks - 1))
            OR EXISTS (SELECT FROM asks
                WHERE {index_expression("agent")} = {index_expression("asker")} AND agent = asker
                AND status = 'open' OFFSET open_asks - 1)
        ) THEN
            reached := 'open_asks';
        ELSIF still_open AND in_conversation > 0 AND EXISTS (SELECT FROM asks
            WHERE {index_expression("conversation")} = {index_expression("talk")} AND conversation = talk
            AND agent IS NOT DISTINCT FROM asker AND status = 'open' OFFSET in_conversation - 1
        ) THEN
            reached := 'open_asks_per_conversation';
        END IF;
    END $$""",
)
"""Keep agents within their limits, however many replicas store their asks."""
LEFT_BEHIND: Final = (
    "ALTER TABLE asks ADD COLUMN left_channel text, ADD COLUMN left_until double precision",
    f"""CREATE INDEX asks_left_behind ON asks ({index_expression("left_channel")}, left_until)
        WHERE left_channel IS NOT NULL""",
)
"""Find asks by the channel that they moved away from, and until when they looked open there."""
CHANGES: Final = (
    "ALTER TABLE record ADD COLUMN tx bigint NOT NULL DEFAULT 0",
    "ALTER TABLE record ALTER COLUMN tx SET DEFAULT pg_current_xact_id()::text::bigint",
    "CREATE INDEX record_by_change ON record (tx, seq) WHERE ask_id IS NOT NULL",
    "DROP TRIGGER record_is_not_changed ON record",
    """CREATE TRIGGER record_is_not_changed BEFORE UPDATE ON record FOR EACH ROW WHEN (
        (NEW.seq, NEW.ask_id, NEW.at, NEW.kind) IS DISTINCT FROM (OLD.seq, OLD.ask_id, OLD.at, OLD.kind)
        OR (NEW.entry IS DISTINCT FROM OLD.entry AND NOT is_erased(OLD.ask_id))) EXECUTE FUNCTION refuse_change()""",
)
"""Number the lines by the transactions that wrote them, so that exports can follow the changes."""
RECEIPTS: Final = (
    # The number of a receipt is that of its ask.
    """CREATE TABLE receipts (
        seq bigint PRIMARY KEY,
        receipt text NOT NULL,
        beside text,
        n bigint,
        link text
    ) WITH (fillfactor = 50)""",
    "CREATE UNIQUE INDEX receipts_in_chain ON receipts (n) WHERE n IS NOT NULL",
    "CREATE INDEX receipts_unlinked ON receipts (seq) WHERE n IS NULL",
    """CREATE TABLE receipt_keys (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        x text NOT NULL UNIQUE,
        at double precision NOT NULL
    )""",
)
PUSHES: Final = (
    """CREATE TABLE push_subscriptions (
        id text COLLATE "C" PRIMARY KEY, value text NOT NULL, at double precision NOT NULL)""",
    # Pushes are sent as webhooks are, but not counted as such.
    "DROP TRIGGER deliveries_counted ON deliveries",
    """CREATE TRIGGER deliveries_counted AFTER INSERT ON deliveries FOR EACH ROW
        WHEN (NEW.type NOT LIKE 'push.%') EXECUTE FUNCTION count_deliveries()""",
    "DROP TRIGGER deliveries_recounted ON deliveries",
    """CREATE TRIGGER deliveries_recounted AFTER UPDATE OF state ON deliveries FOR EACH ROW
        WHEN (OLD.state <> NEW.state AND NEW.type NOT LIKE 'push.%') EXECUTE FUNCTION count_deliveries()""",
)
GRANTS: Final = (
    """CREATE TABLE grants (
        id text COLLATE "C" PRIMARY KEY,
        scope text COLLATE "C" NOT NULL,
        ask_id text COLLATE "C" NOT NULL,
        at double precision NOT NULL,
        until double precision NOT NULL,
        uses integer NOT NULL,
        used integer NOT NULL,
        ended_at double precision,
        value text NOT NULL)""",
    "CREATE INDEX grants_by_scope ON grants (scope)",
    "CREATE INDEX grants_by_time ON grants (at)",
)
AGENT_TOKENS: Final = (
    """CREATE TABLE sign_ins (
        id text COLLATE "C" PRIMARY KEY,
        device_hash text COLLATE "C" NOT NULL UNIQUE,
        user_hash text COLLATE "C" NOT NULL UNIQUE,
        address text COLLATE "C" NOT NULL,
        at double precision NOT NULL,
        until double precision NOT NULL,
        value text NOT NULL)""",
    """CREATE TABLE agent_tokens (
        token_hash text COLLATE "C" PRIMARY KEY,
        name text COLLATE "C" NOT NULL UNIQUE,
        owner text COLLATE "C" NOT NULL,
        at double precision NOT NULL,
        until double precision NOT NULL,
        value text NOT NULL)""",
    "CREATE INDEX sign_ins_by_end ON sign_ins (until)",
    "CREATE INDEX agent_tokens_by_end ON agent_tokens (until)",
)
ACCOUNT_LINKS: Final = (
    """CREATE TABLE account_links (
    account text COLLATE "C" PRIMARY KEY, revision integer NOT NULL, value text NOT NULL)""",
)
EXTENSION_ROWS: Final = (
    """CREATE TABLE extension_rows (
        seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text COLLATE "C" NOT NULL,
        ask_id text COLLATE "C" NOT NULL,
        value text NOT NULL,
        at double precision NOT NULL
    )""",
    "ALTER TABLE extension_rows ALTER value SET STATISTICS 0",
    "CREATE INDEX extension_rows_by_name ON extension_rows (name, seq)",
    "CREATE INDEX extension_rows_of_ask ON extension_rows (ask_id)",
)
AWAY: Final = (
    """CREATE TABLE away (
        person text COLLATE "C" PRIMARY KEY, value text NOT NULL, at double precision NOT NULL)""",
    "ALTER TABLE away ALTER value SET STATISTICS 0",
)
"""Keep who is away, and in which hours people are told of what waits."""
SNOOZES: Final = (
    """CREATE TABLE snoozes (
        person text COLLATE "C" NOT NULL,
        ask_id text COLLATE "C" NOT NULL,
        until double precision NOT NULL,
        needs text NOT NULL,
        PRIMARY KEY (person, ask_id))""",
    "CREATE INDEX snoozes_by_end ON snoozes (until)",
    "CREATE INDEX snoozes_of_ask ON snoozes (ask_id)",
)
"""Keep what people have taken off their own lists until a time."""
URGENT: Final = (
    # The place of an ask's urgency in lists. An older replica stores none: it is 1, normal, as it takes all asks for.
    "ALTER TABLE asks ADD COLUMN urgency smallint NOT NULL DEFAULT 1",
    "CREATE INDEX asks_waiting ON asks (urgency, seq) WHERE status = 'open'",
)
"""List open asks by their urgency."""
OWED_IN_ORDER: Final = (
    "DROP INDEX owed_to_agent",
    f"""CREATE INDEX owed_to_agent ON owed
        ({index_expression("agent", "conversation")}, (number IS NULL), number, seq) WHERE told < 2""",
    "ALTER INDEX owed_to_agent ALTER COLUMN 2 SET STATISTICS 0",
)
"""Read an agent's outcomes by number, without sorting all that it has not seen."""
NUMBERS: Final = (
    # The number of a row is that of its ask.
    """CREATE TABLE numbers (
        seq bigint PRIMARY KEY,
        week text COLLATE "C" NOT NULL,
        agent text COLLATE "C" NOT NULL,
        route text COLLATE "C" NOT NULL,
        result text COLLATE "C" NOT NULL,
        wait text COLLATE "C" NOT NULL,
        call text COLLATE "C" NOT NULL
    )""",
    "CREATE INDEX numbers_summed ON numbers (week, agent, result, wait, route)",
    "CREATE INDEX numbers_by_call ON numbers (call, week, result, seq) WHERE call <> ''",
)
"""Count how asks ended and how long agents waited."""
FILES: Final = (
    """CREATE TABLE files (
        id text COLLATE "C" PRIMARY KEY,
        agent text COLLATE "C" NOT NULL,
        ask_id text COLLATE "C",
        at double precision NOT NULL,
        value text)""",
    "ALTER TABLE files ALTER value SET STATISTICS 0",
    "CREATE INDEX files_of_ask ON files (ask_id) WHERE ask_id IS NOT NULL",
    "CREATE INDEX files_unclaimed ON files (agent, at) WHERE ask_id IS NULL",
    """CREATE TABLE file_chunks (
        file_id text COLLATE "C" NOT NULL, n integer NOT NULL, data bytea NOT NULL, PRIMARY KEY (file_id, n))""",
    "ALTER TABLE file_chunks ALTER data SET STATISTICS 0",
    # Pictures do not get smaller.
    "ALTER TABLE file_chunks ALTER data SET STORAGE EXTERNAL",
)
"""Keep the files that agents send. Without a ``value``, an upload is not complete."""
OPEN_OF_ROUTES: Final = (
    # An older replica stores none: it is empty, as for asks that took no route.
    """ALTER TABLE asks ADD COLUMN route text COLLATE "C" NOT NULL DEFAULT ''""",
    # PostgreSQL's JSON operators refuse documents with texts that it cannot represent, even to read others. In a
    # document, a name between quotes is never part of a text: there the quotes are escaped.
    r"""UPDATE asks SET route = found.route FROM (
            SELECT seq, left(substring(request from '.*"route":("(?:[^"\\]|\\.)*")')::json #>> '{}', 128) AS route
            FROM asks JOIN requests USING (seq) WHERE status = 'open'
        ) AS found WHERE asks.seq = found.seq AND found.route IS NOT NULL""",
    "CREATE INDEX asks_open_of_route ON asks (route, seq) WHERE status = 'open'",
)
"""Find the oldest open ask of each route without reading the others."""
GRANTS_LOOKED_UP: Final = (
    "CREATE INDEX grants_of_ask ON grants (ask_id)",
    "CREATE INDEX grants_running ON grants (until) WHERE ended_at IS NULL",
)
"""Find the grant that was made with an ask, and those that can still be used, without reading the others."""
DRAFTS_OF_ASKS: Final = (
    # NULL: it is not known, as with those that are already there or that older replicas store. They are pruned soon.
    'ALTER TABLE drafts ADD COLUMN ask_id text COLLATE "C"',
    "CREATE INDEX drafts_of_ask ON drafts (ask_id)",
)
"""Find the drafts of an ask when it is erased."""
ASKS_BY_TIME: Final = ("CREATE INDEX asks_by_time ON asks (created_at, seq)",)
"""Find the asks of some days without reading those of others."""
OIDC_SESSIONS: Final = (
    """CREATE TABLE oidc_sessions (
        id text COLLATE "C" PRIMARY KEY,
        person text COLLATE "C" NOT NULL,
        at double precision NOT NULL,
        until double precision NOT NULL
    )""",
    "CREATE INDEX oidc_sessions_by_end ON oidc_sessions (until)",
)
"""Keep who has signed in with the identity provider."""
