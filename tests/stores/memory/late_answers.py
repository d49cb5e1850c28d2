"""Which late answers agents have yet to see, in the in-memory store; see `answerback.ports.late_answers`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from answerback.core.ask import Ask
from answerback.ports.late_answers import LateAnswer, LateAnswerQuery, SeenState


@dataclass(slots=True)
class LateAnswerRow:
    """The late answer of one ended ask."""

    agent: str
    conversation: str
    at: float
    state: SeenState = SeenState.UNSEEN
    number: int | None = None


class LateAnswersTable:
    """All late answers by ask id, in the order in which the asks ended."""

    def __init__(self) -> None:
        self.rows: dict[str, LateAnswerRow] = {}
        self._last = 0

    def add(self, ask: Ask) -> None:
        """Record that an agent is owed the outcome of an ask, or what a person has said since."""
        request = ask.request
        row = LateAnswerRow(request.agent or "", request.conversation or "", ask.updated_at)
        self.rows[ask.id] = row

    def update_state(self, ask_ids: Collection[str], state: SeenState, at: float) -> Sequence[str]:
        """Set how far agents have seen these asks, and return the ids for which that changed."""
        changed = []
        for ask_id in ask_ids:
            row = self.rows.get(ask_id)
            if row is not None and (
                row.state > state if state is SeenState.UNSEEN else row.state < state
            ):
                row.state, row.at = state, at
                changed.append(ask_id)
        return changed

    def list_owed(
        self, query: LateAnswerQuery, asks: dict[str, Ask], at: float
    ) -> Sequence[LateAnswer]:
        """See `answerback.ports.late_answers.LateAnswerStore.list_owed`."""
        below = SeenState.LISTED if query.after is None else SeenState.SEEN
        owed = [(ask_id, row) for ask_id, row in self.rows.items() if _is_owed(row, query, below)]
        after = query.after or 0
        acknowledged = [ask_id for ask_id, row in owed if row.number and row.number <= after]
        self.update_state(acknowledged, SeenState.SEEN, at)
        unseen = [
            (ask_id, row)
            for ask_id, row in owed
            if ask_id not in query.without and row.state < below
        ]
        unseen.sort(key=lambda item: (item[1].number is None, item[1].number or 0))
        return [
            LateAnswer(self._number(row), asks[ask_id]) for ask_id, row in unseen[: query.limit]
        ]

    def forgettable(self, before: float) -> list[str]:
        """Return the asks whose late answers were seen before the given time."""
        return [ask_id for ask_id, row in self.rows.items() if row.state and row.at < before]

    def _number(self, row: LateAnswerRow) -> int:
        if row.number is None:
            self._last += 1
            row.number = self._last
        return row.number


def _is_owed(row: LateAnswerRow, query: LateAnswerQuery, below: SeenState) -> bool:
    same_conversation = query.conversation in {None, row.conversation}
    return row.agent == query.agent and same_conversation and row.state < below
