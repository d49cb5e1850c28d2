"""The app is removed from the channel of the Slack stage, and added again."""

from __future__ import annotations

from tests.fakes.slack import admin
from tests.fakes.slack.server import FakeSlack
from tests.fakes.slack.workspace import BOT_USER
from tests.unit.adapters.slack.rig import CHANNEL


class SlackRemoval:
    """See `answerback_testing.simulated_people.HasRemoval`."""

    slack: FakeSlack

    async def remove_bot(self) -> None:
        self.slack.event_types |= {"channel_left", "member_joined_channel"}
        admin.remove_app(self.slack, CHANNEL, "U0ADMIN")

    async def add_bot(self) -> None:
        admin.join(self.slack, CHANNEL, BOT_USER)
