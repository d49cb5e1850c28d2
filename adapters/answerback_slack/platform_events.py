"""Handle Slack's events about the workspace: messages deleted, channels closed, user groups changed, the app removed.

Owns the events in `manifest.EVENTS` other than messages that people type. Each is handled before it is acknowledged,
so that Slack sends it again if it could not be stored.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from answerback.core.errors import DestinationGoneError, PlatformUnavailableError
from answerback.ports.surface import Asks
from answerback.presentation import responders
from answerback_chat.retry import retry
from answerback_slack.agent_status import AgentSession, AgentSessions
from answerback_slack.errors import advice
from answerback_slack.events import ChangedMessage, Event, RevokedTokens, Subteam, parse_event
from answerback_slack.group_membership import GroupMembership
from answerback_slack.inbox import HomeTabs
from answerback_slack.live_message_lookup import ARCHIVED, LEFT
from answerback_slack.parse import BotIdentity
from answerback_slack.posting import MessageRef, may_be_message_of

logger = logging.getLogger(__name__)

_DELETED: Final = "was deleted: ask somewhere else"
_CLOSED: Final[Mapping[object, str]] = {
    "channel_archive": ARCHIVED,
    "group_archive": ARCHIVED,
    "channel_deleted": _DELETED,
    "group_deleted": _DELETED,
    "channel_left": LEFT,
    "group_left": LEFT,
    "member_left_channel": LEFT,
}
"""Events after which nobody can be asked in a channel any more: what happened, and what to do next."""
_REOPENED: Final = frozenset({"channel_unarchive", "group_unarchive", "member_joined_channel"})
"""Events after which people can be asked in a channel again."""
_SKEW_SECONDS: Final = 10.0
_TRIES: Final = 3
"""Times to look whose message was deleted: together shorter than Slack waits for an acknowledgement."""


@dataclass(frozen=True, eq=False)
class EventHandler:
    """Handle events.

    Args:
        report_outage: called with the reason why the token may no longer work.
        now: returns seconds since the epoch.
    """

    asks: Asks
    groups: GroupMembership
    homes: HomeTabs
    sessions: AgentSessions
    identity: BotIdentity
    report_outage: Callable[[str], None]
    now: Callable[[], float]

    async def handle_event(self, payload: Mapping[str, object]) -> bool:
        """Handle an event; return False if it is not one of these.

        Raises:
            StoreError: not all of its effects could be stored.
            PlatformUnavailableError: it is not known yet which ask it concerns.
        """
        try:
            event = parse_event(payload)
        except msgspec.ValidationError as error:
            extra = {"action": "odd_event"}
            logger.info("An event of an unknown shape was ignored: %s", error, extra=extra)
            return True
        match event:
            case Event(type="message"):
                return await self._handle_message_event(event)
            case Event(type="app_home_opened", user=str(user)):
                if event.tab != "messages":
                    await self.homes.open_first_page(user)
            case Event(
                type="agent_session_stopped",
                channel=str(channel),
                thread_ts=str(thread),
                user=str(user),
                event_ts=str(at),
            ):
                await self.sessions.end_turns(AgentSession(channel, thread), user, at)
            case _:
                await self._handle_workspace_event(event)
        return True

    async def _handle_message_event(self, event: Event) -> bool:
        match event:
            case Event(subtype="message_deleted", channel=str(channel), deleted_ts=str(ts)):
                before = event.previous_message
            case Event(
                subtype="message_changed",
                channel=str(channel),
                message=ChangedMessage(subtype="tombstone", ts=str(ts)) as before,
            ):
                pass  # a deleted message that has replies
            case _:
                return False
        parent = (before and before.thread_ts) or ts
        await retry(lambda: self._message_deleted(channel, ts, parent), tries=_TRIES)
        return True

    async def _message_deleted(self, channel: str, ts: str, parent: str) -> None:
        async for ask in self.asks.each_open("slack", channel, parent):
            ref = MessageRef.from_stored(ask.placement.message)
            if ref is not None and ref.ts == ts:
                await self.asks.show_again(ask.id, deleted=True)
                return
        async for ask in self.asks.each_open("slack", channel):
            if may_be_message_of(ask, ts, parent):
                raise PlatformUnavailableError("It is not stored yet whose message was deleted")
            ref = MessageRef.from_stored(ask.placement.message)
            if ref is not None and ref.ts == ts:  # recorded since the first lookup
                await self.asks.show_again(ask.id, deleted=True)

    async def _handle_workspace_event(self, event: Event) -> None:
        match event:
            case Event(type="member_left_channel" | "member_joined_channel") if (
                event.user != self.identity.bot_user
            ):
                pass
            case Event(type=kind, channel=str(channel)) if kind in _CLOSED:
                await self._fail_asks_in(channel, _CLOSED[kind], self._event_time(event))
            case Event(type=kind, channel=str(channel)) if kind in _REOPENED:
                await self.asks.show_reopened("slack", [channel])
            case Event(type="channel_id_changed", old_channel_id=str(old), new_channel_id=str(new)):
                async for ask in self.asks.each_open("slack", old):
                    await self.asks.change_channel_id(ask.id, old, new)
            case Event(type="subteam_updated", subteam=Subteam(id=group, date_delete=deleted)):
                await self._handle_group_change(group, disabled=bool(deleted))
            case Event(type="subteam_members_changed", subteam_id=str(group)):
                await self._handle_group_change(group, disabled=False)
            case Event(type="tokens_revoked", tokens=RevokedTokens(bot=[])):
                pass  # only people's tokens, not the app's
            case Event(type="tokens_revoked" | "app_uninstalled" as kind):
                self.report_outage(f"Slack says {kind}: {advice('account_inactive')}.")
            case _:
                pass

    def _event_time(self, event: Event) -> float:
        """The time of the event, by Slack's clock."""
        return self.now() if event.event_ts is None else float(event.event_ts)

    async def _fail_asks_in(self, channel: str, reason: str, at: float) -> None:
        """Fail the asks that were created in a channel before it was closed, as Slack may report that late."""
        async for ask in self.asks.each_open("slack", channel):
            if ask.created_at <= at + _SKEW_SECONDS:
                await self.asks.fail_unreachable(ask, f"the channel {reason}")

    async def _handle_group_change(self, group: str, *, disabled: bool) -> None:
        """Reload a user group that has changed, and fail the asks that nobody can answer any more."""
        if await self.groups.reload_has_members(group, disabled=disabled):
            return
        async for ask in self.asks.each_open("slack"):
            if group not in responders.responder_groups(ask):
                continue
            try:
                await self.groups.require_reachable_responders(ask.waits_for)
            except DestinationGoneError as error:
                await self.asks.fail_unreachable(ask, str(error))
