"""Sign-ins and tokens of agents in memory; see `answerback.ports.agent_tokens.AgentTokenStore`."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from answerback.ports.agent_tokens import (
    EXPIRED_FOR,
    AgentToken,
    AgentTokenStore,
    Redeemed,
    SignIn,
    WaitingRoom,
    account_of,
)
from answerback_storage.sql_database import Part
from tests.stores.memory.database import MemoryDatabase


class MemoryAgentTokens(Part[MemoryDatabase], AgentTokenStore):
    """Sign-ins and tokens in memory."""

    async def add_sign_in(self, new: SignIn, source: str, room: WaitingRoom) -> bool:
        table, sources = self._db.tables().sign_ins, self._db.tables().sign_in_sources
        for each in [each for each in table.values() if each.until < new.at - EXPIRED_FOR]:
            del table[each.id]
        waiting = [sources[each.id] for each in table.values() if each.until > new.at]
        if not room.has_room(len(waiting), waiting.count(source)):
            return False
        table[new.id], sources[new.id] = new, source
        return True

    async def find_sign_in(self, key: str) -> SignIn | None:
        found = self._db.tables().sign_ins.values()
        keys = ((each, {each.id, each.device_hash, each.user_hash}) for each in found)
        return next((each for each, named in keys if key in named), None)

    async def replace_sign_in(self, old: SignIn, new: SignIn) -> bool:
        table = self._db.tables().sign_ins
        if table.get(old.id) != old:
            return False
        table[old.id] = new
        return True

    async def redeem(
        self, approved: SignIn, token: AgentToken, accounts: Collection[str], most: int
    ) -> Redeemed:
        tables = self._db.tables()
        valid = [each for each in tables.agent_tokens.values() if each.until > token.at]
        if sum(account_of(each.owner) in accounts for each in valid) >= most:
            return Redeemed.FULL
        if tables.sign_ins.get(approved.id) != approved:
            return Redeemed.GONE
        del tables.sign_ins[approved.id]
        tables.agent_tokens[token.name] = token
        return Redeemed.ISSUED

    async def find(self, token_hash: str) -> AgentToken | None:
        found = self._db.tables().agent_tokens.values()
        return next((each for each in found if each.token_hash == token_hash), None)

    async def list(self) -> Sequence[AgentToken]:
        found = self._db.tables().agent_tokens.values()
        return sorted(found, key=lambda each: (each.at, each.name))

    async def remove(self, name: str) -> bool:
        return self._db.tables().agent_tokens.pop(name, None) is not None
