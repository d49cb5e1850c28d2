"""The live message of an ask: posted once, edited in place, found again after a crash.

Owns everything that Answerback sends to channels of its own accord. Stateless but for what the ask
keeps as its message: before a post it notes where and since when, so that after an unknown result
or a crash it looks there for its own message before it posts again.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.ask import ANYONE, Ask, Destination, Thread
from answerback.core.errors import (
    GoneError,
    PlatformError,
    RateLimitedError,
    RefusedError,
    UnavailableError,
)
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.surface import Later, Shown
from answerback_chat.controls import decode
from answerback_discord import blocks as c
from answerback_discord import limits, notes, parse, render
from answerback_discord.answers import Answers
from answerback_discord.blocks import Json
from answerback_discord.calls import Calls, page_behind
from answerback_discord.channels import Channels, Kind, Place
from answerback_discord.choices import Look
from answerback_discord.errors import Code, has_code
from answerback_discord.text import fit

logger = logging.getLogger(__name__)

Save = Callable[[Shown], Awaitable[None]]
LookOf = Callable[[Ask], Awaitable[Look | None]]

_CLOCKS_APART_MS: Final = 120_000
_PAGES: Final = 5
"""Pages that are read to find a message of ours."""
_MOST_MENTIONED: Final = 40
_SHOWS: Final = "shows"
"""In the reference of a message that still lacks its thread: the state of the ask that it shows."""
_SINCE: Final = "shows_since"
"""In a reference that is not noted yet: since when the message shows the ask, by Discord's clock."""


class Posting:
    """Posts and edits.

    Args:
        look: how the menu of an ask's multi-select looks now.
        answers: what else changes a live message.
        demand_somebody: refuses responders of whom it is certain that they are nobody in a server.
    """

    def __init__(
        self,
        calls: Calls,
        channels: Channels,
        labels: Labels,
        look: LookOf,
        answers: Answers,
        demand_somebody: Callable[[Sequence[str], str], Awaitable[None]],
    ) -> None:
        self._calls = calls
        self._channels = channels
        self._labels = labels
        self._look = look
        self._answers = answers
        self._demand_somebody = demand_somebody
        self.bot_id: str | None = None

    async def show(self, ask: Ask, save: Save) -> Shown | Later:
        """See `answerback.ports.surface.Surface.show`."""
        message = dict(ask.message or {})
        if not isinstance(message.get("id"), str):
            message = await self._post(ask, message, save)
        elif message.get(_SHOWS) != [*ask.appearance]:
            message.pop(_SINCE, None)
            brought = await self._answers.brought(ask)
            if (seconds := self._answers.may_come(ask)) > 0:
                # An edit made now would be undone by an answer that comes late.
                return Later(seconds)
            if not brought:
                edited = await self._edit(ask, message)
                if edited is None and not ask.open:
                    return _shown(ask, message)  # somebody deleted it, and nobody has to act on it
                message = edited or await self._post(ask, {}, save)
        message = await self._with_thread(ask, message, save)
        if ask.reminded and not ask.open:
            await self._settle_reminders(ask, message)
        return _shown(ask, message)

    # --- editing ---------------------------------------------------------------------------------

    async def _edit(self, ask: Ask, message: Json) -> Json | None:
        """The reference to the message, which shows the ask now; None where it is gone."""
        try:
            sent = await self._sent(
                ask,
                "PATCH",
                f"/channels/{message['channel']}/messages/{message['id']}",
                {},
                message,
            )
        except PlatformError as error:
            if has_code(error, Code.UNKNOWN_MESSAGE):
                return None
            raise
        finally:
            self._answers.edited(ask)
        return message | _since(sent)

    async def _sent(
        self, ask: Ask, method: str, path: str, extra: Json, place: Mapping[str, JsonValue]
    ) -> JsonValue:
        """Sends the ask's message, with what helps against an archived thread and against our own defects."""
        self._calls.demand_room(method, path)
        view = view_of(ask)
        body = render.message(view, self._labels, await self._look(ask))
        for attempt in range(3):
            try:
                return await self._calls.request(method, path, _wrapped(body, extra))
            except PlatformError as error:
                if has_code(error, Code.THREAD_ARCHIVED) and not attempt:
                    await self._channels.unarchive(str(place["channel"]))
                elif has_code(error, Code.INVALID_FORM) and body != (
                    least := render.plain(view, self._labels)
                ):
                    self._log_defect(ask, error)
                    body = least
                else:
                    raise
        raise RefusedError(f"Discord refused the message of {ask.id} in every form.")

    @staticmethod
    def _log_defect(ask: Ask, error: PlatformError) -> None:
        extra = {"action": "payload_refused", "ask_id": ask.id, "code": error.code}
        logger.error("A defect of ours, shown plainly instead: %s", error, extra=extra)

    # --- posting ---------------------------------------------------------------------------------

    async def _post(self, ask: Ask, noted: Json, save: Save) -> Json:
        """The reference to the message: found where an earlier try may have left it, or posted."""
        found: str | None = None
        if "since" in noted:
            found = await self._find(ask, noted)
        else:
            place = await self._channels.destination(ask.destination)
            if place.guild is not None:
                await self._demand_somebody(ask.responders, place.guild)
            noted = _noted(place)
            await save(Shown(ask.shown_revision, noted, _thread(noted)))
        if found is not None:
            noted = noted | {"id": found}
            if noted["kind"] == Kind.FORUM:
                noted |= {"channel": found, "thread": found}
            noted = await self._edit(ask, noted) or noted
            if ask.revision == 1:
                noted |= _since(
                    {"id": found}
                )  # at the first revision it shows what it was posted with
        elif not ask.open:
            return noted  # nobody has seen it, and nobody has to
        elif noted["kind"] == Kind.FORUM:
            noted = await self._post_in_forum(ask, noted)
        else:
            extra: Json = {"nonce": _nonce(ask.id, noted), "enforce_nonce": True}
            path = f"/channels/{noted['channel']}/messages"
            sent = await self._sent(ask, "POST", path, extra, noted)
            noted = noted | {"id": _id_of(sent)} | _since(sent)
        return noted

    async def _post_in_forum(self, ask: Ask, noted: Json) -> Json:
        extra: Json = {**thread_of(ask), "message": None}
        sent = await self._sent(ask, "POST", f"/channels/{noted['parent']}/threads", extra, noted)
        thread = _id_of(sent)
        first: Json = {"id": thread}  # a post's first message has the post's id
        return noted | {"channel": thread, "thread": thread, "id": thread} | _since(first)

    async def _with_thread(self, ask: Ask, message: Json, save: Save) -> Json:
        """The message with a thread of its own, where it stands in a channel and none is there yet."""
        if message.get("kind") != Kind.CHANNEL or "thread" in message or not ask.open:
            return message
        # The message is there, at this state: whatever becomes of its thread, it is neither posted nor
        # edited again for that.
        message = message | {_SHOWS: [*ask.appearance]}
        await save(Shown(ask.shown_revision, message, _thread(message)))
        body = thread_of(ask)
        path = f"/channels/{message['channel']}/messages/{message['id']}/threads"
        thread: JsonValue = message["id"]  # a thread made from a message has its id
        try:
            await self._calls.request("POST", path, body)
        except (RateLimitedError, UnavailableError):
            raise
        except PlatformError as error:
            if has_code(error, Code.UNKNOWN_MESSAGE):
                return await self._with_thread(ask, await self._post(ask, {}, save), save)
            if not has_code(error, Code.THREAD_EXISTS):
                log = {"action": "thread_missing", "ask_id": ask.id, "code": error.code}
                logger.warning(
                    "The ask stays in the channel, without a thread: %s", error, extra=log
                )
                thread = None
        made = message | {"thread": thread}
        await save(Shown(ask.shown_revision, made, _thread(made)))
        return made

    async def _find(self, ask: Ask, noted: Json) -> str | None:
        """The message that an earlier try may have posted; Discord's nonce holds for minutes only."""
        if noted["kind"] != Kind.FORUM:
            channel, since = str(noted["channel"]), str(noted["since"])
            async for message in self._ours(channel, since):
                if self._is_of(ask, message):
                    return str(message["id"])
            return None
        active = await self._calls.get(f"/guilds/{noted['guild']}/threads/active")
        threads = _objects(active.get("threads")) if isinstance(active, dict) else []
        for thread in threads:
            number = str(thread.get("id"))
            if thread.get("parent_id") == noted["parent"] and int(number) > int(
                str(noted["since"])
            ):
                first = await self._calls.get(f"/channels/{number}/messages/{number}")
                if isinstance(first, dict) and self._is_ours(first) and self._is_of(ask, first):
                    return number
        return None

    async def _ours(self, channel: str, after: str) -> AsyncIterator[Json]:
        """Our own messages in a channel behind one of its messages, as far as some pages lead."""
        for _ in range(_PAGES):
            query = page_behind(after)
            page = _objects(await self._calls.get(f"/channels/{channel}/messages", query))
            for message in page:
                if self._is_ours(message):
                    yield message
            if len(page) < limits.MESSAGES_PER_PAGE:
                return
            after = max((str(message["id"]) for message in page), key=int)

    def _is_ours(self, message: Json) -> bool:
        author = message.get("author")
        return isinstance(author, dict) and author.get("id") == self.bot_id

    @staticmethod
    def _is_of(ask: Ask, message: Json) -> bool:
        controls = (decode(part.get("custom_id")) for part in c.walk(message.get("components")))
        return any(control is not None and control.ask_id == ask.id for control in controls)

    # --- reminding, and leaving ------------------------------------------------------------------

    async def remind(self, ask: Ask, number: int) -> None:
        """See `answerback.ports.surface.Reminds.remind`."""
        message = ask.message or {}
        if not isinstance(message.get("id"), str):
            return
        where = str(message.get("thread") or message["channel"])
        try:
            await self._remind(ask, number, where, message)
        except GoneError:
            if where == message["channel"]:
                raise
            # Somebody deleted the thread that was made from the message; the message is still there.
            await self._remind(ask, number, str(message["channel"]), message)

    async def _remind(self, ask: Ask, number: int, where: str, message: Json) -> None:
        address = notes.link(message)
        if len(await self._reminders(where, message)) > number:
            return
        listed = [who for who in ask.responders if who != ANYONE][:_MOST_MENTIONED]
        users: list[JsonValue] = [who for who in listed if who.isdigit()]
        roles: list[JsonValue] = [who[1:] for who in listed if who[1:].isdigit() and who[0] == "@"]
        words = self._labels.reminder.format(label=view_of(ask).label)
        body: Json = {
            "content": notes.reminder(listed, words, address),
            "allowed_mentions": {"parse": [], "users": users, "roles": roles},
            "nonce": _nonce(f"{ask.id}:reminder:{number}", message),
            "enforce_nonce": True,
        }
        await self._calls.request("POST", f"/channels/{where}/messages", body)

    async def _reminders(self, channel: str, message: Json) -> list[str]:
        """The ids of our reminders of a live message in a channel: they end in its address."""
        address = notes.link(message)
        return [
            str(one["id"])
            async for one in self._ours(channel, str(message["id"]))
            if str(one.get("content")).endswith(address)
        ]

    async def _settle_reminders(self, ask: Ask, message: Json) -> None:
        """Edits the reminders of an ask that is over: nobody is waited for any more."""
        where = str(message.get("thread") or message["channel"])
        ending = render.ending(view_of(ask), self._labels)
        content = notes.reminder((), ending, notes.link(message))
        body: Json = {"content": content, "allowed_mentions": {"parse": []}}
        try:
            for number in await self._reminders(where, message):
                await self._calls.request("PATCH", f"/channels/{where}/messages/{number}", body)
        except (GoneError, RefusedError) as error:
            # An archived or deleted thread: the live message says how it ended.
            extra = {"action": "reminders_stay", "ask_id": ask.id, "code": error.code}
            logger.warning(
                "Reminders of an ask that is over stay as they are: %s", error, extra=extra
            )

    async def moved(self, left: Mapping[str, JsonValue], to: Destination) -> None:
        """See `answerback.ports.surface.Moves.moved`."""
        if not isinstance(left.get("id"), str):
            return
        body = notes.elsewhere(notes.place(to), self._labels)
        path = f"/channels/{left['channel']}/messages/{left['id']}"
        try:
            await self._calls.request("PATCH", path, body)
        except PlatformError as error:
            if not has_code(error, Code.THREAD_ARCHIVED):
                raise
            await self._channels.unarchive(str(left["channel"]))
            await self._calls.request("PATCH", path, body)


def thread_of(ask: Ask) -> Json:
    """The thread of an ask, as the fields of its request."""
    first = ask.form.questions[0]
    name = fit(first.header or first.text, limits.THREAD_NAME)
    return {"name": name, "auto_archive_duration": limits.THREAD_MINUTES}


def _noted(place: Place) -> Json:
    """The reference before the post: where, and since when to look for it."""
    since = (int(time.time() * 1000) - _CLOCKS_APART_MS - limits.EPOCH_MS) << 22
    noted: Json = {
        "kind": str(place.kind),
        "channel": place.id,
        "parent": place.id if place.kind is Kind.FORUM else place.parent,
        "guild": place.guild,
        "since": str(since),
    }
    return noted | {"thread": place.id} if place.kind is Kind.THREAD else noted


def _thread(message: Mapping[str, JsonValue]) -> Thread:
    """What an ask tells of where it is shown."""
    channel, thread = message.get("parent") or message["channel"], message.get("thread")
    return Thread(
        channel=str(channel),
        id=str(thread) if thread else None,
        url=notes.link(message) if "id" in message else None,
    )


def _shown(ask: Ask, message: Json) -> Shown:
    at = message.get(_SINCE)
    noted = {key: value for key, value in message.items() if key not in {_SHOWS, _SINCE}}
    return Shown(ask.revision, noted, _thread(noted), at if isinstance(at, float) else None)


def _since(sent: JsonValue) -> Json:
    """What an answer of Discord's says of when it made the message as it is."""
    return {_SINCE: parse.since(sent)} if isinstance(sent, dict) else {}


def _nonce(what: str, message: Mapping[str, JsonValue]) -> str:
    """One post of one ask, the same for every try of it."""
    text = f"{what}:{message.get('channel')}:{message.get('since')}"
    return hashlib.blake2b(text.encode()).hexdigest()[: limits.NONCE]


def _wrapped(message: Json, extra: Json) -> Json:
    """A message with the fields of its request; a forum post has the message inside."""
    return extra | {"message": message} if "message" in extra else message | extra


def _id_of(sent: JsonValue) -> str:
    if not isinstance(sent, dict) or not isinstance(sent.get("id"), str):
        raise UnavailableError("Discord answered a post without the message's id.")
    return str(sent["id"])


def _objects(value: JsonValue) -> list[Json]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
