"""Each of Discord's limits at its edge: what just fits is shown in full, and Discord still accepts what does not fit.

The numbers are those of the fake's own rules, `tests/fakes/discord`, and of Discord's OpenAPI document.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from answerback.core.actions import Answer, Back, Edit, Other
from answerback.core.form import Form, Option
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import Source
from answerback.presentation.form_inputs import Input, InputKind
from answerback.presentation.form_spec import Entry, FormSpec
from answerback_chat.control_codec import Verb
from answerback_discord import (
    components,
    form_inputs,
    limits,
    long_lists,
    modals,
    option_controls,
    posting,
    private_notes,
)
from answerback_discord.form_inputs import ModalSpec
from tests.fakes.discord import rules
from tests.fakes.discord.rules import check_message, check_modal
from tests.fakes.discord.spec import DOCUMENT, check_schema, schemas
from tests.limit_edges import edge
from tests.unit.adapters.discord.examples import after, ask_of, options, question
from tests.unit.adapters.discord.sendable import (
    BOOLEAN,
    LABELS,
    MULTI,
    SELECT,
    TEXT,
    filled,
    of_type,
    one,
    opened,
    schema_ask,
    shown,
)
from tests.unit.adapters.discord.sight import texts_of

pytestmark = pytest.mark.rule("DISCORD-5")


# --- texts of one field --------------------------------------------------------------------------


@edge("BUTTON_LABEL")
def test_the_label_of_a_button() -> None:
    for length, full in ((80, True), (81, False)):
        labels = Labels(reply="x" * length)
        found = {button["label"] for button in of_type(2, shown(one(TEXT), labels))}
        assert ("x" * length in found) == full
        again = private_notes.retry_note("Try again.", "ab1:x:1:take", Labels(answer="x" * length))
        assert check_message(again) == []
        [button] = of_type(2, list(components.iter_components(again["components"])))
        assert (button["label"] == "x" * length) == full


@edge("OPTION_LABEL", "OPTION_DESCRIPTION")
def test_an_option_of_a_menu() -> None:
    for label, description, in_menu in ((100, 100, True), (101, 1, False), (1, 101, False)):
        made = (Option(value="v", label="x" * label, description="y" * description),)
        [menu] = of_type(3, shown(one(MULTI, options=made)))
        [option] = menu["options"]
        whole = option["label"] == "x" * label and option["description"] == "y" * description
        assert whole == in_menu
        assert (
            option_controls.OPTIONS.needs_text_list(one(MULTI, options=made).form.questions[0])
            != in_menu
        )


@edge("OPTION_LABEL")
def test_options_that_differ_only_past_the_limit_are_numbered() -> None:
    for length, numbered in ((99, False), (100, True)):
        made = tuple(Option(value=end, label="x" * length + end) for end in "ab")
        [menu] = of_type(3, shown(one(MULTI, options=made)))
        assert menu["options"][0]["label"].startswith("1. ") == numbered


@edge("OPTION_LABEL")
def test_an_answer_in_the_menu_of_the_review() -> None:
    for length, full in ((97, True), (98, False)):
        asked = tuple(question(BOOLEAN, id=f"q{i}", text="x" * length) for i in range(9))
        ask = after(ask_of(Form(questions=asked, review=True)), *[Answer(value=True)] * 9)
        [menu] = of_type(3, shown(ask))
        assert (menu["options"][0]["label"] == "1. " + "x" * length) == full


@edge("OPTION_LABEL", "OPTION_DESCRIPTION")
def test_a_choice_of_a_form() -> None:
    for title, description, full in ((100, 100, True), (101, 101, False)):
        made = [
            {"const": n, "title": str(n) + "x" * (title - 1), "description": "y" * description}
            for n in range(2)
        ]
        [group] = of_type(21, opened(schema_ask(a={"oneOf": made})))
        assert [len(o["label"]) == title for o in group["options"]] == [full] * 2
        assert [len(o["description"]) == description for o in group["options"]] == [full] * 2
        view = view_of(schema_ask(a={"oneOf": [made[0] | {"title": "x" * title}]}))
        assert form_inputs.needs_full_view(view, LABELS) != full


@edge("PLACEHOLDER")
def test_the_placeholder_of_a_menu() -> None:
    for length, full in ((150, True), (151, False)):
        labels = Labels(choose="x" * length, edit="x" * length)
        [menu] = of_type(3, shown(one(MULTI, options=options(3)), labels))
        assert (menu["placeholder"] == "x" * length) == full
        asked = tuple(question(BOOLEAN, id=f"q{i}") for i in range(9))
        ask = after(ask_of(Form(questions=asked, review=True)), *[Answer(value=True)] * 9)
        [menu] = of_type(3, shown(ask, labels))
        assert (menu["placeholder"] == "x" * length) == full


@edge("LABEL_TEXT", "LABEL_DESCRIPTION")
def test_the_label_of_an_input() -> None:
    for title, description, full in ((45, 100, True), (46, 101, False)):
        field = {"type": "string", "title": "x" * title, "description": "y" * description}
        [label] = of_type(18, opened(schema_ask(a=field)))
        assert (label["label"] == "x" * title) == full
        assert (label["description"] == "y" * description) == full
    for title, description, full in ((45, 100, True), (46, 1, False), (1, 101, False)):
        field = {"type": "string", "title": "x" * title, "description": "y" * description}
        ask = schema_ask(a=field)
        assert form_inputs.needs_full_view(view_of(ask), LABELS) != full
        assert bool(of_type(10, opened(ask))) != full  # what is cut stands above the inputs


@edge("INPUT_PLACEHOLDER")
def test_the_placeholder_of_an_input() -> None:
    for length, full in ((100, True), (101, False)):
        field = {"type": "string", "examples": ["x" * length]}
        [made] = of_type(4, opened(schema_ask(a=field)))
        assert (made["placeholder"] == "x" * length) == full


@edge("INPUT_VALUE")
def test_the_text_of_an_input() -> None:
    for length, inputs in ((4_000, 1), (4_001, 2)):
        made = of_type(4, opened(one(TEXT, default="x" * length, has_default=True), Verb.WRITE))
        assert "".join(each["value"] for each in made) == "x" * length
        assert len(made) == inputs
    for bound, most in ((3_999, 3_999), (4_000, 4_000), (4_001, 4_000), (None, 4_000)):
        field = {"type": "string"} | ({} if bound is None else {"maxLength": bound})
        [made_one] = of_type(4, opened(schema_ask(a=field)))
        assert made_one["max_length"] == most


@edge("MODAL_TITLE")
def test_the_title_of_a_modal() -> None:
    for length, full in ((45, True), (46, False)):
        view = view_of(one(TEXT, text="x" * length))
        sheet = form_inputs.modal_spec(view, Verb.WRITE, LABELS)
        assert sheet is not None
        data = modals.modal(view, sheet, Verb.WRITE, 0, {}, "nonce123", LABELS)
        assert (data["title"] == "x" * length) == full
        assert bool(sheet.intro) != full
        assert check_modal(data) == []


@edge("MODAL_TITLE")
def test_the_title_of_a_modal_of_several_pages() -> None:
    for length, full in ((45 - len(" · Page 1 of 2"), True), (46 - len(" · Page 1 of 2"), False)):
        inputs = tuple(Input(str(n), InputKind.LINE, "l") for n in range(6))
        sheet = ModalSpec(FormSpec(Entry.SCHEMA, "", inputs), "x" * length)
        data: Any = modals.modal(view_of(one(TEXT)), sheet, Verb.FILL, 0, {}, "n", LABELS)
        assert data["title"].startswith("x" * length) == full
        assert check_modal(data) == []


@edge("THREAD_NAME", "THREAD_MINUTES")
def test_a_thread() -> None:
    for length, full in ((100, True), (101, False)):
        made = posting.thread_of(one(TEXT, header="x" * length))
        assert (made["name"] == "x" * length) == full
        assert check_schema("CreateTextThreadWithMessageRequest", made) == []
        known = [each["const"] for each in schemas()["ThreadAutoArchiveDuration"]["oneOf"]]
        assert made["auto_archive_duration"] == max(known)


# --- how many ------------------------------------------------------------------------------------


@edge("BUTTONS_PER_ROW")
def test_a_row_of_buttons() -> None:
    for count, rows in ((5, 1), (6, 2)):
        made = [components.button("b", f"id{n}") for n in range(count)]
        assert check_message(components.message(components.rows(made))) == []
        assert len(components.rows(made)) == rows
        ask = one(SELECT, options=options(count))
        assert option_controls.OPTIONS.fits_buttons(ask.form.questions[0]) == (rows == 1)
        shown(ask)


@edge("SELECT_OPTIONS")
def test_the_options_of_a_menu() -> None:
    for count, pages in ((25, 1), (26, 2)):
        ask = one(MULTI, options=options(count))
        [menu] = of_type(3, shown(ask))
        assert len(menu["options"]) == 25
        assert option_controls.page_count(ask.form.questions[0]) == pages
        found = option_controls.ListState(found=tuple(range(count)))
        message = long_lists.render_option_list(view_of(ask), LABELS, found)
        assert check_message(message) == []
        said = LABELS.found.format(count=count, text="", shown=25)
        assert (said in "".join(texts_of(message))) == (pages > 1)


@edge("SELECT_OPTIONS")
def test_the_answers_in_the_menu_of_the_review() -> None:
    for count, listed in ((25, 25), (26, 25)):
        asked = tuple(question(BOOLEAN, id=f"q{i}") for i in range(count))
        ask = after(ask_of(Form(questions=asked, review=True)), *[Answer(value=True)] * count)
        [menu] = of_type(3, shown(ask))
        assert len(menu["options"]) == listed


def test_a_long_review_of_answers_that_no_person_gave_has_no_menu_to_edit_them() -> None:
    asked = tuple(question(BOOLEAN, id=f"q{i}") for i in range(9))
    ask = after(ask_of(Form(questions=asked, review=True)), *[Answer(value=True)] * 9)
    given = [replace(each, source=Source.REMEMBERED) for each in ask.walk.answers]
    assert of_type(3, shown(replace(ask, walk=replace(ask.walk, answers=tuple(given))))) == []


@edge("SELECT_OPTIONS", "CHECKBOX_OPTIONS", "RADIO_OPTIONS_LEAST", "RADIO_OPTIONS")
def test_the_choices_of_a_form() -> None:
    cases = (
        (1, 3, 22), (2, 21, 22), (10, 21, 22), (11, 3, 3), (25, 3, 3), (26, 4, 4),
    )  # fmt: skip
    for count, single, several in cases:
        names = [f"c{n}" for n in range(count)]
        made = opened(schema_ask(a={"enum": names}))
        assert len(of_type(single, made)) == 1
        made = opened(schema_ask(a={"type": "array", "items": {"enum": names}}))
        assert len(of_type(several, made)) == 1


@edge("MODAL_COMPONENTS")
def test_the_components_of_a_modal() -> None:
    for count, intro, pages in ((5, "", 1), (6, "", 2), (4, "intro", 1), (5, "intro", 2)):
        inputs = tuple(Input(str(n), InputKind.LINE, "label") for n in range(count))
        sheet = ModalSpec(FormSpec(Entry.SCHEMA, "", inputs), "title", intro)
        assert len(sheet.pages()) == pages
        filled(one(TEXT), sheet)


@edge("UPLOADS")
def test_the_files_of_an_upload_which_stands_on_the_last_page() -> None:
    upload = schemas()["FileUploadComponentForModalRequest"]["properties"]
    inputs = tuple(Input(str(n), InputKind.LINE, "label") for n in range(5))
    sheet = ModalSpec(FormSpec(Entry.TEXT, "", inputs), "title")
    pages = [
        modals.modal(view_of(one(TEXT)), sheet, Verb.WRITE, page, {}, "00000000", LABELS)
        for page in range(len(sheet.pages()))
    ]
    kinds: list[list[Any]] = [
        [each for each in components.iter_components(page["components"]) if each["type"] == 19]
        for page in pages
    ]
    assert [len(each) for each in kinds] == [0, 1]
    assert kinds[1][0]["max_values"] == limits.UPLOADS == upload["max_values"]["maximum"]
    assert [check_modal(page) for page in pages] == [[], []]


@edge("MESSAGES_PER_PAGE")
def test_the_messages_of_a_page() -> None:
    listing = json.loads(DOCUMENT.read_text("utf-8"))["paths"]["/channels/{channel_id}/messages"]
    [most] = [
        each["schema"]["maximum"]
        for each in listing["get"]["parameters"]
        if each["name"] == "limit"
    ]
    assert most == limits.MESSAGES_PER_PAGE


def test_the_largest_message_has_fewer_components_than_discord_takes() -> None:
    for count in (8, 9, 100):
        asked = tuple(
            question(BOOLEAN, id=f"q{i}", text="x" * 2_000, context="y" * 2_000)
            for i in range(count)
        )
        ask = after(ask_of(Form(questions=asked, review=True)), *[Answer(value=True)] * count)
        shown(ask)
        shown(after(ask, Edit(question_id="q0")))
    choice = question(
        SELECT, options=options(6, description="d" * 20_000, preview="# p"), other=True, header="h",
        context="c" * 9_000, notes=True,
    )  # fmt: skip
    first = question(BOOLEAN, id="first", text="f" * 9_000)
    last = question(BOOLEAN, id="last")
    ask = after(ask_of(Form(questions=(first, choice, last))), Answer(value=True))
    for back in (False, True):
        if back:
            ask = after(ask, Answer(value="v1", note="n" * 9_000), Back())
        assert len(shown(ask)) <= rules.V2_COMPONENTS_MAX - 2, "room for a control to come"
        assert len(of_type(9, shown(ask))) == 6
    ask = after(ask_of(Form(questions=(first, choice, last))), Answer(value=True))
    shown(after(ask, Other(text="o" * 9_000), Back()))
    assert of_type(9, shown(one(SELECT, options=options(7, description="d")))) == []
    every = one(
        MULTI, options=options(60, preview="# p"), context="c" * 9_000, other=True, header="h"
    )
    assert len(shown(every)) <= rules.V2_COMPONENTS_MAX
