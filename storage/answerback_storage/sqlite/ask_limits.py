"""Check if an agent has reached one of its limits. No statement reads more rows than the limit that it checks."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from answerback.core.ask import Ask
from answerback.ports.store_values import MINUTE, AskLimits, LimitReached


def find_reached(db: sqlite3.Connection, ask: Ask, limits: AskLimits) -> LimitReached | None:
    """Return the limit that keeps a new ask from being stored, or None."""
    agent, conversation = ask.request.agent, ask.request.conversation
    # With `IS ?`, SQLite would not use an index whose condition is that the agent is not null.
    whose = "agent IS NULL" if agent is None else "agent = ?"
    values = () if agent is None else (agent,)
    if limits.asks_per_minute and (wait := _seconds_to_wait(db, ask, whose, values, limits)) > 0:
        return LimitReached("asks_per_minute", wait)
    if ask.outcome is not None:
        return None
    open_asks = f"SELECT 1 FROM asks WHERE {whose} AND status = 'open'"
    if _has_rows(db, open_asks, values, limits.open_asks):
        return LimitReached("open_asks")
    in_conversation = f"{open_asks} AND conversation = ?"
    if conversation is not None and _has_rows(
        db, in_conversation, (*values, conversation), limits.open_asks_per_conversation
    ):
        return LimitReached("open_asks_per_conversation")
    return None


def _seconds_to_wait(
    db: sqlite3.Connection, ask: Ask, whose: str, values: Sequence[str], limits: AskLimits
) -> float:
    """Return the seconds until the oldest of the asks that fill the limit is a minute old."""
    found = db.execute(
        f"SELECT created_at FROM asks WHERE {whose} ORDER BY seq DESC LIMIT 1 OFFSET ?",
        (*values, limits.asks_per_minute - 1),
    ).fetchone()
    age = MINUTE if found is None else abs(ask.created_at - float(found[0]))
    return MINUTE - age


def _has_rows(db: sqlite3.Connection, query: str, values: Sequence[str], count: int) -> bool:
    """Return whether a query has this many rows; 0: no."""
    offset = count - 1
    return count > 0 and bool(db.execute(f"{query} LIMIT 1 OFFSET ?", (*values, offset)).fetchone())
