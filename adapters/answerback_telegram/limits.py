"""Telegram's limits, each with its unit and where it is published. Limits of our own are where they are used.

Lengths are counted in UTF-16 units, as Telegram counts entities: https://core.telegram.org/api/entities#entity-length
"""

from __future__ import annotations

from typing import Final

MESSAGE_TEXT: Final = 4_096
"""Units of a message's text, without its tags: https://core.telegram.org/bots/api#sendmessage"""
RICH_TEXT: Final = 32_768
"""Characters of a rich message: https://core.telegram.org/bots/api#rich-message-formatting-options"""
RICH_BLOCKS: Final = 500
"""Blocks of a rich message, rows of tables included:
https://core.telegram.org/bots/api#rich-message-formatting-options"""
RICH_COLUMNS: Final = 20
"""Columns of a table: https://core.telegram.org/bots/api#rich-message-formatting-options"""
ENTITIES: Final = 100
"""Entities of a message; further ones are ignored: https://core.telegram.org/api/config#client-configuration"""
CAPTION: Final = 1_024
"""Units of a caption, without its tags: https://core.telegram.org/bots/api#sendphoto"""
PHOTO_BYTES: Final = 10_000_000
"""Bytes of a photo: https://core.telegram.org/bots/api#sending-files"""
PHOTO_SIDES: Final = 10_000
"""Pixels of a photo's width and height together: https://core.telegram.org/bots/api#sendphoto"""
PHOTO_RATIO: Final = 20
"""The ratio of a photo's longer side to its shorter one may be this at most:
https://core.telegram.org/bots/api#sendphoto"""
PHOTO_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/webp"})
"""Media types that become a photo: https://github.com/yagop/node-telegram-bot-api/issues/470 (WebP)"""
DOCUMENT_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif"})
"""Media types that are shown as a document: a GIF moves there, and a WebP would become a sticker:
https://github.com/tdlib/td/issues/1057"""
ALBUM: Final = 10
"""Files of an album, which has at least two: https://core.telegram.org/bots/api#sendmediagroup"""
CALLBACK_DATA: Final = 64
"""Bytes of a button's data: https://core.telegram.org/bots/api#inlinekeyboardbutton"""
CALLBACK_ANSWER: Final = 200
"""Characters of the answer to a click: https://core.telegram.org/bots/api#answercallbackquery"""
COMMAND_DESCRIPTION: Final = 256
"""Characters: https://core.telegram.org/bots/api#botcommand"""
PER_SECOND: Final = 30
"""Messages in a second, over all chats: https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this"""
GROUP_PER_MINUTE: Final = 20
"""Messages in a minute in one group:
https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this"""
ANONYMOUS_ADMINISTRATOR: Final = "1087968824"
"""The user id as which anonymous administrators write: https://core.telegram.org/bots/api#message (sender_chat)"""
GENERAL_TOPIC: Final = "1"
"""The topic of whatever is sent without one; sending to it by its id is refused:
https://github.com/tdlib/telegram-bot-api/issues/798"""
ALLOWED_UPDATES: Final = (
    *("message", "edited_message", "callback_query", "my_chat_member", "message_reaction"),
)
"""The kinds of updates to ask for: https://core.telegram.org/bots/api#getupdates"""
