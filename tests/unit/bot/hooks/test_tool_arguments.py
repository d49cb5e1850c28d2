"""The arguments of a tool in a hook's event, in any form: people read them, and a grant compares them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from answerback.hooks.endpoint import HOSTS
from answerback.hooks.host import Call
from tests.meta.project import ROOT
from tests.unit.bot.dialects.approvals.test_nothing_left_out import (
    Json,
    Path,
    is_said,
    objects,
    pointer,
    read,
    replaced,
    scopes,
    value_at,
)

FIELDS: Final = frozenset({"tool_input", "toolInput", "args", "arguments", "input"})
"""The names that hosts give the arguments of a tool."""


def events(host: str) -> Iterator[Json]:
    """Yield the events that a host sent."""
    for file in sorted((ROOT / "bot" / "answerback_hosts" / host / "recorded").glob("*.json")):
        content: Any = json.loads(file.read_text("utf-8"))
        if isinstance(content, dict):
            yield content
            yield from (each for each in content.values() if isinstance(each, dict))


def asked(host: str, event: Json) -> Call | None:
    """Return the permission that an event asks for; None if it asks for none."""
    call = HOSTS[host].call(event)
    return call if call is not None and call.dialect == "approval" else None


def places(event: Json) -> Iterator[Path]:
    """Yield where an event has the arguments of a tool."""
    for path in objects(event):
        yield from ((*path, name) for name in FIELDS & value_at(event, path).keys())


ASKING: Final = [
    (host, event, path)
    for host in HOSTS
    for event in events(host)
    if asked(host, event)
    for path in places(event)
]
SENT: Final[tuple[tuple[object, str], ...]] = (
    ("rm -rf /srv", "rm -rf /srv"),
    ('"rm -rf /srv"', "rm -rf /srv"),
    (["rm -rf /srv"], "rm -rf /srv"),
    ('["rm -rf /srv"]', "rm -rf /srv"),
    ([{"command": "rm -rf /srv"}], "rm -rf /srv"),
    (271828, "271828"),
    ("271828", "271828"),
)
"""Arguments that are no object, and what people read of them."""


def test_each_host_that_asks_for_permission_is_here() -> None:
    assert {host for host, _, _ in ASKING} == {*HOSTS} - {"grok"}


@pytest.mark.rule("APPROVAL-2", "GRANT-2")
@pytest.mark.parametrize(("sent", "shown"), SENT, ids=[str(sent) for sent, _ in SENT])
@pytest.mark.parametrize(
    ("host", "event", "path"), ASKING, ids=[f"{host}-{pointer(path)}" for host, _, path in ASKING]
)
def test_arguments_that_are_no_object_are_shown_and_compared(
    host: str, event: Json, path: Path, sent: object, shown: str
) -> None:
    call, without = (asked(host, replaced(event, path, each)) for each in (sent, {}))
    assert call is not None
    assert without is not None
    form = read(call.name, call.arguments)
    assert form is not None
    assert is_said(shown, form)
    assert scopes(call.name, call.arguments).isdisjoint(scopes(without.name, without.arguments))


@pytest.mark.parametrize("sent", [None, "null", {}, "{}"], ids=str)
@pytest.mark.parametrize("host", ["antigravity", "copilot", "cursor", "gemini"])
def test_no_arguments_are_an_empty_object(host: str, sent: object) -> None:
    event, path = next((event, path) for at, event, path in ASKING if at == host)
    call = asked(host, replaced(event, path, sent))
    assert call is not None
    [place] = places(call.arguments)
    assert value_at(call.arguments, place) == {}
