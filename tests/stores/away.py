"""The contract of stores: who is away."""

from __future__ import annotations

import pytest

from answerback.core.people import NOBODY_KNOWN
from answerback.core.person import Person
from answerback.ports.store import Store
from answerback_away.absences import Absence, Hours
from answerback_away.away import Away
from tests.service_support import ManualClock

ANN, BOB = (Person(surface="chat", user_id=f"{name}\u00fc'\"") for name in ("ann", "bob"))


def away_in(store: Store, clock: ManualClock) -> Away:
    """Return who is away, as another process knows it."""
    return Away(store, clock, NOBODY_KNOWN, NotImplemented)


class AwayContract:
    """Who is away."""

    @pytest.mark.rule("AWAY-1", "AWAY-5")
    async def test_what_people_say_is_kept_replaced_and_forgotten(self, store: Store) -> None:
        clock = ManualClock()
        away = away_in(store, clock)
        until = clock.now() + 3_600
        await away.leave(ANN, until, BOB)
        await away.set_hours(ANN, Hours(60, 120, "UTC"))
        other = away_in(store, clock)
        said = await other.said_by(ANN)
        assert (said.absence, said.hours) == (Absence(until, BOB), Hours(60, 120, "UTC"))
        await other.leave(ANN, until + 1, BOB)
        assert (await away.said_by(ANN)).absence == Absence(until + 1, BOB)
        await away.return_(ANN)
        assert (await other.said_by(ANN)).hours is not None
        await away.set_hours(ANN, None)
        assert await store.rows.read("SELECT person FROM away") == []
