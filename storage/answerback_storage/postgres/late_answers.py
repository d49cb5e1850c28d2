"""What agents are still to be told, in PostgreSQL; see `answerback.ports.late_answers`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from answerback.ports.late_answers import LateAnswer, LateAnswerQuery, SeenState
from answerback_storage.postgres import late_answer_statements
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.sql import Parameters


class PostgresLateAnswers(PostgresDatabase):
    """The part of the store that knows what agents have been told."""

    async def list_late_answers(self, owing: LateAnswerQuery, at: float) -> Sequence[LateAnswer]:
        """See `answerback.ports.late_answers.LateAnswerStore.list_late_answers`. Where nothing is owed, nothing is written."""
        database, reader = self._database, self._reader
        given = Parameters()
        some = f"SELECT 1 FROM owed WHERE {late_answer_statements.owed_condition(given, owing)} LIMIT 1"

        async def run() -> list[LateAnswer]:
            if not await database.read(some, given.values):
                return []
            async with database.transaction() as connection:
                return await late_answer_statements.list_owed(connection, reader, owing, at)

        return await self._do(run)

    async def set_seen_state(
        self, ask_ids: Collection[str], told: SeenState, at: float
    ) -> Sequence[str]:
        """See `answerback.ports.late_answers.LateAnswerStore.set_seen_state`."""
        if not ask_ids:
            return []
        given = Parameters()
        to, when = given.add(int(told), "bigint"), given.add(at, "float8")
        news = "told > 0" if told is SeenState.UNSEEN else f"told < {to}"
        named = given.rows([(name,) for name in ask_ids], ("text",))
        statement = f"""UPDATE owed SET told = {to}, at = {when}
            FROM ({named}) AS named (name, n) WHERE ask_id = name AND {news} RETURNING ask_id"""
        changed = await self._do(lambda: self._database.write(statement, given.values))
        news_of = {name for (name,) in changed}
        return [name for name in ask_ids if name in news_of]
