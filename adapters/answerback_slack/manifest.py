"""The app manifest to paste at https://api.slack.com/apps, with exactly the permissions that Answerback uses.

Fields: https://docs.slack.dev/reference/app-manifest
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from answerback.core.labels import ENGLISH
from answerback.ports.commands import COMMAND

Node: TypeAlias = "str | bool | Sequence[str] | Sequence[Mapping[str, Node]] | Mapping[str, Node]"

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
"""The scopes of the bot token: https://docs.slack.dev/reference/scopes"""
EVENTS: Final[Mapping[str, str | None]] = {
    "app_home_opened": None,
    "app_uninstalled": None,
    "channel_archive": "channels:read",
    "channel_deleted": "channels:read",
    "channel_id_changed": "groups:read",
    "channel_left": "channels:read",
    "channel_unarchive": "channels:read",
    "group_archive": "groups:read",
    "group_deleted": "groups:read",
    "group_left": "groups:read",
    "group_unarchive": "groups:read",
    "member_joined_channel": "channels:read",
    "member_left_channel": "channels:read",
    "message.channels": "channels:history",
    "message.groups": "groups:history",
    "message.im": "im:history",
    "message.mpim": "mpim:history",
    "subteam_members_changed": "usergroups:read",
    "subteam_updated": "usergroups:read",
    "tokens_revoked": None,
}
"""The events to subscribe to, each with the scope that it needs.

They report opened Homes, typed answers, deleted messages, channels that become unreachable or reachable again, and
changes of who may answer.
"""
COMMAND_SCOPE: Final = "commands"
"""The scope of slash commands, without which everything else works."""
FILES_SCOPE: Final = "files:write"
"""The scope of pictures that are uploaded, without which everything else works."""
READ_SCOPE: Final = "files:read"
"""The scope of files that people send, without which everything else works."""
AGENT_SCOPE: Final = "assistant:write"
"""The scope of an app that is an agent, whose threads have sessions: https://docs.slack.dev/ai/agent-sessions"""
AGENT_EVENT: Final = "agent_session_stopped"
"""Slack's Stop button, which needs no scope: https://docs.slack.dev/reference/events/agent_session_stopped"""
_AGENT_SUFFIX: Final = "-agent"
MODES: Final = ("socket", "http", f"socket{_AGENT_SUFFIX}", f"http{_AGENT_SUFFIX}")
"""The ways in which payloads arrive: over a socket, which needs no public URL, or over HTTP at a public URL. ``-agent``
also has Slack show the app as an agent."""
EXAMPLE_URL: Final = "https://answerback.example.com"
_DESCRIPTION: Final = "Asks you what an AI agent wants to know, and brings your answers back."
EVENTS_PATH: Final = "/slack/events"


def manifest(mode: str, url: str = EXAMPLE_URL) -> Mapping[str, Node]:
    """Build the manifest; ``url`` is the external URL of the public listener, for HTTP mode."""
    transport, agent, _ = mode.partition(_AGENT_SUFFIX)
    request = {"request_url": url.rstrip("/") + EVENTS_PATH} if transport == "http" else {}
    agent_view = {"agent_description": _DESCRIPTION}
    scopes = (*SCOPES, COMMAND_SCOPE, FILES_SCOPE, READ_SCOPE)
    command: Mapping[str, Node] = {
        "command": f"/{COMMAND}",
        "description": ENGLISH.commands,
        "should_escape": False,
        **({"url": request["request_url"]} if request else {}),
    }
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
            "slash_commands": [command],
            **({"agent_view": agent_view} if agent else {}),
        },
        "oauth_config": {"scopes": {"bot": (*scopes, AGENT_SCOPE) if agent else scopes}},
        "settings": {
            "event_subscriptions": {
                **request,
                "bot_events": (*EVENTS, AGENT_EVENT) if agent else (*EVENTS,),
            },
            "interactivity": {"is_enabled": True, **request},
            "org_deploy_enabled": False,
            "socket_mode_enabled": transport == "socket",
            "token_rotation_enabled": False,
        },
    }


def manifest_yaml(mode: str, url: str = EXAMPLE_URL) -> str:
    return to_yaml(manifest(mode, url))


def to_yaml(node: Mapping[str, Node], indent: int = 0) -> str:
    """Format a manifest as YAML. Strings are quoted as in JSON, which YAML reads the same way."""
    lines: list[str] = []
    pad = " " * indent
    for key, value in node.items():
        if isinstance(value, Mapping):
            lines += [f"{pad}{key}:", to_yaml(value, indent + 2)]
        elif isinstance(value, (bool, str)):
            lines.append(f"{pad}{key}: {json.dumps(value)}")
        else:
            lines.append(f"{pad}{key}:")
            for item in value:
                text = to_yaml(item, indent + 4) if isinstance(item, Mapping) else json.dumps(item)
                lines.append(f"{pad}  - {text.lstrip()}")
    return "\n".join(lines)
