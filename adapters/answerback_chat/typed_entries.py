"""Ask for what has to be typed, one input after the other, in messages that people reply to: for chats without forms.

What a request is for is stored under the id of its message, and what was typed so far next to the ask, with the ids of
the files that came with it: nothing is lost by a restart. A request whose sending had an unknown outcome is unknown;
the person presses the button again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from pydantic import JsonValue

from answerback.core.actions import Other
from answerback.core.ask import Ask
from answerback.core.confirmer_copies import copy_at
from answerback.core.errors import PlatformError, Problem, ProblemError
from answerback.core.files import AttachedFile
from answerback.core.intents import RequestedAction, WithFiles
from answerback.core.labels import Labels
from answerback.core.view import View
from answerback.ports.surface import Actor, Asks
from answerback.presentation import form_values
from answerback.presentation.form_inputs import FormLimits, Input
from answerback.presentation.form_spec import Entry as FormEntry
from answerback.presentation.form_spec import FormSpec, plan_form, selected_options
from answerback.presentation.option_controls import is_several, selection_digest
from answerback_base.backoff import Backoff
from answerback_chat.control_codec import Control, decode, list_of, object_of
from answerback_chat.interactions import MessageInteraction
from answerback_chat.selection_drafts import check_selection, with_selected
from answerback_chat.typed_messages import dealt_with_key

Effect: TypeAlias = Callable[[], Awaitable[object]]


class Read(NamedTuple):
    """The action that an entry completes, or what follows it."""

    action: RequestedAction | None
    """The action that was entered, with all files; None: something else follows, or the entry leads to nothing."""
    after: tuple[Effect, ...] = ()
    is_kept: bool = False
    """True if the entry is kept, with its files, for the action that a later input completes."""


KEEP: Final = "keep"
"""The argument of a control that answers with what an input starts with."""
TRIES: Final = 6
"""Times that a new request is looked for: within a few seconds it is stored."""
_BESIDE_SELECTION: Final = frozenset({FormEntry.OTHER, FormEntry.NOTE})
"""Entries that are sent together with what is ticked."""
_FILES: Final = "files"
"""The key, beside what was typed, of the ids of the files that came with it, by the id of the input."""
_SENDING: Final = ""
"""Stored for a request that is being sent: what is typed at once after it has to wait for its id."""


class Entry(NamedTuple):
    """An entry that a person is asked to type: through which control, for which of its inputs, and what was chosen
    then."""

    control: Control
    page: int = 0
    digest: str = ""
    after: str = ""
    """The delivery of the entry after which it was asked for, if that was typed for an earlier input."""


class Entering(MessageInteraction, Protocol):
    """The use of a button that asks for an entry, or an entry that was typed."""

    @property
    def chat(self) -> str: ...

    @property
    def thread(self) -> str | None:
        """The thread or topic of the chat, if it has any."""

    @property
    def entry(self) -> Entry | None:
        """The entry that was asked for, if this is one."""

    @property
    def text(self) -> str: ...

    @property
    def typed(self) -> str | None:
        """The id of the message that was typed; None for a button."""

    @property
    def files(self) -> Sequence[AttachedFile]:
        """The files that came with the text."""


C = TypeVar("C", bound=Entering)


class TypedEntries(ABC, Generic[C]):
    """The requests to type, and what was typed in reply."""

    surface: ClassVar[str]
    limits: ClassVar[FormLimits]
    note_limits: ClassVar[FormLimits]
    """The limits for a note on several options, which have been ticked before."""

    def __init__(self, asks: Asks, labels: Labels) -> None:
        self._asks = asks
        self._labels = labels

    @abstractmethod
    async def _send(
        self, click: C, live: str, view: View, spec: FormSpec, each: Input, names: Mapping[str, str]
    ) -> str:
        """Send the request for one input, below the live message; return the id of its message.

        Raises:
            PlatformError: it was not sent, as far as is known.
        """

    @abstractmethod
    async def _tell(self, click: C, problems: Sequence[Problem]) -> None:
        """Say what is wrong with an entry."""

    @abstractmethod
    async def _delete(self, message: str) -> None:
        """Delete a message that asked for something."""

    async def find(self, message: str, *, is_new: bool = False) -> Entry | None:
        """Return what a message of ours asks for; None if it does not ask for anything.

        Args:
            is_new: whether it may have been sent only just now, so that what it asks for may not be stored yet.
        """
        key = self._request_key(message)
        stored = await (self._stored(key, None) if is_new else self._asks.draft(key))
        match stored:
            case {"control": str(text), "page": int(page), "digest": str(digest), **more}:
                control = decode(text)
                after = str(more.get("after", ""))
                return None if control is None else Entry(control, page, digest, after)
            case _:
                return None

    async def awaited(self, chat: str, thread: str | None, actor: Actor) -> str | None:
        """Return the message of ours that asked this person last for something to be typed here, if it still does."""
        sent = await self._stored(self._awaited_key(chat, thread, actor), _SENDING)
        return sent if isinstance(sent, str) and await self.find(sent) else None

    async def _stored(self, key: str, before: str | None) -> JsonValue:
        """Return what is stored under a key, which for a moment may still be what was there before."""
        stored, backoff = await self._asks.draft(key), Backoff(0.05, 1.0)
        for _ in range(TRIES):
            if stored != before:
                break
            await backoff.wait()
            stored = await self._asks.draft(key)
        return stored

    def plan(self, view: View, control: Control, selected: Sequence[int]) -> FormSpec | None:
        """Return the form that a control opens now; None if it opens none."""
        entry, several = control.entry, is_several(view.prompt)
        limits = self.note_limits if several and entry is FormEntry.NOTE else self.limits
        chosen = selected if several else None
        spec = plan_form(view, entry, self._labels, limits, chosen) if entry else None
        if spec is None or spec.entry is not FormEntry.NOTE or not (chosen and view.prompt):
            return spec
        # The request that is typed to has no menu that would show them.
        ticked = selected_options(view.prompt.question, chosen, self._labels)
        return replace(spec, selection=ticked)

    async def ask_for(
        self,
        click: C,
        ask: Ask,
        view: View,
        spec: FormSpec,
        page: int,
        selected: Sequence[int],
        names: Mapping[str, str] | None = None,
    ) -> None:
        """Send the request for one input; ``names`` are those of people who can be chosen by their ids."""
        control = click.control._replace(argument="")
        here = copy_at(ask, "channel", click.chat) or ask
        live = str((here.placement.message or {}).get("id", ""))
        awaited = self._awaited_key(click.chat, click.thread, click.actor)
        await self._asks.save_draft(awaited, _SENDING)
        try:
            sent = await self._send(click, live, view, spec, spec.inputs[page], names or {})
        except PlatformError:
            # Nothing waits for the text that is typed now.
            await self._asks.save_draft(awaited, None)
            raise
        digest = selection_digest(selected)
        request: dict[str, JsonValue] = {"control": control.encode(), "page": page}
        request |= {"digest": digest, "after": click.delivery}
        await self._asks.save_draft(self._request_key(sent), request, ask.id)
        await self._asks.save_draft(awaited, sent, ask.id)

    def first_page(self, spec: FormSpec) -> int:
        """Return the first input that is typed: what was ticked before is not asked for again."""
        return next((i for i, each in enumerate(spec.inputs) if each.is_typed), 0)

    async def read(self, click: C, ask: Ask, view: View, selected: Sequence[int]) -> Read:
        """Return the action that was entered, or what follows: the next request, or what is wrong."""
        entry = click.entry
        spec = self.plan(view, click.control, selected)
        if entry is None or spec is None or entry.page >= len(spec.inputs):
            return Read(None)
        if spec.entry in _BESIDE_SELECTION and is_several(view.prompt):
            changed = self._labels.selection_changed.format(submit=spec.title)
            if unseen := check_selection(tuple(selected), entry.digest, changed):
                return Read(None, (lambda: self._tell(click, unseen),))
        if click.typed is not None and not (click.text.strip() or click.files):
            missing = Problem(pointer="", code="text_missing", message=self._labels.text_missing)
            return Read(None, (lambda: self._tell(click, [missing]),))
        return await self._read_input(click, ask, view, spec, entry, selected)

    async def _read_input(
        self, click: C, ask: Ask, view: View, spec: FormSpec, entry: Entry, selected: Sequence[int]
    ) -> Read:
        """Keep what was entered in an input, or with the last one return the action."""
        each = spec.inputs[entry.page]
        entered: dict[str, JsonValue] = {each.id: self._entered(click, each)}
        if not spec.inputs[0].is_typed:
            entered[spec.inputs[0].id] = [*selected]
        draft = object_of(await self._asks.draft(_values_key(click)))
        kept = object_of(draft.get(_FILES))
        values = _decoded({key: value for key, value in draft.items() if key != _FILES} | entered)
        following = entry.page + 1
        if following < len(spec.inputs):
            problems = form_values.page_problems(spec, 1, entry.page, values)
            if problems:
                return Read(None, (lambda: self._tell(click, problems),))
            await self._keep(click, each, entered)
            after = (
                lambda: self.ask_for(click, ask, view, spec, following, selected),
                lambda: self._delete(click.message),
            )
            return Read(None, after, is_kept=True)
        action: RequestedAction | tuple[Problem, ...] = form_values.read_form(
            spec, values, view.prompt
        )
        if isinstance(action, Other) and view.prompt and is_several(view.prompt):
            action = with_selected(action, view.prompt, tuple(selected))
        if isinstance(action, tuple):
            said = self._problems(click, ask, view, spec, action, selected, entry.page)
            return Read(None, said)
        earlier = [name for each in spec.inputs[: entry.page] for name in _ids(kept.get(each.id))]
        return await self._with_files(click, ask, action, earlier)

    async def _with_files(
        self, click: C, ask: Ask, action: RequestedAction, earlier: Sequence[str]
    ) -> Read:
        """Return an action with the files of the last input, and those of the earlier ones, by their ids.

        These are kept for as long as any upload that nothing claims: if one is gone, that is said.
        """
        if not isinstance(action, WithFiles):
            return Read(action)
        found: Sequence[AttachedFile] = ()
        if earlier:
            try:
                found = await self._asks.people_files.find(earlier, click.actor.person, ask.id)
            except ProblemError as error:
                gone = tuple(error.problems)
                await self._forget_files(click)
                return Read(None, (lambda: self._tell(click, gone),))
        return Read(replace(action, files=(*found, *click.files)))

    async def _keep(self, click: C, each: Input, entered: dict[str, JsonValue]) -> None:
        """Store what was entered in an input that is not the last, and the ids of its files, until the last one is
        entered. Those of an earlier entry are deleted."""
        before: list[str] = []
        new: list[JsonValue] = [file.id for file in click.files]

        def keep(draft: JsonValue) -> JsonValue:
            values = object_of(draft)
            files = object_of(values.get(_FILES))
            before[:] = _ids(files.get(each.id))
            kept = files | {each.id: new} if new or before else files
            return values | entered | ({_FILES: kept} if kept else {})

        await self._asks.change_draft(_values_key(click), keep)
        if click.typed is not None:  # if it comes again, it is no answer to the ask either
            await self._asks.save_draft(dealt_with_key(click.delivery), value=True)
        await self._drop(file_id for file_id in before if file_id not in new)

    async def _forget_files(self, click: C) -> None:
        """Delete the files that are kept, and keep what was typed."""
        kept: list[str] = []

        def forget(draft: JsonValue) -> JsonValue:
            values = object_of(draft)
            kept[:] = _ids_of(values)
            return {key: value for key, value in values.items() if key != _FILES} or None

        await self._asks.change_draft(_values_key(click), forget)
        await self._drop(kept)

    async def _drop(self, file_ids: Iterable[str]) -> None:
        """Delete files, unless an ask has claimed them."""
        for file_id in file_ids:
            await self._asks.people_files.drop(file_id)

    def _problems(
        self,
        click: C,
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

    async def forget(self, click: C) -> None:
        """Drop what this person was asked for, and what they have typed: it was taken, or is not wanted any more.

        Files that came with it are deleted, unless an ask has them.
        """
        awaited = self._awaited_key(click.chat, click.thread, click.actor)
        for key in (_values_key(click), self._request_key(click.message), awaited):
            if (draft := await self._asks.draft(key)) is not None:
                await self._asks.save_draft(key, None)
                if key == _values_key(click):
                    await self._drop(_ids_of(object_of(draft)))

    @staticmethod
    def _entered(click: C, each: Input) -> str:
        if click.typed is None and click.control.argument == KEEP:
            return each.start if isinstance(each.start, str) else ""
        return click.text

    def _request_key(self, message: str) -> str:
        return f"{self.surface}:request:{message}"

    def _awaited_key(self, chat: str, thread: str | None, actor: Actor) -> str:
        """Return the key of a person's last request at a place; without a thread, as earlier versions stored it."""
        place = chat if thread is None else f"{chat}:{thread}"
        return f"{self.surface}:awaited:{place}:{actor.person.user_id}"


def _ids(stored: JsonValue) -> list[str]:
    """Return the ids of the files of an input."""
    return [str(each) for each in list_of(stored)]


def _ids_of(values: Mapping[str, JsonValue]) -> Iterator[str]:
    """Yield the ids of the files that came with what was typed."""
    for each in object_of(values.get(_FILES)).values():
        yield from _ids(each)


def _decoded(values: dict[str, JsonValue]) -> dict[str, str | bool | list[int] | None]:
    return {name: _decode(value) for name, value in values.items()}


def _decode(value: JsonValue) -> str | list[int] | None:
    if isinstance(value, list):
        return [each for each in value if isinstance(each, int)]
    return value if isinstance(value, str) else None


def _values_key(click: Entering) -> str:
    ask_id, revision, verb, _ = click.control
    return f"{ask_id}:{revision}:{verb}:{click.actor.person.user_id}"
