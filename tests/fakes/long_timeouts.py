"""Patches that make the fake platforms wait longer than the real ones, and Answerback rely on it.

Separate tests cover what must happen within a few seconds; in all others a busy machine may need longer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from answerback_chat.delays import Delays
from answerback_discord import api_client as discord_calls
from answerback_discord import inbox as discord_inbox
from answerback_slack import interactions as slack_inbound
from tests.fakes.discord import interactions
from tests.fakes.slack import rules

LONG: Final = 30.0
"""Seconds that a platform waits."""
_OURS: Final = LONG - 0.5
PATIENT: Final = Delays(
    settling=3_600.0, first_pause=0.01, groups=_OURS, names=_OURS, pictures=_OURS, album=3.0
)
"""Those of a surface in tests. Most count reads, and so do without those that look for missed changes."""
HASTY: Final = replace(PATIENT, settling=0.0)
"""Looks for missed changes at once."""


def slack(patch: pytest.MonkeyPatch) -> None:
    """Extend Slack's time limits for acknowledgements and modals, and Answerback's for modals."""
    for deadline in ("ACK_SECONDS", "TRIGGER_SECONDS"):
        patch.setattr(rules, deadline, LONG)
    patch.setattr(slack_inbound, "_TRIGGER_SECONDS", _OURS)


def discord(patch: pytest.MonkeyPatch) -> None:
    """Extend the time limit for answering a Discord interaction, and Answerback's limits with it."""
    patch.setattr(interactions, "ANSWER_WITHIN", LONG)
    patch.setattr(discord_calls, "ANSWER_TIMEOUT", _OURS)
    patch.setattr(discord_inbox, "_TIMEOUT", _OURS)
