"""The statements about late answers that agents have yet to see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from answerback.core.ask import Ask
from answerback.ports.late_answers import LateAnswer, LateAnswerQuery, SeenState
from answerback.ports.store_values import DeliveryState
from answerback_storage import rows
from answerback_storage.postgres import asks
from answerback_storage.postgres.connections import Connection
from answerback_storage.postgres.sql import Parameters, combine_statements, equality_conditions

T = TypeVar("T")

MARK_SEEN_BY_DELIVERY: Final = f"""UPDATE owed SET told = {int(SeenState.SEEN)}, at = updated_at FROM told
    WHERE ask_id = told.id AND state = '{DeliveryState.DELIVERED}' AND owed.told < {int(SeenState.SEEN)}"""
"""Marks the outcomes that the deliveries in ``told`` have brought to agents."""
_OWED: Final = ("text", "text", "text", "float8")


def insert_owed(params: Parameters, ended: Iterable[Ask]) -> str:
    """Build the part of a statement that records that agents are owed the outcomes of the asks in ``moved``."""
    found = [
        (ask.id, ask.request.agent or "", ask.request.conversation or "", ask.updated_at)
        for ask in ended
    ]
    return f"""INSERT INTO owed (ask_id, agent, conversation, told, at) SELECT c0, c1, c2, 0, c3
        FROM ({params.rows(found, _OWED)}) AS new (c0, c1, c2, c3, n) JOIN moved ON moved.id = c0 ORDER BY n"""


def owed_condition(params: Parameters, query: LateAnswerQuery) -> str:
    """Build the condition for what is owed to an agent."""
    owner_condition = equality_conditions(
        params, {"owed.agent": query.agent, "owed.conversation": query.conversation}
    )
    return f"{owner_condition} owed.told < {1 if query.after is None else 2}"


async def list_owed(
    connection: Connection, reader: asks.Reader, query: LateAnswerQuery, at: float
) -> list[LateAnswer]:
    """Return what is owed to an agent, numbered, and record what it acknowledges."""
    # Concurrent listings wait here, and then see the numbers that were assigned.
    locked = await connection.execute("SELECT last FROM listed FOR UPDATE")
    (last,) = await locked.fetchone() or (0,)
    if query.after is not None:
        params = Parameters()
        when, owner_condition = params.add(at, "float8"), owed_condition(params, query)
        await connection.execute(
            f"""UPDATE owed SET told = 2, at = {when}
                WHERE {owner_condition} AND number <= {params.add(query.after, "bigint")}""".encode(),
            params.values,
        )
    found: list[tuple[int | None, int, Ask]] = []
    offset = 0
    while len(found) < query.limit:
        part = await _read_part(connection, query, (offset, query.limit))
        found += asks.read_valid_rows(
            reader.logged_rows,
            "asks",
            [(row[3], row) for row in part],
            lambda row: (row[0], row[1], asks.parse_row(reader.cache, row[2:]).ask),
        )
        offset += query.limit
        if len(part) < query.limit:
            break
    return await _assign_numbers(connection, found[: query.limit], last)


async def _read_part(
    connection: Connection, query: LateAnswerQuery, span: tuple[int, int]
) -> list[rows.Row]:
    params = Parameters()
    owner_condition = owed_condition(params, query)
    if query.without:
        excluded = params.rows([(name,) for name in sorted(query.without)], ("text",))
        owner_condition += f" AND ask_id NOT IN (SELECT c0 FROM ({excluded}) AS without (c0, n))"
    loaded = asks.load_statement(
        f"JOIN owed ON asks.id = ask_id WHERE {owner_condition}"
        f" ORDER BY number NULLS LAST, owed.seq OFFSET {span[0]} LIMIT {span[1]}"
    )
    part = await connection.execute(
        loaded.replace("SELECT ", "SELECT number, owed.seq, ", 1).encode(), params.values
    )
    return await part.fetchall()


async def _assign_numbers(
    connection: Connection, found: Sequence[tuple[int | None, int, Ask]], last: int
) -> list[LateAnswer]:
    """Assign numbers to the rows that have none, and return the late answers."""
    fresh = {
        seq: number
        for number, seq in enumerate((seq for number, seq, _ in found if number is None), last + 1)
    }
    if fresh:
        params = Parameters()
        values = params.rows(fresh.items(), ("bigint", "bigint"))
        await connection.execute(
            combine_statements(
                {
                    "new": f"SELECT c0, c1 FROM ({values}) AS new (c0, c1, n)",
                    "counted": "UPDATE listed SET last = (SELECT max(c1) FROM new)",
                },
                "UPDATE owed SET number = c1 FROM new WHERE seq = c0",
            ).encode(),
            params.values,
        )
    return [LateAnswer(number or fresh[seq], ask) for number, seq, ask in found]
