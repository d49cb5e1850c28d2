"""Opens the desk where a surface's people subscribe to notifications."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from answerback.ports.person_key import KeyHolderSource
from answerback.ports.push import ComposePush, PushDesk, PushRules
from answerback.service.service import Service
from answerback.webhooks.address_policy import guarded_session
from answerback.webhooks.sender import Sender


@dataclass(slots=True)
class PushDesks:
    """Opens desks, and knows what sends their messages."""

    service: Service
    holders: KeyHolderSource
    address: str
    """The address at which people reach the service."""
    stack: AsyncExitStack
    """Closes their connections."""
    sender: Sender | None = None
    """Sends the messages; None if no surface has a desk."""

    async def open(self, surface: str, rules: PushRules, compose: ComposePush) -> PushDesk:
        """Open the desk of a surface.

        Raises:
            ConfigError: the rules allow an address that is none.
        """
        # Only here: the libraries come with an extra.
        from answerback.webhooks.pushes import Pushes, push_addresses

        addresses = push_addresses(rules)
        self.service.notify_from(surface)
        desk = Pushes(
            surface=surface,
            store=self.service.store,
            clock=self.service.clock,
            hooks=self.service.hooks,
            people=self.service.people,
            surfaces=self.service.surfaces,
            holders=self.holders,
            rules=rules,
            secret=partial(self.service.store.secret, "push"),
            subject=self.address,
            compose=compose,
            addresses=addresses,
            http=await self.stack.enter_async_context(guarded_session(addresses)),
        )
        self.sender = desk
        return desk
