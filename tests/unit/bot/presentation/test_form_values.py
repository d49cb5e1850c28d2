"""Input in a form as an action, or as problems: typed choices, notes, pages, and texts that are left out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer, Other
from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.handing_over import HandOver
from answerback.core.labels import ENGLISH
from answerback.core.schema_field_values import FieldEntry
from answerback.core.view import view_of
from answerback.core.walker import GivenAnswer
from answerback.presentation.form_inputs import NO_LIMITS, FormLimits
from answerback.presentation.form_spec import Entry, FormSpec, plan_form
from answerback.presentation.form_values import page_problems, read_form, with_selection
from tests.unit.adapters.discord.examples import ask_of

FEW = FormLimits(menu=2, text=10)
COLOURS = ("Red", "Dark red", "Blue")
SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {
        "one": {"enum": [*COLOURS], "title": "One"},
        "some": {"type": "array", "items": {"enum": [*COLOURS]}, "title": "Some"},
        "sure": {"type": "boolean", "title": "Sure"},
    },
    "required": ["one", "sure"],
}


def form_ask() -> Ask:
    question = Question(id="q", text="Q?", answer_type=AnswerType.SCHEMA, json_schema=SCHEMA)
    return ask_of(Form(questions=(question,)))


def note_ask(answer_type: AnswerType = AnswerType.SELECT) -> Ask:
    options = tuple(Option(value=each.lower(), label=each) for each in COLOURS)
    question = Question(id="q", text="Q?", answer_type=answer_type, options=options, notes=True)
    return ask_of(Form(questions=(question,)))


def planned(ask: Ask, entry: Entry, limits: FormLimits) -> FormSpec:
    spec = plan_form(view_of(ask), entry, ENGLISH, limits)
    assert spec is not None
    return spec


@pytest.mark.parametrize(
    ("one", "some", "value"),
    [
        ("2", "1\n3. Blue\n", {"one": "Dark red", "some": ["Red", "Blue"], "sure": True}),
        (" dark  RED ", "", {"one": "Dark red", "sure": True}),
    ],
)
def test_choices_of_more_than_a_menu_holds_are_typed(
    one: str, some: str, value: dict[str, object]
) -> None:
    spec = planned(form_ask(), Entry.SCHEMA, FEW)
    assert spec.is_cut
    assert read_form(spec, {"0": one, "1": some, "2": [0]}, None) == Answer(value=value)  # type: ignore[arg-type]


def test_every_problem_is_reported_once_at_its_field() -> None:
    spec = planned(form_ask(), Entry.SCHEMA, FEW)
    found = read_form(spec, {"0": "4", "1": "Green"}, None)
    assert isinstance(found, tuple)
    assert sorted(problem.pointer for problem in found) == ["/one", "/some", "/sure"]
    assert [spec.position_of(problem.pointer) for problem in found] == [0, 1, 2]
    entered: dict[str, FieldEntry] = {"0": "1", "1": "Green"}
    assert page_problems(spec, 1, 0, entered) == ()
    assert [p.pointer for p in page_problems(spec, 1, 1, entered)] == ["/some"]
    assert page_problems(spec, 1, 2, {**entered, "1": "", "2": [1]}) == ()


def test_a_typed_choice_with_a_note() -> None:
    ask = note_ask()
    prompt = view_of(ask).prompt
    spec = planned(ask, Entry.NOTE, FEW)
    assert read_form(spec, {"0": "3", "1": "why"}, prompt) == Answer(value="blue", note="why")
    assert isinstance(read_form(spec, {"0": "Green"}, prompt), tuple)
    assert plan_form(view_of(note_ask(AnswerType.MULTI_SELECT)), Entry.NOTE, ENGLISH, FEW) is None


def test_a_form_without_its_texts_keeps_its_choices() -> None:
    spec = planned(note_ask(AnswerType.MULTI_SELECT), Entry.NOTE, NO_LIMITS)
    assert [each.id for each in spec.without_texts(ENGLISH).inputs] == ["0", "1"]
    text = Question(
        id="q", text="Q?", answer_type=AnswerType.TEXT, default="x" * 25, has_default=True
    )
    spec = planned(ask_of(Form(questions=(text,))), Entry.TEXT, FEW)
    assert [each.start for each in spec.inputs] == ["x" * 10, "x" * 10, "x" * 5]
    emptied = spec.without_texts(ENGLISH)
    assert [(each.id, each.start) for each in emptied.inputs] == [("0", "")]
    assert read_form(emptied, {"0": ""}, None) == Answer(value="x" * 25)
    assert read_form(emptied, {"0": "y"}, None) == Answer(value="y")


def test_a_view_without_a_question_asks_only_for_a_reply() -> None:
    view = view_of(form_ask())._replace(prompt=None)
    offered = [entry for entry in Entry if plan_form(view, entry, ENGLISH, NO_LIMITS)]
    assert offered == [Entry.REPLY]


@pytest.mark.rule("SURFACE-20")
@pytest.mark.parametrize(
    ("approval", "plan", "title", "hint"),
    [
        (False, False, "Reply", "gets your message instead of answers."),
        (True, False, "Deny with a message", "is told no, with your message."),
        (True, True, "Keep planning, with a message", "keeps planning, and reads your message."),
    ],
)
def test_the_form_of_a_reply_says_what_it_does(
    approval: bool, plan: bool, title: str, hint: str
) -> None:
    view = view_of(form_ask())._replace(approval=approval, plan=plan)
    spec = plan_form(view, Entry.REPLY, ENGLISH, NO_LIMITS)
    assert spec is not None
    assert spec.title == title
    assert spec.inputs[0].hint.endswith(hint)


@pytest.mark.rule("HANDOVER-7")
@pytest.mark.parametrize(
    ("typed", "to"), [("2", "U2"), (" u1 ", "U1"), ("U9", "U9"), ("9", "9"), ("", "")]
)
def test_a_person_is_named_by_number_or_by_id(typed: str, to: str) -> None:
    ask = form_ask()
    request = ask.request.model_copy(update={"allowed_recipients": ("U1", "@leads", "U2")})
    spec = planned(replace(ask, request=request), Entry.HAND_OVER, NO_LIMITS)
    assert [choice.label for choice in spec.inputs[0].choices] == ["U1", "U2"]
    assert read_form(spec, {"0": typed}, None) == HandOver(to=to)


def test_nobody_is_named_where_an_ask_cannot_be_handed_over() -> None:
    assert plan_form(view_of(form_ask()), Entry.HAND_OVER, ENGLISH, NO_LIMITS) is None


def test_a_text_beside_the_options_is_removed_by_leaving_it_blank() -> None:
    options = tuple(Option(value=each, label=each) for each in COLOURS)
    several = Question(
        id="q",
        text="Q?",
        answer_type=AnswerType.MULTI_SELECT,
        options=options,
        other=True,
        other_beside=True,
    )
    again = GivenAnswer(question_id="q", value=["Red", "mauve"], other=True)
    ask = ask_of(Form(questions=(several,)))
    prompt = view_of(replace(ask, walk=replace(ask.walk, again=again))).prompt
    assert prompt is not None
    assert with_selection(Other(text=" "), prompt, ["Blue"]) == Answer(value=["Blue"])
    assert with_selection(Other(text="x"), prompt, ["Blue"]) == Other(text="x", value=["Blue"])
