"""Sign-ins, the tokens of agents that people have connected, and the accounts that they have linked, in a database."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from pydantic import TypeAdapter
from pydantic_core import from_json, to_json

from answerback.core.people import AccountLink
from answerback.ports.teams import (
    EXPIRED_FOR,
    AgentToken,
    Redeemed,
    SignIn,
    TeamStore,
    WaitingRoom,
    account_of,
)
from answerback_storage import rows
from answerback_storage.sql_database import Part, SqlDatabase, Transaction, placeholders

LINK_COLUMNS: Final = ("account", "revision", "value")
TOKEN_COLUMNS: Final = ("token_hash", "name", "owner", "at", "until", "value")
_SIGN_IN: Final = TypeAdapter(SignIn)
_TOKEN: Final = TypeAdapter(AgentToken)
_LINK: Final = TypeAdapter(AccountLink)
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
_SELECT: Final = "SELECT value, until FROM agent_tokens"
_ADD_LINK: Final = f"""INSERT INTO account_links ({", ".join(LINK_COLUMNS)}) VALUES ($1, $2, $3)
    ON CONFLICT (account) DO NOTHING RETURNING 1"""
_CHANGE_LINK: Final = """UPDATE account_links SET revision = $2, value = $3
    WHERE account = $1 AND revision = $2 - 1 RETURNING 1"""
_COUNTED: Final = "agent_tokens"
"""The table that is locked while one counts what there is, and adds to it."""


class SqlTeams(Part[SqlDatabase], TeamStore):
    async def add_sign_in(self, new: SignIn, source: str, room: WaitingRoom) -> bool:
        async def run(tx: Transaction) -> bool:
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

        return await self._db.transact(run, lock=_COUNTED)

    async def find_sign_in(self, key: str) -> SignIn | None:
        found = await self._db.fetch(_FIND, key)
        return _SIGN_IN.validate_json(found[0][0]) if found else None

    async def replace_sign_in(self, old: SignIn, new: SignIn) -> bool:
        replaced = await self._db.execute(_REPLACE, _dump_sign_in(new), old.id, _dump_sign_in(old))
        return bool(replaced)

    async def redeem(
        self, approved: SignIn, token: AgentToken, accounts: Collection[str], most: int
    ) -> Redeemed:
        count_valid = f"""SELECT count(*) FROM agent_tokens
            WHERE until > $1 AND owner IN ({placeholders(len(accounts), 2)})"""
        value = to_json(_TOKEN.dump_python(token)).decode()
        owner = account_of(token.owner)

        async def run(tx: Transaction) -> Redeemed:
            [(count,)] = await tx.execute(count_valid, token.at, *accounts)
            if count >= most:
                return Redeemed.FULL
            if not await tx.execute(_REDEEM, approved.id, _dump_sign_in(approved)):
                return Redeemed.GONE
            await tx.execute(
                _ISSUE, token.token_hash, token.name, owner, token.at, token.until, value
            )
            return Redeemed.ISSUED

        return await self._db.transact(run, lock=_COUNTED)

    async def find_token(self, token_hash: str) -> AgentToken | None:
        found = await self._db.fetch(f"{_SELECT} WHERE token_hash = $1", token_hash)
        return _read_token(*found[0]) if found else None

    async def list_tokens(self) -> Sequence[AgentToken]:
        found = await self._db.fetch(f"{_SELECT} ORDER BY at, name")
        return [_read_token(*row) for row in found]

    async def remove_token(self, name: str) -> bool:
        statement = "DELETE FROM agent_tokens WHERE name = $1 RETURNING 1"
        return bool(await self._db.execute(statement, name))

    async def save_link(self, link: AccountLink) -> bool:
        statement = _ADD_LINK if link.revision == 1 else _CHANGE_LINK
        value = rows.dump(_LINK.dump_python(link, mode="json"))
        return bool(await self._db.execute(statement, link.id, link.revision, value))

    async def list_links(self) -> Sequence[AccountLink]:
        value = self._db.as_bytes.format("value")
        found = await self._db.fetch(f"SELECT {value} FROM account_links ORDER BY account")
        return rows.read_values(_LINK, "account_links", found)


def _dump_sign_in(sign_in: SignIn) -> str:
    """Serialize a sign-in. The same sign-in always becomes the same text, by which changes are detected."""
    canonical = _SIGN_IN.validate_python(_SIGN_IN.dump_python(sign_in))  # 5 is written as 5.0
    return to_json(_SIGN_IN.dump_python(canonical)).decode()


def _read_token(value: str, until: float) -> AgentToken:
    """Parse a stored token. Its end is in its own column, because it moves when the clock is set back."""
    return _TOKEN.validate_python(from_json(value) | {"until": until})
