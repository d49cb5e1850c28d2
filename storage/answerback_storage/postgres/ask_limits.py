"""The function that counts an agent's asks, and the index that it needs: the statements of a migration."""

from __future__ import annotations

from typing import Final

from answerback_storage.postgres.sql import index_expression

_LIMIT_LOCKS: Final = 0x416E736C
"""The class of the advisory locks, one per agent, under which an agent's asks are counted: "Ansl"."""
STATEMENTS: Final = (
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
