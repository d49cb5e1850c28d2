"""From where an agent asks: in the ask's JSON, and as people read it."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.errors import InvalidCallError
from answerback.core.view import asker_label
from answerback.service.ask_wire import ask_json
from answerback.service.submission_request import Agent, read_submission
from tests.unit.bot.approval_support import CALLS
from tests.unit.bot.conftest import Parts

GO: dict[str, Any] = {"question": "Go?", "answer_type": "boolean"}
ANN = Agent("ann-laptop")
BUILDER = Agent("ann-laptop", label="Builder")


@pytest.mark.rule("ASK-8")
@pytest.mark.parametrize(
    ("hook", "agent", "more", "read", "label", "project"),
    [
        (None, None, {}, "Assistant", "Assistant", None),
        (None, None, {"origin": {"project": "app"}}, "Assistant in app", "Assistant", "app"),
        (None, None, {"metadata": {"project": "m"}}, "Assistant in m", "Assistant", "m"),
        (None, None, {"metadata": {"project": 7}}, "Assistant", "Assistant", None),
        (None, None, {"origin": {"folder": "C:\\w\\app"}}, "Assistant in app", "Assistant", "app"),
        (None, ANN, {"origin": {"folder": "/w/app/"}}, "ann-laptop in app", "ann-laptop", "app"),
        ("claude", None, {"origin": {"folder": "/w/app"}}, "Claude Code in app", "Claude Code", "app"),
        ("claude", ANN, {"origin": {"folder": "/w/app"}}, "Claude Code (ann-laptop) in app", "Claude Code", "app"),
        ("claude", BUILDER, {"origin": {"folder": "/w/app"}}, "Builder in app", "Builder", "app"),
        ("codex", ANN, {}, "Codex (ann-laptop)", "Codex", None),
        (None, ANN, {"metadata": {"host": "kimi"}}, "Kimi Code (ann-laptop)", "Kimi Code", None),
        (None, BUILDER, {"metadata": {"host": "kimi"}}, "Builder", "Builder", None),
        (None, ANN, {"metadata": {"bridge": "opencode"}}, "opencode (ann-laptop)", "opencode", None),
        (None, ANN, {"metadata": {"host": "Your bank"}}, "ann-laptop", "ann-laptop", None),
        (None, ANN, {"metadata": {"host": ["kimi"]}}, "ann-laptop", "ann-laptop", None),
        (None, None, {"origin": {"project": "a\u200b\nb"}}, "Assistant in a⟨U+200B⟩ b", "Assistant", "a⟨U+200B⟩ b"),
    ],
)  # fmt: skip
async def test_people_and_agents_read_who_asks_from_where(
    parts: Parts, hook: str | None, agent: Agent | None, more: Any, read: str, label: str, project: str | None
) -> None:  # fmt: skip
    body = read_submission({"name": "ask_user", "arguments": GO, "to": "web", **more})
    ask = (await parts.service().submit(body, agent=agent, hook=hook)).ask
    assert asker_label(ask) == read
    origin: Any = ask_json(ask)["origin"]
    assert ask_json(ask)["confirmed_by"] == []
    assert origin == {
        "agent": agent.name if agent else None,
        "label": label,
        "project": project,
        "folder": more.get("origin", {}).get("folder"),
        "session": None,
        "owner": None,
    }


@pytest.mark.rule("ASK-8", "TEXT-3")
async def test_nothing_in_an_origin_is_invisible(parts: Parts) -> None:
    sent: Any = {"folder": "/srv/a\u200b\nb", "session": "\u202es", "project": "\u2028"}
    body = read_submission({"name": "ask_user", "arguments": GO, "to": "web", "origin": sent})
    origin = (await parts.service().submit(body)).ask.request.origin
    assert origin.folder == "/srv/a⟨U+200B⟩ b"
    assert origin.session == "⟨U+202E⟩s"


@pytest.mark.rule("ASK-8")
@pytest.mark.parametrize("field", ["agent", "label", "owner"])
def test_a_call_does_not_say_who_asks(field: str) -> None:
    with pytest.raises(InvalidCallError):
        read_submission({"name": "ask_user", "arguments": GO, "origin": {field: "x"}})


@pytest.mark.rule("ASK-8")
async def test_requests_that_only_one_host_makes_name_it(parts: Parts) -> None:
    for name, host in (
        ("permission.asked", "opencode"),
        ("exec.approval.requested", "OpenClaw"),
        ("item/fileChange/requestApproval", "Codex"),
    ):
        body = read_submission({"name": name, "arguments": CALLS[name], "to": "web"})
        assert asker_label((await parts.service().submit(body)).ask) == host
