"""Sign-ins, and the tokens of agents that people have connected, in the store.

Processes that share it see each other's at once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from answerback.ports.extension_rows import RowStore, RowTransaction
from answerback_teams.values import (
    EXPIRED_FOR,
    AgentToken,
    Redeemed,
    SignIn,
    WaitingRoom,
    account_of,
)

TOKEN_COLUMNS: Final = ("token_hash", "name", "owner", "at", "until", "value")
_SIGN_IN: Final = TypeAdapter(SignIn)
_TOKEN: Final = TypeAdapter(AgentToken)
_ADD: Final = """INSERT INTO sign_ins (id, device_hash, user_hash, address, at, until, value)
    VALUES ($1, $2, $3, $4, $5, $6, $7)"""
_WAITING: Final = (
    "SELECT count(*), count(*) FILTER (WHERE address = $1) FROM sign_ins WHERE until > $2"
)
_FIND: Final = "SELECT value FROM sign_ins WHERE id = $1 OR device_hash = $1 OR user_hash = $1"
_REPLACE: Final = "UPDATE sign_ins SET value = $1 WHERE id = $2 AND value = $3 RETURNING 1"
_REDEEM: Final = "DELETE FROM sign_ins WHERE id = $1 AND value = $2 RETURNING 1"
_ISSUE: Final = (
    f"INSERT INTO agent_tokens ({', '.join(TOKEN_COLUMNS)}) VALUES ($1, $2, $3, $4, $5, $6)"
)
_REMOVE: Final = "DELETE FROM agent_tokens WHERE name = $1 RETURNING 1"
_SELECT: Final = "SELECT value, until FROM agent_tokens"
_COUNTED: Final = "agent_tokens"
"""The table that is locked while one counts what there is, and adds to it."""


class StoredSignIns:
    """The sign-ins that wait, and the tokens that they ended in."""

    def __init__(self, rows: RowStore) -> None:
        self._rows = rows

    async def add_sign_in(self, new: SignIn, source: str, room: WaitingRoom) -> bool:
        """Store a sign-in; False if there is no room for one more of its source. Removes those long expired."""

        async def run(tx: RowTransaction) -> bool:
            await tx.execute("DELETE FROM sign_ins WHERE until < $1", new.at - EXPIRED_FOR)
            [(in_all, here)] = await tx.execute(_WAITING, source, new.at)
            has_room = room.has_room(in_all, here)
            if has_room:
                await tx.execute(
                    _ADD,
                    new.id,
                    new.device_hash,
                    new.user_hash,
                    source,
                    new.at,
                    new.until,
                    _dump_sign_in(new),
                )
            return has_room

        return await self._rows.transact(run, lock=_COUNTED)

    async def find_sign_in(self, key: str) -> SignIn | None:
        """Return the sign-in with this id or with this hash of one of its codes."""
        found = await self._rows.read(_FIND, key)
        return _SIGN_IN.validate_json(found[0][0]) if found else None

    async def replace_sign_in(self, old: SignIn, new: SignIn) -> bool:
        """Change a sign-in; False if it is no longer as it was."""
        row = (_dump_sign_in(new), old.id, _dump_sign_in(old))
        return bool(await self._rows.write(_REPLACE, [row]))

    async def redeem(
        self, approved: SignIn, token: AgentToken, accounts: Collection[str], most: int
    ) -> Redeemed:
        """Exchange a sign-in for a token, once, unless these accounts have ``most`` tokens that are valid then."""
        places = ", ".join(f"${number}" for number, _ in enumerate(accounts, 2))
        count_valid = f"SELECT count(*) FROM agent_tokens WHERE until > $1 AND owner IN ({places})"
        value = to_json(_TOKEN.dump_python(token)).decode()
        owner = account_of(token.owner)

        async def run(tx: RowTransaction) -> Redeemed:
            [(count,)] = await tx.execute(count_valid, token.at, *accounts)
            if count >= most:
                return Redeemed.FULL
            if not await tx.execute(_REDEEM, approved.id, _dump_sign_in(approved)):
                return Redeemed.GONE
            await tx.execute(
                _ISSUE, token.token_hash, token.name, owner, token.at, token.until, value
            )
            return Redeemed.ISSUED

        return await self._rows.transact(run, lock=_COUNTED)

    async def find_token(self, token_hash: str) -> AgentToken | None:
        """Return the token with this hash, even if it has expired."""
        found = await self._rows.read(f"{_SELECT} WHERE token_hash = $1", token_hash)
        return _read_token(*found[0]) if found else None

    async def list_tokens(self) -> Sequence[AgentToken]:
        """Return all tokens, oldest first."""
        found = await self._rows.read(f"{_SELECT} ORDER BY at, name")
        return [_read_token(*row) for row in found]

    async def remove_token(self, name: str) -> bool:
        """Remove an agent's token; False if there is none."""
        return bool(await self._rows.write(_REMOVE, [(name,)]))


def _dump_sign_in(sign_in: SignIn) -> str:
    """Serialize a sign-in. The same sign-in always becomes the same text, by which changes are detected."""
    canonical = _SIGN_IN.validate_python(_SIGN_IN.dump_python(sign_in))  # 5 is written as 5.0
    return to_json(_SIGN_IN.dump_python(canonical)).decode()


def _read_token(value: str, until: float) -> AgentToken:
    """Parse a stored token. Its end is in its own column, because it moves when the clock is set back."""
    return _TOKEN.validate_python(from_json(value) | {"until": until})
