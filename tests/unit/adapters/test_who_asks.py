"""Who asks is shown on every surface, and remains just a name whatever the agent writes into it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core.actions import Answer
from answerback.core.ask import Ask, Change, Reason, Status, end_ask
from answerback.core.labels import Labels
from answerback.core.view import asker_label, view_of
from answerback.dialects import registry
from answerback.ports.store_values import Page
from answerback.presentation import wording
from answerback_chat.control_codec import Control, Verb
from answerback_discord import form_inputs as discord_forms
from answerback_discord import inbox_view as discord_inbox
from answerback_discord import modals as discord_modals
from answerback_discord import private_notes as discord_notes
from answerback_discord import render as discord
from answerback_slack import inbox_view as slack_home
from answerback_slack import modals as slack_modals
from answerback_slack import render as slack
from answerback_testing.example_asks import with_values
from tests.fakes.discord.rules import check_callback
from tests.fakes.slack.checks import check_message, check_view
from tests.unit.adapters.slack.asks import ask_of
from tests.unit.adapters.web.test_render_and_parse import shown as web_page
from tests.unit.bot.dialect_support import CALLS

LABELS = Labels()
EVIL = "<!channel> @everyone\n# *git* <script>{who}</script>\u202e[x](http://evil.example) "


def from_tool(tool: str) -> Ask:
    question: dict[str, JsonValue] = {
        "id": "force",
        "text": "Force push?",
        "answer_type": "boolean",
    }
    _, form, *_ = registry.parse_call("tool_question", {"tool": tool, "question": question})
    return ask_of(form)


def states(ask: Ask) -> list[Ask]:
    withdrawn = end_ask(ask, Status.WITHDRAWN, at=1, reason=Reason.WITHDRAWN).ask
    return [ask, replace(ask, attendance=replace(ask.attendance, agent_left=True)), withdrawn]


def markup(value: Any) -> Iterator[str]:
    """Yield the texts of a Slack message that are not plain text."""
    if isinstance(value, list):
        for item in value:
            yield from markup(item)
    elif isinstance(value, dict):
        if isinstance(value.get("text"), str) and value.get("type") != "plain_text":
            yield value["text"]
        for item in value.values():
            yield from markup(item)


@pytest.mark.rule("SURFACE-2")
def test_a_configured_label_applies_to_its_question_and_to_the_record_if_all_questions_share_it() -> (
    None
):
    _, form, *_ = registry.parse_call("ask_user", CALLS["ask_user"][1])
    ask = ask_of(form)

    def labelled(**labels: str) -> Ask:
        request = ask.request.model_copy(
            update={"prompt_label": "coder", "prompt_labels": {**labels}}
        )
        return replace(ask, request=request)

    def done(of: Ask) -> Ask:
        for value in ("x", "y"):
            change = asks.apply_action(of, Answer(value=value), at=1, by=None)
            assert isinstance(change, Change)
            of = change.ask
        return of

    assert [asker_label(labelled(a="Deployer")), asker_label(labelled(b="Deployer"))] == [
        "Deployer",
        "coder",
    ]
    assert asker_label(done(labelled(a="Deployer"))) == "coder"
    assert asker_label(done(labelled(a="Deployer", b="Deployer"))) == "Deployer"


@pytest.mark.rule("SURFACE-2")
def test_the_tool_that_asks_is_named_on_every_surface() -> None:
    ask = from_tool("git")
    line = wording.asks_line(view_of(ask), LABELS)
    assert line == "git asks"
    assert line in json.dumps(slack.render(view_of(ask), LABELS).blocks)
    assert line in json.dumps(discord.message(view_of(ask), LABELS))
    assert line in web_page(ask).text


@pytest.mark.rule("INBOX-1")
def test_lists_mark_an_agent_that_has_moved_on_briefly() -> None:
    ask = with_values(from_tool("git"), agent_left=True)
    home = json.dumps(slack_home.build_home_view(Page((ask,), None), [], LABELS))
    inbox = json.dumps(discord_inbox.page(Page((ask,), None), LABELS))
    for shown in (home, inbox):
        assert "git asked" in shown
        assert "has gone on" not in shown


@pytest.mark.rule("TEXT-1")
@pytest.mark.parametrize("tool", [EVIL, (EVIL * 20)[:1000], "w" * 1000, "\u0301" * 999 + "x"])
def test_a_tools_name_cannot_break_markup_or_notify_anyone(tool: str) -> None:
    for ask in states(from_tool(tool)):
        view = view_of(ask)
        message = slack.render(view, LABELS)
        payload = {"channel": "C1", "text": message.text, "blocks": message.blocks}
        assert not check_message(payload, update=True)
        controls = [Control(ask.id, ask.revision, verb) for verb in Verb]
        for modal in filter(
            None, (slack_modals.build_modal(view, c, LABELS, "") for c in controls)
        ):
            assert not check_view(modal)
        sent: list[Any] = [discord.message(view, LABELS), discord.plain(view, LABELS)]
        sent.append(discord_notes.confirm_end_turn(view, LABELS))
        assert not [p for data in sent for p in check_callback({"type": 4, "data": data})]
        spec = discord_forms.modal_spec(view, Verb.REPLY, LABELS)
        assert (spec is None) is (view.outcome is not None)
        modals = [
            discord_modals.modal(view, each, Verb.REPLY, 0, {}, "nonce", LABELS)
            for each in [spec]
            if each is not None
        ]
        assert not [p for data in modals for p in check_callback({"type": 9, "data": data})]
        everything = json.dumps([payload, sent, modals], ensure_ascii=False)
        assert not [text for text in markup(payload) if "<!channel>" in text]
        assert "@everyone" not in json.dumps(sent, ensure_ascii=False).replace("\\\\@", "")
        assert "\u202e" not in everything
        assert "<script>" not in web_page(ask).markup.partition("<main")[2]
