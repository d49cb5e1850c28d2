"""The statements about what agents are still to be told."""

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

MARK_TOLD_BY_DELIVERY: Final = f"""UPDATE owed SET told = {int(SeenState.SEEN)}, at = updated_at FROM told
    WHERE ask_id = told.id AND state = '{DeliveryState.DELIVERED}' AND owed.told < {int(SeenState.SEEN)}"""
"""Who got a delivery in ``told`` has been told."""
_OWED: Final = ("text", "text", "text", "float8")


def insert_owed(given: Parameters, ended: Iterable[Ask]) -> str:
    """The part of a statement that notes that agents are to be told how the asks in ``moved`` ended."""
    found = [
        (one.id, one.request.agent or "", one.request.conversation or "", one.updated_at)
        for one in ended
    ]
    return f"""INSERT INTO owed (ask_id, agent, conversation, told, at) SELECT c0, c1, c2, 0, c3
        FROM ({given.rows(found, _OWED)}) AS new (c0, c1, c2, c3, n) JOIN moved ON moved.id = c0 ORDER BY n"""


def owed_condition(given: Parameters, owing: LateAnswerQuery) -> str:
    """What is owed to an agent, as a condition."""
    whose = equality_conditions(
        given, {"owed.agent": owing.agent, "owed.conversation": owing.conversation}
    )
    return f"{whose} owed.told < {1 if owing.after is None else 2}"


async def list_owed(
    connection: Connection, reader: asks.Reader, owing: LateAnswerQuery, at: float
) -> list[LateAnswer]:
    """What is owed to an agent, numbered; what it acknowledges is noted."""
    # Whoever lists at the same time waits here, and then sees the numbers that were given.
    locked = await connection.execute("SELECT last FROM listed FOR UPDATE")
    (last,) = await locked.fetchone() or (0,)
    if owing.after is not None:
        given = Parameters()
        when, whose = given.add(at, "float8"), owed_condition(given, owing)
        await connection.execute(
            f"""UPDATE owed SET told = 2, at = {when}
                WHERE {whose} AND number <= {given.add(owing.after, "bigint")}""".encode(),
            given.values,
        )
    found: list[tuple[int | None, int, Ask]] = []
    passed = 0
    while len(found) < owing.limit:
        part = await _part(connection, owing, (passed, owing.limit))
        found += asks.read_valid_rows(
            reader.told,
            "asks",
            [(row[3], row) for row in part],
            lambda row: (row[0], row[1], asks.parse_row(reader.cache, row[2:]).ask),
        )
        passed += owing.limit
        if len(part) < owing.limit:
            break
    return await _numbered(connection, found[: owing.limit], last)


async def _part(
    connection: Connection, owing: LateAnswerQuery, span: tuple[int, int]
) -> list[rows.Row]:
    given = Parameters()
    whose = owed_condition(given, owing)
    if owing.without:
        left_out = given.rows([(name,) for name in sorted(owing.without)], ("text",))
        whose += f" AND ask_id NOT IN (SELECT c0 FROM ({left_out}) AS without (c0, n))"
    loaded = asks.load_statement(
        f"JOIN owed ON asks.id = ask_id WHERE {whose}"
        f" ORDER BY number NULLS LAST, owed.seq OFFSET {span[0]} LIMIT {span[1]}"
    )
    part = await connection.execute(
        loaded.replace("SELECT ", "SELECT number, owed.seq, ", 1).encode(), given.values
    )
    return await part.fetchall()


async def _numbered(
    connection: Connection, found: Sequence[tuple[int | None, int, Ask]], last: int
) -> list[LateAnswer]:
    """With the numbers of rows, given now where they have none."""
    fresh = {
        seq: number
        for number, seq in enumerate((seq for number, seq, _ in found if number is None), last + 1)
    }
    if fresh:
        given = Parameters()
        values = given.rows(fresh.items(), ("bigint", "bigint"))
        await connection.execute(
            combine_statements(
                {
                    "new": f"SELECT c0, c1 FROM ({values}) AS new (c0, c1, n)",
                    "counted": "UPDATE listed SET last = (SELECT max(c1) FROM new)",
                },
                "UPDATE owed SET number = c1 FROM new WHERE seq = c0",
            ).encode(),
            given.values,
        )
    return [LateAnswer(number or fresh[seq], one) for number, seq, one in found]
