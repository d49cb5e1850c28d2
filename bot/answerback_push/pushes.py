"""Notifies people in their browsers: who is subscribed, whom an ask waits for, and one attempt at one message.

The rows in the outbox are of two steps. The first is stored with the change of the ask, and worked out when it is due;
it stores one row of the second step for each browser, in one transaction, so that no browser gets two.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import aiohttp
from yarl import URL

from answerback.core.ask import ANYONE, Ask, Change
from answerback.core.people import People
from answerback.core.person import Person
from answerback.outbox.address_policy import AddressRules
from answerback.outbox.attempts import FAILED, post, refusal
from answerback.ports.clock import Clock
from answerback.ports.extension import Running
from answerback.ports.extension_rows import NO_ROWS, Rows
from answerback.ports.person_key import OPERATOR, KeyHolderSource
from answerback.ports.push import (
    MAX_PER_PERSON,
    ComposePush,
    NewSubscription,
    PushDevices,
    PushRules,
    PushSubscription,
)
from answerback.ports.sender import SendResult
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import Delivery, push_queue
from answerback.ports.surface import Surface
from answerback.presentation.responders import has_done_their_part
from answerback.service.may_act import is_among
from answerback.service.may_see import Viewer, may_see
from answerback_push import push_messages
from answerback_push.push_rows import CONFIRMING, OVER, push_rows
from answerback_push.stored_subscriptions import StoredSubscriptions

SEND: Final = "push.send"
"""One message to one browser."""
MAX_TTL: Final = 28 * 86_400
"""Seconds for which a push service keeps a message; more than four weeks none does."""
MAX_ENDPOINT: Final = 1_000
"""Characters of an endpoint; those of push services have a few hundred."""
MAX_DEVICE: Final = 200
"""Characters that are kept of what a browser calls itself."""
MAX_NOTED: Final = 10_000
"""Keys in memory that spare a write each time a page is shown."""
_GONE: Final = {404, 410}
_DONE: Final = SendResult(None, None)
"""There was nothing to send."""
_UNKNOWN: Final = SendResult(None, FAILED, "the platform cannot say who is in a group")


@dataclass
class Pushes(Running, PushDevices):
    """Notifies the people of one surface.

    Args:
        surface: the surface's name.
        people: tells on which other surfaces they are asked.
        surfaces: those surfaces, which tell who is in a group.
        secret: 32 fixed bytes, for the service's key and the topics.
        subject: the address of the service.
        compose: writes the messages.
        addresses: which push services may be reached (`push_addresses`).
        http: a session that guards their addresses.
        held_until: returns until when a person is not to be notified; None: they may be.
    """

    surface: str
    store: Store
    stored: StoredSubscriptions
    clock: Clock
    wake_outbox: Callable[[], None]
    people: People
    surfaces: Mapping[str, Surface]
    holders: KeyHolderSource
    rules: PushRules
    secret: Callable[[], Awaitable[bytes]]
    subject: str
    compose: ComposePush
    addresses: AddressRules
    http: aiohttp.ClientSession
    held_until: Callable[[Person, float], float | None] = lambda _person, _at: None
    _noted: set[str] = field(default_factory=set)
    """The asks that were noted as seen since the process began, up to a limit."""

    sends = "push."

    def for_page(self, surface: str) -> PushDevices | None:
        return self if surface == self.surface else None

    def on_change(self, before: Ask | None, change: Change, at: float) -> Rows:
        after = change.ask
        if before is not None and _whom_it_waits_for(before) == _whom_it_waits_for(after):
            return NO_ROWS
        return Rows(push_rows(self.surface, self.people, before, after, at))

    # --- subscriptions -----------------------------------------------------------------------------

    async def server_key(self) -> str:
        return push_messages.server_key(await self.secret(), await self._operator()).public

    async def subscribe(self, person: str, credential: str, new: NewSubscription) -> bool:
        try:
            push_messages.encrypt({}, new.key, new.auth)
        except ValueError:
            return False
        if len(new.endpoint) > MAX_ENDPOINT or self._endpoint_problem(new.endpoint) is not None:
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
        return [each for each in await self._subscriptions() if each.person == person]

    async def unsubscribe(self, person: str, subscription_id: str) -> None:
        if any(each.id == subscription_id for each in await self.list_for(person)):
            await self.stored.remove(subscription_id)

    async def is_about(self, person: Person, ask: Ask) -> bool:
        if may_see(ask, Viewer(person=person), self.people):
            return True
        asked = await is_among(ask.participants, ask, person, self.people, self.surfaces)
        return asked is True

    async def note_seen(self, person: str, asks: Iterable[Ask]) -> None:
        new = [key for ask in asks if (key := _seen(person, ask)) not in self._noted]
        if not new or not await self.list_for(person):
            return
        if len(self._noted) > MAX_NOTED:
            self._noted.clear()
        for key in new:
            await self.store.drafts.save(key, True, self.clock.now())
        self._noted.update(new)

    async def _subscriptions(self) -> list[PushSubscription]:
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

    def _endpoint_problem(self, endpoint: str) -> str | None:
        reason = self.addresses.url_refusal_reason(endpoint)
        if reason is None:
            url = URL(endpoint)
            if url.scheme != "https" and not self.addresses.lists(url.host or ""):
                return "a push service is reached by https only"
        return reason

    # --- sending -----------------------------------------------------------------------------------

    async def send(self, delivery: Delivery, at: float) -> SendResult:
        """Work out a row of the first step, or attempt a message."""
        body = json.loads(delivery.body)
        ask = await self.store.asks.get(body["ask"])
        if ask is None:
            return _DONE
        waited_to_confirm = body.get(
            CONFIRMING, ask.confirming
        )  # earlier versions did not store it
        if delivery.type != OVER and waited_to_confirm is not ask.confirming and ask.open:
            return _DONE  # the next step of the ask has a row of its own
        if delivery.type == SEND:
            return await self._send_message(ask, body["to"], over=body["over"], at=at)
        names, over, recipients = tuple(body["names"]), delivery.type == OVER, []
        for each in await self._subscriptions():
            named = await self._is_named(ask, each.person, names)
            waits = await self._waits(ask, each.person) if named else False
            if named is None or waits is None:
                return _UNKNOWN
            if named and waits is not over:
                recipients.append(each)
        if recipients:
            await self._store_messages(delivery, ask, recipients, at)
        return _DONE

    async def _is_named(self, ask: Ask, person: str, names: tuple[str, ...]) -> bool | None:
        """Return True if names include a person who is told of the ask; None if that is not known yet."""
        if person != OPERATOR and not self.rules.anyone:
            names = tuple(name for name in names if name != ANYONE)
        accounts = self.people.accounts_of(self._person(person))
        if any(f"{surface}:{user_id}" in names for surface, user_id in accounts):
            return True  # a person who may confirm from elsewhere
        return await is_among(names, ask, self._person(person), self.people, self.surfaces)

    async def _waits(self, ask: Ask, person: str) -> bool | None:
        """Return True if an ask waits for a person who is told of it; None if that is not known yet."""
        if not ask.open or ask.schedule.awaits_inquiry:
            return False
        if has_done_their_part(ask, self._person(person), self.people):
            return False
        names = (*ask.waits_for, *(ask.placement.confirmers_elsewhere if ask.confirming else ()))
        return await self._is_named(ask, person, names)

    def _person(self, user_id: str) -> Person:
        return Person(surface=self.surface, user_id=user_id, name=user_id)

    async def _store_messages(
        self, row: Delivery, ask: Ask, recipients: Iterable[PushSubscription], at: float
    ) -> None:
        messages = tuple(
            Delivery(
                id=f"{row.id}.{to.id}",
                # An ask's messages to one browser are sent in turn.
                ask_id=push_queue(ask.id, to.id),
                type=SEND,
                url=to.endpoint,
                agent=f"@{to.person}",
                body=json.dumps(
                    {"ask": ask.id, "to": to.id, "over": row.type == OVER}
                    | ({} if row.type == OVER else {CONFIRMING: ask.confirming})
                ),
                # One that is too early for its person waits in the outbox, and is dropped if the ask no longer waits.
                created_at=at
                if row.type == OVER
                else self.held_until(self._person(to.person), at) or at,
            )
            for to in recipients
        )

        def decide(latest: Ask | None) -> Decision[None]:
            if latest is None or latest.erased_at is not None:
                return Decision(None, None)
            return Decision(Write(latest, deliveries=messages), None)

        await self.store.asks.change(ask.id, decide, delivery=row.id)
        self.wake_outbox()

    async def _send_message(
        self, ask: Ask, subscription_id: str, *, over: bool, at: float
    ) -> SendResult:
        found = [each for each in await self._subscriptions() if each.id == subscription_id]
        waits = await self._waits(ask, found[0].person) if found else over
        if waits is None:
            return _UNKNOWN
        if waits is over:
            return _DONE
        to, drafts = found[0], self.store.drafts
        shown = f"push:shown:{ask.id}:{to.id}"
        if over and await drafts.get(shown) is None:
            return _DONE  # there is nothing on the screen to replace
        if not over and await drafts.get(_seen(to.person, ask)):
            return _DONE
        if (problem := self._endpoint_problem(to.endpoint)) is not None:
            return refusal(problem)
        await drafts.save(shown, True, at)
        result = await post(
            self.http, to.endpoint, *(await self._message(ask, to, over=over, at=at)), at
        )
        if result.status in _GONE:
            await self.stored.remove(to.id)
            return SendResult(result.status, result.error, "the subscription has ended", gone=True)
        if over and result.error is None:
            await drafts.save(shown, None, at)
        return result

    async def _message(
        self, ask: Ask, to: PushSubscription, *, over: bool, at: float
    ) -> tuple[bytes, dict[str, str]]:
        secret = await self.secret()
        key = push_messages.server_key(secret, to.operator)
        left = (
            MAX_TTL
            if ask.schedule.expires_at is None
            else max(int(ask.schedule.expires_at - at), 0)
        )
        headers = {
            "Authorization": key.authorization(to.endpoint, self.subject, at),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(min(left, MAX_TTL)),
            "Topic": push_messages.topic_of(secret, ask.id),
            "Urgency": "normal" if over else "high",
        }
        return push_messages.encrypt(self.compose(ask, over), to.key, to.auth), headers


def push_addresses(rules: PushRules) -> AddressRules:
    """Return which push services may be reached.

    Raises:
        ConfigError: an entry is not a host, address or network.
    """
    return AddressRules(rules.allow, setting="web.push_allow", loopback=False)


def _whom_it_waits_for(ask: Ask) -> tuple[object, ...] | None:
    """Tell changes of those for whom an ask waits, on which surface and to what, from all others."""
    named = (ask.waits_for, ask.placement.confirmers_elsewhere)
    waits = (
        named,
        ask.confirming,
        ask.schedule.awaits_inquiry,
        ask.schedule.recipient_ids,
        ask.schedule.reminders_done_before,
    )
    return (ask.placement.destination.surface, *waits) if ask.open else None


def _seen(person: str, ask: Ask) -> str:
    """Return the key that tells who has seen an ask since it began to wait as it does, or was handed over."""
    return f"push:seen:{ask.id}:{ask.schedule.reminders_restarted_at}:{person}"
