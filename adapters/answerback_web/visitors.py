"""Who somebody is on a page: by a key, which its address is made of, or by the name that a trusted proxy gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aiohttp import web

from answerback.core.walker import Person
from answerback.ports.person_key import KeyHolder, KeyHolderSource, holder_of
from answerback_web.page_access import LinkTarget, PageLinks
from answerback_web.proxy_identity import TrustedProxies

PROXY_INBOX: Final = "me"
"""The name of the inbox of whomever the proxy names."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """Somebody who may answer."""

    person: Person
    holder: KeyHolder | None
    """Whose key their pages' addresses are made of; None: the proxy names them, and an address opens nothing."""

    @property
    def is_operator(self) -> bool:
        """Whether it is the operator, who may see everything."""
        return self.holder is not None and self.holder.is_operator


@dataclass(frozen=True, slots=True)
class Visitors:
    """The visitors of one listener.

    Args:
        operators: whether the service's own key opens its inbox here, as on the agents' listener.
        proxies: who signs people in on this listener.
    """

    access: PageLinks
    holders: KeyHolderSource
    proxies: TrustedProxies
    operators: bool

    async def can_have_inboxes(self) -> bool:
        """Whether anybody can have an inbox here."""
        return self.operators or self.proxies.is_configured or len(await self.holders()) > 1

    async def link_holder_names(self) -> list[str]:
        """Who has a personal link."""
        return [one.person.user_id for one in await self.holders() if not one.is_operator]

    def find_by_proxy(self, request: web.Request) -> Visitor | None:
        """Whom the proxy names."""
        person = self.proxies.signed_in_person(request)
        return Visitor(person, None) if person is not None else None

    async def find_by_key(self, key: str) -> Visitor | None:
        """Whoever has this key."""
        holder = holder_of(key.strip(), await self.holders())
        return Visitor(holder.person, holder) if holder is not None else None

    async def find_by_inbox(self, request: web.Request) -> Visitor | None:
        """Whose inbox an address is, by the name in it; the proxy's word counts before that."""
        name, named = request.match_info["name"], self.find_by_proxy(request)
        if named is not None or name == PROXY_INBOX:
            return named
        holder = self.access.find_inbox_holder(name, await self.holders())
        if holder is None or not self.may_have_inbox(holder):
            return None
        return Visitor(holder.person, holder)

    async def find_by_link(self, request: web.Request) -> tuple[LinkTarget, Visitor | None] | None:
        """What an ask's address opens, and to whom: the proxy's word counts before the address."""
        opened = self.access.resolve(request.match_info["link"], await self.holders())
        if opened is None:
            return None
        visitor = self.find_by_proxy(request)
        if visitor is None and opened.holder is not None:
            visitor = Visitor(opened.holder.person, opened.holder)
        return opened, visitor

    def may_have_inbox(self, holder: KeyHolder | None) -> bool:
        """Whether somebody has an inbox on this listener."""
        return self.operators or holder is None or not holder.is_operator

    def inbox_name(self, visitor: Visitor) -> str | None:
        """The name of somebody's inbox; None where they have none on this listener."""
        if not self.may_have_inbox(visitor.holder):
            return None
        return PROXY_INBOX if visitor.holder is None else self.access.inbox_name(visitor.holder)

    def link(self, ask_id: str, visitor: Visitor | None) -> str:
        """The name of an ask's page for somebody; for nobody, the one that only shows it."""
        if visitor is None or visitor.holder is None:
            return self.access.link(ask_id)
        return self.access.answering_link(ask_id, visitor.holder)
