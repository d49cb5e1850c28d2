"""A list, a reminder or a notification shows one line of an ask: nothing can be decided from it alone."""

from __future__ import annotations

import json
import re

import pytest

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.store_values import Page
from answerback_chat.control_codec import Verb
from answerback_discord import inbox_view as discord_inbox
from answerback_slack import inbox_view as slack_inbox
from answerback_slack.private_notes import reminder
from tests.unit.adapters.all_surfaces import asked

LABELS = Labels()
_READING = {Verb.SHOW_IN_FULL, Verb.INBOX}
"""The verbs of the controls of a list."""


def shortened() -> Ask:
    """Return an ask whose headline cannot say what would be done."""
    command = "echo start; " + "true; " * 100 + "rm -rf /srv"
    ask = asked(
        {
            "name": "PermissionRequest",
            "arguments": {"tool_name": "Bash", "tool_input": {"command": command}},
        }
    )
    assert view_of(ask).headline.endswith("(shortened)")
    return ask


@pytest.mark.rule("SURFACE-21")
@pytest.mark.parametrize("place", ["Slack's Home tab", "Slack's reminder", "Discord's inbox"])
def test_nothing_is_decided_where_only_the_headline_is_shown(place: str) -> None:
    ask = shortened()
    shown: dict[str, object] = {
        "Slack's Home tab": slack_inbox.build_home_view(Page((ask,), None), [], LABELS),
        "Slack's reminder": reminder(ask, 0, "https://x.example", LABELS),
        "Discord's inbox": discord_inbox.page(Page((ask,), None), LABELS),
    }
    text = json.dumps(shown[place], default=str)
    assert "(shortened)" in text
    controls = re.findall(rf'"(?:value|custom_id)": "([^"]*{ask.id}[^"]*)"', text)
    verbs = {part for each in controls for part in re.split(r"[:|.]", each)} & {*map(str, Verb)}
    assert verbs <= {str(each) for each in _READING}, controls
    assert verbs or place != "Slack's Home tab"
