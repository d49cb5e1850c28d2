"""People say until when they are away and who stands in, when they are told of what waits, and what they snooze."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from answerback.ports.extension import Configured, Extension, Running, ServiceParts
from answerback.ports.extension_rows import SchemaTable
from answerback.ports.plugin import Finding
from answerback.ports.settings_tables import Table

if TYPE_CHECKING:
    from answerback.ports.commands import Command
    from answerback.ports.operation import ApiCall, Operation


class AwaySettings(Table):
    """The settings of absences: if people can say that they are away."""

    enabled: bool = False


class AwayExtension(Extension):
    name = "away"
    order = 50
    table = "away"
    settings = AwaySettings
    schema_tables = (
        SchemaTable("away", ("person", "value", "at")),
        SchemaTable(
            "snoozes",
            ("person", "ask_id", "until", "needs"),
            erase="DELETE FROM snoozes WHERE ask_id = $1",
            pruned=("person, ask_id", "until"),
        ),
    )

    def operations(self) -> Sequence[Operation[ApiCall]]:
        from answerback_away.operations import OPERATIONS

        return OPERATIONS

    def listed_commands(self, configured: Configured) -> Sequence[Command]:
        if not configured.table.enabled:
            return ()
        from answerback_away.commands import AWAY_COMMAND, HOURS_COMMAND
        from answerback_away.snooze_commands import SNOOZE_COMMAND

        return (AWAY_COMMAND, HOURS_COMMAND, SNOOZE_COMMAND)

    async def open(self, parts: ServiceParts) -> Running | None:
        if not parts.configured.table.enabled:
            return None
        from answerback_away.away import Away

        away = Away(parts.store, parts.clock, parts.people, parts.act, parts.lists, parts.surfaces)
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
