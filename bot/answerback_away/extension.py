"""People say until when they are away and who stands in, and in which hours they are told of what waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from answerback.ports.extension import Configured, Extension, Running, ServiceParts
from answerback.ports.extension_rows import SchemaTable
from answerback.ports.plugin import Finding
from answerback.ports.settings_tables import Table


class AwaySettings(Table):
    """The settings of absences: if people can say that they are away."""

    enabled: bool = False


class AwayExtension(Extension):
    name = "away"
    order = 50
    table = "away"
    settings = AwaySettings
    schema_tables = (SchemaTable("away", ("person", "value", "at")),)

    async def open(self, parts: ServiceParts) -> Running | None:
        if not parts.configured.table.enabled:
            return None
        from answerback_away.away import Away

        away = Away(parts.store, parts.clock, parts.people, parts.act)
        parts.on_changed(away.note_changed)
        await away.refresh()
        return away

    async def findings(self, configured: Configured) -> AsyncIterator[Finding]:
        if configured.table.enabled:
            from zoneinfo import available_timezones

            known = await asyncio.to_thread(available_timezones)
            wrong = None if known else "this machine knows no time zones"
            fix = "Install the package tzdata: working hours are in people's own time zones."
            yield Finding("people who are away", wrong, fix, warning=True)
