"""Translate Telegram's errors to Answerback's own, by one table that also says how to fix each of them.

Telegram names an error by a sentence, so the table is searched for a part of it.
https://core.telegram.org/bots/api#making-requests
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic_core import from_json
from telegram.error import (
    BadRequest,
    ChatMigrated,
    Conflict,
    Forbidden,
    InvalidToken,
    NetworkError,
    TelegramError,
)

from answerback.core.errors import (
    DestinationGoneError,
    ForbiddenError,
    NotDoneError,
    PayloadRejectedError,
    PlatformError,
    PlatformUnavailableError,
    RateLimitedError,
    UnauthorizedError,
)
from answerback_chat.platform_errors import ErrorMeaning, error_table, retry_after_of

TOKEN_REFUSED: Final = "401"
"""The code of the error for an invalid bot token."""
CONFLICT: Final = "409"
"""The code of the error if another program receives the bot's updates."""
NOT_MODIFIED: Final = "message is not modified"
"""The code of an edit that changes nothing; it proves that the message is there."""
MESSAGE_GONE: Final = ("message to edit not found", "message_id_invalid", "message can't be edited")
"""The codes of an edit of a message that was deleted."""
NO_SUCH_METHOD: Final = "no such method"
"""The code of the error of a Bot API server that is older than a method."""
_NO_RIGHTS: Final = (
    "the bot may not write there: let members send messages, or make it an administrator"
)
SEND_RICH: Final = "sendRichMessage"
"""A method that older Bot API servers lack; they then answer "Not Found", and "Unauthorized" to an invalid token."""
DEFECTS: Final = (
    "can't parse",
    "is too long",
    "message_too_long",
    "rich_message_",
    "entities_too_long",
    "entity_bounds_invalid",
    "must be non-empty",
    "must be encoded in utf-8",
    "text is empty",
    "reply_markup",
    "button_data_invalid",
)
"""Parts of the sentences with which Telegram refuses what we rendered."""
LIMIT_PAUSE: Final = 3.0
"""Seconds to wait if Telegram limits requests without saying for how long."""
TABLE: Final[Mapping[str, ErrorMeaning]] = error_table(
    {
        DestinationGoneError: {
            "can't initiate conversation": "the person has to open a chat with the bot and press Start first",
            "blocked by the user": "the person has blocked the bot",
            "user is deactivated": "the person's account no longer exists",
            "was kicked": "the bot was removed from the group: add it again",
            "not a member": "the bot is not in the group: add it",
            "chat not found": "there is no such chat, or the bot is not in it",
            "user not found": "there is no such user",
            "peer_id_invalid": "there is no such chat, or the bot is not in it",
            **dict.fromkeys(("group chat was deactivated", "group chat was deleted"), "the group no longer exists"),
            "message thread not found": "the topic does not exist, or no longer exists",
            "topic_deleted": "the topic no longer exists",
        },
        ForbiddenError: {
            **dict.fromkeys(("not enough rights", "no rights", "no write access", "chat_write_forbidden"), _NO_RIGHTS),
            "topic_closed": "the topic is closed: reopen it",
        },
        PayloadRejectedError: {
            **dict.fromkeys((NOT_MODIFIED, *MESSAGE_GONE, *DEFECTS), ""),
            "query is too old": "",
        },
    }
)  # fmt: skip


class GroupMigratedError(PlatformError):
    """A group has become a supergroup, with another id."""

    def __init__(self, new: str) -> None:
        super().__init__(f"The group has become a supergroup: its id is {new} now", code="migrated")
        self.new = new


class FloodError(TelegramError):
    """A call was refused because there were too many; the library's own error warns of its own deprecation."""

    def __init__(self, body: bytes) -> None:
        super().__init__("too many calls")
        try:
            parameters = from_json(body)["parameters"]
            self.seconds = retry_after_of(parameters["retry_after"], default=LIMIT_PAUSE)
        except (KeyError, TypeError, ValueError):
            self.seconds = LIMIT_PAUSE


class UnsentError(NetworkError):
    """Nothing was sent, because no connection could be made."""


def translate(error: TelegramError, what: str) -> PlatformError:
    """Return our error for the library's.

    Args:
        what: the method that was called.
    """
    match error:
        case FloodError():
            return limited(what, error.seconds)
        case ChatMigrated():
            return GroupMigratedError(str(error.new_chat_id))
        case InvalidToken(message="Not Found") if what == SEND_RICH:
            advice = "the Bot API server is too old for it"
            return PayloadRejectedError(f"Telegram refused {what}: {advice}.", code=NO_SUCH_METHOD)
        case InvalidToken():
            advice = "the bot token is not valid: copy it from @BotFather again"
            return UnauthorizedError(f"Telegram refused {what}: {advice}.", code=TOKEN_REFUSED)
        case Conflict():
            advice = "another program receives this bot's updates: use one token for one service"
            return UnauthorizedError(f"Telegram refused {what}: {advice}.", code=CONFLICT)
        case UnsentError():
            return NotDoneError(f"Telegram could not be reached for {what}: {error.message}")
        case BadRequest() | Forbidden():
            return _refused(error, what)
        case _:
            return PlatformUnavailableError(f"Telegram did not answer {what}: {error.message}")


def _refused(error: TelegramError, what: str) -> PlatformError:
    sentence = error.message[:300]
    for part, (kind, advice) in TABLE.items():
        if part in sentence.casefold():
            text = f"{advice} ({sentence})" if advice else sentence
            return kind(f"Telegram refused {what}: {text}.", code=part)
    kind = PayloadRejectedError if isinstance(error, BadRequest) else DestinationGoneError
    return kind(f"Telegram refused {what}: {sentence}.", code=sentence[:60])


def limited(what: str, seconds: float) -> RateLimitedError:
    return RateLimitedError(f"Telegram limits {what}", retry_after=max(seconds, 0.01), code="429")
