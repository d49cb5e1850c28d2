"""What agents are still to be told, in PostgreSQL; see `answerback.ports.telling`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from typing import Any, Final, Protocol, TypeVar

from answerback.core.ask import Ask
from answerback.ports.records import DeliveryState
from answerback.ports.telling import Owed, Owing, Told
from answerback_storage import rows
from answerback_storage.postgres import asks
from answerback_storage.postgres.connections import Connection, Database
from answerback_storage.postgres.statements import Parameters, as_one, same

T = TypeVar("T")

HEARD: Final = f"""UPDATE owed SET told = {int(Told.TOLD)}, at = updated_at FROM told
    WHERE ask_id = told.id AND state = '{DeliveryState.DELIVERED}' AND owed.told < {int(Told.TOLD)}"""
"""Who got a delivery in ``told`` has been told."""
_OWED: Final = ("text", "text", "text", "float8")


class _Parts(Protocol):
    """What the store that this is a part of runs statements with."""

    _database: Database
    _reader: asks.Reader

    async def _do(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T: ...


class PostgresTelling:
    """The part of the store that knows what agents have been told."""

    async def owed(self: _Parts, owing: Owing, at: float) -> Sequence[Owed]:
        """See `answerback.ports.telling.Telling.owed`. Where nothing is owed, nothing is written."""
        database, reader = self._database, self._reader
        given = Parameters()
        some = f"SELECT 1 FROM owed WHERE {_theirs(given, owing)} LIMIT 1"

        async def run() -> list[Owed]:
            if not await database.read(some, given.values):
                return []
            async with database.transaction() as connection:
                return await _listed(connection, reader, owing, at)

        return await self._do(run)

    async def told(self: _Parts, ask_ids: Collection[str], told: Told, at: float) -> Sequence[str]:
        """See `answerback.ports.telling.Telling.told`."""
        if not ask_ids:
            return []
        given = Parameters()
        to, when = given.add(int(told), "bigint"), given.add(at, "float8")
        news = "told > 0" if told is Told.NOT else f"told < {to}"
        named = given.rows([(name,) for name in ask_ids], ("text",))
        statement = f"""UPDATE owed SET told = {to}, at = {when}
            FROM ({named}) AS named (name, n) WHERE ask_id = name AND {news} RETURNING ask_id"""
        changed = await self._do(lambda: self._database.write(statement, given.values))
        news_of = {name for (name,) in changed}
        return [name for name in ask_ids if name in news_of]


def owe(given: Parameters, ended: Iterable[Ask]) -> str:
    """The part of a statement that notes that agents are to be told how the asks in ``moved`` ended."""
    found = [
        (one.id, one.request.agent or "", one.request.conversation or "", one.updated_at)
        for one in ended
    ]
    return f"""INSERT INTO owed (ask_id, agent, conversation, told, at) SELECT c0, c1, c2, 0, c3
        FROM ({given.rows(found, _OWED)}) AS new (c0, c1, c2, c3, n) JOIN moved ON moved.id = c0 ORDER BY n"""


def _theirs(given: Parameters, owing: Owing) -> str:
    """What is owed to an agent, as a condition."""
    theirs = same(given, {"owed.agent": owing.agent, "owed.conversation": owing.conversation})
    return f"{theirs} owed.told < {1 if owing.after is None else 2}"


async def _listed(
    connection: Connection, reader: asks.Reader, owing: Owing, at: float
) -> list[Owed]:
    # Whoever lists at the same time waits here, and then sees the numbers that were given.
    locked = await connection.execute("SELECT last FROM listed FOR UPDATE")
    (last,) = await locked.fetchone() or (0,)
    if owing.after is not None:
        given = Parameters()
        when, theirs = given.add(at, "float8"), _theirs(given, owing)
        await connection.execute(
            f"""UPDATE owed SET told = 2, at = {when}
                WHERE {theirs} AND number <= {given.add(owing.after, "bigint")}""".encode(),
            given.values,
        )
    found: list[tuple[int | None, int, Ask]] = []
    passed = 0
    while len(found) < owing.limit:
        part = await _part(connection, owing, (passed, owing.limit))
        found += asks.readable(
            reader.told,
            "asks",
            [(row[3], row) for row in part],
            lambda row: (row[0], row[1], asks.loaded(reader.cache, row[2:]).ask),
        )
        passed += owing.limit
        if len(part) < owing.limit:
            break
    return await _numbered(connection, found[: owing.limit], last)


async def _part(connection: Connection, owing: Owing, span: tuple[int, int]) -> list[rows.Row]:
    given = Parameters()
    theirs = _theirs(given, owing)
    if owing.without:
        left_out = given.rows([(name,) for name in sorted(owing.without)], ("text",))
        theirs += f" AND ask_id NOT IN (SELECT c0 FROM ({left_out}) AS without (c0, n))"
    loaded = asks.load_statement(
        f"JOIN owed ON asks.id = ask_id WHERE {theirs}"
        f" ORDER BY number NULLS LAST, owed.seq OFFSET {span[0]} LIMIT {span[1]}"
    )
    part = await connection.execute(
        loaded.replace("SELECT ", "SELECT number, owed.seq, ", 1).encode(), given.values
    )
    return await part.fetchall()


async def _numbered(
    connection: Connection, found: Sequence[tuple[int | None, int, Ask]], last: int
) -> list[Owed]:
    """With the numbers of rows, given now where they have none."""
    fresh = {
        seq: number
        for number, seq in enumerate((seq for number, seq, _ in found if number is None), last + 1)
    }
    if fresh:
        given = Parameters()
        values = given.rows(fresh.items(), ("bigint", "bigint"))
        await connection.execute(
            as_one(
                {
                    "new": f"SELECT c0, c1 FROM ({values}) AS new (c0, c1, n)",
                    "counted": "UPDATE listed SET last = (SELECT max(c1) FROM new)",
                },
                "UPDATE owed SET number = c1 FROM new WHERE seq = c0",
            ).encode(),
            given.values,
        )
    return [Owed(number or fresh[seq], one) for number, seq, one in found]
