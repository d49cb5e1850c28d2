"""Choices that people tick at the same moment, with clicks that arrive at two processes: nothing is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from answerback.core.actions import Answer
from answerback.core.files import AttachedFile
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.ports.surface import Actor
from answerback.presentation.form_inputs import NO_LIMITS
from answerback.service.service import Service
from answerback_chat.control_codec import Control, Verb
from answerback_chat.interactions import no_fence
from answerback_chat.selection_drafts import SelectionDrafts
from answerback_chat.ticked_inbox import TickedInbox, ticked_digest
from answerback_chat.typed_entries import Entry, Read, TypedEntries
from answerback_discord.control_inputs import FormDraft
from answerback_discord.parse import Interaction, InteractionType
from tests.service_support import FakeSurface, actor, ask_user
from tests.surface_setups import open_store

ROWS: Final = range(8)
OPTIONS: Final[list[Any]] = [f"o{n}" for n in ROWS]


@dataclass(frozen=True)
class Click:
    """A click on a control of an inbox."""

    control: Control
    actor: Actor = field(default_factory=actor)
    wanted: None = None
    is_read_only: bool = False
    delivery: str = "d"
    at: None = None
    place_id: None = None
    message: str = "m"
    chat: str = "c"
    thread: None = None
    entry: Entry | None = None
    text: str = ""
    typed: str | None = "t"
    files: tuple[AttachedFile, ...] = ()


class Typed(TypedEntries[Click]):
    """Typed entries in a chat in which nothing is sent."""

    surface = "chat"
    limits = note_limits = NO_LIMITS

    async def _send(self, click: Click, *_: object) -> str:
        raise AssertionError

    async def _tell(self, click: Click, problems: object) -> None:
        raise AssertionError

    async def _delete(self, message: str) -> None:
        raise AssertionError


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with open_store(tmp_path / "asks.db") as (store, _claim, clock):
        yield Service(store, clock, {"chat": FakeSurface()}, known_surfaces=frozenset({"chat"}))


@pytest.mark.rule("DATA-20")
async def test_each_of_several_options_that_are_toggled_at_once_counts(service: Service) -> None:
    question: dict[str, Any] = {"id": "q", "text": "Which?", "answer_type": "multi_select"}
    ask = (await service.submit(ask_user(question | {"options": OPTIONS}))).ask
    prompt = view_of(ask, Labels()).prompt
    assert prompt is not None
    here, there = SelectionDrafts(service), SelectionDrafts(service)

    def toggle(n: int) -> Any:
        return (here, there)[n % 2].change(ask, prompt, lambda selected: selected ^ {n})

    await asyncio.gather(*map(toggle, ROWS))
    assert await here.load(ask) == tuple(ROWS)


@pytest.mark.rule("DATA-20")
async def test_each_of_several_pages_of_a_form_that_are_submitted_at_once_counts(
    service: Service,
) -> None:
    def page(n: int) -> FormDraft:
        control = Control("ask_1", 1, Verb.FILL, str(n))
        inputs: dict[str, Any] = {f"field_{n}": f"entered {n}"}
        kind, used = InteractionType.MODAL_SUBMIT, (None, None, False, (), (), False)
        return FormDraft(service, Interaction("i", kind, actor(), control, *used, inputs))

    await asyncio.gather(*(page(n).keep() for n in ROWS))
    assert await page(0).of() == {f"field_{n}": f"entered {n}" for n in ROWS}


@pytest.mark.rule("DATA-20")
async def test_each_of_several_fields_that_are_typed_at_once_counts(service: Service) -> None:
    fields = {f"f{n}": {"type": "string"} for n in ROWS}
    question: dict[str, Any] = {"id": "q", "text": "Who?", "answer_type": "schema"}
    schema = {"type": "object", "properties": fields, "required": [*fields]}
    ask = (await service.submit(ask_user(question | {"schema": schema}))).ask
    view, control = view_of(ask, Labels()), Control(ask.id, ask.revision, Verb.FILL, "")
    here, there = Typed(service, Labels()), Typed(service, Labels())

    def entry(n: int) -> Click:
        return Click(control, entry=Entry(control, n), text=f"typed {n}")

    first = [(here, there)[n % 2].read(entry(n), ask, view, ()) for n in ROWS[:-1]]
    await asyncio.gather(*first)
    read = await here.read(entry(ROWS[-1]), ask, view, ())
    assert read == Read(Answer(value={f"f{n}": f"typed {n}" for n in ROWS}))


@pytest.mark.rule("DATA-20")
async def test_each_of_several_rows_of_an_inbox_that_are_ticked_at_once_counts(
    service: Service,
) -> None:
    def inbox() -> TickedInbox:
        return TickedInbox("chat", service, Labels(), lambda _ask: True, no_fence)

    here, there = inbox(), inbox()
    ticks = [Click(Control(f"ask_{n}", 1, Verb.TICK, "")) for n in ROWS]
    await asyncio.gather(*((here, there)[n % 2].use(ticks[n]) for n in ROWS))
    shown, _note = await here.use(Click(Control("ask_0", 1, Verb.TICK, "")))
    assert {*shown.ticked} == {f"ask_{n}:1" for n in ROWS[1:]}
    denied = Click(Control("", 0, Verb.DENY_SEVERAL, ticked_digest(shown.ticked)))
    decided, _note = await there.use(denied)
    assert decided.ticked == ()
