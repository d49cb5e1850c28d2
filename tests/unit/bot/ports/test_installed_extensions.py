"""Extensions are found by their entry points; a broken one leaves the others usable."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from answerback.ports.extension import GROUP, Extension, Running, ServiceParts
from answerback.ports.extension_rows import Rows, RowTable  # noqa: F401 - one of the entry points
from answerback.ports.installed_extensions import discover_extensions


class Follow(Extension):
    """An extension that never runs."""

    name = "follow"
    tables = (RowTable("follow"), RowTable("follow.late"))

    async def open(self, parts: ServiceParts) -> Running | None:
        raise AssertionError("nothing starts it")


class Greedy(Follow):
    """An extension that wants another one's table."""

    name = "greedy"


@pytest.mark.rule("PLUGIN-8")
def test_a_broken_extension_leaves_the_others_usable_and_says_why() -> None:
    entries = [
        EntryPoint(name, f"{__name__}:{found}", GROUP)
        for name, found in (("follow", "Follow"), ("greedy", "Greedy"), ("page", "Rows"))
    ]
    found = discover_extensions(entries)
    assert [*found.usable] == ["follow"]
    assert "the table 'follow', which does not begin with its name" in found.broken["greedy"]
    assert "is not a subclass of answerback.ports.extension.Extension" in found.broken["page"]
