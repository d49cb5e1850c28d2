"""Each of Slack's limits at its edge: a text that just fits is shown in full; a longer one is still accepted by Slack.

The numbers are those of the fake's own table, `tests/fakes/slack/rules.py`.
"""

from __future__ import annotations

import pytest
from pydantic import JsonValue

from answerback.core.actions import Answer
from answerback.core.files import AttachedFile
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback_chat.control_codec import Verb
from answerback_slack import blocks, form_inputs, limits, option_controls
from answerback_slack.blocks import Block
from answerback_slack.render import render
from tests.fakes.slack import rules
from tests.fakes.slack.checks import check_view, elements_of
from tests.fakes.slack.schema import units
from tests.limit_edges import edge
from tests.unit.adapters.slack.asks import after, ask_of, single_question_ask
from tests.unit.adapters.slack.sendable import (
    LABELS,
    MULTI,
    SELECT,
    TEXT,
    as_sent,
    encode_part,
    is_accepted,
    opened_modal,
    options,
    schema_ask,
)

pytestmark = pytest.mark.rule("SLACK-5")


# --- texts of one field --------------------------------------------------------------------------


def shortened_past(made: dict[int, tuple[str, Block]], most: int, surface: str = "message") -> None:
    """A text of this many units is shown in full; one with one more unit is shortened until it fits."""
    for length in (most, most + 1):
        shown, block = made[length]
        assert (shown == "x" * length) == (length == most), (length, len(shown))
        assert units(shown) <= most
        assert is_accepted(block, surface=surface)


@edge("SECTION_TEXT")
def test_a_paragraph() -> None:
    made = {n: blocks.section("x" * n) for n in (3_000, 3_001)}
    shortened_past({n: (as_sent(b)["text"]["text"], b) for n, b in made.items()}, 3_000)


@edge("CONTEXT_TEXT")
def test_a_small_text() -> None:
    made = {n: blocks.small_text("x" * n) for n in (3_000, 3_001)}
    shortened_past({n: (as_sent(b)["elements"][0]["text"], b) for n, b in made.items()}, 3_000)


@edge("HEADER_TEXT")
def test_a_heading() -> None:
    [short], [long] = (blocks.shown_heading("x" * length) for length in (150, 151))
    assert [short["type"], long["type"]] == ["header", "section"]
    assert is_accepted(short)
    assert is_accepted(long)


@edge("CONTAINER_TITLE")
def test_a_collapsed_container() -> None:
    made = {n: blocks.collapsed_container("x" * n, [blocks.section("y")]) for n in (150, 151)}
    shortened_past({n: (as_sent(b)["title"]["text"], b) for n, b in made.items()}, 150)


@edge("BUTTON_TEXT")
def test_a_button() -> None:
    made = {n: blocks.button("x" * n, "a", "v") for n in (75, 76)}
    row = {n: (as_sent(b)["text"]["text"], blocks.actions_block("b", [b])) for n, b in made.items()}
    shortened_past(row, 75)


@edge("OPTION_TEXT")
def test_an_option() -> None:
    made = {n: blocks.option_object("x" * n, "0") for n in (75, 76)}
    shortened_past({n: (as_sent(o)["text"]["text"], menu(o)) for n, o in made.items()}, 75)


@edge("OPTION_DESCRIPTION")
def test_the_description_of_an_option() -> None:
    made = {n: blocks.option_object("o", "0", "x" * n) for n in (75, 76)}
    shortened_past({n: (as_sent(o)["description"]["text"], menu(o)) for n, o in made.items()}, 75)


def menu(*made: Block) -> Block:
    return blocks.actions_block(
        "b", [{"type": "static_select", "action_id": "a", "options": [*made]}]
    )


@edge("OPTION_TEXT", "OPTION_DESCRIPTION")
def test_options_too_long_for_a_control_are_listed_in_the_message() -> None:
    for label, description, listed in ((75, 75, False), (76, 0, True), (1, 76, True)):
        made = (Option(value="v", label="x" * label, description="y" * description or None),)
        assert (
            option_controls.OPTION_LIMITS.needs_text_list(
                single_question_ask(MULTI, options=made).form.questions[0]
            )
            == listed
        )
        message = render(view_of(single_question_ask(MULTI, options=made)), LABELS)
        shown = {
            each["text"]["text"] for each in as_sent(message.blocks) if each["type"] == "section"
        }
        in_full = "\n".join(["1. " + "x" * label, *(["y" * description] if description else [])])
        assert (in_full in shown) == listed
        assert is_accepted(*message.blocks)


@edge("OPTION_TEXT", "OPTION_DESCRIPTION")
def test_choices_too_long_for_a_form_control_are_listed_above_it() -> None:
    for title, description, above in ((75, 75, False), (76, 0, True), (1, 76, True)):
        made = {"const": 1, "title": "x" * title, "description": "y" * description}
        view = opened_modal(schema_ask({"a": {"oneOf": [made]}}), Verb.FILL)
        assert [b["type"] for b in view["blocks"]] == ["section"] * (1 + above) + ["input"]
        assert check_view(view, foreign=False) == []


@edge("INPUT_LABEL")
def test_the_label_of_an_input() -> None:
    made = {n: blocks.input_block("x" * n, "b", text_input()) for n in (2_000, 2_001)}
    shortened_past({n: (as_sent(b)["label"]["text"], b) for n, b in made.items()}, 2_000)


@edge("INPUT_HINT")
def test_the_hint_of_an_input() -> None:
    made = {n: blocks.input_block("l", "b", text_input(), hint="x" * n) for n in (2_000, 2_001)}
    shortened_past({n: (as_sent(b)["hint"]["text"], b) for n, b in made.items()}, 2_000)


def text_input() -> Block:
    return {"type": "plain_text_input", "action_id": "a"}


@edge("INPUT_LABEL", "INPUT_HINT")
def test_a_form_reports_whether_it_shows_its_fields_in_full() -> None:
    for title, description, whole in ((2_000, 2_000, True), (2_001, 1, False), (1, 2_001, False)):
        field: JsonValue = {
            "type": "string",
            "title": "x" * title,
            "description": "y" * description,
        }
        view = view_of(schema_ask({"a": field}))
        assert form_inputs.shows_schema_in_full(view, Labels()) == whole


@edge("PLACEHOLDER")
def test_a_placeholder() -> None:
    question = single_question_ask(MULTI, options=options(11)).form.questions[0]
    for length, full in ((150, True), (151, False)):
        [made] = option_controls.option_inputs(question, [], encode_part, "x" * length)
        shown = as_sent(made)["element"]["placeholder"]["text"]
        assert (shown == "x" * length) == full
        assert is_accepted(made)


@edge("CONFIRM_TITLE", "CONFIRM_TEXT", "CONFIRM_BUTTON")
def test_the_dialog_of_end_turn() -> None:
    ask = single_question_ask(AnswerType.BOOLEAN)
    for past in (0, 1):
        labels = Labels(
            end_turn_title="t" * (100 + past),
            end_turn_text="x" * (300 + past),
            end_turn="e" * (30 + past),
            cancel="c" * (30 + past),
        )
        made = render(view_of(ask), labels).blocks
        [dialog] = [e["confirm"] for e in elements_of(as_sent(made)) if "confirm" in e]
        shown = [dialog[part]["text"] for part in ("title", "text", "confirm", "deny")]
        given = [labels.end_turn_title, labels.end_turn_text, labels.end_turn, labels.cancel]
        assert [a == b for a, b in zip(shown, given, strict=True)] == [past == 0] * 4
        assert is_accepted(*made)


@edge("MODAL_TITLE")
def test_the_title_and_buttons_of_a_modal() -> None:
    for length, full in ((24, True), (25, False)):
        text = "x" * length
        view = as_sent(
            blocks.modal_view(text, "c", "", [blocks.section("s")], submit=text, close=text)
        )
        shown = {view[part]["text"] for part in ("title", "submit", "close")}
        assert (shown == {text}) == full
        assert check_view(view, foreign=False) == []


@edge("INPUT_TEXT")
def test_the_initial_text_of_an_input() -> None:
    for length, inputs in ((3_000, 1), (3_001, 2)):
        ask = single_question_ask(TEXT, default="x" * length, has_default=True)
        view = opened_modal(ask, Verb.WRITE)
        made = list(elements_of(view["blocks"]))
        assert len(made) == inputs
        assert "".join(e["initial_value"] for e in made) == "x" * length
        assert check_view(view, foreign=False) == []


@edge("INPUT_TEXT")
def test_the_initial_text_of_a_field() -> None:
    for length, native in ((3_000, True), (3_001, False)):
        ask = schema_ask({"a": {"type": "string", "default": "x" * length}})
        view = opened_modal(ask, Verb.FILL)
        [first, *_] = elements_of(view["blocks"])
        assert (first["action_id"] == form_inputs.ACTION_ID) == native
        assert check_view(view, foreign=False) == []
    for least, native in ((3_000, True), (3_001, False)):
        view = opened_modal(schema_ask({"a": {"type": "string", "minLength": least}}), Verb.FILL)
        [first, *_] = elements_of(view["blocks"])
        assert (first.get("min_length") == 3_000) == native
        assert check_view(view, foreign=False) == []


@edge("INPUT_TEXT")
def test_the_maximum_length_of_a_field() -> None:
    for most, bound in ((1_500, 3_000), (1_501, None)):
        view = opened_modal(schema_ask({"a": {"type": "string", "maxLength": most}}), Verb.FILL)
        [element] = elements_of(view["blocks"])
        assert element.get("max_length") == bound
        assert check_view(view, foreign=False) == []


# --- how many ------------------------------------------------------------------------------------


@edge("BOXES")
def test_checkboxes_and_radio_buttons() -> None:
    kinds = {MULTI: "checkboxes", SELECT: "radio_buttons"}
    for kind, boxes in kinds.items():
        for count, wanted in ((10, True), (11, False)):
            made = render(
                view_of(single_question_ask(kind, options=options(count, "x" * 40))), LABELS
            ).blocks
            assert (boxes in {e["type"] for e in elements_of(as_sent(made))}) == wanted
            assert is_accepted(*made)


@edge("BOXES")
def test_checkboxes_and_radio_buttons_in_a_form() -> None:
    for count, kind in ((10, "checkboxes"), (11, "multi_static_select")):
        items = {"enum": [f"c{i}" for i in range(count)]}
        view = opened_modal(schema_ask({"a": {"type": "array", "items": items}}), Verb.FILL)
        assert [e["type"] for e in elements_of(view["blocks"])] == [kind]
        assert check_view(view, foreign=False) == []


@edge("MENU_OPTIONS")
def test_a_menu() -> None:
    for count, menus, groups in ((100, 1, 0), (101, 2, 2)):
        multi = opened_modal(single_question_ask(MULTI, options=options(count)), Verb.CHOOSE)
        assert len(list(elements_of(multi["blocks"]))) == menus
        assert check_view(multi, foreign=False) == []
        single = opened_modal(single_question_ask(SELECT, options=options(count)), Verb.CHOOSE)
        [element] = elements_of(single["blocks"])
        assert len(element.get("option_groups", ())) == groups
        assert check_view(single, foreign=False) == []


@edge("MENU_OPTIONS")
def test_a_menu_in_a_form() -> None:
    for count, groups, several in ((100, 0, True), (101, 2, False)):
        names = [f"c{i}" for i in range(count)]
        single = opened_modal(schema_ask({"a": {"enum": names}}), Verb.FILL)
        [element] = elements_of(single["blocks"])
        assert len(element.get("option_groups", ())) == groups
        assert check_view(single, foreign=False) == []
        many = opened_modal(
            schema_ask({"a": {"type": "array", "items": {"enum": names}}}), Verb.FILL
        )
        [first, *_] = elements_of(many["blocks"])
        assert (first["type"] == "multi_static_select") == several
        assert check_view(many, foreign=False) == []


@edge("BLOCKS_PER_MODAL")
def test_the_blocks_of_a_form() -> None:
    """Thirty-nine fields, each below one paragraph, and one below as many as its long choices need."""
    unseen = {"type": "string", "default": "safe\u202egnp.exe"}
    for paragraphs, native in ((20, True), (21, False)):
        long = {"enum": [str(i) + "x" * 2_960 for i in range(paragraphs)]}
        view = opened_modal(
            schema_ask({**{f"f{i}": unseen for i in range(39)}, "long": long}), Verb.FILL
        )
        [first, *_] = elements_of(view["blocks"])
        assert (first["action_id"] == form_inputs.ACTION_ID) == native
        assert (len(view["blocks"]) == rules.BLOCKS_PER_MODAL) == native
        assert check_view(view, foreign=False) == []


def test_the_largest_message_has_fewer_blocks_than_slack_allows() -> None:
    questions = tuple(
        Question(id=f"q{i}", text="x" * 20_000, answer_type=TEXT, context="y" * 20_000)
        for i in range(100)
    )
    for count in (15, 16, 100):
        ask = ask_of(Form(questions=questions[:count], review=True))
        review = after(ask, *(Answer(value="z" * 20_000) for _ in range(count)))
        assert view_of(review).is_review
        assert is_accepted(*render(view_of(review), LABELS).blocks)


def _shown(count: int, lines: int, alt: str) -> list[Block]:
    """The blocks of a record with so many answers, and with pictures."""
    questions = tuple(
        Question(id=f"q{n}", text=f"Question {n}?", answer_type=AnswerType.TEXT)
        for n in range(lines)
    )
    ask = after(ask_of(Form(questions=questions)), *(Answer(value="x") for _ in questions))
    sent = tuple(
        AttachedFile(
            id=f"file_{n}", name=f"{n}.png", media_type="image/png", bytes=1, sha256="0", alt=alt
        )
        for n in range(count)
    )
    view = view_of(ask, LABELS)._replace(files=sent)
    return render(view, LABELS, pictures={each.id: "F1" for each in sent}).blocks


@edge("BLOCKS_PER_MESSAGE")
def test_pictures_that_no_message_has_blocks_for_are_named() -> None:
    few, _ = (_shown(count, 3, "") for count in (1, 2))
    fits = 50 - len(few) + 1
    pictures = [
        sum(block["type"] == "image" for block in _shown(count, 3, ""))
        for count in (fits, fits + 1)
    ]
    assert pictures == [fits, 0]


@edge("ALT_TEXT")
def test_an_alternative_text() -> None:
    for length in (2_000, 2_001):
        [picture] = [each for each in _shown(1, 1, "x" * length) if each["type"] == "image"]
        assert (picture["alt_text"] == "x" * length) == (length == 2_000)
        assert is_accepted({**picture, "slack_file": {"id": "F1"}})


@edge("PICTURE_TYPES")
def test_the_types_of_pictures_that_slack_shows() -> None:
    assert {"image/png", "image/jpeg", "image/gif"} == limits.PICTURE_TYPES
