"""The app manifest to paste at https://api.slack.com/apps: exactly the rights that Answerback uses, for either mode.

Fields: https://docs.slack.dev/reference/app-manifest
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

Node: TypeAlias = "str | bool | Sequence[str] | Mapping[str, Node]"

SCOPES: Final = (
    "channels:history",
    "channels:read",
    "chat:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:write",
    "mpim:history",
    "reactions:write",
    "usergroups:read",
    "users:read",
)
"""What the bot token may do: https://docs.slack.dev/reference/scopes"""
EVENTS: Final[Mapping[str, str | None]] = {
    "app_home_opened": None,
    "app_uninstalled": None,
    "channel_archive": "channels:read",
    "channel_deleted": "channels:read",
    "channel_id_changed": "groups:read",
    "channel_left": "channels:read",
    "group_archive": "groups:read",
    "group_deleted": "groups:read",
    "group_left": "groups:read",
    "member_left_channel": "channels:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
    "subteam_members_changed": "usergroups:read",
    "subteam_updated": "usergroups:read",
    "tokens_revoked": None,
}
"""Homes that are opened, typed answers, deleted messages, and what closes a place or changes who may answer; with the
scope each needs."""
AGENT_SCOPE: Final = "assistant:write"
"""What makes an app an agent, whose threads have sessions: https://docs.slack.dev/ai/agent-sessions"""
AGENT_EVENT: Final = "agent_session_stopped"
"""Slack's Stop button, which needs no scope: https://docs.slack.dev/reference/events/agent_session_stopped"""
_AGENT: Final = "-agent"
MODES: Final = ("socket", "http", f"socket{_AGENT}", f"http{_AGENT}")
"""How payloads come in: over a socket, which needs no public address, or to one's own address; and whether Slack is to
show the app as an agent."""
EXAMPLE_URL: Final = "https://answerback.example.com"
_DESCRIPTION: Final = "Asks you what an AI agent wants to know, and brings your answers back."
_PATH: Final = "/slack/events"


def manifest(mode: str, url: str = EXAMPLE_URL) -> Mapping[str, Node]:
    """The manifest; ``url`` is the public listener's address as the world sees it, for HTTP mode."""
    way, agent, _ = mode.partition(_AGENT)
    request = {"request_url": url.rstrip("/") + _PATH} if way == "http" else {}
    described = {"agent_description": _DESCRIPTION}
    return {
        "display_information": {
            "name": "Answerback",
            "description": _DESCRIPTION,
            "background_color": "#1f2937",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "Answerback", "always_online": True},
            **({"agent_view": described} if agent else {}),
        },
        "oauth_config": {"scopes": {"bot": (*SCOPES, AGENT_SCOPE) if agent else SCOPES}},
        "settings": {
            "event_subscriptions": {
                **request,
                "bot_events": (*EVENTS, AGENT_EVENT) if agent else (*EVENTS,),
            },
            "interactivity": {"is_enabled": True, **request},
            "org_deploy_enabled": False,
            "socket_mode_enabled": way == "socket",
            "token_rotation_enabled": False,
        },
    }


def manifest_yaml(mode: str, url: str = EXAMPLE_URL) -> str:
    """The manifest as a file to paste."""
    return to_yaml(manifest(mode, url))


def to_yaml(node: Mapping[str, Node], indent: int = 0) -> str:
    """A manifest as YAML; strings are quoted as in JSON, which YAML reads alike."""
    lines: list[str] = []
    pad = " " * indent
    for key, value in node.items():
        if isinstance(value, Mapping):
            lines += [f"{pad}{key}:", to_yaml(value, indent + 2)]
        elif isinstance(value, (bool, str)):
            lines.append(f"{pad}{key}: {json.dumps(value)}")
        else:
            lines.append(f"{pad}{key}:")
            lines += [f"{pad}  - {json.dumps(item)}" for item in value]
    return "\n".join(lines)
