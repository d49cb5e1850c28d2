"""Rendering any form as a page and parsing any post as an action; pure, without a listener."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core.actions import Answer, Other
from answerback.core.ask import Ask, Destination, Outcome, Placement, Request, Status
from answerback.core.clarification import AskBack
from answerback.core.editing import AllowEdited
from answerback.core.errors import Problem
from answerback.core.form import AnswerType, Form, Option, Question
from answerback.core.granting import RevokeGrant
from answerback.core.handing_over import HandOver
from answerback.core.labels import Labels
from answerback.core.schema_field_values import entries_from_value
from answerback.core.schema_fields import fields_from_schema
from answerback.core.too_late import TryAgain
from answerback.core.view import view_of
from answerback.core.walker import Person, start
from answerback.ports.person_key import operator, operator_holder
from answerback_base.headline_text import MAX_HEADLINE
from answerback_base.sanitize import visible
from answerback_base.strict_json import pretty_json
from answerback_testing import strategies
from answerback_web import inbox_view, parse, posts, render, responses
from answerback_web.page_access import PageLinks, is_own_page
from answerback_web.posts import (
    ChangedCall,
    ChangedRows,
    ConfirmEndTurn,
    InvalidPost,
    KeepTurn,
    Post,
)
from tests.unit.adapters.web.reader import Document

LABELS = Labels()
OPERATOR = operator("web")


def ask_of(form: Form) -> Ask:
    """Return a new ask for a form."""
    request = Request(
        name="ask_user", dialect="ask_user", arguments={}, form=form, prompt_label="Bot"
    )
    return Ask(
        id="ask_1",
        created_at=0.0,
        updated_at=0.0,
        request=request,
        placement=Placement(destination=Destination(surface="web"), responders=("anyone",)),
        walk=start(form),
    )


def shown(ask: Ask, **more: Any) -> Document:
    """Render and read the page of an ask."""
    page = render.ask_page(ask, LABELS, **more)
    context = {
        "root": "../",
        "home": "../inbox/0",
        "here": "ask_1",
        "answering": True,
        "key_error": None,
        "share": None,
    }
    return Document(
        responses.render_template("ask", labels=LABELS, lang="en", page=page, **context)
    )


def sent(page: Document, do: str = "answer", **entered: str | list[str]) -> Post:
    """Return the post of this page with these values entered."""
    pairs = [(name, value) for name, value in page.fields if name not in entered]
    for name, value in entered.items():
        pairs += [(name, v) for v in ([value] if isinstance(value, str) else value)]
    post = posts.parse_post(urlencode([*pairs, ("do", do)]).encode())
    assert post is not None
    return post


def without_whitespace(text: str) -> str:
    """Return a text without whitespace, because a page may wrap lines differently."""
    return "".join(text.split())


def has_json_editor(page: Document) -> bool:
    return any(name == "json" for name, _ in page.fields)


def answered_on(page: Document, question: Question, value: JsonValue) -> Post:
    """Return the post of a person who answers with this value."""
    match question.answer_type:
        case AnswerType.BOOLEAN:
            return sent(page, "yes" if value else "no")
        case AnswerType.TEXT:
            return sent(page, text=str(value).replace("\n", "\r\n"))
        case AnswerType.SELECT | AnswerType.MULTI_SELECT:
            wanted = value if isinstance(value, list) else [value]
            indexes = [str(i) for i, o in enumerate(question.options) if o.value in wanted]
            if f"answer:{indexes[0] if indexes else ''}" in page.buttons:
                return sent(page, f"answer:{indexes[0]}")
            return sent(page, choice=indexes)
        case AnswerType.SCHEMA:
            fields = fields_from_schema(question.json_schema)
            if fields is None or has_json_editor(page):
                return sent(page, json=pretty_json(value))
            entries = entries_from_value(fields, value)
            return sent(page, **{f"f{i}": str(entries[f.name] or "") for i, f in enumerate(fields)})


@pytest.mark.rule("SURFACE-6")
@given(strategies.forms(), st.data())
def test_any_form_can_be_walked_with_all_its_words_on_the_page(
    form: Form, data: st.DataObject
) -> None:
    ask = ask_of(form)
    while (question := ask.question) is not None:
        page = shown(ask)
        text = without_whitespace(page.text)
        wanted = [question.text, question.context or ""]
        wanted += [word for o in question.options for word in (o.label, o.description or "")]
        for word in wanted:
            assert without_whitespace(visible(word)) in text
        value = data.draw(strategies.values(question))
        fields = fields_from_schema(question.json_schema)
        if fields and isinstance(value, dict) and not has_json_editor(page):
            value = {field.name: value[field.name] for field in fields}
        if isinstance(value, str) and question.answer_type is AnswerType.TEXT:
            value = value.replace("\r\n", "\n")
        action = parse.interpret_post(answered_on(page, question, value), ask, LABELS)
        assert action == Answer(value=value)
        change = asks.apply_action(ask, action, at=1.0, by=Person(surface="web", user_id="visitor"))
        assert isinstance(change, asks.Change)
        ask = change.ask
    page = shown(ask)
    assert ("submit" in page.buttons) == ask.open
    assert bool(page.buttons) == ask.open
    for line in view_of(ask).lines:
        assert without_whitespace(visible(line.question.text)) in without_whitespace(page.text)


@given(strategies.forms(most=1), st.data())
def test_a_page_shown_again_keeps_what_was_entered(form: Form, data: st.DataObject) -> None:
    ask = ask_of(form)
    question = ask.question
    assert question is not None
    value = data.draw(strategies.values(question))
    first = answered_on(shown(ask), question, value)
    again = shown(ask, post=first, notice="Look again", problems=[])
    second = sent(again, first.first("do"))
    skip = {"token", "revision", "at", "do"}
    assert {n: v for n, v in second.fields.items() if n not in skip and any(v)} == {
        n: v for n, v in first.fields.items() if n not in skip and any(v)
    }


@given(strategies.forms(most=3), st.binary(max_size=300))
def test_no_post_breaks_the_page(form: Form, body: bytes) -> None:
    post = posts.parse_post(body)
    if post is not None:
        meaning = parse.interpret_post(post, ask_of(form), LABELS)
        problems = meaning.problems if isinstance(meaning, InvalidPost) else ()
        assert shown(ask_of(form), post=post, problems=problems).text


FIELDS = st.sampled_from(
    ["do", "at", "revision", "choice", "other", "text", "json", "f0", "f1", "f0.row", "f0.0.0"]
)
VALUES = st.sampled_from(
    [
        *posts.PageAction,
        "edit:0",
        "edit:9",
        "add_row:f0",
        "remove_row:f0.0",
        "0",
        "1",
        "-1",
        "other",
        "x",
        "",
        "{}",
    ]
)


@given(strategies.forms(most=3), st.lists(st.tuples(FIELDS, VALUES), max_size=8))
def test_no_combination_of_our_own_fields_breaks_it(
    form: Form, pairs: list[tuple[str, str]]
) -> None:
    post = posts.parse_post(urlencode(pairs).encode())
    assert post is not None
    meaning = parse.interpret_post(post, ask_of(form), LABELS)
    if isinstance(meaning, ConfirmEndTurn | KeepTurn | InvalidPost | ChangedRows | ChangedCall):
        problems = meaning.problems if isinstance(meaning, InvalidPost) else ()
        entered = meaning.post if isinstance(meaning, ChangedRows) else post
        assert shown(ask_of(form), post=entered, problems=problems).text
    elif not isinstance(meaning, AllowEdited | AskBack | TryAgain | HandOver | RevokeGrant):
        change = asks.apply_action(ask_of(form), meaning, at=1.0, by=None)
        assert isinstance(change, asks.Change) or change.problems


def test_a_post_keeps_every_value_and_identical_posts_have_the_same_digest() -> None:
    post = posts.parse_post(b"choice=1&choice=2&text=a%0D%0Ab&empty=&do=edit%3A3&revision=7")
    assert post is not None
    assert post.all_values("choice") == ("1", "2")
    assert (post.first("text"), post.first("empty"), post.first("gone")) == ("a\nb", "", "")
    assert (post.revision, post.do) == (7, posts.PageAction.EDIT)
    assert post == posts.parse_post(
        b"choice=1&choice=2&text=a%0D%0Ab&empty=&do=edit%3A3&revision=7"
    )


@pytest.mark.parametrize("revision", ["", "x", "-1", "٣", "1" * 30])
def test_an_invalid_revision_counts_as_zero(revision: str) -> None:
    post = posts.parse_post(urlencode({"revision": revision}).encode())
    assert post is not None
    assert post.revision == 0


@pytest.mark.parametrize("beside", [True, False])
def test_other_text_is_sent_with_the_ticked_options(beside: bool) -> None:
    options = (Option(value="a", label="A"), Option(value="b", label="B"))
    several = AnswerType.MULTI_SELECT
    question = Question(
        id="q", text="?", answer_type=several, options=options, other=True, other_beside=beside
    )
    ask = ask_of(Form(questions=(question,)))
    page = shown(ask)
    assert (LABELS.other_replaces in page.text) is not beside
    post = sent(page, choice=["1", "0", "other"], other="mine")
    assert parse.interpret_post(post, ask, LABELS) == Other(text="mine", value=["a", "b"])
    post = sent(page, choice=["9", "other"], other="mine")
    assert isinstance(parse.interpret_post(post, ask, LABELS), posts.InvalidPost)
    post = sent(page, choice=[], other="mine")
    assert parse.interpret_post(post, ask, LABELS) == Other(text="mine", value=[])


def test_other_text_that_is_not_ticked_is_not_silently_dropped() -> None:
    options = (Option(value="a", label="A"),)
    several = AnswerType.MULTI_SELECT
    question = Question(id="q", text="?", answer_type=several, options=options, other=True)
    ask = ask_of(Form(questions=(question,)))
    wrong = parse.interpret_post(sent(shown(ask), choice=["0"], other="mine"), ask, LABELS)
    assert isinstance(wrong, posts.InvalidPost)
    assert [problem.pointer for problem in wrong.problems] == ["/text"]
    assert LABELS.other in wrong.problems[0].message


def test_in_a_single_choice_an_option_replaces_other_text() -> None:
    options = (Option(value="a", label="A"),)
    question = Question(
        id="q", text="?", answer_type=AnswerType.SELECT, options=options, other=True
    )
    ask = ask_of(Form(questions=(question,)))
    post = sent(shown(ask), choice=["0"], other="thought better of it")
    assert parse.interpret_post(post, ask, LABELS) == Answer(value="a")


def test_a_problem_leads_to_the_field_that_its_pointer_names() -> None:
    schema: JsonValue = {"properties": {"a/b": {"type": "array", "items": {"enum": [1]}}}}
    question = Question(id="q", text="?", answer_type=AnswerType.SCHEMA, json_schema=schema)
    ask = ask_of(Form(questions=(question,)))
    post = sent(shown(ask))
    for pointer, target in (("/a~1b/0", "f0"), ("/a~1b", "f0"), ("/a~1bc", None), ("", None)):
        problem = Problem(pointer=pointer, code="x", message="Mend it.")
        page = render.ask_page(ask, LABELS, post=post, problems=[problem])
        assert [error.target for error in page.errors] == [target]


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (Status.EXPIRED, "Expired"),
        (Status.WITHDRAWN, "Withdrawn by Bot"),
        (Status.FAILED, "Could not be delivered"),
        (Status.CANCELLED, "Closed without a message"),
    ],
)
def test_an_ended_ask_shows_how_it_ended_and_what_was_open(status: Status, expected: str) -> None:
    question = Question(id="q", text="What now?", answer_type=AnswerType.TEXT)
    outcome = Outcome(status=status, at=1.0, message="No surface." if status == "failed" else None)
    ask = replace(ask_of(Form(questions=(question,))), outcome=outcome)
    page = shown(ask)
    assert expected in page.text
    assert "What now?" in page.text
    assert "not answered" in page.text
    assert ("No surface." in page.text) == (status is Status.FAILED)
    assert page.action is None


def test_ages_in_the_inbox_are_rounded_down() -> None:
    ask = ask_of(Form(questions=(Question(id="q", text="x " * 500, answer_type=AnswerType.TEXT),)))
    for now, age in ((59, "just now"), (60, "1 min ago"), (7199, "1 h ago"), (172800, "2 d ago")):
        item = inbox_view.inbox_page([ask], LABELS, now=float(now), after=None, first=True).items[0]
        assert item.age == age
        assert len(item.text) <= 2 * MAX_HEADLINE + 3


def test_a_link_shows_one_ask_and_only_a_key_holders_link_answers_it() -> None:
    access, foreign = PageLinks(b"a" * 32), PageLinks(b"b" * 32)
    operator = operator_holder("key", OPERATOR)
    alice = operator_holder("hers", Person(surface="web", user_id="alice"))
    holders = (operator, alice)
    link = access.link("ask_1")
    assert access.resolve(link, holders) == ("ask_1", link, None, False)
    assert foreign.resolve(link, holders) is None
    for wrong in (link.replace("ask_1", "ask_2"), f"{link}0", f"{link}.", f"{link}.é", "\udcff"):
        assert access.resolve(wrong, holders) is None
    for holder in holders:
        answering = access.answering_link("ask_1", holder)
        assert access.resolve(answering, holders) == ("ask_1", link, holder, False)
        assert access.resolve(answering, ()) == ("ask_1", link, None, True)
        assert access.resolve(answering.replace("ask_1", "ask_2"), holders) is None
    other = access.answering_link("ask_2", operator).rpartition(".")[2]
    assert access.resolve(f"{link}.{other}", holders) == ("ask_1", link, None, True)


def test_an_inbox_belongs_to_its_holder_until_the_key_is_replaced() -> None:
    access = PageLinks(b"a" * 32)
    old, new = operator_holder("old", OPERATOR), operator_holder("new", OPERATOR)
    assert access.find_inbox_holder(access.inbox_name(old), (new, old)) == old
    assert access.find_inbox_holder(access.inbox_name(old), (new,)) is None
    assert access.find_inbox_holder("\udcff", (new,)) is None


def test_a_post_without_origin_headers_is_accepted() -> None:
    assert is_own_page(None, None, "")
    assert is_own_page("http://a:1", None, "a:1")
    assert not is_own_page("http://b:1", None, "a:1")
    assert not is_own_page("http://a:1", "cross-site", "a:1")


INVISIBLE_TEXTS = "safe\u202egnp.exe"


@pytest.mark.rule("TEXT-3")
@pytest.mark.parametrize(
    "question",
    [
        Question(
            id="q", text="?", answer_type=AnswerType.TEXT, default=INVISIBLE_TEXTS, has_default=True
        ),
        Question(
            id="q",
            text="?",
            answer_type=AnswerType.SCHEMA,
            json_schema={"type": "object", "properties": {"a": {"type": "string"}}},
            default={"a": INVISIBLE_TEXTS},
            has_default=True,
        ),
    ],
    ids=["text", "schema"],
)
def test_invisible_characters_in_an_input_are_spelled_out_next_to_it_and_kept(
    question: Question,
) -> None:
    page = shown(ask_of(Form(questions=(question,))))
    assert "safe⟨U+202E⟩gnp.exe" in page.text
    assert INVISIBLE_TEXTS in dict(page.fields).values()


@pytest.mark.rule("TEXT-3")
def test_a_json_editor_escapes_invisible_characters_without_changing_the_value() -> None:
    question = Question(
        id="q",
        text="?",
        answer_type=AnswerType.SCHEMA,
        json_schema={"type": "array"},
        default=[INVISIBLE_TEXTS],
        has_default=True,
    )
    page = shown(ask_of(Form(questions=(question,))))
    assert "\u202e" not in dict(page.fields)["json"]
    assert json.loads(dict(page.fields)["json"]) == [INVISIBLE_TEXTS]
