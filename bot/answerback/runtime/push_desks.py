"""Opens the desk where a surface's people subscribe to notifications."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from answerback.ports.person_key import KeyHolderSource
from answerback.ports.push import ComposePush, PushDesk, PushRules
from answerback.service.service import Service
from answerback.webhooks.address_policy import guarded_session
from answerback.webhooks.sender import Sender


class PushDesks:
    """Opens desks, and knows what sends their messages.

    Args:
        address: the address at which people reach the service.
        stack: closes their connections.
    """

    def __init__(
        self,
        service: Service,
        holders: KeyHolderSource,
        address: str,
        stack: AsyncExitStack,
    ) -> None:
        self._service = service
        self._holders = holders
        self._address = address
        self._stack = stack
        self.sender: Sender | None = None
        """Sends the messages; None if no surface has a desk."""

    async def open(self, surface: str, rules: PushRules, compose: ComposePush) -> PushDesk:
        """Open the desk of a surface.

        Raises:
            ConfigError: the rules allow an address that is none.
        """
        # Only here: the libraries come with an extra.
        from answerback.webhooks.pushes import Pushes, push_addresses

        addresses = push_addresses(rules)
        self._service.notify_from(surface)
        desk = Pushes(
            surface=surface,
            store=self._service.store,
            clock=self._service.clock,
            hooks=self._service.hooks,
            people=self._service.people,
            surfaces=self._service.surfaces,
            holders=self._holders,
            rules=rules,
            secret=partial(self._service.store.secret, "push"),
            subject=self._address,
            compose=compose,
            addresses=addresses,
            http=await self._stack.enter_async_context(guarded_session(addresses)),
        )
        self.sender = desk
        return desk
