"""A selection that was not submitted yet survives asking back and the agent's explanation."""

from __future__ import annotations

import pytest

from answerback.core.ask import Ask
from tests.unit.adapters.slack.rig import LABELS, Rig

OPTIONS = ["Back up the table", "Run the smoke tests", "Tell the on-call team"]
WHICH = {"id": "checks", "text": "Which checks?", "answer_type": "multi_select", "options": OPTIONS}
QUESTION = LABELS.ask_back_label.format(label="the assistant")


async def asked_back(up: Rig, ask: Ask) -> Ask:
    await up.ada.click(up.live(ask), LABELS.ask_back)
    await up.ada.sees_modal()
    assert (await up.ada.submit({QUESTION: "How long do they take?"})).ok
    return await up.shown(ask)


@pytest.mark.rule("CLARIFY-3")
async def test_a_selection_survives_asking_back_and_the_explanation(up: Rig) -> None:
    ask = await up.submit(WHICH, accepts=["clarify"])
    await up.ada.check(up.live(ask), OPTIONS[1:])
    ask = await asked_back(up, ask)
    assert ask.revision == 2
    await up.app.service.explain(ask.id, "A minute each.")
    ask = await up.shown(ask)
    assert "A minute each." in up.ada.sees(up.live(ask)).text
    await up.ada.click(up.live(ask), LABELS.submit)
    [given] = (await up.shown(ask)).walk.answers
    assert given.value == OPTIONS[1:]


@pytest.mark.rule("CLARIFY-3")
async def test_a_question_that_is_asked_again_starts_without_the_old_selection(up: Rig) -> None:
    first = {"id": "go", "text": "Go?", "answer_type": "boolean"}
    ask = await up.submit(first, WHICH, accepts=["clarify"])
    await up.ada.click(up.live(ask), LABELS.yes)
    ask = await up.shown(ask)
    await up.ada.check(up.live(ask), OPTIONS)
    ask = await asked_back(up, ask)
    await up.ada.click(up.live(ask), LABELS.back)
    ask = await up.shown(ask)
    await up.ada.click(up.live(ask), LABELS.yes)
    ask = await up.shown(ask)
    await up.ada.click(up.live(ask), LABELS.submit)
    given = (await up.shown(ask)).walk.answers[-1]
    assert given.value == []
