"""Each limit of the web page at its boundary: what is shown and what is accepted."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web

from answerback.core import markdown
from answerback.core.actions import Answer
from answerback.core.asides import Aside
from answerback.core.ask import Ask
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.core.labels import Labels
from answerback.http.request_body import BodyReader
from answerback_web import (
    history_filters,
    inbox_view,
    posts,
    prompt_part,
    question_context,
    render,
    responses,
    sealed_requests,
    site,
)
from tests.limit_edges import edge
from tests.unit.adapters.slack.asks import after, ask_of

pytestmark = pytest.mark.rule("WEB-1")
LABELS = Labels()
MIB = 1024 * 1024


def ask_with(kind: AnswerType, **changes: object) -> Ask:
    question = Question(id="q", text="Which one?", answer_type=kind)
    return ask_of(Form(questions=(question.model_copy(update=changes),)))


def prompt(ask: Ask) -> prompt_part.PromptPart:
    part = render.ask_page(ask, LABELS).prompt
    assert part is not None
    return part


def options(count: int) -> tuple[Option, ...]:
    return tuple(Option(value=f"v{i}", label=f"option {i}") for i in range(count))


def widget(**field: object) -> str:
    """Return the widget of a form's only field."""
    schema = {"type": "object", "properties": {"a": field}, "required": ["a"]}
    [field_input] = prompt(ask_with(AnswerType.SCHEMA, json_schema=schema)).inputs
    return field_input.widget


@edge("DETAIL_LENGTH")
def test_the_inbox_shows_two_lines_below_a_headline() -> None:
    for length, full in ((160, True), (161, False)):
        ask = ask_with(AnswerType.BOOLEAN, context="x" * length)
        page = inbox_view.inbox_page([ask], LABELS, now=0.0, after=None, first=True)
        assert (page.items[0].detail == "x" * length) == full


def fits_row(context: str) -> bool:
    kinds = (("Allow once", OptionKind.ALLOW_ONCE), ("Deny", OptionKind.DENY))
    decisions = tuple(Option(value=label, label=label, kind=kind) for label, kind in kinds)
    ask = ask_with(AnswerType.SELECT, options=decisions, context=context)
    page = inbox_view.inbox_page([ask], LABELS, now=0.0, after=None, first=True)
    assert page.items[0].whole == inbox_view.is_whole_in_row(ask)
    return page.items[0].whole


@edge("ROW_UNITS")
def test_a_row_of_the_inbox_shows_240_units_of_a_context() -> None:
    assert [fits_row("x" * length) for length in (240, 241)] == [True, False]


@edge("ROW_LINES")
def test_a_row_of_the_inbox_shows_three_lines_of_a_context() -> None:
    blocks = ["\n".join(["```", *"x" * count, "```"]) for count in (3, 4)]
    assert [fits_row(block) for block in blocks] == [True, False]


@edge("LONGEST_WORD")
def test_a_word_in_a_table_that_is_not_long_is_never_broken() -> None:
    for length, whole in ((12, True), (13, False)):
        blocks = markdown.parse(f"|{'w' * length}|\n|-|")
        assert ("whole" in question_context.render_blocks(blocks, LABELS)) == whole


@edge("BUTTON_LABEL")
def test_a_short_option_is_a_button() -> None:
    for length, fits in ((80, True), (81, False)):
        option = Option(value="v", label="x" * length)
        assert prompt(ask_with(AnswerType.SELECT, options=(option,))).one_click is fits


@edge("FILTER_LENGTH")
def test_each_field_of_the_search_form() -> None:
    for length in (200, 201):
        assert len(history_filters.parse_filters({"q": "x" * length}).q) == min(length, 200)


@edge("FILTER_FROM")
def test_a_dozen_options_can_be_filtered() -> None:
    for count, filtered in ((11, False), (12, True)):
        assert prompt(ask_with(AnswerType.SELECT, options=options(count))).filtered == filtered


@edge("NUMBER_KEYS")
def test_a_digit_chooses_an_option() -> None:
    keys = [
        choice.key for choice in prompt(ask_with(AnswerType.SELECT, options=options(11))).choices
    ]
    assert keys == [*"123456789", None, None]


@edge("RADIOS_UP_TO")
def test_a_few_choices_of_a_field_are_shown_at_once() -> None:
    for count, wanted in ((8, "radios"), (9, "menu")):
        assert widget(enum=[f"c{i}" for i in range(count)]) == wanted


@edge("MAX_ROW_INPUTS")
def test_an_array_with_too_many_inputs_is_edited_as_json() -> None:
    for columns, rows, fits in ((1, 500, True), (6, 143, False)):
        names = [f"c{i}" for i in range(columns)]
        item = {"type": "object", "properties": {name: {"type": "integer"} for name in names}}
        array = {"type": "array", "items": item, "default": [dict.fromkeys(names, 1)] * rows}
        assert (prompt(ask_with(AnswerType.SCHEMA, json_schema=array)).json is None) == fits


@edge("MAX_ONE_LINE")
def test_a_short_text_is_one_line() -> None:
    for most, wanted in ((200, "line"), (201, "area")):
        assert widget(type="string", maxLength=most) == wanted


@edge("MAX_OPEN_ANSWERS")
def test_a_long_context_of_an_ended_ask_is_folded() -> None:
    for length, folded in ((400, False), (401, True)):
        ask = after(ask_with(AnswerType.TEXT, context="x" * length), Answer(value="y"))
        assert [row.folded for row in render.ask_page(ask, LABELS).rows] == [folded]


def rendered(source: str) -> str:
    return str(question_context.render_blocks(markdown.parse(source), LABELS))


@edge("MAX_HIGHLIGHTED")
def test_code_that_is_too_long_is_not_highlighted() -> None:
    for size, coloured in ((4_000, True), (4_001, False)):
        code = ("select 1 " * size)[:size]
        assert ("<span" in rendered(f"```sql\n{code}\n```")) == coloured


@edge("CODE_LINES", "CODE_LINES_SHOWN")
def test_long_code_is_folded() -> None:
    for count, folded in ((40, False), (41, True)):
        page = rendered("```\n" + "Q\n" * count + "```")
        assert ("<details>" in page) == folded
        assert page.split("<details>")[0].count("Q") == (25 if folded else count)


@edge("MAX_RENDERED_INLINE")
def test_a_long_context_is_rendered_on_a_thread() -> None:
    for length, long in ((1_000, False), (1_001, True)):
        question = Question(id="q", text="?", answer_type=AnswerType.TEXT, context="x" * length)
        assert question_context.is_slow_to_render(ask_of(Form(questions=(question,)))) == long
        explained = Aside(question_id="q", text="x" * length, at=1.0)
        asked = question.model_copy(update={"context": None})
        ask = replace(ask_of(Form(questions=(asked,))), asides=(explained,))
        assert question_context.is_slow_to_render(ask) == long


@edge("MAX_POST_FIELDS")
def test_the_fields_of_a_post() -> None:
    for count, taken in ((5_000, True), (5_001, False)):
        assert (posts.parse_post(b"&".join([b"choice=1"] * count)) is not None) == taken


def assert_most_bytes(bodies: BodyReader, most: int) -> None:
    """Assert that a body may have so many bytes and no more."""
    for size, taken in ((most, True), (most + 1, False)):
        content = SimpleNamespace(is_eof=lambda: True, read_nowait=lambda size=size: b"x" * size)
        request: Any = SimpleNamespace(headers={}, content_length=None, content=content)
        read = asyncio.run(bodies.read(request))
        assert isinstance(read, bytes) == taken
        assert taken or (isinstance(read, web.Response) and read.status == 413)


@edge("MAX_POST")
def test_the_bytes_of_a_post() -> None:
    unused: Any = None
    assert_most_bytes(site.Site(unused, LABELS, "", None, float, unused, {}, unused).bodies, MIB)


@edge("MAX_SEALED")
def test_the_bytes_of_an_encrypted_request() -> None:
    unused: Any = None
    sealed = sealed_requests.SealedRequests(unused, unused, unused, [])
    assert_most_bytes(sealed.bodies, 2 * MIB)


@edge("PING_SECONDS")
def test_a_stream_sends_pings_before_a_proxy_disconnects() -> None:
    assert asyncio.run(_ping()) == 30.0 / 2


async def _ping() -> float:
    return responses.event_stream()._ping_interval
