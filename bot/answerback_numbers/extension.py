"""Count the questions that agents asked and how long they waited, by week, agent and route."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from answerback.ports.extension import Extension, Running, ServiceParts
from answerback.ports.extension_rows import SchemaTable

if TYPE_CHECKING:
    from answerback.ports.operation import ApiCall, Operation


class NumbersExtension(Extension):
    name = "numbers"
    order = 40
    schema_tables = (
        SchemaTable(
            "numbers",
            ("seq", "week", "agent", "route", "result", "wait", "call"),
            # The rest is counts: it has no text, and names no person.
            erase="UPDATE numbers SET call = '' WHERE seq = (SELECT seq FROM asks WHERE id = $1)",
        ),
    )

    def operations(self) -> Sequence[Operation[ApiCall]]:
        from answerback_numbers.operations import OPERATIONS

        return OPERATIONS

    async def open(self, parts: ServiceParts) -> Running:
        from answerback_numbers.numbers import Numbers

        return Numbers(parts)
