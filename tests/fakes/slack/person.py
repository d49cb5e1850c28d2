"""A simulated person at a Slack client: reads, clicks, fills in modals, types.

Owns what a person can do with what their client shows. A control that is not in the current message cannot
be used, unless the test holds an older copy of the message (`message.snapshot()`).
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tests.fakes.slack import methods_chat, methods_views, state
from tests.fakes.slack.checks import check_message
from tests.fakes.slack.delivery import Ack
from tests.fakes.slack.interactivity import ApiError
from tests.fakes.slack.rules import OPTION, VIEW_STACK
from tests.fakes.slack.schema import Json, compare
from tests.fakes.slack.visible_message import Choice, Control, Sight, Target, look
from tests.fakes.slack.workspace import BOT_USER, Message, Snapshot, User, View

if TYPE_CHECKING:
    from tests.fakes.slack.server import FakeSlack

_TROUBLE = "We had some trouble connecting. Try again?"


class Person:
    """A person who uses the workspace; `notices` are the errors that their client showed."""

    def __init__(self, slack: "FakeSlack", user: User) -> None:
        self.slack = slack
        self.user = user
        self.id = user.id
        self.notices: list[str] = []
        self._drafts: dict[tuple[str, str], state.Values] = {}
        self._found: dict[tuple[str, str], tuple[Choice, ...]] = {}

    # reading

    def sees(self, target: Target) -> Sight:
        """Return the person's view of a message, an older copy of one, or an open modal."""
        if isinstance(target, Message):
            self._look_up(target)
        return look(target)

    def messages(self, channel: str, thread: str | None = None) -> list[Message]:
        """The messages that this person sees in a conversation, or in one thread of it."""
        if self.id not in self.slack.workspace.channels[channel].members:
            raise state.ClientRefusalError(f"{self.id} is not in {channel}")
        shown = self.slack.workspace.visible(channel, self.id)
        return [m for m in shown if thread is None or thread in (m.ts, m.thread_ts)]

    def private_notes(self, channel: str) -> list[str]:
        """The texts of messages that only this person sees, oldest first."""
        return [look(m).text for m in self.messages(channel) if m.ephemeral_to == self.id]

    @property
    def modal(self) -> View | None:
        """The modal on top of this person's screen."""
        stack = self.slack.workspace.stacks.get(self.id)
        return stack[-1] if stack else None

    async def sees_modal(self, timeout: float = 60.0) -> View:
        """Wait for a modal to open."""
        await self.slack.until(lambda: self.modal, timeout)
        if self.modal is None:
            raise state.ClientRefusalError("the modal closed again")
        return self.modal

    # controls

    async def click(self, target: Message | View, name: str, *, confirm: bool = True) -> Ack | None:
        """Press the button with this label (or action id) in what is shown now.

        Args:
            target: a message or an open modal.
            name: the button's visible label, or its action id.
            confirm: the answer to a confirmation dialog; False sends nothing and returns None.
        """
        return await self._press(self._current(target), name, confirm=confirm)

    async def click_on(self, copy: Snapshot, name: str, *, confirm: bool = True) -> Ack | None:
        """Press a button on an older copy of a message that this client still shows."""
        return await self._press(copy, name, confirm=confirm)

    async def choose(
        self, target: Message | Snapshot | View, option: str, select: str | None = None
    ) -> Ack | None:
        """Pick an option by its label in a menu, radio group or overflow menu.

        None when the choice stays in the client until the next click (an `input` block).
        """
        shown = self._current(target)
        control = self._with_option(shown, option, select)
        found = self._found.get((control.block_id, control.action_id), ())
        return await self._enter(shown, control, state.entered(control, option, found))

    async def check(
        self, target: Message | Snapshot | View, options: Iterable[str], select: str | None = None
    ) -> Ack | None:
        """Select exactly these labels in a checkbox group or multi-select."""
        shown = self._current(target)
        kinds = ("checkboxes", "multi_static_select", "multi_external_select")
        control = self._only(shown, kinds) if select is None else self._named(shown, select, kinds)
        found = self._found.get((control.block_id, control.action_id), ())
        return await self._enter(shown, control, state.entered(control, list(options), found))

    async def fill(
        self, target: Message | Snapshot | View, field: str, value: object
    ) -> Ack | None:
        """Enter a value in the field with this label."""
        shown = self._current(target)
        control = self._named(shown, field)
        found = self._found.get((control.block_id, control.action_id), ())
        return await self._enter(shown, control, state.entered(control, value, found))

    async def search(
        self, target: Message | Snapshot | View, query: str, select: str | None = None
    ) -> list[str]:
        """Type into an external select; return the labels that the app suggests."""
        shown = self._current(target)
        kinds = ("external_select", "multi_external_select")
        control = self._only(shown, kinds) if select is None else self._named(shown, select, kinds)
        if len(query) < control.element.get("min_query_length", 3):
            raise state.ClientRefusalError("the client does not ask yet for so few characters")
        context: Json = {"container": {"type": "view"}, "view": {}}
        if isinstance(shown, View):
            context = {"container": {"type": "view", "view_id": shown.id}, "view": shown.payload()}
        else:
            container = {"type": "message", "message_ts": shown.payload["ts"],
                         "channel_id": shown.channel, "is_ephemeral": bool(shown.ephemeral_to)}  # fmt: skip
            context = {"container": container, "message": shown.payload,
                       "channel": {"id": shown.channel}}  # fmt: skip
        ack = await self.slack.interact(self.slack.interactivity.suggestion(
            self.user, context, control.block_id, control.action_id, query))  # fmt: skip
        body = ack.body or {}
        options = [*body.get("options", [])]
        for group in body.get("option_groups", []):
            options += group["options"]
        problems = [
            p for i, o in enumerate(options) for p in compare(o, OPTION, f"/{i}", "message")
        ]
        if not ack.ok or len(options) > 100 or problems:
            self.notices.append("No results could be loaded")
            raise state.ClientRefusalError(f"the suggestions cannot be shown: {ack} {problems}")
        choices = tuple(Choice(look_text(o), "", o) for o in options)
        self._found[(control.block_id, control.action_id)] = choices
        return [choice.label for choice in choices]

    async def slash(self, command: str, text: str, channel: str) -> Message:
        """Type a slash command, and read the answer in its acknowledgement, which may be for this person alone.

        Raises:
            ClientRefusalError: no app offers the command, or it failed.
        """
        if "commands" not in self.slack.scopes:
            raise state.ClientRefusalError(f"{command} is not a valid command")
        payload = self.slack.interactivity.command(self.user, command, text.strip(), channel)
        ack = await self.slack.way.send("slash_commands", payload)
        body = ack.body or {}
        if not ack.ok or not body.get("text") or check_message(body, update=True):
            raise state.ClientRefusalError(f"{command} failed: {ack}")
        private = body.get("response_type", "ephemeral") == "ephemeral"
        answer = Message(
            channel, self.slack.workspace.next_ts(), BOT_USER, body["text"],
            self.slack.workspace.fill_ids(body.get("blocks") or []), bot=True,
            ephemeral_to=self.id if private else None,
        )  # fmt: skip
        self.slack.workspace.put(answer)
        self.slack.changed()
        return answer

    # modals

    async def submit(self, values: dict[str, object] | None = None) -> Ack:
        """Fill in the fields of the top modal by their labels and press its submit button.

        Raises:
            ClientRefusalError: when Slack's client would not send it.
        """
        view = self._top()
        if not view.body.get("submit"):
            raise state.ClientRefusalError("this modal has no submit button")
        for field, value in (values or {}).items():
            await self.fill(view, field, value)
        blocks = {b["block_id"] for b in view.body["blocks"] if b["type"] == "input"}
        inputs = tuple(c for c in look(view).controls if c.block_id in blocks)
        state.refuse_submit(inputs, view.values)
        view.errors = {}
        ack = await self.slack.interact(self.slack.interactivity.submission(self.user, view))
        if not ack.ok:
            self.notices.append(_TROUBLE)
            return ack
        return self._submitted(view, ack, blocks)

    async def close_modal(self) -> Ack | None:
        """Press ✕, which closes the whole stack; the app is notified if a view asked for it."""
        stack = self.slack.workspace.stacks.pop(self.id, [])
        return await self._closed(stack[0], cleared=True) if stack else None

    async def cancel_modal(self) -> Ack | None:
        """Press Cancel, which closes the top view."""
        view = self._top()
        self.slack.workspace.stacks[self.id].remove(view)
        return await self._closed(view, cleared=False)

    def view_shown(self, view: View) -> None:
        """Show an updated view; what was entered under the same ids stays."""
        view.values = state.initial_values(look(view).controls, view.values)

    # typing

    async def post(
        self, channel: str, text: str, *, thread: str | None = None, broadcast: bool = False,
        files: list[Json] | None = None, escape: bool = True,
    ) -> Message:  # fmt: skip
        """Type a message; markup characters are escaped as in Slack."""
        room = self.slack.workspace.channels[channel]
        if self.id not in room.members or room.archived:
            raise state.ClientRefusalError(f"{self.id} cannot write in {channel}")
        if escape:
            text = escape_typed(text)
        subtype = "thread_broadcast" if broadcast else "file_share" if files else None
        message = Message(
            channel, self.slack.workspace.next_ts(), self.id, text, thread_ts=thread,
            subtype=subtype, client_msg_id=self.slack.workspace.next_id("client-"),
            files=files or [],
        )  # fmt: skip
        self.slack.workspace.put(message)
        self.slack.changed()
        methods_chat.announce(self.slack, message)
        if f"<@{BOT_USER}>" in text and BOT_USER in room.members:
            event = methods_chat.message_event(self.slack, message)
            event = {k: v for k, v in event.items() if k not in ("channel_type", "subtype")}
            self.slack.emit(event | {"type": "app_mention"})
        return message

    async def type_in_thread(self, parent: Message, text: str) -> Message:
        """Reply in the thread of a message."""
        return await self.post(parent.channel, text, thread=parent.thread_ts or parent.ts)

    async def type_dm(self, text: str, *, thread: str | None = None) -> Message:
        """Write to the bot directly."""
        return await self.post(self.slack.workspace.direct(self.id).id, text, thread=thread)

    async def mention_bot(self, channel: str, text: str, *, thread: str | None = None) -> Message:
        """Write a message that begins with a mention of the bot."""
        mentioning = f"<@{BOT_USER}> {escape_typed(text)}"
        return await self.post(channel, mentioning, thread=thread, escape=False)

    async def edit(self, message: Message, text: str) -> None:
        """Edit one's own message."""
        if message.user != self.id:
            raise state.ClientRefusalError("only the author can edit a message")
        methods_chat.revise(self.slack, message, text, [])

    async def delete(self, message: Message) -> None:
        """Delete a message (people may delete their own, admins any)."""
        methods_chat.remove(self.slack, message)

    # how it is done

    def _look_up(self, message: Message) -> None:
        if message.deleted or message not in self.messages(message.channel):
            raise state.ClientRefusalError("this message is not on the person's screen")

    def _current(self, target: Message | Snapshot | View) -> Snapshot | View:
        if isinstance(target, Message):
            self._look_up(target)
            return target.snapshot()
        if isinstance(target, View) and target is not self.modal:
            raise state.ClientRefusalError("this modal is not on top of the person's screen")
        return target

    def _named(self, shown: Target, name: str, kinds: tuple[str, ...] = ()) -> Control:
        try:
            return look(shown).control(name, kinds)
        except LookupError as error:
            raise state.ClientRefusalError(str(error)) from None

    def _only(self, shown: Target, kinds: tuple[str, ...]) -> Control:
        fits = [c for c in look(shown).controls if c.kind in kinds]
        if len(fits) != 1:
            raise state.ClientRefusalError(f"{len(fits)} controls of {kinds}: say which one")
        return fits[0]

    def _with_option(self, shown: Target, option: str, select: str | None) -> Control:
        if select is not None:
            return self._named(shown, select)
        kinds = ("static_select", "radio_buttons", "overflow", "external_select")
        for control in look(shown).controls:
            found = self._found.get((control.block_id, control.action_id), ())
            labels = [choice.label for choice in (*control.choices, *found)]
            if control.kind in kinds and option in labels:
                return control
        raise state.ClientRefusalError(
            f"nothing here offers {option!r}: {look(shown).visible_text}"
        )

    async def _press(self, shown: Snapshot | View, name: str, *, confirm: bool) -> Ack | None:
        control = self._named(shown, name, ("button",))
        if control.dialog is not None and not confirm:
            return None
        action: Json = {"type": "button", "text": control.element["text"]}
        for key in ("value", "url", "style"):
            if key in control.element:
                action[key] = control.element[key]
        return await self._act(shown, control, action)

    async def _enter(self, shown: Snapshot | View, control: Control, entry: Json) -> Ack | None:
        values = self._values(shown)
        if control.kind != "overflow":
            values.setdefault(control.block_id, {})[control.action_id] = entry
        return await self._act(shown, control, dict(entry)) if control.sends else None

    def _values(self, shown: Snapshot | View) -> state.Values:
        if isinstance(shown, View):
            return shown.values
        key = (shown.channel, shown.payload["ts"])
        kept = self._drafts.get(key, {})
        self._drafts[key] = state.initial_values(look(shown).controls, kept)
        return self._drafts[key]

    async def _act(self, shown: Snapshot | View, control: Control, action: Json) -> Ack:
        action |= {
            "action_id": control.action_id, "block_id": control.block_id,
            "action_ts": self.slack.workspace.next_ts(),
        }  # fmt: skip
        hand = self.slack.interactivity
        if isinstance(shown, View):
            payload = hand.view_actions(self.user, shown, action)
        else:
            payload = hand.message_actions(self.user, shown, action, self._values(shown))
        ack = await self.slack.interact(payload)
        if not ack.ok:
            self.notices.append(_TROUBLE)
        return ack

    def _top(self) -> View:
        if self.modal is None:
            raise state.ClientRefusalError("no modal is open")
        return self.modal

    async def _closed(self, view: View, *, cleared: bool) -> Ack | None:
        self.slack.changed()
        if not view.body.get("notify_on_close"):
            return None
        payload = self.slack.interactivity.closed(self.user, view, cleared=cleared)
        return await self.slack.interact(payload)

    def _submitted(self, view: View, ack: Ack, inputs: set[str]) -> Ack:
        try:
            self._respond(view, ack.body or {}, inputs)
        except ApiError as error:
            self.notices.append(_TROUBLE)
            return Ack(False, ack.status, ack.body, ack.seconds, f"{error.code} {error.extra}")
        self.slack.changed()
        return ack

    def _respond(self, view: View, body: Json, inputs: set[str]) -> None:
        """Apply the acknowledgement of a submission: errors, update, push, clear, or close."""
        stack = self.slack.workspace.stacks.get(self.id, [])
        match body.get("response_action"):
            case "errors":
                view.errors = {str(k): str(v) for k, v in body["errors"].items()}
                if not view.errors or not view.errors.keys() <= inputs:
                    raise ApiError("errors must name the block_ids of inputs")
            case "update":
                methods_views.change(self.slack, view, methods_views.judged(body))
            case "push":
                if len(stack) >= VIEW_STACK:
                    raise ApiError("push_limit_reached")
                methods_views.add(self.slack, self.id, methods_views.judged(body), view)
            case "clear":
                stack.clear()
            case None:
                if view in stack:
                    stack.remove(view)
            case other:
                raise ApiError(f"unknown response_action {other}")


def look_text(option: Json) -> str:
    """An option's label as people read it."""
    return str(option["text"]["text"])


_KEYS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def escape_typed(text: str) -> str:
    """A typed text as Slack sends it: markup characters are escaped, and emoji have names."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for digit, name in enumerate(_KEYS):
        text = text.replace(f"{digit}\ufe0f\u20e3", f":{name}:")
    return text.replace("\U0001f51f", ":keycap_ten:")
