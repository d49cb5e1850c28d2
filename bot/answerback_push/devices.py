"""The browsers that people have notified: who subscribes one, which still count, and what they have been shown."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from yarl import URL

from answerback.core.ask import Ask
from answerback.core.people import People
from answerback.core.person import Person
from answerback.outbox.address_policy import AddressRules
from answerback.ports.clock import Clock
from answerback.ports.person_key import KeyHolderSource
from answerback.ports.store import Store
from answerback.ports.surface import Surface
from answerback.service.may_act import is_among
from answerback.service.may_see import Viewer, may_see
from answerback_push import push_messages
from answerback_push.settings import PushRules
from answerback_push.stored_subscriptions import StoredSubscriptions
from answerback_push.subscriptions import MAX_PER_PERSON, NewSubscription, PushSubscription

MAX_ENDPOINT: Final = 1_000
"""Characters of an endpoint; those of push services have a few hundred."""
MAX_DEVICE: Final = 200
"""Characters that are kept of what a browser calls itself."""
MAX_NOTED: Final = 10_000
"""Keys in memory that spare a write each time a page is shown."""


@dataclass
class Devices:
    """The devices of the page's people.

    Args:
        people: tells on which other surfaces they are asked.
        surfaces: those surfaces, which tell who is in a group.
        secret: 32 fixed bytes, for the service's key and the topics.
        addresses: which push services may be reached (`push_addresses`).
    """

    store: Store
    stored: StoredSubscriptions
    clock: Clock
    people: People
    surfaces: Mapping[str, Surface]
    holders: KeyHolderSource
    rules: PushRules
    secret: Callable[[], Awaitable[bytes]]
    addresses: AddressRules
    _noted: set[str] = field(default_factory=set)
    """The asks that were noted as seen since the process began, up to a limit."""

    async def server_key(self) -> str:
        """Return the public key that browsers subscribe with, in base64url. It changes with the service's own key."""
        return push_messages.server_key(await self.secret(), await self._operator()).public

    async def subscribe(self, person: str, credential: str, new: NewSubscription) -> bool:
        """Store a subscription of a person who used the key with the hash ``credential`` (empty: a proxy named them).

        False: its endpoint may not be reached, or its keys are not valid.
        """
        try:
            push_messages.encrypt({}, new.key, new.auth)
        except ValueError:
            return False
        if len(new.endpoint) > MAX_ENDPOINT or self.endpoint_problem(new.endpoint) is not None:
            return False
        added = PushSubscription(
            id=hashlib.sha256(new.endpoint.encode()).hexdigest()[:32],
            person=person,
            endpoint=new.endpoint,
            key=new.key,
            auth=new.auth,
            device=new.device[:MAX_DEVICE],
            credential=credential,
            operator=await self._operator(),
            at=self.clock.now(),
        )
        await self.stored.save(added)
        for oldest in (await self.list_for(person))[:-MAX_PER_PERSON]:
            await self.stored.remove(oldest.id)
        return True

    async def list_for(self, person: str) -> Sequence[PushSubscription]:
        """A person's subscriptions, oldest first."""
        return [each for each in await self.valid() if each.person == person]

    async def unsubscribe(self, person: str, subscription_id: str) -> None:
        """Remove one of a person's subscriptions."""
        if any(each.id == subscription_id for each in await self.list_for(person)):
            await self.stored.remove(subscription_id)

    async def is_about(self, person: Person, ask: Ask) -> bool:
        """Return True if a person was asked, or has acted."""
        if may_see(ask, Viewer(person=person), self.people):
            return True
        asked = await is_among(ask.participants, ask, person, self.people, self.surfaces)
        return asked is True

    async def note_seen(self, person: str, asks: Iterable[Ask]) -> None:
        """Note that an open page shows these asks to a person, who need not be notified until they wait again."""
        new = [key for ask in asks if (key := seen_key(person, ask)) not in self._noted]
        if not new or not await self.list_for(person):
            return
        if len(self._noted) > MAX_NOTED:
            self._noted.clear()
        for key in new:
            await self.store.drafts.save(key, True, self.clock.now())
        self._noted.update(new)

    async def valid(self) -> list[PushSubscription]:
        """Return the subscriptions whose keys are still valid, and remove the others."""
        found = await self.stored.list()
        holders = await self.holders() if found else ()
        hashes = {holder.key_hash for holder in holders}
        valid = []
        for each in found:
            if each.operator in hashes and (not each.credential or each.credential in hashes):
                valid.append(each)
            elif holders:  # without any key, the file could not be read
                await self.stored.remove(each.id)
        return valid

    async def _operator(self) -> str:
        return (await self.holders())[0].key_hash

    def endpoint_problem(self, endpoint: str) -> str | None:
        """Say why nothing may be sent to a push service; None if it may."""
        reason = self.addresses.url_refusal_reason(endpoint)
        if reason is None:
            url = URL(endpoint)
            if url.scheme != "https" and not self.addresses.lists(url.host or ""):
                return "a push service is reached by https only"
        return reason


def push_addresses(rules: PushRules) -> AddressRules:
    """Return which push services may be reached.

    Raises:
        ConfigError: an entry is not a host, address or network.
    """
    return AddressRules(rules.allow, setting="web.push_allow", loopback=False)


def seen_key(person: str, ask: Ask) -> str:
    """Return the key that tells who has seen an ask since it began to wait as it does, or was handed over."""
    return f"push:seen:{ask.id}:{ask.schedule.reminders_restarted_at}:{person}"
