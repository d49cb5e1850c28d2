"""Interactions from a person's click to the app's answer: delivery, deadline, token, and the effect of an answer.

https://docs.discord.com/developers/interactions/receiving-and-responding. With an interactions endpoint set they go
out as signed POSTs, else over the gateway. Each ends "answered" or "failed" ("This interaction failed").
"""

import asyncio
import json
import secrets
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Literal

import aiohttp
from nacl.signing import SigningKey

from tests.fakes.discord.core import Discord, with_files
from tests.fakes.discord.problems import Payload, RefusalError, error_tree, invalid
from tests.fakes.discord.rules import EPHEMERAL, check_callback, check_message
from tests.fakes.discord.wire_json import channel_json, member_json, message_json, user_json
from tests.fakes.discord.world import Channel, Message, User

PING, COMMAND, COMPONENT, MODAL_SUBMIT = 1, 2, 3, 5
REPLY, DEFER_REPLY, DEFER_UPDATE, UPDATE, MODAL = 4, 5, 6, 7, 9
ANSWER_WITHIN, TOKEN_LIFE = 3.0, 900.0
LOADING = 1 << 7
ALLOWED = {COMMAND: {4, 5, 9}, COMPONENT: {4, 5, 6, 7, 9}, MODAL_SUBMIT: {4, 5, 6, 7}}


@dataclass(eq=False)
class Interaction:
    """One click or submit. `callback` is the accepted answer; `notes` are the messages it led to."""

    id: int
    token: str
    type: int
    user: User
    channel: Channel
    data: Payload
    at: float
    message: Message | None = None
    body: Payload = field(default_factory=dict)
    state: Literal["waiting", "answered", "failed"] = "waiting"
    callback: Payload | None = None
    answered_after: float | None = None
    original: Message | None = None
    deferred_reply: bool = False
    notes: list[Message] = field(default_factory=list)
    problem: str = ""
    delivered_to: int = 0

    @property
    def answered(self) -> bool:
        """Did the app answer in time?"""
        return self.state == "answered"

    @property
    def failed(self) -> bool:
        """Did the person see "This interaction failed"?"""
        return self.state == "failed"

    @property
    def modal(self) -> Payload | None:
        """The modal that the answer opened."""
        return self.callback["data"] if self.callback and self.callback["type"] == MODAL else None


class Interactions:
    """Creates and delivers interactions, and accepts the answers."""

    def __init__(self, discord: Discord) -> None:
        self._discord = discord
        self.all: dict[int, Interaction] = {}
        self.lose_answers = 0
        """The number of the next answers of the app's endpoint that are lost: each is sent, and never arrives."""
        self._by_token: dict[str, Interaction] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(
        self, type: int, user: User, channel: Channel, data: Payload, message: Message | None = None
    ) -> Interaction:
        """Send an interaction to the app; it goes on by itself."""
        now = self._discord.clock.now()
        made = Interaction(
            self._discord.new_id(),
            secrets.token_urlsafe(24),
            type,
            user,
            channel,
            data,
            now,
            message,
        )
        self.all[made.id] = self._by_token[made.token] = made
        made.body = self._envelope(made)
        self._spawn(self._expire(made))
        if self._discord.application.interactions_endpoint_url:
            made.delivered_to = 1
            self._spawn(self._post_out(made))
        else:
            made.delivered_to = self.redeliver(made)
        self._discord.bell.ring()
        return made

    def redeliver(self, interaction: Interaction) -> int:
        """Send it over the gateway (again); return how many sessions received it."""
        guild_id = interaction.channel.guild_id
        return self._discord.gateway.dispatch("INTERACTION_CREATE", interaction.body, 0, guild_id)

    def close(self) -> None:
        """Stop waiting for answers."""
        for task in self._tasks:
            task.cancel()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _expire(self, interaction: Interaction) -> None:
        await self._discord.clock.sleep_until(interaction.at + ANSWER_WITHIN)
        self._fail(interaction, "no answer within 3 seconds")

    def _fail(self, interaction: Interaction, why: str) -> None:
        if interaction.state == "waiting":
            interaction.state, interaction.problem = "failed", why
            self._discord.bell.ring()

    def _envelope(self, made: Interaction) -> Payload:
        discord, world = self._discord, self._discord.world
        guild = world.guilds.get(made.channel.guild_id or 0)
        app_can = str(int(world.permissions(made.channel, discord.bot.id)))
        body: Payload = {
            "id": str(made.id),
            "application_id": str(discord.application.id),
            "type": made.type,
            "token": made.token,
            "version": 1,
            "data": made.data,
            "channel_id": str(made.channel.id),
            "channel": channel_json(world, made.channel),
            "app_permissions": app_can,
            "locale": "en-US",
            "entitlements": [],
            "attachment_size_limit": 10_485_760,
            "context": 0 if guild else 1,
            "authorizing_integration_owners": {"0": str(guild.id if guild else 0)},
        }
        if made.message is not None:
            body["message"] = message_json(world, made.message)
        if guild is None:
            return {**body, "user": user_json(made.user)}
        can = str(int(world.permissions(made.channel, made.user.id)))
        return {
            **body,
            "guild_id": str(guild.id),
            "guild_locale": "en-US",
            "guild": {"id": str(guild.id), "locale": "en-US", "features": []},
            "member": {**member_json(world, guild, made.user.id), "permissions": can},
        }

    async def signed_post(
        self, url: str, body: bytes, *, good: bool = True
    ) -> tuple[int, str, bytes]:
        """POST a body to the app's endpoint with a good or bad signature: status, content type, answer."""
        key = self._discord.application.signing_key if good else SigningKey.generate()
        timestamp = str(int(self._discord.clock.now()))
        signature = key.sign(timestamp.encode() + body).signature.hex()
        headers = {
            "X-Signature-Ed25519": signature,
            "X-Signature-Timestamp": timestamp,
            "Content-Type": "application/json",
            "User-Agent": "Discord-Interactions/1.0 (+https://discord.com)",
        }
        timeout = aiohttp.ClientTimeout(total=ANSWER_WITHIN)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.post(url, data=body, headers=headers) as response,
        ):
            return response.status, response.headers.get("Content-Type", ""), await response.read()

    async def _post_out(self, interaction: Interaction) -> None:
        url = self._discord.application.interactions_endpoint_url or ""
        try:
            status, kind, answer = await self.signed_post(
                url, json.dumps(interaction.body).encode()
            )
            if status == 202 and not answer:
                return
            if self.lose_answers:
                self.lose_answers -= 1
                self._fail(interaction, "the answer was lost")
                return
            if status != 200 or not kind.startswith("application/json"):
                self._fail(interaction, f"the endpoint answered {status} {kind}")
                return
            self.answer(interaction.id, interaction.token, json.loads(answer))
        except RefusalError as refusal:
            self._fail(
                interaction, f"answer refused: {refusal.code} {error_tree(refusal.problems)}"
            )
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            self._fail(interaction, f"the endpoint: {error!r}")

    async def check_endpoint(self, url: str) -> None:
        """The live check at saving an endpoint: PING must be ponged, a bad signature must get 401."""
        place = ("interactions_endpoint_url",)
        code = "APPLICATION_INTERACTIONS_ENDPOINT_VERIFICATION_FAILED"
        ping = json.dumps(
            {
                "id": str(self._discord.new_id()),
                "application_id": str(self._discord.application.id),
                "type": PING,
                "token": secrets.token_urlsafe(12),
                "version": 1,
                "entitlements": [],
                "user": None,
            }
        ).encode()
        try:
            status, kind, answer = await self.signed_post(url, ping)
            ponged = (
                status == 200
                and kind.startswith("application/json")
                and json.loads(answer) == {"type": 1}
            )
            refused, _, _ = await self.signed_post(url, ping, good=False)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise invalid(
                place,
                code,
                f"The specified interactions endpoint url could not be verified: {error}",
            ) from error
        if not ponged or refused != 401:
            got = f"PING {status}, bad signature {refused}"
            text = f"The specified interactions endpoint url could not be verified: {got}."
            raise invalid(place, code, text)

    # ---- the app's side ----

    def find(self, interaction_id: int, token: str) -> Interaction:
        """The interaction that a callback route names."""
        found = self.all.get(interaction_id)
        if found is None or found.token != token:
            raise RefusalError(10062)
        return found

    def by_token(self, token: str) -> Interaction:
        """The answered interaction that a webhook route names; its token lives 15 minutes."""
        found = self._by_token.get(token)
        if found is None or not found.answered:
            raise RefusalError(10015)
        if self._discord.clock.now() > found.at + TOKEN_LIFE:
            raise RefusalError(50027)
        return found

    def answer(
        self, interaction_id: int, token: str, body: Payload, files: Sequence[Payload] = ()
    ) -> Interaction:
        """Take the initial answer, or refuse it as Discord would."""
        found = self.find(interaction_id, token)
        if found.answered:
            raise RefusalError(40060)
        if found.failed or self._discord.clock.now() > found.at + ANSWER_WITHIN:
            raise RefusalError(10062)
        problems = check_callback(body)
        if problems:
            raise RefusalError(50035, problems)
        kind = body["type"]
        if kind not in ALLOWED[found.type] or (
            kind in {DEFER_UPDATE, UPDATE} and found.message is None
        ):
            text = f"Interactions of type {found.type} cannot be answered with {kind} here."
            raise invalid(("type",), "BASE_TYPE_CHOICES", text)
        self._apply(found, kind, body.get("data") or {}, files)
        found.callback, found.state = body, "answered"
        found.answered_after = self._discord.clock.now() - found.at
        self._discord.bell.ring()
        return found

    def _apply(
        self, found: Interaction, kind: int, data: Payload, files: Sequence[Payload]
    ) -> None:
        if kind in {REPLY, DEFER_REPLY}:
            flags = (data.get("flags") or 0) | (LOADING if kind == DEFER_REPLY else 0)
            found.original = self.respond(found, {**data, "flags": flags}, files)
            found.deferred_reply = kind == DEFER_REPLY
        elif kind in {DEFER_UPDATE, UPDATE}:
            found.original = self._current(found)
            if kind == UPDATE and found.original is not None:
                self.edit(found.original, data, files)

    def _current(self, found: Interaction) -> Message | None:
        """The stored message behind the (possibly older) copy that was clicked."""
        if found.message is None:
            return None
        return found.channel.messages.get(found.message.id)

    def respond(self, found: Interaction, data: Payload, files: Sequence[Payload] = ()) -> Message:
        """Post a message with the interaction's token; `flags` may make it ephemeral."""
        flags = data.get("flags") or 0
        message = Message(
            self._discord.new_id(),
            found.channel.id,
            self._discord.bot.id,
            self._discord.clock.now(),
            content=data.get("content") or "",
            components=data.get("components") or [],
            embeds=data.get("embeds") or [],
            attachments=list(files),
            flags=flags & ~EPHEMERAL,
            type=19 if found.message else 0,
            only_for=found.user.id if flags & EPHEMERAL else None,
            reply_to=found.message.id if found.message else None,
            interaction={
                "id": str(found.id),
                "type": found.type,
                "user": user_json(found.user),
                "authorizing_integration_owners": {},
            },
        )
        self._discord.record_pings(
            message, data.get("allowed_mentions"), edit=False, interaction=True
        )
        found.notes.append(self._discord.post(found.channel, message))
        return message

    def edit(self, message: Message, data: Payload, files: Sequence[Payload] = ()) -> None:
        """Edit a message with an interaction's token."""
        if message.deleted:
            raise RefusalError(10008)
        old = message_json(self._discord.world, message)
        problems = check_message(
            data, schema="IncomingWebhookUpdateRequestPartial", old=old, files=len(files)
        )
        if problems:
            raise RefusalError(50035, problems)
        message.flags &= ~LOADING
        self._discord.change(message, {**data, **with_files(message, data, files)})
        self._discord.record_pings(
            message, data.get("allowed_mentions"), edit=True, interaction=True
        )
