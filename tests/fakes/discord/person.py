"""A simulated person in front of Discord's client: reads messages, clicks, chooses, fills modals, types.

They can only do what the client would let them do with what they see; anything else raises NotPossibleError. Everything
goes to the app in the real payload shapes, and every click ends `answered` or `failed`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from tests.fakes.discord.client_payloads import resolved, subcommand, submitted, values_of
from tests.fakes.discord.core import Discord
from tests.fakes.discord.interactions import (
    COMMAND,
    COMPONENT,
    MODAL_SUBMIT,
    Interaction,
    Interactions,
)
from tests.fakes.discord.problems import Payload, RefusalError
from tests.fakes.discord.rules import CHECKBOX, RADIO, STRING_SELECT, TEXT_INPUT, UPLOAD
from tests.fakes.discord.visible_message import (
    Control,
    Modal,
    NotPossibleError,
    Sight,
    modal_of,
    view_message,
)
from tests.fakes.discord.wire_json import numbered
from tests.fakes.discord.world import Can, Channel, Message, User

WAIT = 60.0
# How far back a person looks: enough for every test, and quick with very many messages.
SCREENFUL = 100


class Person:
    """One account at one client. `modal` is the modal that is open in front of them."""

    def __init__(self, discord: Discord, interactions: Interactions, user: User) -> None:
        self._discord, self._interactions, self.user = discord, interactions, user
        self._uploaded: dict[str, Payload] = {}
        """The files that are chosen in the open modal, by their ids."""
        self.modal: Modal | None = None
        self._modal_from: Interaction | None = None
        self._picked: dict[tuple[int, str], tuple[int, list[str]]] = {}
        self.interactions: list[Interaction] = []

    @property
    def id(self) -> int:
        """The account's id."""
        return self.user.id

    # ---- seeing ----

    def sees(self, message: Message) -> Sight:
        """Return this person's view of a message now."""
        current = self._stored(message)
        if current is None:
            raise NotPossibleError(f"{self.user.name} cannot see message {message.id}")
        return view_message(current)

    def visible(self, channel: Channel | None = None) -> list[Sight]:
        """The bot's messages that this person can see, newest first, as far as they scroll."""
        return [view_message(each) for each in self._newest(channel)]

    def _newest(self, channel: Channel | None = None) -> list[Message]:
        world = self._discord.world
        channels = [channel] if channel else list(world.channels.values())
        found: list[Message] = []
        for place in channels:
            shown = [
                message
                for message in place.messages.values()
                if message.author_id == self._discord.bot.id and self._is_shown(message)
            ]
            found += shown if shown and world.sees(place, self.id) else ()
        return sorted(found, key=lambda each: each.id, reverse=True)[:SCREENFUL]

    def notes(self) -> list[Sight]:
        """The ephemeral messages this person got, newest first."""
        return [view_message(each) for each in self._newest() if each.ephemeral]

    def latest(self, channel: Channel | None = None) -> Sight:
        """The newest message of the bot that is not a private note."""
        for message in self._newest(channel):
            if not message.ephemeral:
                return view_message(message)
        raise NotPossibleError(f"{self.user.name} sees no message of the bot")

    def copy(self, message: Message) -> Message:
        """A copy of the message as it is now, to be clicked later (`click_on`)."""
        return replace(self.sees(message).message)

    async def until(self, holds: Callable[[], object], *, timeout: float = WAIT) -> None:
        """Wait until something is true of the fake's state."""
        await self._discord.bell.until(lambda: bool(holds()), timeout=timeout)

    async def finds(
        self, text: str, channel: Channel | None = None, *, timeout: float = WAIT
    ) -> Sight:
        """Wait until a visible message holds this text, and see it."""

        def found() -> list[Sight]:
            return [each for each in self.visible(channel) if text in each.text]

        await self._wait(lambda: bool(found()), f"the text {text!r}", channel, timeout)
        return found()[0]

    async def finds_control(
        self, name: str, channel: Channel | None = None, *, timeout: float = WAIT
    ) -> Sight:
        """Wait until a visible message has this button (label) or select (placeholder, custom id)."""

        def found() -> list[Sight]:
            return [s for s in self.visible(channel) if s.button(name) or s.select(name)]

        await self._wait(lambda: bool(found()), f"the control {name!r}", channel, timeout)
        return found()[0]

    async def _wait(
        self, holds: Callable[[], bool], what: str, channel: Channel | None, timeout: float
    ) -> None:
        try:
            await self._discord.bell.until(holds, timeout=timeout)
        except TimeoutError:
            raise NotPossibleError(
                f"{self.user.name} waited {timeout} s for {what}; sees {self._seen(channel)}"
            ) from None

    def _seen(self, channel: Channel | None = None) -> str:
        return (
            "; ".join(
                f"[{each.text!r} buttons {each.labels} selects {[s.label for s in each.selects]}]"
                for each in self.visible(channel)[:4]
            )
            or "nothing"
        )

    def _stored(self, message: Message) -> Message | None:
        channel = self._discord.world.channels.get(message.channel_id)
        if channel is None or not self._discord.world.sees(channel, self.id):
            return None
        current = channel.messages.get(message.id)
        return current if current is not None and self._is_shown(current) else None

    def _is_shown(self, message: Message) -> bool:
        """Return True if a message of a channel that this person sees is there for them."""
        return not message.deleted and message.only_for in {None, self.id}

    # ---- clicking ----

    async def click(
        self,
        label: str,
        *,
        on: Message | None = None,
        channel: Channel | None = None,
        wait: bool = True,
    ) -> Interaction:
        """Click a button on a message (default: the newest visible one that has it)."""
        candidates = [self.sees(on)] if on else self.visible(channel)
        for sight in candidates:
            control = sight.button(label)
            if control is not None:
                return await self._use(sight.message, control, [], wait)
        raise NotPossibleError(
            f"{self.user.name} sees no button {label!r}; sees {self._seen(channel)}"
        )

    async def choose(
        self,
        select: str | None,
        labels: Iterable[str],
        *,
        on: Message | None = None,
        channel: Channel | None = None,
        wait: bool = True,
    ) -> Interaction:
        """Pick options by label in a select named by placeholder or custom id (None: the only one)."""
        wanted = list(labels)
        candidates = [self.sees(on)] if on else self.visible(channel)
        for sight in candidates:
            control = sight.select(select)
            if control is not None:
                return await self._use(
                    sight.message, control, values_of(control.component, wanted), wait
                )
        raise NotPossibleError(
            f"{self.user.name} sees no select {select!r}; sees {self._seen(channel)}"
        )

    async def click_on(
        self, copy: Message, label: str, labels: Sequence[str] = (), *, wait: bool = True
    ) -> Interaction:
        """Click a button (or choose in a select) of an older copy, as if it had not been updated yet."""
        sight = view_message(copy)
        control = sight.button(label) or sight.select(label)
        if control is None:
            raise NotPossibleError(f"the copy has no control {label!r}; it has {sight.labels}")
        values = values_of(control.component, list(labels)) if control.is_select else []
        return await self._use(copy, control, values, wait)

    async def _use(
        self, message: Message, control: Control, values: list[str], wait: bool
    ) -> Interaction:
        if control.is_link:
            raise NotPossibleError(
                f"{control.label!r} is a link; clicking it tells the app nothing"
            )
        channel = self._discord.world.channel(message.channel_id)
        self._open_thread(channel)
        data: Payload = {
            "custom_id": control.custom_id,
            "component_type": control.component["type"],
            "id": control.component["id"],
        }
        if control.is_select:
            self._pick(message, control, values)
            data["values"] = values
            if control.component["type"] != STRING_SELECT:
                data["resolved"] = resolved(self._discord.world, values, channel)
        made = self._interactions.start(COMPONENT, self.user, channel, data, replace(message))
        return await self._ended(made) if wait else made

    def _pick(self, message: Message, control: Control, values: list[str]) -> None:
        """The client sends nothing if the picked option is already selected."""
        least, most = control.bounds
        if not least <= len(values) <= most:
            raise NotPossibleError(
                f"{control.label!r} takes {least} to {most} choices, not {len(values)}"
            )
        place = (message.id, control.custom_id)
        shown = [each.value for each in control.options if each.default]
        version, local = self._picked.get(place, (message.version, shown))
        if sorted(local if version == message.version else shown) == sorted(values):
            raise NotPossibleError(
                f"{values} is what {control.label!r} shows already: the client sends nothing"
            )
        self._picked[place] = (message.version, values)

    def _open_thread(self, channel: Channel) -> None:
        """A client unarchives a thread before a click in it; a locked one takes no clicks."""
        if channel.locked:
            raise NotPossibleError("nothing can be clicked in a locked thread")
        if channel.archived:
            if not self._discord.world.permissions(channel, self.id) & Can.SEND_MESSAGES_IN_THREADS:
                raise NotPossibleError(f"{self.user.name} may not reopen the archived thread")
            self._discord.set_thread(channel, archived=False)

    async def _ended(self, made: Interaction) -> Interaction:
        """Wait until the app answered or the client gave up; open the modal if that is the answer."""
        self.interactions.append(made)
        await self._discord.bell.until(lambda: made.state != "waiting", timeout=2 * WAIT)
        if made.modal is not None:
            data = {**made.modal, "components": numbered(made.modal["components"])}
            self.modal, self._modal_from = modal_of(data), made
        return made

    async def ended(self, interaction: Interaction) -> Interaction:
        """Wait for a click that was made with `wait=False`."""
        return await self._ended(interaction)

    # ---- modals ----

    def fill(self, label: str, value: str | bool | Sequence[str] | None) -> None:
        """Enter text, tick a checkbox, or choose options by their labels, in the field under this Label."""
        field = self._open_modal().field(label)
        kind = field.component["type"]
        if kind == UPLOAD:
            raise NotPossibleError(f"files are chosen, not written: {label!r}")
        if kind == TEXT_INPUT:
            field.value = str(value or "")
        elif kind == CHECKBOX:
            field.value = bool(value)
        elif kind == RADIO:
            field.value = values_of(field.component, [str(value)])[0] if value is not None else None
        else:
            chosen = (
                [value]
                if isinstance(value, str)
                else list(value)
                if isinstance(value, Sequence)
                else []
            )
            field.value = values_of(field.component, chosen)

    def upload(self, files: Sequence[tuple[str, bytes]]) -> None:
        """Choose files in the open modal's only input for them."""
        uploads = [e for e in self._open_modal().fields if e.component["type"] == UPLOAD]
        if len(uploads) != 1:
            raise NotPossibleError(f"the modal has {len(uploads)} inputs for files")
        made = [self._discord.attachments.add(name, data, ephemeral=True) for name, data in files]
        self._uploaded = {each["id"]: each for each in made}
        uploads[0].value = [*self._uploaded]

    async def submit(self, *, wait: bool = True) -> Interaction:
        """Send the open modal; the client refuses what breaks its fields' bounds."""
        modal, opened = self._open_modal(), self._modal_from
        wrong = [f"{each.label!r} {each.problem()}" for each in modal.fields if each.problem()]
        if wrong or opened is None:
            raise NotPossibleError(f"the modal cannot be sent: {'; '.join(wrong)}")
        data: Payload = {
            "custom_id": modal.data["custom_id"],
            "components": [submitted(each, modal.fields) for each in modal.data["components"]],
        }
        if self._uploaded:
            data["resolved"] = {"attachments": self._uploaded}
            self._uploaded = {}
        made = self._interactions.start(
            MODAL_SUBMIT, self.user, opened.channel, data, opened.message
        )
        self.modal = self._modal_from = None
        return await self._ended(made) if wait else made

    def dismiss(self) -> None:
        """Close the modal; the app is not notified."""
        self._open_modal()
        self.modal = self._modal_from = None

    def _open_modal(self) -> Modal:
        if self.modal is None:
            raise NotPossibleError(f"no modal is open in front of {self.user.name}")
        return self.modal

    # ---- commands ----

    async def command(
        self, name: str, channel: Channel, line: str = "", *, wait: bool = True
    ) -> Interaction:
        """Use a slash command of the app; ``line`` is a subcommand with the text of its only option."""
        world = self._discord.world
        context = 0 if channel.guild_id else 1
        for each in self._discord.application.commands:
            if each["name"] == name and context in (each.get("contexts") or [0, 1]):
                break
        else:
            raise NotPossibleError(f"{self.user.name} is offered no command /{name} here")
        if not world.sees(channel, self.id):
            raise NotPossibleError(f"{self.user.name} cannot see the channel")
        data: Payload = {"id": each.get("id", "1"), "name": name, "type": each["type"]}
        if each.get("options"):
            data["options"] = [subcommand(each["options"], *line.split(maxsplit=1))]
        made = self._interactions.start(COMMAND, self.user, channel, data)
        return await self._ended(made) if wait else made

    # ---- typing ----

    def types(
        self,
        channel: Channel,
        text: str,
        *,
        reply_to: Message | None = None,
        ping: bool = True,
        mention: bool = False,
        files: Sequence[tuple[str, bytes]] = (),
        sticker: bool = False,
    ) -> Message:
        """Write a message; `mention` puts the bot's mention before it, `reply_to` uses the reply feature."""
        try:
            self._discord.world.demand_send(channel, self.id)
        except RefusalError as refusal:
            raise NotPossibleError(
                f"{self.user.name} may not write here: {refusal.answer()[1]['message']}"
            ) from None
        bot = self._discord.bot.id
        content = f"<@{bot}> {text}" if mention else text
        mentions = [bot] if mention or f"<@{bot}>" in text else []
        # A reply to an interaction's answer does not mention the app (it is a webhook's message).
        if (
            reply_to is not None
            and ping
            and reply_to.interaction is None
            and reply_to.author_id not in mentions
        ):
            mentions.append(reply_to.author_id)
        message = Message(
            self._discord.new_id(),
            channel.id,
            self.id,
            self._discord.clock.now(),
            content=content,
            type=19 if reply_to else 0,
            reply_to=reply_to.id if reply_to else None,
            mentions=mentions,
            attachments=self._discord.attachments.add_all(files),
            stickers=[{"id": "1", "name": "wave", "format_type": 1}] if sticker else [],
        )
        return self._discord.post(channel, message)

    def mention_bot(self, channel: Channel, text: str) -> Message:
        """Write a message that mentions the bot."""
        return self.types(channel, text, mention=True)

    def replies(self, message: Message, text: str, *, ping: bool = True) -> Message:
        """Use the reply feature on a message."""
        return self.types(
            self._discord.world.channel(message.channel_id), text, reply_to=message, ping=ping
        )

    def dm(self, text: str) -> Message:
        """Write to the bot directly."""
        return self.types(self._discord.direct(self.user), text)

    def rewrites(self, message: Message, text: str) -> None:
        """Edit a message of their own."""
        self._discord.change(message, {"content": text})
