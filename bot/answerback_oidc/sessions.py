"""Who has signed in: a session each, which ends with its time, with a sign-out, or with its person."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Final

from answerback.core.people import People
from answerback.core.person import AuthMethod, Person
from answerback.ports.person_key import KeyHolder, hash_of
from answerback.ports.store import Store

SURFACE: Final = "web"
COLUMNS: Final = ("id", "person", "at", "until")
_HOUR: Final = 3_600.0
_DAY: Final = 24 * _HOUR
_MAX_SESSIONS: Final = 50
"""Sessions of one person: the oldest ends."""
_NEW: Final = "INSERT INTO oidc_sessions (id, person, at, until) VALUES {values} ON CONFLICT DO NOTHING RETURNING id"
_LIVE: Final = "SELECT id, person FROM oidc_sessions WHERE until > $1"
_OLDEST: Final = f"""SELECT id FROM oidc_sessions WHERE person = $1 AND until > $2
    ORDER BY at DESC, id LIMIT 1000 OFFSET {_MAX_SESSIONS}"""
# What has ended is kept for a day, so that nothing of its sign-in works twice.
_END: Final = "UPDATE oidc_sessions SET until = 0 WHERE id IN (VALUES {values})"
_END_ALL: Final = "UPDATE oidc_sessions SET until = 0 WHERE person IN (VALUES {values})"
_PRUNE: Final = "DELETE FROM oidc_sessions WHERE until < $1 AND at < $1"


class Sessions:
    """The sessions of all replicas.

    Args:
        secret: 32 bytes that belong to the extension and never change.
        prefix: how the ids of the people begin who may sign in now.
    """

    def __init__(self, store: Store, people: People, secret: bytes, prefix: str) -> None:
        self._rows, self._people = store.rows, people
        self._secret, self._prefix = secret, prefix

    def person(self, subject: str) -> Person:
        """Return the person of a subject of the provider."""
        return self._named(f"{self._prefix}{subject}")

    def _named(self, user_id: str) -> Person:
        person = Person(surface=SURFACE, user_id=user_id, known=AuthMethod.OIDC)
        named = self._people.as_named(person)
        return (
            named
            if named.name
            else Person(
                surface=SURFACE,
                user_id=user_id,
                name=self._people.name_of(person),
                known=AuthMethod.OIDC,
            )
        )

    def may_sign_in(self, person: Person) -> bool:
        """Return True if a person is one of `people`, and of the provider that is configured."""
        is_ours = person.surface == SURFACE and person.user_id.startswith(self._prefix)
        return is_ours and self._people.name_of(person) is not None

    async def begin(self, person: Person, state: str, now: float, hours: float) -> KeyHolder | None:
        """Begin a session by a sign-in that was begun with a state; None if one has begun with it already."""
        token = hmac.new(self._secret, f"session:{state}".encode(), hashlib.sha256).hexdigest()
        new = (hash_of(token), person.user_id, now, now + hours * _HOUR)
        if not await self._rows.write(_NEW, [new]):
            return None
        too_many = await self._rows.read(_OLDEST, person.user_id, now)
        if too_many:
            await self._rows.write(_END, too_many)
        return self._holder(new[0], person)

    async def holders(self, now: float) -> Sequence[KeyHolder]:
        """Return those who are signed in."""
        found = [
            (key_hash, self._named(user_id))
            for key_hash, user_id in await self._rows.read(_LIVE, now)
        ]
        return [self._holder(each, person) for each, person in found if self.may_sign_in(person)]

    def _holder(self, key_hash: str, person: Person) -> KeyHolder:
        secret = hmac.new(self._secret, f"pages:{key_hash}".encode(), hashlib.sha256).digest()
        return KeyHolder(key_hash, secret, person)

    async def end(self, holder: KeyHolder) -> None:
        await self._rows.write(_END, [(holder.key_hash,)])

    async def end_all(self, person: Person) -> None:
        """End all sessions of a person, under whichever id."""
        accounts = [
            (user_id,)
            for surface, user_id in self._people.accounts_of(person)
            if surface == SURFACE
        ]
        await self._rows.write(_END_ALL, accounts)

    async def prune(self, now: float) -> None:
        """End the sessions of those who may not sign in any more, for good, and delete what has ended a day ago."""
        over = [
            (key_hash,)
            for key_hash, user_id in await self._rows.read(_LIVE, now)
            if not self.may_sign_in(self._named(user_id))
        ]
        if over:
            await self._rows.write(_END, over)
        await self._rows.write(_PRUNE, [(now - _DAY,)])
