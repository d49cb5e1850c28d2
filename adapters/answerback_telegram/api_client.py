"""Calls to the Bot API: python-telegram-bot's requests over the service's own HTTP session, without queue or retries.

Showing is level-triggered: a call that has to wait must not keep an old state in a queue while the ask moves on. So a
limit is raised as an error with the time to wait. The library's rate limiter queues, and its application runs clicks
one after the other; neither is used. Answers to clicks count toward no limit, and never wait for one.
"""

from __future__ import annotations

import contextlib
import io
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import aiohttp
from pydantic import JsonValue
from pydantic_core import to_json
from telegram.error import TelegramError, TimedOut
from telegram.request import BaseRequest

from answerback.core.errors import PlatformError, PlatformUnavailableError, RateLimitedError
from answerback_chat.call_limits import CallLimits, Window
from answerback_chat.control_codec import text_of
from answerback_chat.file_download import download
from answerback_telegram import limits
from answerback_telegram.errors import (
    SEND_RICH,
    TOKEN_REFUSED,
    FloodError,
    GroupMigratedError,
    UnsentError,
    limited,
    translate,
)
from answerback_telegram.keyboards import Json

logger = logging.getLogger(__name__)

API_URL: Final = "https://api.telegram.org"
TIMEOUT: Final = 15.0
GROUP_WINDOW: Final = 60.0
"""Seconds in which the messages of a group are counted."""
_UNLIMITED: Final = frozenset(
    {
        *("answerCallbackQuery", "getUpdates", "getMe", "setMessageReaction"),
        *("getChat", "getChatMember", "getChatMemberCount"),
    }
)
"""Calls that count toward no limit of messages."""
POST: Final = "sendMessage"
EDIT: Final = "editMessageText"
_POSTS: Final = frozenset({POST, SEND_RICH})
_TURN_SECONDS: Final = 1.0
"""Seconds for which edits leave room for a post that has waited for a limit: it takes two calls, and others may follow
it."""


class Upload(NamedTuple):
    """A file that is sent with a call: https://core.telegram.org/bots/api#sending-files"""

    field: str
    """The name of its part of the form, which a parameter of the call refers to."""
    name: str
    media_type: str
    data: bytes


class _Call(BaseRequest):
    """One request of the library, sent through an aiohttp session.

    The library's own methods parse what they return, so that one odd update would lose all that came with it.
    """

    read_timeout: float = TIMEOUT

    def __init__(
        self, http: aiohttp.ClientSession, body: Json, uploads: Sequence[Upload], seconds: float
    ) -> None:
        self._http = http
        self._body = body
        self._uploads = uploads
        self.read_timeout = seconds
        self.date: str | None = None
        """When Telegram answered, by its clock."""

    async def initialize(self) -> None: ...

    async def shutdown(self) -> None:
        pass  # the session outlives this object

    async def do_request(
        self, url: str, method: str, *_: object, **__: object
    ) -> tuple[int, bytes]:
        timeout = aiohttp.ClientTimeout(total=self.read_timeout)
        uploads = self._uploads
        try:
            async with self._http.request(
                method,
                url,
                json=None if uploads else self._body,
                data=_form(self._body, uploads) if uploads else None,
                timeout=timeout,
            ) as response:
                self.date = response.headers.get("Date")
                answer = await response.read()
                if response.status == HTTPStatus.TOO_MANY_REQUESTS:
                    raise FloodError(answer)
                return response.status, answer
        except aiohttp.ClientConnectorError as error:
            raise UnsentError(type(error).__name__) from error
        except TimeoutError as error:
            raise TimedOut from error


class TelegramApi:
    """Calls the Bot API.

    Args:
        http: a session that outlives this object.
        api_url: the address of the Bot API, for a server of one's own, a proxy or a test.
        refused: called when Telegram refuses the token.
        migrated: called with a group's id when Telegram says that it is a supergroup now, and with the new id.
    """

    def __init__(
        self,
        http: aiohttp.ClientSession,
        token: str,
        api_url: str | None = None,
        refused: Callable[[PlatformError], None] = lambda _error: None,
        migrated: Callable[[str, str], None] = lambda _old, _new: None,
    ) -> None:
        self._http = http
        base = (api_url or API_URL).rstrip("/")
        self._url, self._files_url = f"{base}/bot{token}", f"{base}/file/bot{token}/"
        self._refused, self._on_migrated = refused, migrated
        self.migrated: dict[str, str] = {}
        """The ids of supergroups, by those of the groups that they were."""
        self.date: float | None = None
        """The time of Telegram's last answer, by its clock."""
        self._limits = CallLimits()

    def raise_if_limited(self, chat: str, method: str) -> None:
        """Refuse a message that a known limit rules out, before time is spent rendering it.

        Posts that have waited go before edits: who is asked has nothing yet, while an outdated message can be read.

        Raises:
            RateLimitedError: Telegram takes no message for this chat for a while.
        """
        wait = self._limits.wait_for(chat, windows(chat))
        until_posts = self._limits.wait_for(_edits(chat), ())
        if method == EDIT:
            wait = max(wait, until_posts)
        elif wait > 0 or until_posts > 0:
            self._leave_room(chat, method, wait)
        if wait > 0:
            raise limited(f"messages in {chat}", wait)

    def _leave_room(self, chat: str, method: str, wait: float) -> None:
        if method in _POSTS:
            self._limits.close(_edits(chat), wait + _TURN_SECONDS)

    def has_room(self, chat: str, messages: int) -> bool:
        """Return True if a chat takes this many messages now, as far as is known."""
        return self._limits.has_room(windows(chat), messages)

    async def call(
        self,
        method: str,
        params: Mapping[str, JsonValue] | None = None,
        *,
        uploads: Sequence[Upload] = (),
        seconds: float = TIMEOUT,
    ) -> JsonValue:
        """Make a call, once, and return its result.

        Args:
            uploads: files that are sent with it; each becomes a message of its own, also in an album.

        Raises:
            PlatformError: `PlatformUnavailableError` if it is unknown whether Telegram acted on the call.
        """
        arguments = dict(params or {})
        chat = str(arguments.get("chat_id", ""))
        counts, messages = method not in _UNLIMITED and chat != "", max(len(uploads), 1)
        if counts:
            self.raise_if_limited(chat, method)
            self._limits.count(windows(chat), messages)
        call = _Call(self._http, arguments, uploads, seconds)
        try:
            result: Any = await call.post(f"{self._url}/{method}")
        except (AttributeError, KeyError, TypeError) as error:
            raise PlatformUnavailableError(
                f"Telegram's answer to {method} has no result"
            ) from error
        except TelegramError as error:
            failure = translate(error, method)
            if counts and isinstance(failure, RateLimitedError):
                self._limits.discount(windows(chat), messages)
                self._limits.close(chat, failure.retry_after)
                self._leave_room(chat, method, failure.retry_after)
            if failure.code == TOKEN_REFUSED:
                self._refused(failure)
            if isinstance(failure, GroupMigratedError):
                self.migrated[chat] = failure.new
                self._on_migrated(chat, failure.new)
            raise failure from error
        finally:
            with contextlib.suppress(ValueError, TypeError):
                self.date = parsedate_to_datetime(call.date or "").timestamp()
        answer: JsonValue = result
        return answer

    async def call_object(self, method: str, params: Mapping[str, JsonValue] | None = None) -> Json:
        """Make a call whose result is an object; see `call`."""
        result = await self.call(method, params)
        if not isinstance(result, dict):
            raise PlatformUnavailableError(f"Telegram's response to {method} is not an object")
        return result

    async def file_path(self, file_id: str) -> str:
        """Return where a file can be read for an hour: https://core.telegram.org/bots/api#getfile."""
        return text_of((await self.call_object("getFile", {"file_id": file_id})).get("file_path"))

    def read_file(self, path: str) -> AsyncGenerator[bytes]:
        """Read a file by its path; see `answerback_chat.file_download.download`.

        Raises:
            PlatformError: it was not read; the message does not name its address, which has the token.
        """
        if path.startswith("/"):  # https://core.telegram.org/bots/api#using-a-local-bot-api-server
            message = "the Bot API server keeps files on its own disk; run it without --local"
            raise PlatformError(message, code="local_file")
        is_below = {"", ".", ".."}.isdisjoint(path.split("/"))
        url = self._files_url + quote(path)
        return download(self._http, url, is_own=lambda _: is_below)

    async def answer_click(self, query_id: str, text: str, *, alert: bool) -> None:
        """Answer a click: what waits on the button ends, and the person sees the text, if there is one."""
        params: Json = {"callback_query_id": query_id}
        if text:
            params |= {"text": text, "show_alert": alert}
        try:
            await self.call("answerCallbackQuery", params)
        except PlatformError as error:
            extra = {"action": "click_unanswered", "code": error.code}
            logger.warning("Telegram did not accept the answer to a click: %s", error, extra=extra)


def _form(body: Json, uploads: Sequence[Upload]) -> aiohttp.FormData:
    """Return a call with files: what is not a text is JSON. https://core.telegram.org/bots/api#making-requests"""
    form = aiohttp.FormData()
    for name, value in body.items():
        form.add_field(name, value if isinstance(value, str) else to_json(value).decode())
    for field, name, media_type, data in uploads:
        form.add_field(field, io.BytesIO(data), filename=name, content_type=media_type)
    return form


def _edits(chat: str) -> str:
    """The key of what edits in a chat wait for."""
    return f"{chat} edits"


def windows(chat: str) -> tuple[Window, ...]:
    """The limits that a message to a chat counts toward: a key, how many, and in how many seconds."""
    in_group = ((chat, limits.GROUP_PER_MINUTE, GROUP_WINDOW),) if chat[:1] == "-" else ()
    return (("", limits.PER_SECOND, 1.0), *in_group)
