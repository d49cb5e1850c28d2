"""Opens the desk where a surface's people subscribe to notifications."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from answerback.core.people import People
from answerback.ports.person_key import KeyHolderSource
from answerback.ports.surface import Surface
from answerback.runtime.config import Settings, plugin_settings
from answerback.runtime.open_store import OpenStore
from answerback.runtime.plugins import installed_plugins
from answerback.service.notify import Hooks
from answerback.webhooks.address_policy import guarded_session

if TYPE_CHECKING:
    from answerback.webhooks.pushes import Pushes


async def open_push_desk(
    settings: Settings,
    opened: OpenStore,
    hooks: Hooks,
    people: People,
    surfaces: Mapping[str, Surface],
    holders: KeyHolderSource,
    address: str,
    stack: AsyncExitStack,
) -> Pushes | None:
    """Open the desk of the first surface that notifies people; None: no surface does.

    Args:
        address: the address at which people reach the service.
        stack: closes the desk's connections.

    Raises:
        ConfigError: the rules allow something that is not an address.
    """
    for plugin in installed_plugins():
        table = plugin_settings(settings, plugin)
        push = plugin.push(table, settings.labels) if table.configured() else None
        if push is not None:
            from answerback.webhooks.pushes import Pushes, push_addresses  # an extra

            (store, _, clock), (rules, compose) = opened, push
            addresses = push_addresses(rules)
            return Pushes(
                surface=plugin.name,
                store=store,
                clock=clock,
                hooks=hooks,
                people=people,
                surfaces=surfaces,
                holders=holders,
                rules=rules,
                secret=partial(store.secret, "push"),
                subject=address,
                compose=compose,
                addresses=addresses,
                http=await stack.enter_async_context(guarded_session(addresses)),
            )
    return None
