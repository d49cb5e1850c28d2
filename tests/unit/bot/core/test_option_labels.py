"""Labels that look alike are told apart: from one another, from our own controls, and an approval's by their kind."""

from __future__ import annotations

import pytest

from answerback.core.actions import Answer, Other
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.labels import ENGLISH, Labels
from answerback.core.option_labels import means_other, show_options, tell_apart
from answerback.core.typed_answers import UnclearText, parse_typed_answer
from answerback.core.view import view_of
from answerback.service.ask_wire import ask_json
from tests.unit.adapters.all_surfaces import asked, case
from tests.unit.adapters.slack.asks import ask_of

pytestmark = pytest.mark.rule("TEXT-8")


def question(*names: str, other: bool = False, kind: AnswerType = AnswerType.SELECT) -> Question:
    options = tuple(
        Option(value=f"v{i}", label=name, description=f"about {i}") for i, name in enumerate(names)
    )
    return Question(id="q", text="Which?", answer_type=kind, options=options, other=other)


def shown(*names: str, other: bool = False) -> list[str]:
    return [each.label for each in show_options(question(*names, other=other), ENGLISH).options]


@pytest.mark.parametrize(
    "second",
    ["yes", "Yes ", " Yes", "Y\u200bes", "Ｙｅｓ", "Yes\u00ad", "YES", "Ye\u2060s", "Yes\u3164", "Yes\ufe0f"],
)  # fmt: skip
def test_labels_that_look_alike_are_numbered(second: str) -> None:
    assert shown("Yes", second, "No") == ["Yes (1)", f"{second} (2)", "No"]


def test_blanks_and_forms_inside_a_label_are_alike_too() -> None:
    assert shown("Go  on", "go on", "Go\u00a0on", "Goon") == [
        *("Go  on (1)", "go on (2)", "Go\u00a0on (3)", "Goon")
    ]
    assert shown("Caf\u00e9", "Cafe\u0301") == ["Caf\u00e9 (1)", "Cafe\u0301 (2)"]
    assert shown("Don’t", "Don't") == ["Don’t (1)", "Don't (2)"]


def test_a_number_is_never_one_that_another_option_has() -> None:
    assert tell_apart(["Yes", "Yes", "yes (1)"]) == ["Yes (2)", "Yes (3)", "yes (1)"]


@pytest.mark.parametrize(
    "name", ["Back", "REPLY", "end  turn", "Submit", "Show in full", "Ask for details", "Choose…"]
)
def test_a_label_like_a_control_of_ours_is_numbered(name: str) -> None:
    assert shown(name, "b") == [f"{name} (1)", "b"]
    assert shown(name, name.upper(), "b") == [f"{name} (1)", f"{name.upper()} (2)", "b"]


def test_configured_labels_count() -> None:
    labels = Labels(back="Zurück", other="Etwas anderes…")
    result = show_options(question("zurück", "Back", "etwas anderes"), labels)
    assert [each.label for each in result.options] == ["zurück (1)", "Back", "etwas anderes"]
    assert means_other("Etwas Anderes", labels)
    assert not means_other("Something else…", labels)


@pytest.mark.parametrize(
    "name",
    ["Other", "other…", "OTHER", "Something else…", "something  else", "Other:", "Ｏｔｈｅｒ"],
)
def test_an_option_that_says_something_else_is_the_control_for_it(name: str) -> None:
    result = show_options(question("a", name, "b", other=True), ENGLISH)
    assert [each.label for each in result.options] == ["a", "b"]
    assert [each.label for each in result.others] == [name]
    assert [each.label for each in result.every] == ["a", name, "b"]
    prompt = view_of(ask_of(Form(questions=(question("a", name, "b", other=True),)))).prompt
    assert prompt is not None
    assert prompt.other_label(ENGLISH) == name
    assert prompt.about_other == "about 1"


@pytest.mark.parametrize(
    ("names", "other", "expected"),
    [
        (("a", "Other"), False, ["a", "Other"]),
        (("a", "Another"), True, ["a", "Another"]),
        (("Other", "Something else…"), True, ["Other", "Something else… (1)"]),
        (("Something else…", "b"), False, ["Something else… (1)", "b"]),
    ],
    ids=["no own words", "another word", "nothing else to choose", "only like ours"],
)
def test_other_options_answer_as_they_are(
    names: tuple[str, ...], other: bool, expected: list[str]
) -> None:
    assert shown(*names, other=other) == expected


def test_typed_text_names_what_is_shown_and_an_ambiguous_label_is_not_taken() -> None:
    ask = ask_of(Form(questions=(question("Yes", "Yes ", "No", other=True),)))
    assert parse_typed_answer(ask, "Yes (2)", ENGLISH) == Answer(value="v1")
    assert parse_typed_answer(ask, "yes (1)", ENGLISH) == Answer(value="v0")
    assert parse_typed_answer(ask, "2", ENGLISH) == Answer(value="v1")
    assert isinstance(parse_typed_answer(ask, "Yes", ENGLISH), UnclearText)
    assert isinstance(parse_typed_answer(ask, "YES", ENGLISH), UnclearText)
    several = ask_of(Form(questions=(question("Yes", "Yes ", "No", kind=AnswerType.MULTI_SELECT),)))
    assert parse_typed_answer(several, "yes (2), no", ENGLISH) == Answer(value=["v1", "v2"])
    assert isinstance(parse_typed_answer(several, "yes, no", ENGLISH), UnclearText)


@pytest.mark.parametrize("text", ["Other", "something else…", " other "])
@pytest.mark.parametrize("kind", [AnswerType.SELECT, AnswerType.MULTI_SELECT])
def test_the_name_of_the_control_is_nobodys_own_words(text: str, kind: AnswerType) -> None:
    ask = ask_of(Form(questions=(question("a", "Other", "b", other=True, kind=kind),)))
    unclear = parse_typed_answer(ask, text, ENGLISH)
    assert unclear == UnclearText(ENGLISH.text_for_other.format(text=text.strip()))
    assert parse_typed_answer(ask, "another", ENGLISH) == Other(text="another")
    numbered = parse_typed_answer(ask, "2", ENGLISH)
    assert isinstance(numbered, Answer)
    assert numbered.value in ("v2", ["v2"])


def test_the_api_has_every_option_with_its_value() -> None:
    ask = ask_of(Form(questions=(question("a", "Other", "A", other=True),)))
    prompt = ask_json(ask)["prompt"]
    assert isinstance(prompt, dict)
    assert prompt["options"] == [
        {"value": "v0", "label": "a (1)", "description": "about 0"},
        {"value": "v1", "label": "Other", "description": "about 1"},
        {"value": "v2", "label": "A (2)", "description": "about 2"},
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            [("Yes", "allow_once"), ("Yes", "allow_always"), ("No", "reject_once")],
            ["Yes (allow once)", "Yes (always allow)", "No"],
        ),
        (
            [("Allow once", "allow_always"), ("Always", "allow_always"), ("No", "reject_always")],
            ["Allow once (always allow)", "Always", "No (always deny)"],
        ),
        (
            [("Yes", "allow_once"), ("yes", "allow_once")],
            ["Yes (allow once) (1)", "yes (allow once) (2)"],
        ),
        ([("Yes", "odd"), ("yes", ["odd"])], ["Yes (1)", "yes (2)"]),
    ],
    ids=["alike", "unsaid", "same kind", "unknown kind"],
)
def test_an_approvals_options_show_what_kind_they_are(
    options: list[tuple[str, object]], expected: list[str]
) -> None:
    listed = [
        {"optionId": f"o{i}", "name": name, "kind": kind} for i, (name, kind) in enumerate(options)
    ]
    arguments = {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": listed}
    ask = asked({"name": "session/request_permission", "arguments": arguments})
    prompt = view_of(ask).prompt
    assert prompt is not None
    assert [each.label for each in prompt.question.options] == expected
    assert [each.value for each in prompt.question.options] == [
        f"o{i}" for i in range(len(options))
    ]


def test_cases_are_told_apart() -> None:
    prompt = view_of(case("plain-options-that-look-alike")).prompt
    assert prompt is not None
    assert [each.label[-4:] for each in prompt.question.options] == [" (1)", " (2)"]
    assert len({each.value for each in prompt.question.options}) == 2
