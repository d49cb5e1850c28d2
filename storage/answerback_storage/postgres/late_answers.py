"""Which late answers agents have yet to see, in PostgreSQL; see `answerback.ports.late_answers`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from answerback.core.ask import Ask
from answerback.ports.late_answers import LateAnswer, LateAnswerQuery, LateAnswerStore, SeenState
from answerback_storage import rows
from answerback_storage.base_store import Part
from answerback_storage.postgres import asks
from answerback_storage.postgres.connections import Connection
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.sql import Parameters, combine_statements, equality_conditions

_OWED: Final = ("text", "text", "text", "float8")


def insert_owed(params: Parameters, ended: Iterable[Ask]) -> str:
    """Build the part of a statement that records that agents are owed the outcomes of the asks in ``stored``, or what
    people have said since."""
    found = [
        (ask.id, ask.request.agent or "", ask.request.conversation or "", ask.updated_at)
        for ask in ended
    ]
    return f"""INSERT INTO owed (ask_id, agent, conversation, told, at) SELECT c0, c1, c2, 0, c3
        FROM ({params.rows(found, _OWED)}) AS new (c0, c1, c2, c3, n) JOIN stored ON stored.id = c0 ORDER BY n
        ON CONFLICT (ask_id) DO UPDATE SET told = 0, number = NULL, at = excluded.at"""


class PostgresLateAnswers(Part[PostgresDatabase], LateAnswerStore):
    """Late answers in a PostgreSQL database."""

    async def list_owed(self, query: LateAnswerQuery, at: float) -> Sequence[LateAnswer]:
        """See `LateAnswerStore.list_owed`. If nothing is owed, nothing is written."""
        params = Parameters()
        any_owed = f"SELECT 1 FROM owed WHERE {_owed_condition(params, query)} LIMIT 1"

        async def run() -> list[LateAnswer]:
            if not await self._db.connections.read(any_owed, params.values):
                return []
            async with self._db.connections.transaction() as connection:
                return await _list_owed(connection, self._db, query, at)

        return await self._db.run(run)

    async def set_seen_state(
        self, ask_ids: Collection[str], state: SeenState, at: float
    ) -> Sequence[str]:
        if not ask_ids:
            return []
        params = Parameters()
        to, when = params.add(int(state), "bigint"), params.add(at, "float8")
        is_change = "told > 0" if state is SeenState.UNSEEN else f"told < {to}"
        wanted = params.rows([(name,) for name in ask_ids], ("text",))
        statement = f"""UPDATE owed SET told = {to}, at = {when}
            FROM ({wanted}) AS named (name, n) WHERE ask_id = name AND {is_change} RETURNING ask_id"""
        changed = await self._db.write(statement, *params.values)
        changed_ids = {name for (name,) in changed}
        return [name for name in ask_ids if name in changed_ids]

    async def get_seen_state(self, ask_id: str) -> SeenState:
        found = await self._db.read("SELECT told FROM owed WHERE ask_id = $1", ask_id)
        return SeenState(found[0][0]) if found else SeenState.SEEN


def _owed_condition(params: Parameters, query: LateAnswerQuery) -> str:
    """Build the condition for what is owed to an agent."""
    owner_condition = equality_conditions(
        params, {"owed.agent": query.agent, "owed.conversation": query.conversation}
    )
    return f"{owner_condition} owed.told < {1 if query.after is None else 2}"


async def _list_owed(
    connection: Connection, db: PostgresDatabase, query: LateAnswerQuery, at: float
) -> list[LateAnswer]:
    """Return what is owed to an agent, numbered, and record what it acknowledges."""
    # Concurrent listings wait here, and then see the numbers that were assigned.
    locked = await connection.execute("SELECT last FROM listed FOR UPDATE")
    (last,) = await locked.fetchone() or (0,)
    if query.after is not None:
        params = Parameters()
        when, owner_condition = params.add(at, "float8"), _owed_condition(params, query)
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
            db.logged_rows,
            "asks",
            [(row[3], row) for row in part],
            lambda row: (row[0], row[1], asks.parse_row(db.requests, row[2:]).ask),
        )
        offset += query.limit
        if len(part) < query.limit:
            break
    return await _assign_numbers(connection, found[: query.limit], last)


async def _read_part(
    connection: Connection, query: LateAnswerQuery, span: tuple[int, int]
) -> list[rows.Row]:
    params = Parameters()
    owner_condition = _owed_condition(params, query)
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
