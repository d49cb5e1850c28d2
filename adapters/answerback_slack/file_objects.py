"""Slack's description of a file that a person sent, in a message or in a modal's file input. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from answerback_chat.control_codec import objects_of, text_of

_STORED_MODES: Final = frozenset({"hosted", "snippet", "email"})
"""The modes of files whose bytes Slack has: https://docs.slack.dev/reference/objects/file-object"""
_LOOK_UP: Final = "check_file_info"
"""The ``file_access`` of a file that has to be looked up, as in channels that are shared between workspaces:
https://docs.slack.dev/apis/slack-connect"""


class SlackFile(NamedTuple):
    """A file that a person sent, as Slack describes it."""

    id: str
    name: str
    size: int | None
    url: str
    """Where its bytes are; empty if it has to be looked up."""


def parse_files(value: object) -> tuple[SlackFile, ...]:
    """Parse a list of file objects; those whose bytes Slack does not have are left out."""
    return tuple(file for each in objects_of(value) if (file := parse_file(each)) is not None)


def parse_file(each: Mapping[str, object]) -> SlackFile | None:
    file_id, size = text_of(each.get("id")), each.get("size")
    if not file_id:
        return None
    name = text_of(each.get("name")) or text_of(each.get("title")) or file_id
    if each.get("file_access") == _LOOK_UP:
        return SlackFile(file_id, name, None, "")
    url = text_of(each.get("url_private_download")) or text_of(each.get("url_private"))
    if not url or each.get("is_external") or each.get("mode") not in _STORED_MODES:
        return None
    return SlackFile(file_id, name, size if isinstance(size, int) else None, url)
