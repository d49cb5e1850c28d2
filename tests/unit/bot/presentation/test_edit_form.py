"""The form of a call that people change before they allow it: an input for each argument, or one for all of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from answerback.core.ask import Ask
from answerback.core.edited_call import EditableCall
from answerback.core.editing import AllowEdited
from answerback.core.errors import Problem
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.presentation.form_inputs import FormLimits
from answerback.presentation.form_spec import Entry, FormSpec, plan_form
from answerback.presentation.form_values import read_form
from tests.unit.bot.dialect_support import ask_from_call

LABELS = Labels()
INPUT = '{"command": "ls", "timeout": 1.50, "flags": ["-l"]}'


def editable(arguments: str = INPUT) -> Ask:
    ask = ask_from_call(
        "PermissionRequest", {"tool_name": "Bash", "tool_input": json.loads(arguments)}
    )
    call = EditableCall(question_id="decision", arguments=arguments)
    request = ask.request.model_copy(update={"editable": (call,)})
    return replace(ask, request=request, placement=replace(ask.placement, responders=("ann",)))


def form(ask: Ask, limits: FormLimits = FormLimits()) -> FormSpec:  # noqa: B008 - it never changes
    spec = plan_form(view_of(ask), Entry.EDIT_CALL, LABELS, limits)
    assert spec is not None
    return spec


def read(ask: Ask, spec: FormSpec, *texts: str) -> AllowEdited | tuple[Problem, ...]:
    values = {each.id: text for each, text in zip(spec.inputs, texts, strict=True)}
    found = read_form(spec, values, view_of(ask).prompt)
    assert isinstance(found, AllowEdited | tuple)
    return found


@pytest.mark.rule("EDIT-9", "EDIT-4")
@pytest.mark.parametrize(
    ("texts", "edited"),
    [
        (("ls", "1.50", '["-l"]'), INPUT),
        (("ls \n", " 1.50", '["-l"]'), INPUT),
        (('ls "a"', "1.50", '["-l"]'), INPUT.replace('"ls"', '"ls \\"a\\""')),
        (("ls", "2", '["-l"]'), INPUT.replace("1.50", "2")),
        (("ls", "", '["-l"]'), INPUT.replace('"timeout": 1.50, ', "")),
        (("", "1.50", '["-l"]'), INPUT.replace('"ls"', '""')),
    ],
)
def test_each_argument_is_edited_on_its_own(texts: tuple[str, ...], edited: str) -> None:
    ask = editable()
    spec = form(ask)
    assert [(each.label, each.start) for each in spec.inputs] == [
        ("command", "ls"),
        ("timeout", "1.50"),
        ("flags", '["-l"]'),
    ]
    assert read(ask, spec, *texts) == AllowEdited(value="allow", edited=edited)


@pytest.mark.rule("EDIT-9")
@pytest.mark.parametrize("text", ["[1", "1, 2", '1, "command": "rm"', "NaN", '{"a":1,"a":2}'])
def test_what_is_no_json_is_refused_at_its_argument(text: str) -> None:
    ask = editable()
    problems = read(ask, form(ask), "ls", text, '["-l"]')
    assert isinstance(problems, tuple)
    [problem] = problems
    assert (problem.pointer, problem.code) == ("/timeout", "wrong_type")


@pytest.mark.rule("EDIT-9")
def test_what_no_form_holds_is_edited_as_json() -> None:
    ask = editable()
    spec = form(ask, FormLimits(fields=2))
    [whole] = spec.inputs
    assert (whole.label, whole.start) == (LABELS.edit_json, INPUT)
    assert read(ask, spec, "{}") == AllowEdited(value="allow", edited="{}")
    assert form(editable("{}")).inputs[0].start == "{}"


@pytest.mark.rule("EDIT-9", "SURFACE-8")
def test_a_text_that_is_too_long_to_edit_stays_as_it_is() -> None:
    ask = editable(json.dumps({"command": "x" * 50}))
    spec = form(ask, FormLimits(fields=0, editable=20))
    assert read(ask, spec, "") == AllowEdited(
        value="allow", edited=ask.request.editable[0].arguments
    )


def test_there_is_no_form_where_nothing_can_be_changed() -> None:
    ask = ask_from_call("PermissionRequest", {"tool_name": "Bash", "tool_input": {"command": "ls"}})
    assert plan_form(view_of(ask), Entry.EDIT_CALL, LABELS, FormLimits()) is None
