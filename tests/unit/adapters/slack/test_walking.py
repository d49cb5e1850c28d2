"""A person answers in Slack, in both modes: with clicks, menus, modals and messages; and how the message changes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from answerback.core.ask import Status
from answerback.core.view import view_of
from tests import matrix
from tests.unit.adapters.slack.rig import LABELS, MODES, Rig, rig

APPLY = {"id": "apply", "text": "Apply the migration?", "answer_type": "boolean"}
ENV = {
    "id": "env",
    "text": "Which environment?",
    "answer_type": "select",
    "options": ["staging", "production"],
}
NOTE = {"id": "note", "text": "A note for the log?", "answer_type": "text"}


pytest_generate_tests = matrix.in_one_of(MODES, "up")


@pytest.fixture
async def up(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    async with rig(tmp_path, request.param) as made:
        yield made


@pytest.mark.rule("CARE-4")
async def test_back_shows_the_old_answer_highlighted_and_end_turn_asks_first(up: Rig) -> None:
    ask = await up.submit(APPLY, ENV)
    await up.ada.click(up.live(ask), LABELS.yes)
    ask = await up.shown(ask)
    await up.ada.click(up.live(ask), LABELS.back)
    ask = await up.shown(ask)
    yes = up.ada.sees(up.live(ask)).control(LABELS.yes)
    assert yes.style == "primary"
    assert await up.ada.click(up.live(ask), LABELS.end_turn, confirm=False) is None
    assert (await up.shown(ask)).open
    await up.ada.click(up.live(ask), LABELS.end_turn)
    ask = await up.shown(ask)
    assert ask.status is Status.TURN_ENDED
    assert "Turn ended by ada" in up.ada.sees(up.live(ask)).text


@pytest.mark.rule("SLACK-2")
async def test_a_choice_in_a_menu_of_many_options_is_submitted_with_submit(up: Rig) -> None:
    options = [f"region-{n}" for n in range(150)]
    ask = await up.submit({**ENV, "options": options})
    await up.ada.click(up.live(ask), LABELS.submit)
    assert "Nothing is chosen yet" in (await up.wait_for_notes(up.ada))[0]
    await up.ada.choose(up.live(ask), "region-149")
    await up.ada.click(up.live(ask), LABELS.submit)
    ask = await up.shown(ask)
    assert ask.walk.answers[0].value == "region-149"


@pytest.mark.rule("SLACK-3")
async def test_a_thousand_long_options_are_chosen_from_in_a_modal(up: Rig) -> None:
    options = [f"{n} " + "long " * 12 for n in range(1000)]
    ask = await up.submit({**ENV, "answer_type": "multi_select", "options": options})
    await up.ada.click(up.live(ask), LABELS.choose)
    view = await up.ada.sees_modal()
    menus = up.ada.sees(view).controls
    assert len(menus) == 10
    labels = [menus[9].choices[99].label, menus[9].choices[0].label]
    await up.ada.check(view, labels, menus[9].label)
    await up.ada.check(view, [menus[0].choices[3].label], menus[0].label)
    assert (await up.ada.submit()).ok
    ask = await up.shown(ask)
    assert ask.walk.answers[0].value == [options[3], options[900], options[999]]


@pytest.mark.rule("SLACK-3")
async def test_checkboxes_start_with_the_default_and_may_be_left_empty(up: Rig) -> None:
    ask = await up.submit(
        {**ENV, "answer_type": "multi_select", "options": ["a", "b", "c"], "default": ["a", "c"]}
    )
    [boxes] = [c for c in up.ada.sees(up.live(ask)).controls if c.kind == "checkboxes"]
    assert [o["value"] for o in boxes.element["initial_options"]] == ["0", "2"]
    await up.ada.check(up.live(ask), [])
    await up.ada.click(up.live(ask), LABELS.submit)
    assert (await up.shown(ask)).walk.answers[0].value == []


async def test_something_else_rejects_blank_text_and_keeps_what_was_typed(up: Rig) -> None:
    arguments = {
        "questions": [{"question": "Which one?", "options": [{"label": "A"}, {"label": "B"}]}]
    }
    ask = await up.submit(arguments=arguments)
    await up.ada.click(up.live(ask), LABELS.other)
    await up.ada.sees_modal()
    refused = await up.ada.submit({LABELS.other_label: "   "})
    assert refused.body is not None
    assert refused.body["response_action"] == "errors"
    assert up.ada.modal is not None
    await up.ada.submit({LABELS.other_label: "Neither"})
    ask = await up.shown(ask)
    assert ask.walk.answers[0].other
    assert "Neither" in up.ada.sees(up.live(ask)).text


PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "title": "Name"},
        "mail": {"type": "string", "format": "email"},
        "age": {"type": "integer", "minimum": 18, "maximum": 99},
        "team": {"enum": ["red", "blue"]},
        "tags": {"type": "array", "items": {"enum": ["x", "y", "z"]}, "minItems": 1},
        "start": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "agree": {"type": "boolean"},
    },
    "required": ["name", "tags", "agree", "at"],
}
FORM = {"id": "p", "text": "Who?", "answer_type": "schema", "schema": PERSON}


@pytest.mark.rule("SURFACE-7")
async def test_a_flat_schema_gets_native_inputs_with_errors_shown_at_their_fields(up: Rig) -> None:
    ask = await up.submit({**FORM, "default": {"name": "Al", "at": "2026-05-31T14:30:15+02:00"}})
    await up.ada.click(up.live(ask), LABELS.fill_in)
    view = await up.ada.sees_modal()
    kinds = [c.kind for c in up.ada.sees(view).controls]
    assert kinds == [
        "plain_text_input", "email_text_input", "number_input", "static_select", "checkboxes",
        "datepicker", "datetimepicker", "radio_buttons",
    ]  # fmt: skip
    values: dict[str, object] = {
        "Name": "Ada", "age": "36", "team": "blue", "tags": ["x", "z"], "start": "2026-06-01",
        "agree": "Yes",
    }  # fmt: skip
    assert (await up.ada.submit(values)).ok
    assert up.ada.modal is None
    assert (await up.shown(ask)).walk.answers[0].value == {
        "name": "Ada", "age": 36, "team": "blue", "tags": ["x", "z"], "start": "2026-06-01",
        "at": "2026-05-31T14:30:15+02:00", "agree": True,
    }  # fmt: skip


@pytest.mark.rule("SURFACE-7")
async def test_any_other_schema_is_answered_with_json_and_nothing_typed_is_lost(up: Rig) -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    ask = await up.submit({**FORM, "schema": schema})
    await up.ada.click(up.live(ask), LABELS.fill_in)
    view = await up.ada.sees_modal()
    for typed, why in (("[1,", "not JSON"), ('["a"]', "must be a whole number")):
        refused = await up.ada.submit({LABELS.json_label: typed})
        assert refused.body is not None
        assert why in refused.body["errors"]["text.0"]
        assert view.values["text.0"]["text"]["value"] == typed
    assert (await up.ada.submit({LABELS.json_label: "[1, 2]"})).ok
    assert (await up.shown(ask)).walk.answers[0].value == [1, 2]


async def test_a_review_of_many_answers_is_edited_with_a_menu(up: Rig) -> None:
    options = [{"value": "v", "label": "Only"}, {"value": "w", "label": "Other one"}]
    questions = [{"id": f"q{n}", "prompt": f"Question {n}?", "options": options} for n in range(17)]
    ask = await up.submit(name="question", arguments={"questions": questions})
    for _ in range(17):
        await up.ada.click(up.live(ask), "Only")
        ask = await up.shown(ask)
    assert LABELS.review_title in up.ada.sees(up.live(ask)).text
    await up.ada.choose(up.live(ask), "Question 16?")
    ask = await up.shown(ask)
    await up.ada.click(up.live(ask), "Other one")
    ask = await up.shown(ask)
    await up.ada.click(up.live(ask), LABELS.submit)
    ask = await up.shown(ask)
    assert ask.status is Status.ANSWERED
    assert ask.walk.answers[16].value == "w"


async def _read_to_the_end(up: Rig) -> str:
    """The pages of the opening modal, in order, without their page buttons."""
    read = up.ada.sees(await up.ada.sees_modal()).text
    while (view := up.ada.modal) and LABELS.next in up.ada.sees(view).buttons:
        before = view.hash
        await up.ada.click(view, LABELS.next)
        await up.slack.until(lambda v=view, b=before: v.hash != b)  # type: ignore[misc]
        read += up.ada.sees(view).text
    return re.sub(rf"\nPage \d of \d(?:{LABELS.details}\n)?", "", read)


@pytest.mark.rule("TEXT-2")
async def test_the_full_text_is_read_page_by_page(up: Rig) -> None:
    text = "".join(f"sentence {n}. " for n in range(900)) + "\n" * 7_000 + "the end"
    context = "漢" * 20_000
    ask = await up.submit({**APPLY, "text": text, "context": context})
    await up.ada.click(up.live(ask), LABELS.details)
    read = await _read_to_the_end(up)
    assert "".join(text.split()) in "".join(read.split())
    assert read.count("漢") == 20_000


@pytest.mark.rule("DIALECT-14")
async def test_a_preview_is_one_click_away(up: Rig) -> None:
    option = {"label": "A", "description": "first", "preview": "```\nlook\n```"}
    other = {"label": "B", "description": "second"}
    question = {"question": "Which?", "header": "Pick", "options": [option, other]}
    ask = await up.submit(name="AskUserQuestion", arguments={"questions": [question]})
    await up.ada.click(up.live(ask), f"{LABELS.preview}: A")
    sight = up.ada.sees(await up.ada.sees_modal())
    shown = [line for line in sight.text.split("\n") if line]
    assert shown == [LABELS.preview, "A", "look", LABELS.as_written, "```", "look", "```"]
    assert [run.text for run in sight.runs if "pre" in run.styles] == ["look"]


@pytest.mark.rule("SURFACE-30")
async def test_the_record_of_a_permission_says_what_was_done(up: Rig) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "make deploy"}}
    ask = await up.submit(name="PermissionRequest", arguments=call)
    assert ask.question is not None
    await up.ada.click(up.live(ask), ask.question.options[0].label)
    ask = await up.shown(ask)
    _, _, headline, question, *_ = up.ada.sees(up.live(ask)).texts
    assert headline == view_of(ask, LABELS).headline != question


MANY = [{"id": f"q{n}", "text": f"Number {n}?", "answer_type": "boolean"} for n in range(5)]


@pytest.mark.rule("SLACK-15")
async def test_the_answers_of_a_long_record_are_collapsed(up: Rig) -> None:
    ask = await up.submit(*MANY)
    for _ in MANY:
        await up.ada.click(up.live(ask), LABELS.yes)
        ask = await up.shown(ask)
    [folded] = [block for block in up.live(ask).blocks if block["type"] == "container"]
    assert folded["title"]["text"] == LABELS.questions_answered.format(count=5)
    assert folded["default_collapsed"]
    text = up.ada.sees(up.live(ask)).text
    assert all(f"{question['text']}\n➜ {LABELS.yes}" in text for question in MANY)


@pytest.mark.rule("SLACK-15")
async def test_a_workspace_without_container_blocks_gets_the_record_uncollapsed(up: Rig) -> None:
    for _ in range(2):
        ask = await up.submit(*MANY)
        for n, _ in enumerate(MANY, 1):
            if n == len(MANY) and up.slack.count("chat.update") < len(MANY):
                up.slack.faults.add("chat.update", times=1, error="invalid_blocks")
            await up.ada.click(up.live(ask), LABELS.yes)
            ask = await up.shown(ask)
        kinds = {block["type"] for block in up.live(ask).blocks}
        assert "container" not in kinds
        assert "section" in kinds
    edits = [call.answer or {} for call in up.slack.calls if call.method == "chat.update"]
    assert sum("error" in answer for answer in edits) == 1


async def test_a_preview_too_long_for_a_modal_is_read_page_by_page(up: Rig) -> None:
    deceiving = {"label": "B", "description": "turned", "preview": "\u202e" * 20_000}
    other = {"label": "A", "description": "first", "preview": "look"}
    question = {"question": "Which?", "header": "Pick", "options": [other, deceiving]}
    ask = await up.submit(name="AskUserQuestion", arguments={"questions": [question]})
    await up.ada.click(up.live(ask), f"{LABELS.preview}: B")
    read = await _read_to_the_end(up)
    assert (
        "".join(read.split()).count("⟨U+202E⟩") > 19_990
    )  # the boundary between two pages may split one
    assert "look" not in read
    assert up.ada.modal is not None
    before = up.ada.modal.hash
    await up.ada.click(up.ada.modal, LABELS.previous)
    await up.slack.until(lambda: up.ada.modal and up.ada.modal.hash != before)
    assert "look" not in up.ada.sees(up.ada.modal).text
    assert LABELS.next in up.ada.sees(up.ada.modal).buttons


@pytest.mark.rule("SUBMIT-10", "SURFACE-6")
async def test_a_direct_message_is_for_its_recipient(up: Rig) -> None:
    ask = await up.submit(APPLY, to=f"slack:@{up.ada.id}", responders=None)
    assert ask.placement.responders == (up.ada.id,)
    assert up.channel_of(ask) == "D0ADA"
    await up.ada.click(up.live(ask), LABELS.yes)
    assert (await up.shown(ask)).status is Status.ANSWERED


@pytest.mark.rule("SUBMIT-5")
async def test_a_question_can_be_posted_in_a_given_thread(up: Rig) -> None:
    parent = await up.bob.post("C0OPS", "Deploying now")
    ask = await up.submit(APPLY, to=f"slack:C0OPS/{parent.ts}")
    assert up.live(ask).thread_ts == parent.ts
    assert ask.placement.thread is not None
    assert ask.placement.thread.id == parent.ts
    await up.ada.click(up.live(ask), LABELS.no)
    assert (await up.shown(ask)).walk.answers[0].value is False
