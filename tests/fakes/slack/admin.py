"""Administrators' changes to a workspace, and the events that report them to the app.

Shapes: https://docs.slack.dev/reference/events
"""

from typing import TYPE_CHECKING

from tests.fakes.slack.schema import Json
from tests.fakes.slack.workspace import BOT_USER, TEAM

if TYPE_CHECKING:
    from tests.fakes.slack.server import FakeSlack


def _tell(slack: "FakeSlack", event: Json) -> None:
    slack.changed()
    slack.emit(event | {"event_ts": slack.workspace.next_ts()})


def archive(slack: "FakeSlack", channel: str, by: str, *, private: bool = False) -> None:
    """Archive a channel."""
    slack.workspace.channels[channel].archived = True
    kind = "group_archive" if private else "channel_archive"
    _tell(slack, {"type": kind, "channel": channel, "user": by, "is_moved": 0})


def delete_channel(slack: "FakeSlack", channel: str) -> None:
    """Delete a channel with all of its messages."""
    del slack.workspace.channels[channel]
    _tell(slack, {"type": "channel_deleted", "channel": channel})


def remove_app(slack: "FakeSlack", channel: str, by: str) -> None:
    """Remove the app from a channel."""
    slack.workspace.channels[channel].members.discard(BOT_USER)
    _tell(slack, {"type": "channel_left", "channel": channel, "actor_id": by})


def leave(slack: "FakeSlack", channel: str, user: str) -> None:
    """Have a person leave a channel."""
    slack.workspace.channels[channel].members.discard(user)
    left = {"type": "member_left_channel", "user": user, "channel": channel}
    _tell(slack, left | {"channel_type": "C", "team": TEAM})


def join(slack: "FakeSlack", channel: str, user: str) -> None:
    """Add a person or the app to a channel."""
    slack.workspace.channels[channel].members.add(user)
    joined = {"type": "member_joined_channel", "user": user, "channel": channel}
    _tell(slack, joined | {"channel_type": "C", "team": TEAM})


def unarchive(slack: "FakeSlack", channel: str, by: str) -> None:
    """Unarchive a channel."""
    slack.workspace.channels[channel].archived = False
    _tell(slack, {"type": "channel_unarchive", "channel": channel, "user": by})


def renumber(slack: "FakeSlack", old: str, new: str) -> None:
    """Share a private channel with another workspace, which gives it another id."""
    room = slack.workspace.channels.pop(old)
    room.id = new
    slack.workspace.channels[new] = room
    slack.workspace.messages[new] = slack.workspace.messages.pop(old)
    for message in slack.workspace.messages[new].values():
        message.channel = new
    _tell(slack, {"type": "channel_id_changed", "old_channel_id": old, "new_channel_id": new})


def set_members(slack: "FakeSlack", group: str, *members: str) -> None:
    """Change the members of a user group."""
    handle, before = slack.workspace.groups[group]
    slack.workspace.groups[group] = (handle, list(members))
    _tell(slack, {
        "type": "subteam_members_changed", "subteam_id": group, "team_id": TEAM,
        "added_users": sorted(set(members) - set(before)),
        "removed_users": sorted(set(before) - set(members)),
    })  # fmt: skip


def disable_group(slack: "FakeSlack", group: str) -> None:
    """Disable a user group."""
    handle, members = slack.workspace.groups.pop(group)
    subteam = {"id": group, "team_id": TEAM, "handle": handle, "users": members}
    _tell(slack, {"type": "subteam_updated", "subteam": subteam | {"date_delete": 1_716_400_000}})


def rename_group(slack: "FakeSlack", group: str, handle: str) -> None:
    """Give a user group another handle."""
    slack.workspace.groups[group] = (handle, slack.workspace.groups[group][1])
    subteam = {"id": group, "team_id": TEAM, "handle": handle, "date_delete": 0}
    _tell(slack, {"type": "subteam_updated", "subteam": subteam})


def uninstall(slack: "FakeSlack") -> None:
    """Remove the app from the workspace."""
    slack.revoked = True
    _tell(slack, {"type": "app_uninstalled"})


def revoke(slack: "FakeSlack", *, bot: bool) -> None:
    """Revoke the app's token, or only that of a person who used the app."""
    slack.revoked = bot
    tokens = {"oauth": [] if bot else ["U0ADA"], "bot": [BOT_USER] if bot else []}
    _tell(slack, {"type": "tokens_revoked", "tokens": tokens})
