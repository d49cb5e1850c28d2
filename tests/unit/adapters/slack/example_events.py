"""An example of each kind of event that Slack sends about no ask."""

from __future__ import annotations

from pydantic import JsonValue

from tests.fakes.slack.schema import Json
from tests.fakes.slack.server import FakeSlack

EXAMPLE_EVENTS: tuple[Json, ...] = (
    {"type": "message", "ts": "1700000000.000200", "text": "hm", "channel_type": "im"},
    {"type": "message", "subtype": "message_deleted", "deleted_ts": "1700000000.000200",
     "previous_message": {"thread_ts": "1700000000.000100"}},
    {"type": "message", "subtype": "message_changed",
     "message": {"subtype": "tombstone", "ts": "1700000000.000200"}},
    {"type": "app_home_opened", "tab": "home"},
    {"type": "agent_session_stopped", "thread_ts": "1700000000.000100"},
    {"type": "channel_archive"},
    {"type": "member_left_channel"},
    {"type": "channel_id_changed", "old_channel_id": "C0ELSE", "new_channel_id": "G0ELSE"},
    {"type": "subteam_updated", "subteam": {"id": "S0ELSE", "date_delete": 0}},
    {"type": "subteam_members_changed", "subteam_id": "S0ELSE"},
    {"type": "tokens_revoked", "tokens": {"oauth": ["U0ELSE"], "bot": []}},
)  # fmt: skip


def example_payloads(slack: FakeSlack, channel: str) -> list[JsonValue]:
    """The last clicks as they were sent, a command, and every event."""
    clicks: list[JsonValue] = [payload for payload, _ in slack.acks]
    user = slack.workspace.add_user("U0CMD", "cmd")
    command = slack.interactivity.command(user, "/answerback", "say hello", channel)
    common = {"channel": "C0ELSE", "user": "U0ELSE", "event_ts": "1700000000.000100"}
    examples = [*(event | common for event in EXAMPLE_EVENTS), *EXAMPLE_EVENTS]
    return [command, *clicks[-3:], *map(slack.interactivity.event, examples)]
