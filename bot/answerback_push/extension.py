"""People are notified in their browsers, if ``[web]`` allows it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from answerback.ports.extension import Extension, Running, ServiceParts
from answerback.ports.extension_rows import SchemaTable
from answerback.ports.plugin import SurfaceSettings
from answerback_push.settings import SURFACE, PushKeys


class PushExtension(Extension):
    name = "push"
    order = 20
    surface_keys: ClassVar[Mapping[str, type[SurfaceSettings]]] = {SURFACE: PushKeys}
    schema_tables = (SchemaTable("push_subscriptions", ("id", "value", "at")),)

    async def open(self, parts: ServiceParts) -> Running | None:
        keys = parts.configured.surface_table(SURFACE)
        if not isinstance(keys, PushKeys) or not keys.push:
            return None
        from answerback.outbox.address_policy import guarded_session
        from answerback_push.devices import Devices, push_addresses  # an extra
        from answerback_push.pushes import Pushes
        from answerback_push.stored_subscriptions import StoredSubscriptions

        rules = keys.rules()
        addresses = push_addresses(rules)
        devices = Devices(
            store=parts.store,
            stored=StoredSubscriptions(parts.store.rows),
            clock=parts.clock,
            people=parts.people,
            surfaces=parts.surfaces,
            holders=parts.holders,
            rules=rules,
            secret=partial(parts.store.secret, "push"),
            addresses=addresses,
        )
        return Pushes(
            devices=devices,
            store=parts.store,
            wake_outbox=parts.wake_outbox,
            people=parts.people,
            surfaces=parts.surfaces,
            held_until=parts.quiet_until,
            subject=parts.address,
            labels=parts.configured.labels,
            http=await parts.stack.enter_async_context(guarded_session(addresses)),
        )
