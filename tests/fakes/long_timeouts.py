"""Patches that make the fake platforms wait longer than the real ones, and Answerback rely on it.

Separate tests cover what must happen within a few seconds; in all others a busy machine may need longer.
"""

from __future__ import annotations

from typing import Final

import pytest

from answerback_chat import missed_changes
from answerback_discord import api_client as discord_calls
from answerback_discord import group_membership as discord_groups
from answerback_discord import inbox as discord_inbox
from answerback_slack import group_membership as slack_groups
from answerback_slack import interactions as slack_inbound
from answerback_slack import responder_names as slack_names
from tests.fakes.discord import interactions
from tests.fakes.slack import rules

LONG: Final = 30.0
"""Seconds that a platform waits."""
_OURS: Final = LONG - 0.5


def slack(patch: pytest.MonkeyPatch) -> None:
    """Extend Slack's time limits for acknowledgements and modals, and Answerback's for modals and lookups."""
    for deadline in ("ACK_SECONDS", "TRIGGER_SECONDS"):
        patch.setattr(rules, deadline, LONG)
    patch.setattr(slack_inbound, "_TRIGGER_SECONDS", _OURS)
    for lookups in (slack_groups, slack_names):
        patch.setattr(lookups, "LOOKUP_TIMEOUT_SECONDS", _OURS)
    never_look_for_changes(patch)


def discord(patch: pytest.MonkeyPatch) -> None:
    """Extend the time limit for answering a Discord interaction, and Answerback's limits with it."""
    patch.setattr(interactions, "ANSWER_WITHIN", LONG)
    patch.setattr(discord_calls, "ANSWER_TIMEOUT", _OURS)
    patch.setattr(discord_groups, "WAIT_TIMEOUT", _OURS)
    patch.setattr(discord_inbox, "_TIMEOUT", _OURS)
    never_look_for_changes(patch)


def never_look_for_changes(patch: pytest.MonkeyPatch) -> None:
    """Keep the reads that look for missed changes out of tests that count reads; others look at once."""
    patch.setattr(missed_changes, "SETTLING_SECONDS", 3_600.0)
