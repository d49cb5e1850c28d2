"""The contract of stores: who has signed in with an identity provider."""

from __future__ import annotations

import pytest

from answerback.core.people import People
from answerback.ports.store import Store
from answerback_oidc.sessions import Sessions

_PREFIX = "oidc:https://login.example.com#"
_PEOPLE = People({"ann": (f"web:{_PREFIX}1", f"web:{_PREFIX}2"), "bob": (f"web:{_PREFIX}3",)})
_SECRET = b"s" * 32


def _sessions(store: Store) -> Sessions:
    return Sessions(store, _PEOPLE, _SECRET, _PREFIX)


async def _begin(store: Store, subject: str, state: str, now: float = 1_000.0) -> None:
    sessions = _sessions(store)
    assert await sessions.begin(sessions.person(subject), state, now, 1.0) is not None


async def _live(store: Store, now: float = 1_000.0) -> list[str]:
    found = await _sessions(store).holders(now)
    return sorted(each.person.user_id.removeprefix(_PREFIX) for each in found)


class OidcContract:
    """Sessions."""

    @pytest.mark.rule("OIDC-3", "OIDC-7")
    async def test_a_session_lasts_for_its_hours_and_a_state_begins_one(self, store: Store) -> None:
        sessions = _sessions(store)
        ann = sessions.person("1")
        holder = await sessions.begin(ann, "state", 1_000.0, 1.0)
        assert holder is not None
        assert await sessions.begin(ann, "state", 1_001.0, 1.0) is None
        assert await _sessions(store).holders(4_599.0) == [holder]
        assert await _live(store, 4_600.0) == []
        await sessions.end(holder)
        assert await _live(store) == []
        assert await sessions.begin(ann, "state", 1_002.0, 1.0) is None, "it is used up"

    @pytest.mark.rule("OIDC-7")
    async def test_signing_out_everywhere_ends_all_sessions_of_a_person(self, store: Store) -> None:
        for number, subject in enumerate("1123"):
            await _begin(store, subject, f"state {number}")
        await _sessions(store).end_all(_sessions(store).person("1"))
        assert await _live(store) == ["3"]

    @pytest.mark.rule("OIDC-2")
    async def test_nobody_is_signed_in_whom_people_no_longer_name(self, store: Store) -> None:
        await _begin(store, "4", "state")
        await _begin(store, "3", "another")
        assert await _live(store) == ["3"]

    @pytest.mark.rule("OIDC-7")
    async def test_a_person_has_fifty_sessions_and_what_has_ended_is_deleted(
        self, store: Store
    ) -> None:
        for number in range(52):
            await _begin(store, "1", f"state {number}", 1_000.0 + number)
        assert len(await _live(store, 1_100.0)) == 50
        await _sessions(store).prune(1_000.0 + 24 * 3_600.0 + 1.5)
        kept = await store.rows.read("SELECT at FROM oidc_sessions ORDER BY at")
        assert [at for (at,) in kept][:2] == [1_002.0, 1_003.0]
