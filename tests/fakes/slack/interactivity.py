"""Trigger ids, response URLs, and the payloads that a person's click or submit becomes.

Owns the shapes of `block_actions`, `view_submission`, `view_closed` and `block_suggestion`, as in
https://docs.slack.dev/reference/interaction-payloads
"""

import secrets
from dataclasses import dataclass, field

from tests.fakes.slack import rules
from tests.fakes.slack.schema import Json
from tests.fakes.slack.workspace import APP, BOT_USER, TEAM, Snapshot, User, View, Workspace


class ApiError(Exception):
    """A response `ok: false` with its code."""

    def __init__(self, code: str, **extra: object) -> None:
        super().__init__(code)
        self.code = code
        self.extra = extra


@dataclass(slots=True)
class Trigger:
    """The right to open one modal for one person within three seconds."""

    user: str
    issued: float
    view: str | None = None
    used: bool = False


@dataclass(slots=True)
class ResponseUrl:
    """The right to send five messages about one click within half an hour."""

    user: str
    source: Snapshot
    issued: float
    uses: int = 0
    posted: list[Json] = field(default_factory=list)


class Interactivity:
    """Issue a click's trigger ids and response URLs, and build the payloads that carry them."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.base = ""
        self.triggers: dict[str, Trigger] = {}
        self.response_urls: dict[str, ResponseUrl] = {}

    def trigger(self, user: str, view: str | None = None) -> str:
        """Issue a trigger id."""
        id = f"{secrets.randbelow(10**13)}.{secrets.randbelow(10**12)}.{secrets.token_hex(16)}"
        self.triggers[id] = Trigger(user, self.workspace.clock.now(), view)
        return id

    def redeem(self, trigger_id: object) -> Trigger:
        """Use up a trigger id.

        Raises:
            ApiError: when it never was, is older than three seconds, or was used.
        """
        trigger = self.triggers.get(str(trigger_id))
        if trigger is None:
            raise ApiError("invalid_trigger_id")
        if trigger.used:
            raise ApiError("exchanged_trigger_id")
        if self.workspace.clock.now() - trigger.issued > rules.TRIGGER_SECONDS:
            raise ApiError("expired_trigger_id")
        trigger.used = True
        return trigger

    def response_url(self, user: str, source: Snapshot) -> str:
        """Issue the URL at which a click may be answered."""
        token = secrets.token_urlsafe(18)
        self.response_urls[token] = ResponseUrl(user, source, self.workspace.clock.now())
        return f"{self.base}actions/{TEAM}/{token}"

    def _common(self, kind: str, user: User) -> Json:
        return {
            "type": kind,
            "team": {"id": TEAM, "domain": "fake"},
            "user": {
                "id": user.id, "username": user.name.lower().replace(" ", "."),
                "name": user.name.lower().replace(" ", "."), "team_id": user.team,
            },
            "api_app_id": APP, "token": "verification-token",
            "enterprise": None, "is_enterprise_install": False,
        }  # fmt: skip

    def message_actions(self, user: User, source: Snapshot, action: Json, values: Json) -> Json:
        """A click in a message, with a copy of the message that the person was looking at."""
        shown, ephemeral = source.payload, source.ephemeral_to is not None
        channel = self.workspace.channels[source.channel]
        container: Json = {
            "type": "message", "message_ts": shown["ts"], "channel_id": source.channel,
            "is_ephemeral": ephemeral,
        }  # fmt: skip
        if "thread_ts" in shown:
            container["thread_ts"] = shown["thread_ts"]
        payload = self._common("block_actions", user) | {
            "container": container, "trigger_id": self.trigger(user.id),
            "channel": {"id": channel.id,
                        "name": "directmessage" if channel.kind == "im" else channel.name},
            "state": {"values": values}, "response_url": self.response_url(user.id, source),
            "actions": [action],
        }  # fmt: skip
        if not ephemeral:  # an ephemeral message is stored nowhere: the payload has no copy
            payload["message"] = {k: v for k, v in shown.items() if k != "metadata"}
        return payload

    def view_actions(self, user: User, view: View, action: Json) -> Json:
        """A change in a modal that dispatches."""
        return self._common("block_actions", user) | {
            "container": {"type": "view", "view_id": view.id}, "view": view.payload(),
            "trigger_id": self.trigger(user.id, view.id), "actions": [action],
        }  # fmt: skip

    def submission(self, user: User, view: View) -> Json:
        """The submission of a modal, which has no channel or thread."""
        return self._common("view_submission", user) | {
            "trigger_id": self.trigger(user.id, view.id), "view": view.payload(),
            "response_urls": [],
        }  # fmt: skip

    def closed(self, user: User, view: View, *, cleared: bool) -> Json:
        """A modal closed by ✕ (`cleared`: the root view is named) or by Cancel."""
        return self._common("view_closed", user) | {
            "view": view.payload(), "is_cleared": cleared,
        }  # fmt: skip

    def suggestion(
        self, user: User, container: Json, block_id: str, action_id: str, query: str
    ) -> Json:
        """The request of an external select while a person types."""
        return self._common("block_suggestion", user) | container | {
            "action_id": action_id, "block_id": block_id, "value": query,
        }  # fmt: skip

    def command(self, user: User, command: str, text: str, channel: str) -> Json:
        """A slash command, whose fields are all texts: https://docs.slack.dev/interactivity/implementing-slash-commands"""
        room = self.workspace.channels[channel]
        return {
            "token": "verification-token", "team_id": user.team, "team_domain": "fake",
            "channel_id": channel, "channel_name": room.name, "user_id": user.id,
            "user_name": user.name.lower().replace(" ", "."), "command": command, "text": text,
            "api_app_id": APP, "is_enterprise_install": "false",
            "response_url": f"{self.base}commands/{TEAM}/1", "trigger_id": self.trigger(user.id),
        }  # fmt: skip

    def event(self, event: Json) -> Json:
        """The Events API envelope around an event."""
        return {
            "token": "verification-token", "team_id": TEAM, "api_app_id": APP, "event": event,
            "type": "event_callback", "event_id": self.workspace.next_id("Ev"),
            "event_time": int(self.workspace.clock.now()), "is_ext_shared_channel": False,
            "authorizations": [{"enterprise_id": None, "team_id": TEAM, "user_id": BOT_USER,
                                "is_bot": True, "is_enterprise_install": False}],
        }  # fmt: skip
