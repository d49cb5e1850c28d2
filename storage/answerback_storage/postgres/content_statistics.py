"""Which columns have content, and no statistics of it: the statements of a migration."""

from __future__ import annotations

from typing import Final

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
STATEMENTS: Final = (
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
