"""Ask for what has to be typed, one input after the other, in messages that people reply to.

What a request is for is stored under the id of its message, and what was typed so far next to the ask: nothing is lost
by a restart. A request whose sending had an unknown outcome is unknown; the person presses the button again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from pydantic import JsonValue

from answerback.core.actions import Other
from answerback.core.ask import Ask
from answerback.core.errors import Problem
from answerback.core.intents import RequestedAction
from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.surface import Actor, Asks
from answerback.presentation import form_values
from answerback.presentation.form_inputs import Input
from answerback.presentation.form_spec import Entry as FormEntry
from answerback.presentation.form_spec import FormSpec, plan_form
from answerback.presentation.option_controls import is_several, selection_digest
from answerback.presentation.sanitize import visible
from answerback.presentation.text_fitting import shorten as cut
from answerback_chat.control_codec import Control, Verb, decode
from answerback_chat.selection_drafts import with_seen_selection
from answerback_client.backoff import Backoff
from answerback_telegram import keyboards, option_controls
from answerback_telegram.helper_messages import HelperMessages
from answerback_telegram.html_text import escape, preformatted, shorten
from answerback_telegram.keyboards import Json, button
from answerback_telegram.parse import Click, Entry, Place
from answerback_telegram.people_text import Names, mention
from answerback_telegram.private_notes import problems_text
from answerback_telegram.render import NO_NAMES, compose

Effect = Callable[[], Awaitable[object]]
Read = tuple[RequestedAction | None, tuple[Effect, ...]]

_TRIES: Final = 6
"""How often a new request is looked for: within a few seconds it is stored."""
_SENDING: Final = ""
"""Stored for a request that is being sent: what is typed at once after it has to wait for its id."""
_START_BUDGET: Final = 2_000
_MESSAGES: Final = frozenset({FormEntry.REPLY, FormEntry.OBJECT, FormEntry.TRY_AGAIN})
"""Entries of a message to the agent, with a text or without."""
_TEXT_BUDGET: Final = 900
_CHOICES: Final = 30
"""Choices that a request lists; more are read with "Show in full"."""


class TypedEntries:
    """The requests to type, and what was typed in reply."""

    def __init__(self, asks: Asks, helpers: HelperMessages, labels: Labels) -> None:
        self._asks = asks
        self._helpers = helpers
        self._labels = labels

    async def find(self, message: str, *, is_new: bool = False) -> Entry | None:
        """Return what a message of ours asks for; None if it is no such request.

        Args:
            is_new: whether it was sent only just now, so that it may not be stored yet.
        """
        key = _request_key(message)
        stored = await (self._stored(key, None) if is_new else self._asks.draft(key))
        match stored:
            case {"control": str(text), "page": int(page), "digest": str(digest)}:
                control = decode(text)
                return None if control is None else Entry(control, page, digest)
            case _:
                return None

    async def awaited(self, place: Place, actor: Actor) -> str | None:
        """Return the message of ours that asked this person last for something to be typed here, if it still does."""
        sent = await self._stored(_awaited_key(place, actor), _SENDING)
        return sent if isinstance(sent, str) and await self.find(sent) else None

    async def _stored(self, key: str, before: str | None) -> JsonValue:
        """Return what is stored under a key, which for a moment may still be what was there before."""
        stored, backoff = await self._asks.draft(key), Backoff(0.05, 1.0)
        for _ in range(_TRIES):
            if stored != before:
                break
            await backoff.wait()
            stored = await self._asks.draft(key)
        return stored

    def plan(self, view: View, control: Control, selected: Sequence[int]) -> FormSpec | None:
        """Return the form that a control opens now; None if it opens none."""
        if control.entry is None:
            return None
        several = is_several(view.prompt)
        ticked = several and control.entry is FormEntry.NOTE
        form_limits = option_controls.SELECTION_LIMITS if ticked else option_controls.FORM_LIMITS
        return plan_form(
            view, control.entry, self._labels, form_limits, selected if several else None
        )

    async def ask_for(
        self,
        click: Click,
        ask: Ask,
        view: View,
        spec: FormSpec,
        page: int,
        selected: Sequence[int],
        names: Names = NO_NAMES,
    ) -> None:
        """Send the request for one input; ``names`` are those of people who can be chosen by their ids."""
        control = click.control._replace(argument="")
        live = str((ask.message or {}).get("id", ""))
        payload = self._render(click, view, spec, spec.inputs[page], names)
        awaited = _awaited_key(click.place, click.actor)
        await self._asks.save_draft(awaited, _SENDING)
        sent = await self._helpers.send(click.place, payload, live)
        if sent is not None:
            digest = selection_digest(selected)
            request: JsonValue = {"control": control.encode(), "page": page, "digest": digest}
            await self._asks.save_draft(_request_key(sent), request)
            await self._asks.save_draft(awaited, sent)

    def first_page(self, spec: FormSpec) -> int:
        """Return the first input that is typed: what was ticked before is not asked for again."""
        return next((i for i, each in enumerate(spec.inputs) if each.is_typed), 0)

    async def read(self, click: Click, ask: Ask, view: View, selected: Sequence[int]) -> Read:
        """Return the action that was entered, or what follows: the next request, or what is wrong."""
        entry = click.entry
        spec = self.plan(view, click.control, selected)
        if entry is None or spec is None or entry.page >= len(spec.inputs):
            return None, ()
        each = spec.inputs[entry.page]
        values = await self._values(click) | {each.id: self._entered(click, each)}
        if not spec.inputs[0].is_typed:
            values |= {spec.inputs[0].id: [*selected]}
        following = entry.page + 1
        if following < len(spec.inputs):
            problems = form_values.page_problems(spec, 1, entry.page, _decoded(values))
            if problems:
                return None, (lambda: self._tell(click, problems),)
            await self._asks.save_draft(_values_key(click), values)
            return None, (
                lambda: self.ask_for(click, ask, view, spec, following, selected),
                lambda: self._helpers.delete(click.message),
            )
        action: RequestedAction | tuple[Problem, ...] = form_values.read_form(
            spec, _decoded(values), view.prompt
        )
        if isinstance(action, Other) and view.prompt and is_several(view.prompt):
            changed = self._labels.selection_changed.format(submit=self._labels.submit)
            action = with_seen_selection(
                action, view.prompt, tuple(selected), entry.digest, changed
            )
        if isinstance(action, tuple):
            return None, await self._problems(click, ask, view, spec, action, selected)
        return action, ()

    async def _problems(
        self,
        click: Click,
        ask: Ask,
        view: View,
        spec: FormSpec,
        problems: tuple[Problem, ...],
        selected: Sequence[int],
    ) -> tuple[Effect, ...]:
        """Say what is wrong; the request for the input with the first problem comes again if it was another one."""
        tell: Effect = lambda: self._tell(click, problems)  # noqa: E731
        position = spec.position_of(problems[0].pointer.removeprefix("/value"))
        page = next((i for i, each in enumerate(spec.inputs) if each.position == position), 0)
        if click.entry is None or page == click.entry.page:
            return (tell,)
        return (tell, lambda: self.ask_for(click, ask, view, spec, page, selected))

    async def forget(self, click: Click) -> None:
        """Drop what this person was asked for, and what they have typed: it was taken, or is not wanted any more."""
        awaited = _awaited_key(click.place, click.actor)
        for key in (_values_key(click), _request_key(click.message), awaited):
            if await self._asks.draft(key) is not None:
                await self._asks.save_draft(key, None)

    async def _tell(self, click: Click, problems: Sequence[Problem]) -> None:
        text = compose([problems_text(problems, self._labels)], [])
        await self._helpers.send(click.place, text, click.typed or click.message)

    async def _values(self, click: Click) -> dict[str, JsonValue]:
        stored = await self._asks.draft(_values_key(click))
        return dict(stored) if isinstance(stored, dict) else {}

    @staticmethod
    def _entered(click: Click, each: Input) -> str:
        if click.typed is None and click.control.argument == keyboards.KEEP:
            return each.start if isinstance(each.start, str) else ""
        return click.text

    def _render(self, click: Click, view: View, spec: FormSpec, each: Input, names: Names) -> Json:
        who = (
            mention(click.actor.person.user_id, click.actor.person.name or "")
            if click.place.is_group
            else ""
        )
        start = each.start if isinstance(each.start, str) else ""
        number = f" {each.position + 1}/{len(spec.inputs)}" if len(spec.inputs) > 1 else ""
        title = each.label if spec.fields or spec.entry is FormEntry.NOTE else spec.title
        above = " ".join(filter(None, (who, shorten(f"{title}{number}", 200, "b")[0])))
        parts = [
            above,
            shorten(spec.question, _TEXT_BUDGET // 2)[0] if not spec.fields else "",
            shorten("\n".join(filter(None, (spec.selection, spec.about))), _TEXT_BUDGET)[0],
            shorten(each.hint, _TEXT_BUDGET, "i")[0],
            "\n".join(
                escape(f"{i}. {names.get(c.label, c.label)}")
                for i, c in enumerate(each.choices[:_CHOICES], 1)
            ),
            preformatted(cut(visible(start), _START_BUDGET)) if start else "",
        ]
        payload = compose(parts, self._rows(view, spec, each, start))
        if not payload["reply_markup"]["inline_keyboard"]:  # type: ignore[index,call-overload] # our own
            forced: Json = {"force_reply": True, "selective": True}
            payload["reply_markup"] = forced
        return payload

    def _rows(self, view: View, spec: FormSpec, each: Input, start: str) -> list[keyboards.Row]:
        """The buttons for what cannot be typed: nothing at all, and what the input starts with."""
        labels = self._labels
        verb = Verb(spec.entry.value)
        if spec.entry is FormEntry.TEXT or (
            spec.entry not in _MESSAGES and each.required and not start
        ):
            return []
        buttons = []
        if start and spec.entry not in _MESSAGES:
            buttons.append(button(view, f"{labels.continue_}: {start}", verb, keyboards.KEEP))
        if not each.required:
            word = labels.send if spec.entry in _MESSAGES else labels.continue_
            buttons.append(button(view, f"{word} {labels.none_chosen}", verb, keyboards.EMPTY))
        return [*keyboards.rows(buttons), [button(view, labels.cancel, verb, keyboards.CLOSE)]]


def _decoded(values: dict[str, JsonValue]) -> dict[str, str | bool | list[int] | None]:
    return {name: _decode(value) for name, value in values.items()}


def _decode(value: JsonValue) -> str | list[int] | None:
    if isinstance(value, list):
        return [each for each in value if isinstance(each, int)]
    return value if isinstance(value, str) else None


def _request_key(message: str) -> str:
    return f"telegram:request:{message}"


def _awaited_key(place: Place, actor: Actor) -> str:
    return f"telegram:awaited:{place.chat}:{actor.person.user_id}"


def _values_key(click: Click) -> str:
    ask_id, revision, verb, _ = click.control
    return f"{ask_id}:{revision}:{verb}:{click.actor.person.user_id}"
