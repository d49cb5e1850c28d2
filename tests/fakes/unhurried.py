"""Platforms that wait longer than the real ones, and an Answerback that counts on it.

What has to happen within a few seconds has tests of its own. In all others a busy machine may need longer.
"""

from __future__ import annotations

from typing import Final

import pytest

from answerback_discord import api_client as discord_calls
from answerback_discord import group_membership as discord_groups
from answerback_discord import interactions as discord_inbound
from answerback_slack import group_membership as slack_groups
from answerback_slack import interactions as slack_inbound
from answerback_slack import responder_names as slack_names
from tests.fakes.discord import interactions
from tests.fakes.slack import rules

LONG: Final = 30.0
"""Seconds that a platform waits."""
_OURS: Final = LONG - 0.5


def slack(patch: pytest.MonkeyPatch) -> None:
    """Slack waits long for an acknowledgement, for a modal, and for whom it is asked about."""
    for deadline in ("ACK_SECONDS", "TRIGGER_SECONDS"):
        patch.setattr(rules, deadline, LONG)
    patch.setattr(slack_inbound, "_TRIGGER_SECONDS", _OURS)
    for lookups in (slack_groups, slack_names):
        patch.setattr(lookups, "LOOKUP_TIMEOUT_SECONDS", _OURS)


def discord(patch: pytest.MonkeyPatch) -> None:
    """Discord waits long for the answer to an interaction."""
    patch.setattr(interactions, "ANSWER_WITHIN", LONG)
    patch.setattr(discord_calls, "ANSWER_TIMEOUT", _OURS)
    patch.setattr(discord_groups, "_WAIT_TIMEOUT", _OURS)
    patch.setattr(discord_inbound, "_INBOX_TIMEOUT", _OURS)
