"""Notifies people in their browsers: whom an ask waits for, and one attempt at one message.

The rows in the outbox are of two steps. The first is stored with the change of the ask, and worked out when it is due;
it stores one row of the second step for each browser, in one transaction, so that no browser gets two.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import aiohttp

from answerback.core.ask import ANYONE, Ask, Change
from answerback.core.labels import Labels
from answerback.core.people import People
from answerback.core.person import Person
from answerback.outbox.attempts import FAILED, post, refusal
from answerback.ports.extension import Running
from answerback.ports.extension_rows import NO_ROWS, Rows
from answerback.ports.person_key import OPERATOR
from answerback.ports.sender import SendResult
from answerback.ports.store import Decision, Store, Write
from answerback.ports.store_values import Delivery, push_queue
from answerback.ports.surface import Surface
from answerback.presentation.responders import has_done_their_part
from answerback.service.may_act import is_among
from answerback_push import push_messages
from answerback_push.devices import Devices, seen_key
from answerback_push.push_rows import CONFIRMING, OVER, push_rows
from answerback_push.push_text import push_message
from answerback_push.settings import SURFACE
from answerback_push.subscriptions import PushSubscription

if TYPE_CHECKING:
    from answerback_push.pages import PushPages

SEND: Final = "push.send"
"""One message to one browser."""
MAX_TTL: Final = 28 * 86_400
"""Seconds for which a push service keeps a message; more than four weeks none does."""
_GONE: Final = {404, 410}
_DONE: Final = SendResult(None, None)
"""There was nothing to send."""
_UNKNOWN: Final = SendResult(None, FAILED, "the platform cannot say who is in a group")


@dataclass
class Pushes(Running):
    """Notifies the people of the page.

    Args:
        people: tells on which other surfaces they are asked.
        surfaces: those surfaces, which tell who is in a group.
        subject: the address of the service.
        labels: the texts of the messages.
        http: a session that guards their addresses.
        held_until: returns until when a person is not to be notified; None: they may be.
    """

    devices: Devices
    store: Store
    wake_outbox: Callable[[], None]
    people: People
    surfaces: Mapping[str, Surface]
    subject: str
    labels: Labels
    http: aiohttp.ClientSession
    held_until: Callable[[Person, float], float | None] = lambda _person, _at: None

    sends = "push."

    def for_page(self, surface: str) -> PushPages | None:
        from answerback_push.pages import PushPages  # the page is loaded by now, off the event loop

        return PushPages(self.devices) if surface == SURFACE else None

    def on_change(self, before: Ask | None, change: Change, at: float) -> Rows:
        after = change.ask
        if before is not None and _whom_it_waits_for(before) == _whom_it_waits_for(after):
            return NO_ROWS
        return Rows(push_rows(SURFACE, self.people, before, after, at))

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
        for each in await self.devices.valid():
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
        if person != OPERATOR and not self.devices.rules.anyone:
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
        return Person(surface=SURFACE, user_id=user_id, name=user_id)

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
        found = [each for each in await self.devices.valid() if each.id == subscription_id]
        waits = await self._waits(ask, found[0].person) if found else over
        if waits is None:
            return _UNKNOWN
        if waits is over:
            return _DONE
        to, drafts = found[0], self.store.drafts
        shown = f"push:shown:{ask.id}:{to.id}"
        if over and await drafts.get(shown) is None:
            return _DONE  # there is nothing on the screen to replace
        if not over and await drafts.get(seen_key(to.person, ask)):
            return _DONE
        if (problem := self.devices.endpoint_problem(to.endpoint)) is not None:
            return refusal(problem)
        await drafts.save(shown, True, at)
        result = await post(
            self.http, to.endpoint, *(await self._message(ask, to, over=over, at=at)), at
        )
        if result.status in _GONE:
            await self.devices.stored.remove(to.id)
            return SendResult(result.status, result.error, "the subscription has ended", gone=True)
        if over and result.error is None:
            await drafts.save(shown, None, at)
        return result

    async def _message(
        self, ask: Ask, to: PushSubscription, *, over: bool, at: float
    ) -> tuple[bytes, dict[str, str]]:
        secret = await self.devices.secret()
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
        message = push_message(ask, over, self.labels, self.devices.rules)
        return push_messages.encrypt(message, to.key, to.auth), headers


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
