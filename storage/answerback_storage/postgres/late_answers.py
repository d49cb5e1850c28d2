"""Which late answers agents have yet to see, in PostgreSQL; see `answerback.ports.late_answers`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from answerback.ports.late_answers import LateAnswer, LateAnswerQuery, SeenState
from answerback_storage.postgres import late_answer_statements
from answerback_storage.postgres.database import PostgresDatabase
from answerback_storage.postgres.sql import Parameters


class PostgresLateAnswers(PostgresDatabase):
    """Late answers in the PostgreSQL store."""

    async def list_late_answers(self, query: LateAnswerQuery, at: float) -> Sequence[LateAnswer]:
        """See `answerback.ports.late_answers.LateAnswerStore.list_late_answers`.

        If nothing is owed, nothing is written.
        """
        database, reader = self._database, self._reader
        params = Parameters()
        any_owed = f"SELECT 1 FROM owed WHERE {late_answer_statements.owed_condition(params, query)} LIMIT 1"

        async def run() -> list[LateAnswer]:
            if not await database.read(any_owed, params.values):
                return []
            async with database.transaction() as connection:
                return await late_answer_statements.list_owed(connection, reader, query, at)

        return await self._run(run)

    async def set_seen_state(
        self, ask_ids: Collection[str], state: SeenState, at: float
    ) -> Sequence[str]:
        """See `answerback.ports.late_answers.LateAnswerStore.set_seen_state`."""
        if not ask_ids:
            return []
        params = Parameters()
        to, when = params.add(int(state), "bigint"), params.add(at, "float8")
        is_change = "told > 0" if state is SeenState.UNSEEN else f"told < {to}"
        wanted = params.rows([(name,) for name in ask_ids], ("text",))
        statement = f"""UPDATE owed SET told = {to}, at = {when}
            FROM ({wanted}) AS named (name, n) WHERE ask_id = name AND {is_change} RETURNING ask_id"""
        changed = await self._run(lambda: self._database.write(statement, params.values))
        changed_ids = {name for (name,) in changed}
        return [name for name in ask_ids if name in changed_ids]

    async def get_seen_state(self, ask_id: str) -> SeenState:
        """See `answerback.ports.late_answers.LateAnswerStore.get_seen_state`."""
        found = await self._read("SELECT told FROM owed WHERE ask_id = $1", ask_id)
        return SeenState(found[0][0]) if found else SeenState.SEEN
