"""Which late answers agents have yet to see, in a database; see `answerback.ports.late_answers`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain

from answerback.core.ask import Ask
from answerback.ports.late_answers import LateAnswer, LateAnswerQuery, LateAnswerStore, SeenState
from answerback_storage.rows import Row
from answerback_storage.sql_database import (
    Part,
    SqlDatabase,
    Transaction,
    placeholders,
    value_rows,
    where,
)


def owed_row(ask: Ask) -> Row:
    """Return the ask, its agent, its conversation, and since when its agent is owed the outcome."""
    return ask.id, ask.request.agent or "", ask.request.conversation or "", ask.updated_at


class SqlLateAnswers(Part[SqlDatabase], LateAnswerStore):
    async def list_owed(self, query: LateAnswerQuery, at: float) -> Sequence[LateAnswer]:
        owed, values = self._owed(query)
        # Most responses have nothing to report. Reading first spares them a transaction that writes.
        if not await self._db.fetch(f"SELECT 1 FROM owed WHERE {owed} LIMIT 1", *values):
            return []

        async def run(tx: Transaction) -> list[LateAnswer]:
            if query.after is not None:
                at_place, number_place = f"${len(values) + 1}", f"${len(values) + 2}"
                acknowledge = f"UPDATE owed SET told = 2, at = {at_place} WHERE {owed} AND number <= {number_place}"
                await tx.execute(acknowledge, *values, at, query.after)
            # What the agent has just acknowledged is out of this list, in the same transaction.
            numbers, found = await self._read(tx, query)
            numbers |= await _assign(tx, [ask.id for ask in found if numbers[ask.id] is None])
            return [LateAnswer(numbers[ask.id] or 0, ask) for ask in found]

        return await self._db.transact(run, lock="listed")

    def _owed(self, query: LateAnswerQuery) -> tuple[str, list[object]]:
        """Return the condition for what is owed to an agent, and its values."""
        columns = {"owed.agent": query.agent, "owed.conversation": query.conversation}
        terms, values = where(self._db, columns)
        # SQLite uses the index of what is not seen only if its condition is among these.
        return f"{terms} AND owed.told < 2{' AND owed.told = 0' * (query.after is None)}", values

    async def _read(
        self, tx: Transaction, query: LateAnswerQuery
    ) -> tuple[dict[str, int | None], list[Ask]]:
        """Return the first asks that are owed and can be read, and the numbers of those that have some."""
        owed, values = self._owed(query)
        values += [*sorted(query.without), query.limit]
        without = placeholders(len(query.without), len(values) - len(query.without))
        excluded = f"AND ask_id NOT IN ({without})" if query.without else ""
        numbers: dict[str, int | None] = {}
        found: list[Ask] = []
        while len(found) < query.limit:
            part = await tx.execute(
                f"""SELECT ask_id, number FROM owed WHERE {owed} {excluded}
                    ORDER BY number IS NULL, number, seq LIMIT ${len(values)} OFFSET {len(numbers)}""",
                *values,
            )
            # The numbers are also the offset: rows that cannot be read are passed over in the next part.
            numbers |= dict(part)
            found += await tx.get_readable([ask_id for ask_id, _ in part])
            if len(part) < query.limit:
                break
        return numbers, found[: query.limit]

    async def set_seen_state(
        self, ask_ids: Collection[str], state: SeenState, at: float
    ) -> Sequence[str]:
        # A state only grows, unless a response was lost: a list that arrives late must not undo an acknowledgement.
        is_change = "told > 0" if state is SeenState.UNSEEN else "told < $1"
        changed = await self._db.execute(
            f"""UPDATE owed SET told = $1, at = $2
                WHERE ask_id IN ({placeholders(len(ask_ids), 3)}) AND {is_change} RETURNING ask_id""",
            int(state),
            at,
            *ask_ids,
        )
        changed_ids = {ask_id for (ask_id,) in changed}
        return [ask_id for ask_id in ask_ids if ask_id in changed_ids]

    async def get_seen_state(self, ask_id: str) -> SeenState:
        found = await self._db.fetch("SELECT told FROM owed WHERE ask_id = $1", ask_id)
        return SeenState(found[0][0]) if found else SeenState.SEEN


async def _assign(tx: Transaction, ask_ids: Sequence[str]) -> dict[str, int | None]:
    """Assign the next numbers to asks, and return them."""
    if not ask_ids:
        return {}
    # Numbered when it is listed first, not when it ends: a cursor then never passes an outcome that commits later.
    statement = "UPDATE listed SET last = last + $1 RETURNING last"
    [(last,)] = await tx.execute(statement, len(ask_ids))
    new = [*zip(ask_ids, range(last - len(ask_ids) + 1, last + 1), strict=True)]
    await tx.execute(
        f"""UPDATE owed SET number = new.column2 FROM (VALUES {value_rows(new)}) AS new
            WHERE ask_id = new.column1""",
        *chain.from_iterable(new),
    )
    return dict(new)
