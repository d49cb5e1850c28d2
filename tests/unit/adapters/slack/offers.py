"""The choices that the controls of a message in Slack offer, by their ids."""

from __future__ import annotations

OFFERS = {
    **{name: name for name in ("back", "ask_back", "reply", "end_turn", "submit", "other")},
    **{name: name for name in ("confirm", "object", "hand_over")},
    "again": "try_again",
}
