"""The SQLite store's cache of recent asks, and the format in which it stores an ask."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer, Edit
from answerback.core.ask import Change, Reason, Status, Thread, apply_action, end_ask
from answerback.core.form import Form, When
from answerback.core.walker import start
from answerback.ports.message_state import record_shown
from answerback.ports.surface import Shown
from answerback_storage import rows
from answerback_storage.sqlite.change_batches import RecentAskCache
from answerback_testing.example_asks import new_ask, with_values
from answerback_testing.store_examples import ANN


def test_an_ask_is_cached_in_its_latest_state_until_it_ends() -> None:
    recent, ask = RecentAskCache(), new_ask()
    recent.add(ask)
    moved = apply_action(ask, Answer(value=True), at=2.0, by=ANN)
    assert isinstance(moved, Change)
    recent.update(moved.ask)
    assert recent.get_cached({ask.id, "ask_0"}) == {ask.id: moved.ask}
    recent.update(end_ask(moved.ask, Status.WITHDRAWN, at=3.0, reason=Reason.WITHDRAWN).ask)
    assert recent.get_cached({ask.id}) == {}
    recent.update(ask)
    assert recent.get_cached({ask.id}) == {}, "what was not read is not kept"


@pytest.mark.rule("DATA-8", "DATA-10")
def test_the_cache_is_limited_by_the_total_size_of_forms() -> None:
    asks = [replace(new_ask(), id=f"ask_{n}") for n in range(3)]
    size = sum(len(q.text) + len(q.context or "") for q in asks[0].form.questions)
    size += 100 * sum(len(q.options) + 1 for q in asks[0].form.questions)
    recent = RecentAskCache(2 * size)
    recent.add(asks[0])
    recent.add(asks[1])
    recent.update(asks[0])
    recent.add(asks[2])
    assert recent.get_cached({ask.id for ask in asks}).keys() == {"ask_0", "ask_2"}, (
        "the last to change"
    )
    small = RecentAskCache(size - 1)
    small.add(asks[0])
    assert small.get_cached({"ask_0"}) == {}
    recent.clear()
    recent.add(asks[1])
    recent.add(asks[2])
    assert recent.get_cached({ask.id for ask in asks}).keys() == {"ask_1", "ask_2"}, (
        "nothing is counted"
    )


def test_the_state_omits_defaults() -> None:
    change = apply_action(new_ask(), Answer(value=True), at=2.0, by=ANN)
    assert isinstance(change, Change)
    state = json.loads(rows.dump_state(change.ask))
    (given,) = state["walk"]["answers"]
    assert given.keys() == {"question_id", "value", "by", "at"}
    assert "outcome" not in state


def test_each_answer_is_stored_wherever_it_is_in_the_walk() -> None:
    boolean = new_ask().form.questions[0]
    gated = boolean.model_copy(
        update={"id": "why", "when": When(question_id=boolean.id, equals=True)}
    )
    form = Form(questions=(boolean, gated), review=True)
    ask = replace(new_ask(), request=new_ask().request.model_copy(update={"form": form}))
    ask = replace(ask, walk=start(form))
    for action in (
        Answer(value=True),
        Answer(value=False),
        Edit(question_id=boolean.id),
        Answer(value=False),
        Edit(question_id=boolean.id),
    ):
        change = apply_action(ask, action, at=2.0, by=ANN)
        assert isinstance(change, Change)
        ask = change.ask
        again = rows.ask_from_row(
            (1, ask.id, ask.revision, 0, None, None, rows.dump_state(ask)), ask.request
        )
        assert again == ask
    walk = ask.walk
    assert walk.editing
    assert walk.kept


def test_recording_what_an_edit_shows_is_a_plain_step() -> None:
    message: dict[str, JsonValue] = {"channel": "C1", "ts": "1.0"}
    ask = with_values(new_ask(), message=message, thread=Thread(channel="C1", id="1.0"), revision=2)
    shown = Shown(2, dict(message), Thread(channel="C1", id="1.0"))
    after = record_shown(shown, ask, ask).result
    assert after is not None
    assert after.placement.shown_revision == 2
    assert rows.is_step(ask, after)
    shown = Shown(2, {"channel": "C1", "ts": "2.0"}, Thread())
    elsewhere = record_shown(shown, ask, ask).result
    assert elsewhere is not None
    assert (elsewhere.placement.message, elsewhere.placement.thread) == (
        {"channel": "C1", "ts": "2.0"},
        None,
    )
    assert not rows.is_step(ask, elsewhere)
