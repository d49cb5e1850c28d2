"""Free text in a multi-select: the modal says whether the selection is submitted with the text or replaced by it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from answerback.core.ask import Ask
from answerback.core.labels import Labels
from answerback.dialects import registry
from answerback.service.submission_request import Submission
from tests import matrix
from tests.unit.adapters.discord.rig import MODES, Mode, Rig, rig

LABELS = Labels()
OPTIONS = [{"label": label, "description": f"about {label}"} for label in ("A", "B", "C")]


pytest_generate_tests = matrix.in_one_of(MODES, "up")


@pytest.fixture
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    mode: Mode = request.param
    async with rig(tmp_path, mode) as made:
        yield made


async def submit_ask(up: Rig, name: str, count: int = 3) -> Ask:
    options = OPTIONS if count == 3 else [{"label": f"o{n}"} for n in range(count)]
    question = {"question": "Which?", "header": "h", "options": options, "multiSelect": True}
    body = {
        "name": name,
        "arguments": {"questions": [question]},
        "to": f"discord:{up.channel.id}",
        "responders": "anyone",
    }
    submitted = await up.service.submit(Submission.model_validate(body))
    return await up.shown(submitted.ask)


async def result(up: Rig, ask: Ask) -> Any:
    found = registry.render_result(await up.shown(ask))
    assert found is not None
    return found.structured


def intro(up: Rig) -> str:
    """The text above the inputs of the open modal."""
    assert up.ann.modal is not None
    return str(up.ann.modal.data["components"][0]["content"])


async def write(up: Rig, text: str) -> Any:
    up.ann.fill(LABELS.other_label, text)
    return await up.ann.submit()


async def test_the_modal_names_the_selection_and_submits_it_with_the_text(up: Rig) -> None:
    ask = await submit_ask(up, "ask_user")
    await up.ann.choose(None, ["A", "B"])
    await up.ann.click(LABELS.other)
    assert LABELS.other_with.format(count=2, text="A · B") in intro(up)
    assert (await write(up, "Zig")).answered
    assert await result(up, ask) == {"answers": [["A", "B", "Zig"]]}


async def test_a_selection_on_several_pages_is_submitted_with_the_text(up: Rig) -> None:
    ask = await submit_ask(up, "ask_user", 60)
    await up.ann.choose(None, ["o1"])
    await up.ann.click("Next")
    await up.ann.choose(None, ["o30"])
    await up.ann.click(LABELS.other)
    assert "o1 · o30" in intro(up)
    assert (await write(up, "Zig")).answered
    assert await result(up, ask) == {"answers": [["o1", "o30", "Zig"]]}


async def test_the_modal_says_so_if_the_text_replaces_the_selection(up: Rig) -> None:
    ask = await submit_ask(up, "AskUserQuestion")
    await up.ann.choose(None, ["A", "B"])
    await up.ann.click(LABELS.other)
    assert LABELS.other_replaces in intro(up)
    assert (await write(up, "Zig")).answered
    assert (await result(up, ask))["answers"] == {"Which?": "Zig"}


async def test_the_modal_does_not_mention_an_empty_selection(up: Rig) -> None:
    await submit_ask(up, "AskUserQuestion")
    await up.ann.click(LABELS.other)
    assert intro(up) == "Which?"


async def test_a_selection_that_changed_while_the_modal_was_open_is_not_submitted_and_the_text_is_kept(
    up: Rig,
) -> None:
    ask = await submit_ask(up, "ask_user")
    bob = up.discord.person("bob", up.guild)
    await up.ann.choose(None, ["A"])
    await up.ann.click(LABELS.other)
    await bob.choose(None, ["A", "B", "C"], on=up.ann.latest(up.channel).message)
    assert (await write(up, "Zig")).answered
    assert (await up.shown(ask)).open
    note = up.ann.notes()[0]
    assert LABELS.selection_changed.format(submit=LABELS.answer) in note.text
    await up.ann.click(LABELS.answer, on=note.message)
    assert "A · B · C" in intro(up)
    assert up.ann.modal is not None
    assert up.ann.modal.field(LABELS.other_label).value == "Zig"
    assert (await up.ann.submit()).answered
    assert await result(up, ask) == {"answers": [["A", "B", "C", "Zig"]]}
