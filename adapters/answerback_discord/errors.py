"""Translate Discord's errors to Answerback's own, by one table that also says how to fix each of them.

Codes: https://docs.discord.com/developers/topics/opcodes-and-status-codes#json
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final

from pydantic import JsonValue

from answerback.core.errors import (
    DestinationGoneError,
    ForbiddenError,
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    UnauthorizedError,
)
from answerback_chat.platform_errors import (
    ErrorMeaning,
    error_table,
    retry_after_of,
    without_advice,
)


class ErrorCode(IntEnum):
    """Discord's error codes that are handled differently."""

    UNKNOWN_CHANNEL = 10003
    UNKNOWN_MEMBER = 10007
    UNKNOWN_MESSAGE = 10008
    UNKNOWN_USER = 10013
    UNKNOWN_WEBHOOK = 10015
    UNKNOWN_INTERACTION = 10062
    SLOW_MODE = 20016
    CHANNEL_WRITE_LIMIT = 20028
    GUILD_WRITE_LIMIT = 20029
    OLD_EDITS_LIMIT = 30046
    BODY_TOO_LARGE = 40005
    ALREADY_ACKNOWLEDGED = 40060
    TAG_REQUIRED = 40067
    BAD_USER_AGENT = 40333
    NO_ACCESS = 50001
    NO_DIRECT_MESSAGES = 50007
    NOT_A_TEXT_CHANNEL = 50008
    NO_PERMISSION = 50013
    INVALID_WEBHOOK_TOKEN = 50027
    INVALID_FORM = 50035
    THREAD_ARCHIVED = 50083
    OVERLOADED = 130000
    THREAD_EXISTS = 160004
    THREAD_LOCKED = 160005
    TOO_MANY_THREADS = 160006
    AUTO_MODERATED = 200000
    LINK_FILTERED = 240000


TOKEN_REFUSED: Final = "401"
"""The code of the error for an invalid bot token."""
LIMIT_PAUSE: Final = 5.0
"""Seconds to wait if Discord limits requests without saying for how long."""
TABLE: Final[Mapping[int, ErrorMeaning]] = error_table(
    {
        RateLimitedError: without_advice(
            ErrorCode.SLOW_MODE, ErrorCode.CHANNEL_WRITE_LIMIT, ErrorCode.GUILD_WRITE_LIMIT, ErrorCode.OLD_EDITS_LIMIT
        ),
        PlatformUnavailableError: without_advice(ErrorCode.OVERLOADED),
        DestinationGoneError: {
            ErrorCode.UNKNOWN_CHANNEL: "the channel or thread does not exist, or no longer exists",
            ErrorCode.UNKNOWN_MESSAGE: "the message was deleted",
            ErrorCode.UNKNOWN_USER: "there is no such user",
            ErrorCode.NO_DIRECT_MESSAGES: "this person does not accept direct messages from the app",
            ErrorCode.NOT_A_TEXT_CHANNEL: "nobody can send messages in this kind of channel",
            ErrorCode.INVALID_WEBHOOK_TOKEN: "notes can follow an interaction for 15 minutes only",
        },
        ForbiddenError: {
            ErrorCode.NO_ACCESS: "the app cannot see this channel: give its role the permission View Channel there",
            ErrorCode.NO_PERMISSION: "the app lacks a permission there: run `answerback doctor` to see which",
        },
        UnauthorizedError: {
            ErrorCode.THREAD_LOCKED: "the thread is locked: a moderator has to unlock it",
            ErrorCode.TAG_REQUIRED: "the forum requires a tag on each post: switch that off, or choose another channel",
            ErrorCode.BAD_USER_AGENT: "Discord does not accept our User-Agent",
        },
        PayloadRejectedError: {
            ErrorCode.AUTO_MODERATED: "the server's AutoMod blocked the text: let the app's role pass its rules",
            ErrorCode.LINK_FILTERED: "Discord's filter of harmful links blocked the text: ask again without its links",
            ErrorCode.THREAD_ARCHIVED: "the thread is archived, and was archived again after it was "
            "reopened: reopen it in Discord, or ask elsewhere",
            ErrorCode.TOO_MANY_THREADS: "the server has reached its limit of active threads: "
            "close some, or ask in a channel that is not a forum",
        },
    }
)  # fmt: skip
_KINDS: Final[Mapping[int, type[PlatformError]]] = {
    403: UnauthorizedError,
    404: DestinationGoneError,
}
"""The error for a status, if its code is not in the table; for other statuses, `PayloadRejectedError`."""


def error_from_response(
    status: int, body: JsonValue, headers: Mapping[str, str], what: str
) -> PlatformError:
    """Return the error for a refused request.

    Args:
        what: the request, as the operator knows it: ``POST /channels/…/messages``.
    """
    answer = body if isinstance(body, dict) else {}
    code = answer.get("code")
    number = code if isinstance(code, int) and not isinstance(code, bool) else 0
    name = str(number or status)
    message_text = str(answer.get("message") or f"HTTP {status}")[:300]
    kind, advice = TABLE.get(number, ErrorMeaning(_KINDS.get(status, PayloadRejectedError)))
    if status == 429 or kind is RateLimitedError:
        wait = retry_after_of(
            answer.get("retry_after"), headers.get("Retry-After"), default=LIMIT_PAUSE
        )
        # Edits of old messages are limited per message, regardless of other requests in the channel.
        alone = number == ErrorCode.OLD_EDITS_LIMIT
        return RateLimitedError(f"Discord limits {what}", retry_after=wait, code=name, alone=alone)
    if advice:
        return kind(f"Discord refused {what}: {advice} ({message_text}).", code=name)
    if number == ErrorCode.INVALID_FORM:
        problems = "; ".join(_form_errors(answer.get("errors"), ())) or message_text
        return PayloadRejectedError(f"Discord refused {what} as malformed: {problems}.", code=name)
    # A code means that something else was refused, such as a webhook's token.
    if status == 401 and not number:
        reason = (
            "the bot token is not valid: set discord.bot_token to the one on the portal's Bot page"
        )
        return UnauthorizedError(f"Discord refused {what}: {reason}.", code=TOKEN_REFUSED)
    if status == 403 and not answer:
        reason = "something on the way there, such as a proxy or Cloudflare, refused it"
        return PlatformUnavailableError(f"Discord did not answer {what}: {reason}.", code=name)
    if status >= 500 or kind is PlatformUnavailableError:
        return PlatformUnavailableError(
            f"Discord is failing: {what} got {message_text}.", code=name
        )
    return kind(f"Discord refused {what}: {message_text}.", code=name)


def has_code(error: PlatformError, *codes: ErrorCode) -> bool:
    return error.code in {str(int(code)) for code in codes}


def _form_errors(node: JsonValue, path: tuple[str, ...]) -> Iterator[str]:
    """Iterate over the leaves of Discord's tree of errors, each with its path."""
    if not isinstance(node, dict):
        return
    errors = node.get("_errors")
    for each in errors if isinstance(errors, list) else []:
        message = each.get("message") if isinstance(each, dict) else each
        yield f"{'.'.join(path) or 'the request'}: {message}"
    for key, child in node.items():
        if key != "_errors":
            yield from _form_errors(child, (*path, key))
