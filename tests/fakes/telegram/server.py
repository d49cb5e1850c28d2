"""A fake Bot API over a real socket: strict about what it is sent, and with the failures that Telegram has."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum, auto
from typing import Any, Final, Self

import aiohttp
from aiohttp import web
from telegram import Message as LibraryMessage

from tests.fakes.telegram.delivery import UpdateDelivery
from tests.fakes.telegram.faults import Faults, Planned
from tests.fakes.telegram.media_rules import MAX_BODY, items_of, read_body, without_attached
from tests.fakes.telegram.rich_rules import parse_rich
from tests.fakes.telegram.rules import (
    Parsed,
    RefusedError,
    bad,
    check_markup,
    check_parameters,
    parse_html,
)
from tests.fakes.telegram.sent_files import SentFiles
from tests.fakes.telegram.world import Chat, Message, User

ADMINISTRATOR: Final = "administrator"
_DELETABLE_SECONDS: Final = 48 * 3_600
_OUT: Final = frozenset({"left", "kicked"})


class Access(Enum):
    """The access to a chat that a method needs.

    In a group that has become a supergroup, the bot can still be looked up, and messages can be edited and marked.
    Nothing is said about other members, nothing can be sent, and no message can be deleted.
    https://github.com/tdlib/telegram-bot-api/blob/master/telegram-bot-api/Client.cpp (check_chat_access)
    """

    READ = auto()
    READ_MEMBERS = auto()
    EDIT = auto()
    WRITE = auto()


def _cut(request: web.Request) -> None:
    if request.transport is not None:  # the caller has not hung up before
        request.transport.abort()


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.title, others))


class FakeTelegram(UpdateDelivery, Faults):
    """Telegram, with one bot.

    Args:
        per_minute: messages and edits in a minute that a group takes; None: any number.
    """

    def __init__(self, per_minute: int | None = None) -> None:
        UpdateDelivery.__init__(self)
        Faults.__init__(self, per_minute)
        self.token = "123456:fake-token"
        self.bot = User(123456, "Answerback", "answerback_bot", is_bot=True)
        self.reads_all = True
        """True if privacy mode is off."""
        self.can_join_groups = True
        self.webhook_error: str | None = None
        """Why the last update could not be posted."""
        self.sent_files = SentFiles(self.changed)
        self.users: dict[int, User] = {}
        self.chats: dict[int, Chat] = {}
        self.pings: list[tuple[str, ...]] = []
        """Whom or what each message of the bot notified, linked to, or made live."""
        self.answers: dict[str, dict[str, Any]] = {}
        """The answers to clicks, by the clicks' ids."""
        self.clickers: dict[str, int] = {}
        self.log: list[tuple[str, dict[str, Any], int]] = []
        """The calls: method, body and status."""
        self.arrived: list[str] = []
        """The methods of all calls, also of those that are not answered yet."""
        self.commands: list[dict[str, Any]] = []
        self.knows_rich_messages = True
        self.token_refused_at: str | None = None
        """The method at which the token turns out to be invalid."""
        self.lose_next_answer: str | None = None
        self.drop_next: frozenset[str] = frozenset()
        """The methods of which the next call is not carried out yet: `carry_out_dropped`."""
        self._dropped: tuple[str, dict[str, Any]] | None = None
        self.unanswered: set[int] = set()
        """The messages of whose posts the bot had no answer, as far as it has not edited them since."""
        self._late: set[asyncio.Task[None]] = set()
        self.url = ""
        self._offset = 0.0
        self._polling = 0
        self._runner: web.AppRunner
        self._methods: dict[str, Callable[[dict[str, Any]], Awaitable[Any]]] = {
            _camel(name.removeprefix("_do_")): getattr(self, name)
            for name in dir(self)
            if name.startswith("_do_")
        }

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_post("/bot{token}/{method}", self._serve)
        app.router.add_get("/file/bot{token}/{path:.+}", self._serve_file)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        self._http = aiohttp.ClientSession()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop_deliveries()
        await self._http.close()
        await self._runner.cleanup()

    def now(self) -> int:
        """Return Telegram's time, in whole seconds as it reports it."""
        return int(time.time() + self._offset)

    def pass_time(self, seconds: float = 1.0) -> None:
        """Let time pass at Telegram."""
        self._offset += seconds

    def add_user(self, name: str, *, started: bool = True) -> User:
        """Add a person."""
        user = User(next(self._ids) + 5_000_000_000, name, started=started)
        self.users[user.id] = user
        chat = Chat(user.id, "private", name, members={user.id: "member"})
        self.chats[user.id] = chat
        return user

    async def change_membership(self, group: Chat, status: str) -> int:
        """Add the bot to a group, or remove it, and tell it so; return the update's number."""
        user, [someone, *_] = self.bot.json(), self.users.values()
        before, after = (
            {"user": user, "status": each} | ({"until_date": 0} if each == "kicked" else {})
            for each in (group.members.get(self.bot.id, "left"), status)
        )
        group.members[self.bot.id] = status
        changed = {"chat": group.json(), "from": someone.json(), "date": 1}
        changed |= {"old_chat_member": before, "new_chat_member": after}
        return await self.send_update({"my_chat_member": changed})

    def add_group(self, title: str = "ops", kind: str = "supergroup", **more: Any) -> Chat:
        """Add a group with the bot in it."""
        first = -1_000_000_000_000 if kind == "supergroup" else -4_000_000_000
        chat = Chat(first - next(self._ids), kind, title, **more)
        chat.members[self.bot.id] = "member"
        self.chats[chat.id] = chat
        return chat

    def migrate(self, group: Chat, **more: Any) -> Chat:
        """Make a group a supergroup, which has its members and another id, and tell nobody; return the supergroup."""
        new = self.add_group(group.title, **more)
        new.members = dict(group.members)
        group.migrated_to = new.id
        return new

    async def tell_of_migration(self, group: Chat, *, in_new: bool = False) -> None:
        """Tell the bot that a group has become a supergroup, by the service message of either chat."""
        new = self.chats[group.migrated_to or 0]
        chat, other = (new, group) if in_new else (group, new)
        moved = {"message_id": chat.next_id, "chat": chat.json(), "date": self.now()}
        chat.next_id += 1
        direction = "migrate_from_chat_id" if in_new else "migrate_to_chat_id"
        number = await self.send_update({"message": moved | {direction: other.id}})
        await self.until(lambda: self.is_handled(number))

    def calls(self, method: str, *, since: int = 0) -> list[dict[str, Any]]:
        """Return the bodies of the calls of a method that succeeded, from an entry of the log on."""
        return [body for name, body, status in self.log[since:] if name == method and status == 200]

    async def person_sends(
        self,
        user: User,
        chat: Chat,
        text: str,
        reply_to: int | None = None,
        *,
        topic: int | None = None,
        **extra: Any,
    ) -> Message:
        """Have a person send a text, whose ends Telegram trims; a reply is in the topic of its message."""
        parsed = Parsed(text.strip(" \t\r\n"), (), (), (), ())
        replied = chat.messages.get(reply_to or 0)
        message = Message(
            chat.next_id, chat, user, self.now(), parsed, reply_to=reply_to, extra=extra,
            thread=replied.thread if replied else topic,
        )  # fmt: skip
        chat.next_id += 1
        chat.messages[message.id] = message
        to_bot = replied is not None and replied.sender is self.bot
        if chat.type == "private" or self.reads_all or to_bot or text.startswith("/"):
            message.extra["update"] = await self.send_update({"message": message.json()})
            del message.extra["update"]
        return message

    async def person_sends_files(
        self,
        user: User,
        chat: Chat,
        text: str,
        files: Sequence[tuple[str, bytes]],
        reply_to: int | None = None,
        *,
        as_photo: bool = False,
    ) -> list[Message]:
        """Have a person send files: several are an album, whose first message has the text as its caption.

        Each message of an album is an update of its own: https://core.telegram.org/bots/api#message (media_group_id)
        """
        album = {"media_group_id": str(next(self._ids))} if len(files) > 1 else {}
        sent = []
        for number, (name, data) in enumerate(files):
            attached = album | self.sent_files.add(name, data, as_photo=as_photo)
            caption = "" if number else text
            sent.append(await self.person_sends(user, chat, caption, reply_to, **attached))
        return sent

    async def person_edits(self, message: Message, text: str) -> None:
        """Have the author of a message change its text."""
        message.parsed, message.edited = replace(message.parsed, text=text), self.now()
        await self.send_update({"edited_message": message.json()})

    async def click(self, user: User, message: Message, data: str) -> str:
        """Have a person click a button of a message as they see it; return the click's id."""
        number = f"query{next(self._ids)}"
        current = message.chat.messages.get(message.id, message)
        self.clickers[number] = user.id
        query = {
            "id": number,
            "from": user.json(),
            "chat_instance": "1",
            "data": data,
            "message": current.json(),
        }
        await self.send_update({"callback_query": query})
        return number

    async def _serve_file(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["token"] != self.token:
            return web.Response(status=404, text="Not Found")
        return await self.sent_files.download(request)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        method, body = request.match_info["method"], await read_body(request)
        self.arrived.append(method)
        await self.changed()
        if (odd := await self.odd_answer(method)) is not None:
            return odd
        try:
            self._check_request(request.match_info["token"], method, body)
            if method in self.drop_next:
                self.drop_next, self._dropped = frozenset(), (method, body)
                _cut(request)
                return web.Response()
            planned = self.take_planned(method, body)
            if planned is not None and planned.cut == "before":
                if planned.hangs:
                    self._carry_out_late(planned, method, body)
                _cut(request)
                return web.Response()
            self.check_rate(method, body)
            result = await self._methods[method](body)
            self._note_answered(method, body, result, planned)
            if planned is not None:
                await self._spoil_answer(planned, request)
        except RefusedError as error:
            self.log.append((method, body, error.code))
            await self.changed()
            answer: dict[str, Any] = {
                "ok": False,
                "error_code": error.code,
                "description": error.description,
            }
            if error.parameters:
                answer["parameters"] = error.parameters
            return web.json_response(answer, status=error.code)
        self.log.append((method, body, 200))
        await self.changed()
        if self.lose_next_answer == method:
            self.lose_next_answer = None
            _cut(request)
        return web.json_response({"ok": True, "result": result})

    def _check_request(self, token: str, method: str, body: dict[str, Any]) -> None:
        if token != self.token or method == self.token_refused_at:
            raise RefusedError(401, "Unauthorized")
        if method not in self._methods or (
            method == "sendRichMessage" and not self.knows_rich_messages
        ):
            raise RefusedError(404, "Not Found")
        check_parameters(method, without_attached(body))
        self.check_fault(method, body)

    def _note_answered(
        self, method: str, body: dict[str, Any], result: object, planned: Planned | None
    ) -> None:
        if method.startswith("edit"):
            self.unanswered.discard(int(body.get("message_id", 0)))
        elif planned is not None and planned.cut and method in {"sendMessage", "sendRichMessage"}:
            assert isinstance(result, dict)
            self.unanswered.add(result["message_id"])

    async def _spoil_answer(self, planned: Planned, request: web.Request) -> None:
        await self.changed()
        if planned.hangs:
            await planned.released.wait()
        if planned.cut:
            _cut(request)

    def _carry_out_late(self, planned: Planned, method: str, body: dict[str, Any]) -> None:
        async def wait_for_release() -> None:
            await planned.released.wait()
            with suppress(RefusedError):  # by now it may be impossible
                await self._methods[method](body)
                self.log.append((method, body, 200))
            await self.changed()

        task = asyncio.create_task(wait_for_release())
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def carry_out_dropped(self) -> None:
        """Carry out the call whose connection broke."""
        assert self._dropped is not None
        method, body = self._dropped
        await self._methods[method](body)
        await self.changed()

    def _chat(self, body: dict[str, Any], access: Access) -> Chat:
        chat = self.chats.get(int(body["chat_id"]))
        if chat is None:
            raise bad("chat not found")
        if chat.migrated_to is not None and access in {Access.WRITE, Access.READ_MEMBERS}:
            raise bad(
                "group chat was upgraded to a supergroup chat", migrate_to_chat_id=chat.migrated_to
            )
        if access in {Access.READ, Access.READ_MEMBERS}:
            return chat
        if chat.type == "private":
            user = self.users[chat.id]
            if user.blocked:
                raise RefusedError(403, "Forbidden: bot was blocked by the user")
            if not user.started:
                raise RefusedError(403, "Forbidden: bot can't initiate conversation with a user")
        elif chat.members.get(self.bot.id, "left") in _OUT:
            raise RefusedError(403, "Forbidden: bot was kicked from the supergroup chat")
        return chat

    async def _do_get_me(self, _: dict[str, Any]) -> Any:
        abilities = {"can_join_groups": self.can_join_groups}
        abilities["can_read_all_group_messages"] = self.reads_all
        return self.bot.json() | abilities | {"supports_inline_queries": False}

    async def _do_get_updates(self, body: dict[str, Any]) -> Any:
        if self.webhook is not None:
            raise RefusedError(409, "Conflict: can't use getUpdates method while webhook is active")
        self._polling += 1
        mine = self._polling
        self.confirm(body.get("offset", 0))
        await self.changed()
        with suppress(TimeoutError):
            async with asyncio.timeout(body.get("timeout", 0) or 0.001), self._changed:
                await self._changed.wait_for(
                    lambda: self.updates or self._polling != mine or self.fail_poll
                )
        if self.fail_poll:
            self.fail_poll = False
            raise RefusedError(502, "Bad Gateway")
        if self._polling != mine:
            raise RefusedError(409, "Conflict: terminated by other getUpdates request")
        return self.updates[: body.get("limit", 100)]

    async def _do_set_webhook(self, body: dict[str, Any]) -> Any:
        assert "drop_pending_updates" not in body
        self.webhook = body
        return True

    async def _do_delete_webhook(self, body: dict[str, Any]) -> Any:
        assert "drop_pending_updates" not in body
        self.webhook = None
        return True

    async def _do_get_webhook_info(self, _: dict[str, Any]) -> Any:
        url = self.webhook["url"] if self.webhook else ""
        failed = {"last_error_message": self.webhook_error} if self.webhook_error else {}
        if self.webhook and "allowed_updates" in self.webhook:
            failed |= {"allowed_updates": self.webhook["allowed_updates"]}
        return {"url": url, "has_custom_certificate": False, "pending_update_count": 0} | failed

    async def _do_set_my_commands(self, body: dict[str, Any]) -> Any:
        self.commands = body["commands"]
        return True

    def _visible(self, body: dict[str, Any], access: Access) -> Chat:
        chat = self._chat(body, access)
        status = chat.members.get(self.bot.id, "left")
        hidden = _OUT - {"left"} if chat.username else _OUT
        if chat.type != "private" and status in hidden:
            raise RefusedError(403, "Forbidden: bot was kicked from the supergroup chat")
        return chat

    async def _do_get_file(self, body: dict[str, Any]) -> Any:
        return self.sent_files.describe(body["file_id"])

    async def _do_get_chat(self, body: dict[str, Any]) -> Any:
        chat = self._visible(body, Access.READ)
        return chat.json() | ({"permissions": chat.rights} if chat.rights else {})

    async def _do_get_chat_member(self, body: dict[str, Any]) -> Any:
        user_id = int(body["user_id"])
        access = Access.READ if user_id == self.bot.id else Access.READ_MEMBERS
        chat = self._visible(body, access)
        user = self.bot if user_id == self.bot.id else self.users.get(user_id)
        if user is None:
            raise bad("user not found")
        status = chat.members.get(user_id, "left")
        rights: dict[str, Any] = {}
        if status == "restricted":
            rights = {"can_send_messages": chat.may_write, **chat.rights}
        return {"user": user.json(), "status": status, **rights}

    async def _do_get_chat_member_count(self, body: dict[str, Any]) -> Any:
        members = self._visible(body, Access.READ_MEMBERS).members.values()
        return len([status for status in members if status not in _OUT])

    async def _do_send_message(self, body: dict[str, Any]) -> Any:
        assert body.get("link_preview_options", {}).get("is_disabled"), "previews are on"
        return self._send(body, parse_html(body["text"]))

    async def _do_send_rich_message(self, body: dict[str, Any]) -> Any:
        return self._send(body, parse_rich(body["rich_message"]))

    async def _do_send_photo(self, body: dict[str, Any]) -> Any:
        return self._send_media("sendPhoto", body)[0]

    async def _do_send_document(self, body: dict[str, Any]) -> Any:
        return self._send_media("sendDocument", body)[0]

    async def _do_send_media_group(self, body: dict[str, Any]) -> Any:
        return self._send_media("sendMediaGroup", body)

    def _send_media(self, method: str, body: dict[str, Any]) -> list[Any]:
        chat = self._chat(body, Access.WRITE)
        if self.bot.id in chat.without_media:
            raise bad("not enough rights to send photos to the chat")
        assert body["disable_notification"] is True, "one post rings, not each of its pictures"
        sent = []
        for file, caption, content in items_of(method, body):
            sent.append(self._send(body, caption, content))
            chat.messages[sent[-1]["message_id"]].file = file
        return sent

    def _send(
        self, body: dict[str, Any], parsed: Parsed, content: dict[str, Any] | None = None
    ) -> Any:
        chat = self._chat(body, Access.WRITE)
        check_markup(body.get("reply_markup"))
        thread = body.get("message_thread_id")
        if thread is not None and thread not in chat.topics:
            raise bad("message thread not found")
        replied = (body.get("reply_parameters") or {}).get("message_id")
        if replied not in chat.messages:
            replied = None
        message = Message(
            chat.next_id, chat, self.bot, self.now(), parsed, body.get("reply_markup"), replied, thread,
            extra=content or {}, sent_markup=body.get("reply_markup"),
        )  # fmt: skip
        chat.next_id += 1
        chat.messages[message.id] = message
        self.pings.append((*parsed.mentioned, *parsed.live, *parsed.links))
        return self._returned(message)

    async def _do_edit_message_text(self, body: dict[str, Any]) -> Any:
        chat = self._chat(body, Access.EDIT)
        rich = body.get("rich_message") if self.knows_rich_messages else None
        parsed = parse_rich(rich) if rich else parse_html(body.get("text", ""))
        check_markup(body.get("reply_markup"))
        message = chat.messages.get(int(body["message_id"]))
        if message is None:
            raise bad("message to edit not found")
        if message.sender is not self.bot:
            raise bad("message can't be edited")
        markup = body.get("reply_markup") or {"inline_keyboard": []}
        before = message.markup or {"inline_keyboard": []}
        if parsed == message.parsed and markup == before:
            raise bad(
                "message is not modified: specified new message content and reply markup are the same"
            )
        message.parsed, message.markup = parsed, markup
        message.edited, message.version = self.now(), message.version + 1
        return self._returned(message)

    async def _do_edit_message_reply_markup(self, body: dict[str, Any]) -> Any:
        message = self._chat(body, Access.EDIT).messages.get(int(body["message_id"]))
        if message is None:
            raise bad("message to edit not found")
        message.markup, message.version = body.get("reply_markup"), message.version + 1
        return self._returned(message)

    async def _do_delete_message(self, body: dict[str, Any]) -> Any:
        messages, number = self._chat(body, Access.WRITE).messages, int(body["message_id"])
        if number not in messages:
            raise bad("message to delete not found")
        if messages[number].date < self.now() - _DELETABLE_SECONDS:
            raise bad("message can't be deleted for everyone")
        del messages[number]
        return True

    async def _do_answer_callback_query(self, body: dict[str, Any]) -> Any:
        number = body["callback_query_id"]
        if len(body.get("text", "")) > 200:
            raise bad("MESSAGE_TOO_LONG")
        if number not in self.clickers or number in self.answers:
            raise bad("query is too old and response timeout expired or query ID is invalid")
        self.answers[number] = body
        return True

    async def _do_set_message_reaction(self, body: dict[str, Any]) -> Any:
        chat = self._chat(body, Access.READ)
        message = chat.messages.get(int(body["message_id"]))
        if message is None:
            raise bad("message to react not found")
        emoji = [each["emoji"] for each in body["reaction"]]
        if set(emoji) - chat.reactions:
            raise bad("REACTION_INVALID")
        message.reactions = emoji
        return True

    @staticmethod
    def _returned(message: Message) -> dict[str, Any]:
        body = message.json()
        assert LibraryMessage.de_json(copy.deepcopy(body), None).message_id == message.id
        return body
