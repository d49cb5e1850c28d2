"""The people, chats and messages of a fake Telegram."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.fakes.telegram.rules import Parsed


@dataclass
class User:
    """A person, or a bot."""

    id: int
    first_name: str
    username: str | None = None
    is_bot: bool = False
    started: bool = True
    """True if they have opened a chat with the bot."""
    blocked: bool = False

    def json(self) -> dict[str, Any]:
        """Return the user as Telegram sends it."""
        name = {"username": self.username} if self.username else {}
        return {"id": self.id, "is_bot": self.is_bot, "first_name": self.first_name, **name}


@dataclass
class Chat:
    """A group, or a chat with one person."""

    id: int
    type: str = "supergroup"
    title: str = "ops"
    username: str | None = None
    members: dict[int, str] = field(default_factory=dict)
    """The status of each member, by user id."""
    migrated_to: int | None = None
    messages: dict[int, Message] = field(default_factory=dict)
    topics: set[int] = field(default_factory=set)
    reactions: frozenset[str] = frozenset({"👍", "👎", "❤"})
    without_media: set[int] = field(default_factory=set)
    """Who may send texts, but neither photos nor documents."""
    rights: dict[str, bool] = field(default_factory=dict)
    """The rights of members, and of those who are restricted, beside writing."""
    may_write: bool = False
    """True if those who are restricted may write."""
    next_id: int = 1

    def add_topic(self) -> int:
        """Add a topic; return its id, which is that of the message with which it began."""
        topic = max(self.next_id, 2)  # 1 is the general topic
        self.next_id = topic + 1
        self.topics.add(topic)
        return topic

    def first_of_replies(self, message_id: int) -> int:
        """Return the message that a chain of replies began with: in an ordinary supergroup it names their thread."""
        message = self.messages.get(message_id)
        above = message.reply_to if message else None
        return message_id if above is None else self.first_of_replies(above)

    def json(self) -> dict[str, Any]:
        """Return the chat as Telegram sends it."""
        about: dict[str, Any] = {"id": self.id, "type": self.type}
        about |= {"first_name": self.title} if self.type == "private" else {"title": self.title}
        return about | ({"username": self.username} if self.username else {})


@dataclass
class Message:
    """A message."""

    id: int
    chat: Chat
    sender: User
    date: int
    parsed: Parsed
    markup: dict[str, Any] | None = None
    reply_to: int | None = None
    thread: int | None = None
    sent_markup: dict[str, Any] | None = None
    """The keyboard with which it was sent."""
    edited: int | None = None
    version: int = 0
    """Times that it was changed."""
    reactions: list[str] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    file: bytes = b""
    """The bytes that the bot sent as a photo or a document."""

    @property
    def text(self) -> str:
        """The text without its markup."""
        return self.parsed.text

    @property
    def buttons(self) -> list[dict[str, Any]]:
        """The buttons of its keyboard."""
        rows = (self.markup or {}).get("inline_keyboard", [])
        return [each for row in rows for each in row]

    def json(self, *, quoted: bool = False) -> dict[str, Any]:
        """Return the message as Telegram sends it; a quoted one does not quote another."""
        body: dict[str, Any] = {
            "message_id": self.id,
            "from": self.sender.json(),
            "chat": self.chat.json(),
            "date": self.date,
            "text": self.text,
            "entities": [*self.parsed.entities],
            **self.extra,
        }
        if not {"photo", "voice", "sticker", "document"}.isdisjoint(self.extra):
            del body["text"], body["entities"]
            if self.text:
                body |= {"caption": self.text, "caption_entities": [*self.parsed.entities]}
        if self.edited is not None:
            body["edit_date"] = self.edited
        if self.markup and self.markup.get("inline_keyboard"):
            body["reply_markup"] = self.markup
        above = self.reply_to if self.reply_to is not None else self.thread
        if self.thread is not None:
            body |= {"message_thread_id": self.thread, "is_topic_message": True}
        elif self.reply_to is not None and self.chat.type == "supergroup":
            body["message_thread_id"] = self.chat.first_of_replies(self.reply_to)
        if above is not None and not quoted:
            if above in self.chat.messages:
                body["reply_to_message"] = self.chat.messages[above].json(quoted=True)
            elif above == self.thread:
                body["reply_to_message"] = {
                    "message_id": above,
                    "date": 1,
                    "chat": self.chat.json(),
                    "forum_topic_created": {"name": "topic", "icon_color": 7322096},
                }
        return body
