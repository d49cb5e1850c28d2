"""What agents are still to be told, in memory; see `answerback.ports.late_answers`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from answerback.core.ask import Ask
from answerback.ports.late_answers import LateAnswer, LateAnswerQuery, SeenState
from answerback.ports.store_values import DeliveryState, StoredDelivery


@dataclass(slots=True)
class LateAnswerRow:
    """What is known of one ended ask."""

    agent: str
    conversation: str
    at: float
    told: SeenState = SeenState.UNSEEN
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

    def update_told(self, ask_ids: Collection[str], told: SeenState, at: float) -> Sequence[str]:
        """Notes how far agents have been told of asks; the ids of those for which that was news."""
        news = []
        for ask_id in ask_ids:
            row = self.rows.get(ask_id)
            if row is not None and (
                row.told > told if told is SeenState.UNSEEN else row.told < told
            ):
                row.told, row.at = told, at
                news.append(ask_id)
        return news

    def list_owed(
        self, owing: LateAnswerQuery, asks: dict[str, Ask], at: float
    ) -> Sequence[LateAnswer]:
        """See `answerback.ports.late_answers.LateAnswerStore.list_late_answers`."""
        below = SeenState.LISTED if owing.after is None else SeenState.SEEN
        theirs = [(ask_id, row) for ask_id, row in self.rows.items() if _is_owed(row, owing, below)]
        after = owing.after or 0
        acknowledged = [ask_id for ask_id, row in theirs if row.number and row.number <= after]
        self.update_told(acknowledged, SeenState.SEEN, at)
        left = [
            (ask_id, row)
            for ask_id, row in theirs
            if ask_id not in owing.without and row.told < below
        ]
        left.sort(key=lambda one: (one[1].number is None, one[1].number or 0))
        return [LateAnswer(self._number(row), asks[ask_id]) for ask_id, row in left[: owing.limit]]

    def record_delivery(self, result: StoredDelivery) -> None:
        """Notes what a try of a webhook has told."""
        if result.state is DeliveryState.DELIVERED:
            self.update_told([result.delivery.ask_id], SeenState.SEEN, result.updated_at)

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

    async def list_late_answers(
        self: _HasTables, owing: LateAnswerQuery, at: float
    ) -> Sequence[LateAnswer]:
        """See `answerback.ports.late_answers.LateAnswerStore.list_late_answers`."""
        tables = self._tables()
        return tables.late_answers.list_owed(owing, tables.asks, at)

    async def set_seen_state(
        self: _HasTables, ask_ids: Collection[str], told: SeenState, at: float
    ) -> Sequence[str]:
        """See `answerback.ports.late_answers.LateAnswerStore.set_seen_state`."""
        return self._tables().late_answers.update_told(ask_ids, told, at)


def _is_owed(row: LateAnswerRow, owing: LateAnswerQuery, below: SeenState) -> bool:
    here = owing.conversation in {None, row.conversation}
    return row.agent == owing.agent and here and row.told < below
