"""One cell of tests/hosts for each host and each kind of prompt that was ever broken."""

from __future__ import annotations

import pytest

from tests.agents.conftest import Home
from tests.hosts.kinds import Deed, Kind
from tests.hosts.test_hosts import PROGRAMS, decide_about_two, web_server
from tests.recipes.conftest import Person


@pytest.mark.parametrize(
    ("host", "kind"),
    [
        ("codex", Kind.EDIT),  # the changes were not in the request
        ("opencode", Kind.MCP_TOOL),  # nor were the arguments
        ("opencode-acp", Kind.MCP_TOOL),  # they came after the request
        ("opencode-acp", Kind.EDIT),  # two forms of one edit were two edits
        ("opencode-acp", Kind.READ),  # an empty object replaced the path
        ("kimi-acp", Kind.SHELL),  # a summary replaced the command
    ],
)
async def test_what_was_broken_takes_effect(
    host: str, kind: Kind, home: Home, person: Person
) -> None:
    async with web_server() as visits:
        deeds = [Deed(kind, home.project, visits) for _ in range(2)]
        await decide_about_two(PROGRAMS[host], deeds, home, person)
