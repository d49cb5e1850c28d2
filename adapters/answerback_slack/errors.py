"""Map Slack's errors to ours, in one table (`TABLE`), with advice for the operator.

Codes: the method pages under https://docs.slack.dev/reference/methods
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slack_sdk.errors import SlackApiError

from answerback.core.errors import (
    DestinationGoneError,
    NotDoneError,
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    UnauthorizedError,
)
from answerback_chat.control_codec import list_of, object_of
from answerback_chat.platform_errors import error_table, retry_after_of, without_advice

TABLE: Final = error_table(
    {
        # Temporary; the call may have taken effect.
        PlatformUnavailableError: without_advice(
            "service_unavailable", "internal_error", "fatal_error", "request_timeout"
        ),
        # Temporary, without effect; or a person took longer than Slack's three seconds, or closed the modal.
        NotDoneError: without_advice(
            "ratelimited", "rate_limited", "team_added_to_org", "streaming_state_conflict", "accesslimited",
            "external_channel_migrating", "org_login_required",
            "expired_trigger_id", "exchanged_trigger_id", "invalid_trigger_id",
            "hash_conflict", "not_found",
        ),
        # What we rendered is invalid.
        PayloadRejectedError: without_advice(
            "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "view_too_large",
            "no_text", "invalid_arguments", "metadata_too_large", "invalid_metadata_format", "invalid_view",
            "duplicate_external_id", "push_limit_reached", "markdown_text_conflict",
        ),
        DestinationGoneError: {
        "channel_not_found": "there is no such channel, or the app may not see it: invite the app with /invite",
        "not_in_channel": "the app is not in the channel: invite it with /invite",
        "is_archived": "the channel is archived: unarchive it, or ask somewhere else",
        "is_inactive": "the conversation is closed: ask somewhere else",
        "thread_not_found": "the thread is gone: ask without a thread, or in another one",
        "cannot_reply_to_message": "this message cannot be replied to: give the ts of the thread's first message",
        "messages_tab_disabled": "direct messages to the app are off: switch the Messages tab on under App Home",
        "user_not_found": "there is no such person in this workspace: give a member's id",
        "users_not_found": "there is no such person in this workspace: give a member's id",
        "user_disabled": "this person's account is deactivated: ask another person",
        "cannot_dm_bot": "bots cannot receive direct messages: give a person's id",
        "no_such_subteam": "there is no such user group: give the id of one, S…",
        "access_denied": "the app may not reach this place or person: ask the workspace's administrators to allow it",
        "no_permission": "the app may not do this here: invite it with /invite",
        "user_not_visible": "the app may not see this person: ask them in a channel, or ask the administrators",
        "invalid_user_combination": "the app may not message this person directly: ask them in a channel",
        },
        UnauthorizedError: {
        "invalid_auth": "the token is wrong: copy the bot token from OAuth & Permissions into slack.bot_token",
        "not_authed": "the token is missing: set slack.bot_token",
        "token_revoked": "the token was revoked: install the app again and set its new slack.bot_token",
        "token_expired": "the token has expired: install the app again and set its new slack.bot_token",
        "account_inactive": "the app was removed from the workspace: install it again",
        "missing_scope": "a scope is missing: add it under OAuth & Permissions and install the app again",
        "not_allowed_token_type": "this is the wrong kind of token: bot_token begins with xoxb-, app_token with xapp-",
        "app_access_restricted": "the workspace's administrators do not allow the app: ask them to approve it",
        "team_access_not_granted": "the app has no access to this workspace: install it there",
        "enterprise_is_restricted": "this is a whole organization's token: install the app in the workspace itself",
        "two_factor_setup_required": "two-factor authentication is missing: the app's installer must set it up",
        "ekm_access_denied": "the administrators have suspended access to messages: contact them",
        "message_limit_exceeded": "the workspace has used up its messages (a free plan): upgrade it, or wait",
        },
    }
)  # fmt: skip
"""Any code that is not listed here is final."""
THREAD_NOT_FOUND: Final = "thread_not_found"
MESSAGE_DELETED: Final = "message_not_found"
BLOCK_MISMATCH: Final = "block_mismatch"
"""Rich text cannot be replaced by blocks without rich text: https://docs.slack.dev/reference/methods/chat.update"""
ALREADY_REACTED: Final = "already_reacted"
"""The code of a reaction that is there: https://docs.slack.dev/reference/methods/reactions.add"""
UNEDITABLE_CODES: Final = frozenset(
    {MESSAGE_DELETED, "cant_update_message", "edit_window_closed", BLOCK_MISMATCH}
)
"""The codes of a message that can no longer be edited and has to be replaced."""
_RESTRICTED_PREFIX: Final = "restricted_action"
"""The prefix of the codes that mean that a channel's settings do not let the app post."""
TOKEN_REFUSED_CODES: Final = frozenset(
    {"invalid_auth", "not_authed", "token_revoked", "token_expired", "account_inactive"}
)
"""The codes that reject the token itself, and so every call until it is replaced."""
DEFAULT_RETRY_AFTER_SECONDS: Final = 30.0
"""Seconds to wait if Slack limits us without saying for how long."""


def advice(code: str) -> str:
    """Advice for an error code, as a clause to put after "Slack says …:"; empty if there is none."""
    if code.startswith(_RESTRICTED_PREFIX):
        return "the settings do not let the app post there: ask the administrators, or ask somewhere else"
    return TABLE[code].advice if code in TABLE else ""


def error_from_code(
    method: str, code: str, data: Mapping[str, object] | None = None
) -> PlatformError:
    """Convert a response with ``ok: false`` to our error."""
    message, hint = f"Slack refused {method} ({code})", advice(code)
    kind = TABLE[code].kind if code in TABLE else DestinationGoneError
    if code == "missing_scope" and data and data.get("needed"):
        hint = f"add the scope {data['needed']} under OAuth & Permissions and install the app again"
    elif kind is PayloadRejectedError:
        hint = payload_error_details(data)
    elif kind is DestinationGoneError and code not in UNEDITABLE_CODES:
        hint = hint or f"see https://docs.slack.dev/reference/methods/{method}"
    return kind(f"{message}: {hint}" if hint else message, code=code)


def error_from_exception(method: str, error: SlackApiError) -> PlatformError:
    response = error.response
    status = getattr(response, "status_code", None) or getattr(response, "status", None)
    data = getattr(response, "data", None)
    data = data if isinstance(data, dict) else {}
    code = str(data.get("error") or "")
    if status == 429 or code in {"ratelimited", "rate_limited"}:
        headers = getattr(response, "headers", {})
        return RateLimitedError(
            f"Slack is rate-limiting {method}",
            retry_after=retry_after_of(
                headers.get("Retry-After"), default=DEFAULT_RETRY_AFTER_SECONDS
            ),
            code=code,
        )
    if not code or (isinstance(status, int) and status >= 500):
        return PlatformUnavailableError(
            f"Slack answered {method} with status {status}", code=str(status)
        )
    return error_from_code(method, code, data)


def payload_error_details(data: Mapping[str, object] | None) -> str:
    """Slack's details on what is invalid in our payload, in one line."""
    answer = data or {}
    messages = object_of(answer.get("response_metadata")).get("messages")
    return "; ".join(map(str, list_of(answer.get("errors") or messages)))
