"""What agents are still to be told, in memory; see `answerback.ports.late_answers`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from answerback.core.ask import Ask
from answerback.ports.late_answers import Owed, Owing, Told
from answerback.ports.store_values import DeliveryState, StoredDelivery


@dataclass(slots=True)
class LateAnswerRow:
    """What is known of one ended ask."""

    agent: str
    conversation: str
    at: float
    told: Told = Told.NOT
    number: int | None = None


class LateAnswersTable:
    """All rows, by the asks' ids, in the order in which the asks ended."""

    def __init__(self) -> None:
        self.rows: dict[str, LateAnswerRow] = {}
        self._last = 0

    def add(self, ask: Ask) -> None:
        """Notes that an agent is to be told how an ask ended."""
        request = ask.request
        row = LateAnswerRow(request.agent or "", request.conversation or "", ask.updated_at)
        self.rows[ask.id] = row

    def update_told(self, ask_ids: Collection[str], told: Told, at: float) -> Sequence[str]:
        """Notes how far agents have been told of asks; the ids of those for which that was news."""
        news = []
        for ask_id in ask_ids:
            row = self.rows.get(ask_id)
            if row is not None and (row.told > told if told is Told.NOT else row.told < told):
                row.told, row.at = told, at
                news.append(ask_id)
        return news

    def list_owed(self, owing: Owing, asks: dict[str, Ask], at: float) -> Sequence[Owed]:
        """See `answerback.ports.late_answers.Telling.owed`."""
        below = Told.LISTED if owing.after is None else Told.TOLD
        theirs = [(ask_id, row) for ask_id, row in self.rows.items() if _is_owed(row, owing, below)]
        after = owing.after or 0
        acknowledged = [ask_id for ask_id, row in theirs if row.number and row.number <= after]
        self.update_told(acknowledged, Told.TOLD, at)
        left = [
            (ask_id, row)
            for ask_id, row in theirs
            if ask_id not in owing.without and row.told < below
        ]
        left.sort(key=lambda one: (one[1].number is None, one[1].number or 0))
        return [Owed(self._number(row), asks[ask_id]) for ask_id, row in left[: owing.limit]]

    def record_delivery(self, result: StoredDelivery) -> None:
        """Notes what a try of a webhook has told."""
        if result.state is DeliveryState.DELIVERED:
            self.update_told([result.delivery.ask_id], Told.TOLD, result.updated_at)

    def forgettable(self, before: float) -> list[str]:
        """The asks whose agents were told before then."""
        return [ask_id for ask_id, row in self.rows.items() if row.told and row.at < before]

    def _number(self, row: LateAnswerRow) -> int:
        if row.number is None:
            self._last += 1
            row.number = self._last
        return row.number


class _Kept(Protocol):
    """What is kept: the tables of the store that this is a part of."""

    asks: dict[str, Ask]
    late_answers: LateAnswersTable


class _HasTables(Protocol):
    def _tables(self) -> _Kept: ...


class MemoryLateAnswers:
    """The part of the store that knows what agents have been told."""

    async def owed(self: _HasTables, owing: Owing, at: float) -> Sequence[Owed]:
        """See `answerback.ports.late_answers.Telling.owed`."""
        tables = self._tables()
        return tables.late_answers.list_owed(owing, tables.asks, at)

    async def told(
        self: _HasTables, ask_ids: Collection[str], told: Told, at: float
    ) -> Sequence[str]:
        """See `answerback.ports.late_answers.Telling.told`."""
        return self._tables().late_answers.update_told(ask_ids, told, at)


def _is_owed(row: LateAnswerRow, owing: Owing, below: Told) -> bool:
    here = owing.conversation in {None, row.conversation}
    return row.agent == owing.agent and here and row.told < below
