"""The texts of what people allow again for a while: a part of `answerback.core.labels`."""

from __future__ import annotations

from pydantic import ConfigDict

from answerback.core.hand_over_labels import HandOverLabels


class GrantLabels(HandOverLabels):
    """What a prompt, a form and a list say about grants."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    allow_again: str = "Allow again for…"
    grant_about: str = "The same agent in the same folder may do this again without asking:"
    grant_allow: str = "Allow this, and again"
    grant_match: str = "What it may do"
    grant_minutes: str = "For how long"
    grant_uses: str = "How many times"
    grant_command: str = "Exactly this command: {text}"
    grant_prefix: str = "Commands that begin with: {text}"
    grant_file: str = "Any edit of this file: {text}"
    grant_address: str = "Anything at this address: {text}"
    grant_tool: str = "This tool with exactly these arguments: {text}"
    granted: str = "{name} allowed this again: {uses} more times, until {time}"
    granted_use: str = "Allowed by {name}'s grant, {use} of {uses} uses, until {time}"
    revoke: str = "Revoke"
    revoked: str = "{name} revoked the grant"
    grants_title: str = "Allowed again"
    grant_row: str = "{agent} in {folder}, until {time}, {use} of {uses} uses, by {name}"
    source_grant: str = "allowed by a grant"
