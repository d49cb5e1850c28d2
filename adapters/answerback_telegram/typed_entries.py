"""Ask for what has to be typed, one input after the other, in messages that people reply to.

What a request is for is stored under the id of its message, and what was typed so far next to the ask: nothing is lost
by a restart. A request whose sending had an unknown outcome is unknown; the person presses the button again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from pydantic import JsonValue

from answerback.core.actions import Other
from answerback.core.ask import Ask
from answerback.core.errors import PlatformError, Problem
from answerback.core.intents import RequestedAction
from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.surface import Actor, Asks
from answerback.presentation import form_values
from answerback.presentation.form_inputs import Input
from answerback.presentation.form_spec import Entry as FormEntry
from answerback.presentation.form_spec import FormSpec, plan_form
from answerback.presentation.option_controls import is_several, selection_digest
from answerback_chat import message_texts
from answerback_chat.control_codec import Control, decode
from answerback_chat.selection_drafts import with_seen_selection
from answerback_client.backoff import Backoff
from answerback_telegram import form_inputs
from answerback_telegram.helper_messages import HelperMessages
from answerback_telegram.option_controls import FORM_LIMITS, SELECTION_LIMITS
from answerback_telegram.parse import KEEP, SURFACE, Click, Entry
from answerback_telegram.people_text import MARKUP
from answerback_telegram.render import compose

Effect: TypeAlias = Callable[[], Awaitable[object]]
Read: TypeAlias = tuple[RequestedAction | None, tuple[Effect, ...]]

TRIES: Final = 6
"""How often a new request is looked for: within a few seconds it is stored."""
_SENDING: Final = ""
"""Stored for a request that is being sent: what is typed at once after it has to wait for its id."""


@dataclass(frozen=True, eq=False)
class TypedEntries:
    """The requests to type, and what was typed in reply."""

    asks: Asks
    helpers: HelperMessages
    labels: Labels

    async def find(self, message: str, *, is_new: bool = False) -> Entry | None:
        """Return what a message of ours asks for; None if it is no such request.

        Args:
            is_new: whether it may have been sent only just now, so that what it asks for may not be stored yet.
        """
        key = _request_key(message)
        stored = await (self._stored(key, None) if is_new else self.asks.draft(key))
        match stored:
            case {"control": str(text), "page": int(page), "digest": str(digest)}:
                control = decode(text)
                return None if control is None else Entry(control, page, digest)
            case _:
                return None

    async def awaited(self, chat: str, actor: Actor) -> str | None:
        """Return the message of ours that asked this person last for something to be typed here, if it still does."""
        sent = await self._stored(_awaited_key(chat, actor), _SENDING)
        return sent if isinstance(sent, str) and await self.find(sent) else None

    async def _stored(self, key: str, before: str | None) -> JsonValue:
        """Return what is stored under a key, which for a moment may still be what was there before."""
        stored, backoff = await self.asks.draft(key), Backoff(0.05, 1.0)
        for _ in range(TRIES):
            if stored != before:
                break
            await backoff.wait()
            stored = await self.asks.draft(key)
        return stored

    def plan(self, view: View, control: Control, selected: Sequence[int]) -> FormSpec | None:
        """Return the form that a control opens now; None if it opens none."""
        entry, several = control.entry, is_several(view.prompt)
        limits = SELECTION_LIMITS if several and entry is FormEntry.NOTE else FORM_LIMITS
        chosen = selected if several else None
        return plan_form(view, entry, self.labels, limits, chosen) if entry else None

    async def ask_for(
        self,
        click: Click,
        ask: Ask,
        view: View,
        spec: FormSpec,
        page: int,
        selected: Sequence[int],
        names: Mapping[str, str] | None = None,
    ) -> None:
        """Send the request for one input; ``names`` are those of people who can be chosen by their ids."""
        control = click.control._replace(argument="")
        live = str((ask.message or {}).get("id", ""))
        message = form_inputs.render_request(
            click, view, spec, spec.inputs[page], self.labels, names or {}
        )
        awaited = _awaited_key(click.place.chat, click.actor)
        await self.asks.save_draft(awaited, _SENDING)
        try:
            sent = await self.helpers.send(click.place, message, live)
        except PlatformError:
            await self.asks.save_draft(awaited, None)  # what is typed now waits for nothing
            raise
        digest = selection_digest(selected)
        request: JsonValue = {"control": control.encode(), "page": page, "digest": digest}
        await self.asks.save_draft(_request_key(sent), request)
        await self.asks.save_draft(awaited, sent)

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
        values = await self._values(click) | {each.id: _entered(click, each)}
        if not spec.inputs[0].is_typed:
            values |= {spec.inputs[0].id: [*selected]}
        following = entry.page + 1
        if following < len(spec.inputs):
            problems = form_values.page_problems(spec, 1, entry.page, _decoded(values))
            if problems:
                return None, (lambda: self._tell(click, problems),)
            await self.asks.save_draft(_values_key(click), values)
            return None, (
                lambda: self.ask_for(click, ask, view, spec, following, selected),
                lambda: self.helpers.delete(click.message),
            )
        action: RequestedAction | tuple[Problem, ...] = form_values.read_form(
            spec, _decoded(values), view.prompt
        )
        if isinstance(action, Other) and view.prompt and is_several(view.prompt):
            changed = self.labels.selection_changed.format(submit=self.labels.submit)
            action = with_seen_selection(
                action, view.prompt, tuple(selected), entry.digest, changed
            )
        if isinstance(action, tuple):
            return None, self._problems(click, ask, view, spec, action, selected, entry.page)
        return action, ()

    def _problems(
        self,
        click: Click,
        ask: Ask,
        view: View,
        spec: FormSpec,
        problems: tuple[Problem, ...],
        selected: Sequence[int],
        entered: int,
    ) -> tuple[Effect, ...]:
        """Say what is wrong; the request for the input with the first problem comes again if it was another one."""
        tell: Effect = lambda: self._tell(click, problems)  # noqa: E731
        position = spec.position_of(problems[0].pointer.removeprefix("/value"))
        page = next((i for i, each in enumerate(spec.inputs) if each.position == position), 0)
        if page == entered:
            return (tell,)
        return (tell, lambda: self.ask_for(click, ask, view, spec, page, selected))

    async def forget(self, click: Click) -> None:
        """Drop what this person was asked for, and what they have typed: it was taken, or is not wanted any more."""
        awaited = _awaited_key(click.place.chat, click.actor)
        for key in (_values_key(click), _request_key(click.message), awaited):
            if await self.asks.draft(key) is not None:
                await self.asks.save_draft(key, None)

    async def _values(self, click: Click) -> dict[str, JsonValue]:
        stored = await self.asks.draft(_values_key(click))
        return dict(stored) if isinstance(stored, dict) else {}

    async def _tell(self, click: Click, problems: Sequence[Problem]) -> None:
        """Say what is wrong with an entry."""
        text = message_texts.problems_text(problems, self.labels, MARKUP)
        await self.helpers.send(click.place, compose([text], []), click.typed or click.message)


def _entered(click: Click, each: Input) -> str:
    if click.typed is None and click.control.argument == KEEP:
        return each.start if isinstance(each.start, str) else ""
    return click.text


def _request_key(message: str) -> str:
    return f"{SURFACE}:request:{message}"


def _awaited_key(chat: str, actor: Actor) -> str:
    return f"{SURFACE}:awaited:{chat}:{actor.person.user_id}"


def _decoded(values: dict[str, JsonValue]) -> dict[str, str | bool | list[int] | None]:
    return {name: _decode(value) for name, value in values.items()}


def _decode(value: JsonValue) -> str | list[int] | None:
    if isinstance(value, list):
        return [each for each in value if isinstance(each, int)]
    return value if isinstance(value, str) else None


def _values_key(click: Click) -> str:
    ask_id, revision, verb, _ = click.control
    return f"{ask_id}:{revision}:{verb}:{click.actor.person.user_id}"
