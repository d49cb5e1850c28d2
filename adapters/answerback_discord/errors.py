"""What Discord refuses, as the errors that the rest of Answerback knows: one table, with words that say how to fix it.

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
    """Discord's error codes that are told apart."""

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
    INVALID_FORM = 50035
    THREAD_ARCHIVED = 50083
    OVERLOADED = 130000
    THREAD_EXISTS = 160004
    THREAD_LOCKED = 160005
    TOO_MANY_THREADS = 160006
    AUTO_MODERATED = 200000
    LINK_FILTERED = 240000


TOKEN_REFUSED: Final = "401"
"""The code of an error that says that the bot token is not valid."""
LIMIT_PAUSE: Final = 5.0
"""Seconds to wait where Discord limits us and does not say for how long."""
_TABLE: Final[Mapping[int, ErrorMeaning]] = error_table(
    {
        RateLimitedError: without_advice(
            ErrorCode.SLOW_MODE, ErrorCode.CHANNEL_WRITE_LIMIT, ErrorCode.GUILD_WRITE_LIMIT, ErrorCode.OLD_EDITS_LIMIT
        ),
        PlatformUnavailableError: without_advice(ErrorCode.OVERLOADED),
        DestinationGoneError: {
            ErrorCode.UNKNOWN_CHANNEL: "the channel or thread does not exist, or not any more",
            ErrorCode.UNKNOWN_MESSAGE: "the message was deleted",
            ErrorCode.UNKNOWN_USER: "there is no such user",
            ErrorCode.NO_DIRECT_MESSAGES: "this person takes no direct messages from the app",
            ErrorCode.NOT_A_TEXT_CHANNEL: "nobody can write in this kind of channel",
        },
        ForbiddenError: {
            ErrorCode.NO_ACCESS: "the app cannot see this channel: give its role the permission View Channel there",
            ErrorCode.NO_PERMISSION: "the app lacks a permission there: `answerback doctor` says which",
        },
        UnauthorizedError: {
            ErrorCode.THREAD_LOCKED: "the thread is locked: a moderator has to unlock it",
            ErrorCode.TAG_REQUIRED: "the forum wants a tag on every post: switch that off, or choose another channel",
            ErrorCode.BAD_USER_AGENT: "Discord does not take our User-Agent",
        },
        PayloadRejectedError: {
            ErrorCode.AUTO_MODERATED: "the server's AutoMod blocked the text: let the app's role pass its rules",
            ErrorCode.LINK_FILTERED: "Discord's filter of harmful links blocked the text: ask again without its links",
            ErrorCode.THREAD_ARCHIVED: "the thread is archived, and opening it did not last: "
            "open it in Discord, or ask elsewhere",
            ErrorCode.TOO_MANY_THREADS: "the server has as many active threads as it may: "
            "close some, or ask in a channel that is no forum",
        },
    }
)  # fmt: skip
_KINDS: Final[Mapping[int, type[PlatformError]]] = {
    403: UnauthorizedError,
    404: DestinationGoneError,
}
"""What a status stands for whose code is not in the table; every other one is `PayloadRejectedError`."""


def error_from_response(
    status: int, body: JsonValue, headers: Mapping[str, str], what: str
) -> PlatformError:
    """The error that a refused request stands for.

    Args:
        what: the request, in the operator's words: ``POST /channels/…/messages``.
    """
    answer = body if isinstance(body, dict) else {}
    code = answer.get("code")
    number = code if isinstance(code, int) and not isinstance(code, bool) else 0
    name = str(number or status)
    said = str(answer.get("message") or f"HTTP {status}")[:300]
    kind, advice = _TABLE.get(number, ErrorMeaning(_KINDS.get(status, PayloadRejectedError)))
    if status == 429 or kind is RateLimitedError:
        told = answer.get("retry_after"), headers.get("Retry-After")
        wait = retry_after_of(*told, default=LIMIT_PAUSE)
        # Edits of old messages are limited message by message, whatever else is done in the channel.
        alone = number == ErrorCode.OLD_EDITS_LIMIT
        return RateLimitedError(f"Discord limits {what}", retry_after=wait, code=name, alone=alone)
    if advice:
        return kind(f"Discord refused {what}: {advice} ({said}).", code=name)
    if number == ErrorCode.INVALID_FORM:
        where = "; ".join(_paths(answer.get("errors"), ())) or said
        return PayloadRejectedError(f"Discord refused {what} as malformed: {where}.", code=name)
    if (
        status == 401 and not number
    ):  # a number says that something else is refused, such as a webhook's token
        words = (
            "the bot token is not valid: set discord.bot_token to the one of the portal's Bot page"
        )
        return UnauthorizedError(f"Discord refused {what}: {words}.", code=TOKEN_REFUSED)
    if status == 403 and not answer:
        words = "something on the way there, such as a proxy or Cloudflare, refused it"
        return PlatformUnavailableError(f"Discord did not answer {what}: {words}.", code=name)
    if status >= 500 or kind is PlatformUnavailableError:
        return PlatformUnavailableError(f"Discord is out of order: {what} got {said}.", code=name)
    return kind(f"Discord refused {what}: {said}.", code=name)


def has_code(error: PlatformError, *codes: ErrorCode) -> bool:
    """Whether an error is one of these."""
    return error.code in {str(int(code)) for code in codes}


def _paths(node: JsonValue, path: tuple[str, ...]) -> Iterator[str]:
    """The leaves of Discord's tree of errors, each with where it is."""
    if not isinstance(node, dict):
        return
    found = node.get("_errors")
    for each in found if isinstance(found, list) else []:
        words = each.get("message") if isinstance(each, dict) else each
        yield f"{'.'.join(path) or 'the whole'}: {words}"
    for key, child in node.items():
        if key != "_errors":
            yield from _paths(child, (*path, key))
