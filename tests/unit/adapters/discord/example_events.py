"""An example of each event of the gateway, about no ask."""

from __future__ import annotations

from pydantic import JsonValue

ELSEWHERE = {"guild_id": "1700000000000000001", "channel_id": "1700000000000000002"}
EXAMPLE_EVENTS: dict[str, dict[str, JsonValue]] = {
    "MESSAGE_CREATE": {
        **ELSEWHERE, "id": "1700000000000000003", "type": 0, "content": "hm", "mentions": [],
        "author": {"id": "1700000000000000004", "username": "else"}, "member": {"roles": []},
        "message_reference": {"message_id": "1700000000000000005"},
    },
    "MESSAGE_DELETE": {**ELSEWHERE, "id": "1700000000000000003"},
    "MESSAGE_DELETE_BULK": {**ELSEWHERE, "ids": ["1700000000000000003"]},
    "CHANNEL_DELETE": {"id": "1700000000000000002", "type": 0},
    "THREAD_DELETE": {"id": "1700000000000000003", "parent_id": "1700000000000000002", "type": 11},
    "GUILD_CREATE": {
        "id": "1700000000000000001", "joined_at": "2026-01-01T00:00:00+00:00",
        "channels": [{"id": "1700000000000000002", "type": 0}],
    },
    "GUILD_DELETE": {"id": "1700000000000000001"},
    "GUILD_ROLE_DELETE": {"guild_id": "1700000000000000001", "role_id": "1700000000000000006"},
    "CHANNEL_UPDATE": {"id": "1700000000000000002", "type": 0},
    "THREAD_UPDATE": {
        "id": "1700000000000000003", "parent_id": "1700000000000000002", "type": 11,
        "thread_metadata": {"locked": True},
    },
    "GUILD_ROLE_UPDATE": {"guild_id": "1700000000000000001"},
    "GUILD_MEMBER_UPDATE": {"guild_id": "1700000000000000001", "user": {"id": "1700000000000000004"}},
}  # fmt: skip
