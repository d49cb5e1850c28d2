"""People are notified in their browsers, if the surface whose people they are allows it."""

from __future__ import annotations

from functools import partial

from answerback.ports.extension import Extension, Running, ServiceParts
from answerback.ports.extension_rows import SchemaTable


class PushExtension(Extension):
    name = "push"
    order = 20
    schema_tables = (SchemaTable("push_subscriptions", ("id", "value", "at")),)

    async def open(self, parts: ServiceParts) -> Running | None:
        if parts.notifying is None:
            return None
        from answerback.outbox.address_policy import guarded_session
        from answerback_push.pushes import Pushes, push_addresses  # an extra
        from answerback_push.stored_subscriptions import StoredSubscriptions

        surface, rules, compose = parts.notifying
        addresses = push_addresses(rules)
        return Pushes(
            surface=surface,
            store=parts.store,
            stored=StoredSubscriptions(parts.store.rows),
            clock=parts.clock,
            wake_outbox=parts.wake_outbox,
            people=parts.people,
            surfaces=parts.surfaces,
            held_until=parts.quiet_until,
            holders=parts.holders,
            rules=rules,
            secret=partial(parts.store.secret, "push"),
            subject=parts.address,
            compose=compose,
            addresses=addresses,
            http=await parts.stack.enter_async_context(guarded_session(addresses)),
        )
