"""Typed text: which action it is parsed as, and for which question it counts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from answerback.core.actions import Action, Answer, Other, Reply
from answerback.core.asides import QuestionOpening
from answerback.core.ask import Ask, Destination, Placement, Reason, Request, Status, end_ask
from answerback.core.confirmation import ConfirmationRule
from answerback.core.form import OptionKind
from answerback.core.labels import Labels
from answerback.core.typed_answers import (
    UnclearText,
    accepts_free_text,
    check_not_too_early,
    may_have_looked_open,
    parse_typed_answer,
)
from answerback.core.walker import Phase, Walk, start, step
from answerback.dialects import registry
from answerback_testing.example_asks import with_values
from tests.timing import seconds
from tests.unit.cases import read_case


def asked(name: str, arguments: dict[str, Any]) -> Ask:
    dialect, form, *_ = registry.parse_call(name, arguments)
    return Ask(
        id="ask_1",
        created_at=0,
        updated_at=0,
        request=Request(name=name, dialect=dialect, arguments=arguments, form=form),
        placement=Placement(
            destination=Destination(surface="chat", channel="C1"), responders=("anyone",)
        ),
        walk=start(form),
    )


def single(kind: str, *options: str) -> Ask:
    return asked(
        "ask_user",
        {"question": "?", "answer_type": kind, **({"options": list(options)} if options else {})},
    )


LABELLED = [{"label": label, "description": ""} for label in ("Red", "Blue")]
ONE = {"id": "a", "prompt": "?", "options": [{"value": "r", "label": "Red"}]}
SEVERAL = asked(
    "AskUserQuestion",
    {
        "questions": [
            {"question": "?", "header": "h", "options": LABELLED, "multiSelect": True},
        ]
    },
)
CLAUDE = asked(
    "AskUserQuestion", {"questions": [{"question": "?", "header": "h", "options": LABELLED}]}
)
FORM = asked("ask_user", {"questions": [{"question": "?", "options": LABELLED}]})
SCHEMA = asked(
    "ask_user",
    {
        "questions": [
            {"id": "a", "text": "?", "answer_type": "schema", "schema": {"type": "object"}}
        ]
    },
)


LABELS = Labels()
MANY = [f"Option {n}, with a comma" for n in range(1, 1001)]


@pytest.mark.rule("TYPED-2", "TYPED-3")
@pytest.mark.parametrize(
    ("ask", "text", "expected"),
    [
        (single("text"), "  any words ", Answer(value="  any words ")),
        (single("boolean"), " YES", Answer(value=True)),
        (single("boolean"), "no", Answer(value=False)),
        (single("select", "Red", "Blue"), "blue", Answer(value="Blue")),
        (single("select", "Red", "Blue"), " 2. ", Answer(value="Blue")),
        (single("select", "1", "2"), "2", Answer(value="2")),
        (single("select", "a", "A"), "A", Answer(value="A")),
        (single("select", "a", "A"), "a", Answer(value="a")),
        (single("multi_select", "Red", "Blue"), "2, red", Answer(value=["Red", "Blue"])),
        (single("multi_select", "Red, dark", "Blue"), "Red, dark", Answer(value=["Red, dark"])),
        (
            single("multi_select", "Red, dark", "Blue"),
            "blue,red,dark",
            Answer(value=["Red, dark", "Blue"]),
        ),
        (single("multi_select", "Red", "Blue"), "red, red", Answer(value=["Red"])),
        (single("multi_select", *MANY), MANY[7], Answer(value=[MANY[7]])),
        (CLAUDE, "red", Answer(value="Red")),
        (CLAUDE, "Green", Other(text="Green")),
        (CLAUDE, "8080/tcp", Other(text="8080/tcp")),
        (single("select", "1", "2"), "1", Answer(value="1")),
        (single("select", "2", "4", "8"), "8", Answer(value="8")),
        (single("select", "2", "4", "8"), "3", Answer(value="8")),
        (single("select", "½", "b"), "½", Answer(value="½")),
        (single("multi_select", "5", "Red", "Blue"), "5, red", Answer(value=["5", "Red"])),
        (single("multi_select", "1, 9", "b", "c"), "1, 9", Answer(value=["1, 9"])),
        (single("multi_select", "a", "A"), "A", Answer(value=["A"])),
        (single("multi_select", ",", "b"), "b", Answer(value=["b"])),
        (single("select", ",", "b"), ",", Answer(value=",")),
        (single("multi_select", "Red", "Blue"), "Red\n\n2.", Answer(value=["Red", "Blue"])),
        (single("text"), "٢", Answer(value="٢")),
        (SEVERAL, "Green", Other(text="Green")),
        (SEVERAL, "a long, long, " * 40, Other(text="a long, long, " * 40)),
        (FORM, "1", Answer(value="Red")),
        (FORM, "do both", Reply(text="do both")),
    ],
)
def test_typed_text_is_parsed_as_an_action(ask: Ask, text: str, expected: Action) -> None:
    assert parse_typed_answer(ask, text, LABELS) == expected


@pytest.mark.rule("TYPED-2", "TYPED-3", "TYPED-11")
@pytest.mark.parametrize(
    ("ask", "text", "expected"),
    [
        (single("text"), "   ", "has no text"),
        (single("boolean"), "yes please", "takes Yes or No"),
        (single("boolean"), "yep", "takes Yes or No"),
        (single("select", "2", "4", "8"), "2", "2 is ambiguous"),
        (single("select", "2", "1"), "1", "1 is ambiguous"),
        (single("multi_select", "2", "4", "8"), "2, 8", "2, 8 is ambiguous"),
        (single("multi_select", "3", "Red", "Blue"), "3, red", "can mean more than one thing"),
        (single("multi_select", "1, 2", "b", "c"), "1, 2", "can mean more than one thing"),
        (single("select", "Red", "Blue"), "3", "none of the options"),
        (single("select", "Red", "Blue"), "0", "none of the options"),
        (single("select", "Red"), "9" * 30, "none of the options"),
        (single("select", "Red", "Blue"), "which is better?", "none of the options"),
        (single("select", "Ab", "aB"), "ab", "can mean more than one thing"),
        (single("multi_select", "1, 2", "b", "c"), "1, 2, 3", "can mean more than one thing"),
        (single("multi_select", "Red", "Blue"), ", ;", "Not everything you wrote"),
        (single("select", "Red", "\u200e"), ",", "none of the options"),
        (single("select", "Red", ","), ";", "none of the options"),
        (
            single("multi_select", "Red", "dark", "Red, dark"),
            "red, dark",
            "can mean more than one thing",
        ),
        (single("multi_select", "Red", "Blue"), "red and blue", "Not everything you wrote"),
        (single("multi_select", "Red", "Blue"), "red, 7", "Not everything you wrote"),
        (single("multi_select", *MANY), ",".join(["1"] * 200), "Not everything you wrote"),
        (CLAUDE, "3", "none of the options"),
        (CLAUDE, "8080", "none of the options"),
        (CLAUDE, "-1.5", "none of the options"),
        (CLAUDE, "10 000", "none of the options"),
        (CLAUDE, "1, 2", "none of the options"),
        (CLAUDE, "十二", "none of the options"),
        (CLAUDE, "🔟", "none of the options"),
        (FORM, "¾", "none of the options"),
        (SEVERAL, ",".join(["1"] * 65), "Not everything you wrote"),
        (SEVERAL, "red, green", "Not everything you wrote"),
        (SCHEMA, '{"n": 1}', "Press Fill in"),
    ],
)
def test_unclear_text_is_no_action_and_explains_what_to_do(
    ask: Ask, text: str, expected: str
) -> None:
    found = parse_typed_answer(ask, text, LABELS)
    assert isinstance(found, UnclearText)
    assert expected in found.sentence


CASES = Path(__file__).parents[3] / "data" / "cases"


@pytest.mark.rule("TYPED-10")
@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("typed-fullwidth-digit", Answer(value="beta")),
        ("typed-cjk-commas", Answer(value=["alpha", "gamma"])),
        ("typed-nfd-for-nfc-label", Answer(value="caf\u00e9")),
    ],
)
def test_text_from_the_field_is_parsed_as_people_meant_it(case: str, expected: Action) -> None:
    found = json.loads((CASES / f"{case}.json").read_text(encoding="utf-8"))
    ask = asked(found["call"]["name"], found["call"]["arguments"])
    for text in found["typed_with_a_mention"]:
        assert parse_typed_answer(ask, text, LABELS) == expected


@pytest.mark.rule("CONFIRM-2")
def test_typed_text_confirms_nothing() -> None:
    ask = single("text")
    form = ask.form.model_copy(update={"confirmation": ConfirmationRule(due=1)})
    request = ask.request.model_copy(update={"form": form})
    waiting = replace(ask, request=request, walk=Walk(phase=Phase.CONFIRMATION))
    expected = "The answers are waiting for confirmation: press Confirm or Reject."
    assert parse_typed_answer(waiting, "Confirm", Labels()) == UnclearText(expected)


def test_typed_text_is_rejected_in_the_review() -> None:
    ask = asked("question", {"questions": [ONE, {**ONE, "id": "b"}]})
    walk = start(ask.form)
    for _ in range(2):
        moved = step(ask.form, walk, Answer(value="r"))
        assert isinstance(moved, Walk)
        walk = moved
    found = parse_typed_answer(replace(ask, walk=walk), "Red", LABELS)
    assert isinstance(found, UnclearText)
    assert "press Submit" in found.sentence
    assert not accepts_free_text(replace(ask, walk=walk))


@pytest.mark.rule("SURFACE-12")
def test_the_configured_button_labels_count_too() -> None:
    assert parse_typed_answer(single("boolean"), "ja", Labels(yes="Ja")) == Answer(value=True)
    mixed = parse_typed_answer(single("boolean"), "no", Labels(yes="No"))
    assert isinstance(mixed, UnclearText)


def test_a_long_list_of_long_labels_is_parsed_quickly() -> None:
    labels = [",".join(["a"] * n + ["b"]) + f"{n}" for n in range(1, 400)]
    ask = single("multi_select", *labels)
    text = ",".join(["a"] * 60)
    assert isinstance(parse_typed_answer(ask, text, LABELS), UnclearText)
    assert seconds(lambda: parse_typed_answer(ask, text, LABELS)) < 0.25


@pytest.mark.parametrize(
    ("ask", "takes"),
    [
        (single("text"), True),
        (single("boolean"), False),
        (single("select", "Red"), False),
        (CLAUDE, True),
        (FORM, True),
        (SCHEMA, False),
    ],
)
def test_which_questions_accept_free_text(ask: Ask, takes: bool) -> None:
    assert accepts_free_text(ask) == takes


@pytest.mark.rule("TYPED-6")
@pytest.mark.parametrize(
    ("shown", "is_current", "since", "at", "expected"),
    [
        (10.0, True, None, 10.1, None),
        (10.0, True, None, 10.0, "You wrote that before"),
        (10.0, True, None, None, "cannot tell"),
        (None, False, None, 11.0, "is not on the screen yet"),
        (None, True, None, 11.0, "cannot tell"),
        # the platform was asked since when it is shown
        (None, False, 10.0, 10.1, None),
        (None, True, 10.0, 10.0, "You wrote that before"),
        (10.0, True, 12.0, 11.0, None),
    ],
)
def test_typed_text_counts_once_its_question_was_visible(
    shown: float | None,
    is_current: bool,
    since: float | None,
    at: float | None,
    expected: str | None,
) -> None:
    ask = with_values(
        single("text"),
        revision=2,
        shown_revision=2 if is_current else 1,
        opening=QuestionOpening(shown=shown),
    )
    found = check_not_too_early(ask, at, LABELS, since=since)
    assert (expected in found.sentence) if found and expected else (found, expected) == (None, None)


POSTED = with_values(single("text"), message={"id": "1"}, seen_since=10.0, shown_revision=1)


@pytest.mark.rule("TYPED-6", "TYPED-8")
@pytest.mark.parametrize("since", [None, 20.0])
@pytest.mark.parametrize("shown", [None, 20.0])
@pytest.mark.parametrize("shown_revision", [0, 1])
def test_the_first_question_counts_from_its_post_on_although_it_was_edited_since(
    since: float | None, shown: float | None, shown_revision: int
) -> None:
    place = replace(POSTED.placement, shown_revision=shown_revision)
    ask = replace(POSTED, placement=place, opening=QuestionOpening(shown=shown))
    assert check_not_too_early(ask, 10.1, LABELS, since=since) is None
    early = check_not_too_early(ask, 10.0, LABELS, since=since)
    assert early is not None
    assert early.sentence.startswith("You wrote that before")


ENDED = end_ask(POSTED, Status.WITHDRAWN, at=1_000.0, reason=Reason.WITHDRAWN).ask


@pytest.mark.rule("TYPED-9")
@pytest.mark.parametrize(
    ("ask", "at", "looked_open"),
    [
        (single("text"), 11.0, False),
        (POSTED, 10.0, False),
        (POSTED, 10.1, True),
        (replace(POSTED, placement=replace(POSTED.placement, seen_since=None)), 1.0, True),
        # it ended, and its message still shows the question
        (ENDED, 5_000.0, True),
        (ENDED, 10.0, False),
        (
            replace(
                ENDED,
                placement=replace(ENDED.placement, shown_revision=2),
                opening=QuestionOpening(shown=20.0),
            ),
            20.0,
            True,
        ),
        (
            replace(
                ENDED,
                placement=replace(ENDED.placement, shown_revision=2),
                opening=QuestionOpening(shown=20.0),
            ),
            20.1,
            False,
        ),
        # nobody knows since when its message shows the end
        (replace(ENDED, placement=replace(ENDED.placement, shown_revision=2)), 1_600.0, True),
        (replace(ENDED, placement=replace(ENDED.placement, shown_revision=2)), 1_600.1, False),
    ],
)
def test_an_ask_looked_open_between_its_post_and_the_update_after_its_end(
    ask: Ask, at: float, looked_open: bool
) -> None:
    assert may_have_looked_open(ask, at) == looked_open


APPROVALS: dict[str, Ask] = {
    "claude": asked("PermissionRequest", {"tool_name": "Bash", "tool_input": {"command": "ls"}}),
    "also for good": asked(
        "session/request_permission",
        {
            "toolCall": {"title": "ls", "kind": "execute", "rawInput": {"command": "ls"}},
            "options": [
                {"optionId": "no", "name": "Keep it", "kind": "reject_once"},
                {"optionId": "never", "name": "Never", "kind": "reject_always"},
                {"optionId": "go", "name": "Go", "kind": "allow_once"},
            ],
        },
    ),
}


@pytest.mark.rule("TYPED-15")
@pytest.mark.parametrize("name", APPROVALS)
@pytest.mark.parametrize("text", ["no", "No.", "nope", "STOP", "cancel.", "Deny", "ＮＯ"])
def test_a_plain_word_denies_a_permission(name: str, text: str) -> None:
    ask = APPROVALS[name]
    assert ask.question is not None
    deny = ask.question.sole_option(OptionKind.DENY)
    assert deny is not None
    assert parse_typed_answer(ask, text, LABELS) == Answer(value=deny.value)


@pytest.mark.rule("TYPED-15")
def test_only_a_label_or_a_number_allows() -> None:
    found = read_case("typed-no-on-an-approval")["input"]
    ask = asked(found["ask"]["name"], found["ask"]["arguments"])
    for text in found["typed"]:
        parsed = parse_typed_answer(ask, text, LABELS)
        denies = text.casefold().rstrip(".") in {"no", "nope", "stop", "cancel", "deny"}
        assert (parsed == Answer(value="deny")) is denies, text
        assert denies or isinstance(parsed, UnclearText), text
    for text in ("y", "yes", "ok.", "allow", "approve", "👍", "/stop", "no way", "no, later"):
        assert isinstance(parse_typed_answer(ask, text, LABELS), UnclearText), text
    for text in ("1", "allow once"):
        assert parse_typed_answer(ask, text, LABELS) == Answer(value="allow")


@pytest.mark.rule("TYPED-15")
def test_an_options_own_label_goes_before_a_plain_word() -> None:
    options = [
        {"optionId": "a", "name": "Stop", "kind": "allow_once"},
        {"optionId": "b", "name": "Go on", "kind": "reject_once"},
    ]
    call = {"toolCall": {"title": "ls", "kind": "execute", "rawInput": {"command": "ls"}}}
    ask = asked("session/request_permission", {**call, "options": options})
    assert parse_typed_answer(ask, "stop", LABELS) == Answer(value="a")
    assert parse_typed_answer(ask, "no", LABELS) == Answer(value="b")
    two = [*options, {"optionId": "c", "name": "Not now", "kind": "reject_once"}]
    ask = asked("session/request_permission", {**call, "options": two})
    assert isinstance(parse_typed_answer(ask, "no", LABELS), UnclearText), "two deny"
    assert isinstance(parse_typed_answer(single("select", "A", "B"), "no", LABELS), UnclearText)


@pytest.mark.rule("TYPED-2")
@pytest.mark.parametrize(
    ("text", "value"),
    [("y", True), ("Y.", True), ("yes.", True), ("n", False), ("No.", False), ("NO", False)],
)
def test_yes_and_no_may_be_short_and_end_in_a_full_stop(text: str, value: bool) -> None:
    assert parse_typed_answer(single("boolean"), text, LABELS) == Answer(value=value)
    for unclear in ("yep", "nope", "👍", "y..", "yn"):
        assert isinstance(parse_typed_answer(single("boolean"), unclear, LABELS), UnclearText)
