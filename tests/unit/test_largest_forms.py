"""The largest accepted calls, in every state and on every surface: no single step blocks the event loop."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pytest

from answerback.core import ask as asks
from answerback.core import typed_answers, walker
from answerback.core.actions import Answer, Back, Edit, Reply, Submit
from answerback.core.ask import Ask, Change, Destination, Placement, Request
from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.core.walker import Person
from answerback.dialects import registry
from answerback.service.ask_wire import ask_json
from answerback_base.strict_json import MAX_BODY
from answerback_chat.control_codec import Control, Verb
from answerback_discord import form_inputs as discord_forms
from answerback_discord import option_controls as discord_choices
from answerback_discord import render as discord
from answerback_discord import show_in_full as discord_reading
from answerback_slack import modals as slack_modals
from answerback_slack import render as slack
from answerback_slack import show_in_full as slack_reading
from answerback_storage import rows
from answerback_web import inbox_view as web_listing
from answerback_web import render as web
from tests.timing import BLOCKED, seconds

pytestmark = pytest.mark.long

LABELS: Final = Labels()
ADA: Final = Person(surface="web", user_id="U0ADA", name="Ada")
NASTY: Final = "<@U1> &amp; *b* `c` \u202e漢 e\u0302 \U0001f469\u200d\U0001f467\t\x00"
"""Text whose characters all need different treatment: made visible, escaped or counted."""


def _text(size: int) -> str:
    """Return a text whose JSON takes about the given number of bytes in UTF-8."""
    return (NASTY * (1 + size // len(json.dumps(NASTY, ensure_ascii=False).encode())))[:size]


def _options(count: int, size: int) -> list[str]:
    return [f"{n} {_text(size)}"[:1_000] for n in range(count)]


def _typed(kind: str, count: int, **more: Any) -> dict[str, Any]:
    return {
        "questions": [
            {"id": f"q{n}", "text": f"{n}?", "answer_type": kind, **more} for n in range(count)
        ]
    }


def _labels(count: int, size: int) -> list[dict[str, str]]:
    return [{"label": f"{n} {_text(size)}"[:900], "description": _text(size)} for n in range(count)]


_MANY: Final = [str(n) for n in range(1_000)]
_FIELDS: Final = {
    f"p{n}": {"type": "string", "title": f"Field {n}", "default": "x"} for n in range(900)
}
CALLS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "boolean": ("ask_user", _typed("boolean", 100, context=_text(800), text=_text(800))),
    "text": ("ask_user", _typed("text", 12, context=_text(9_000), default=_text(9_000))),
    "long words": ("ask_user", _typed("text", 6, context="x" * 20_000, default="y" * 20_000)),
    "line ends": ("ask_user", _typed("boolean", 3, context="\n" * 20_000, text="a\n" * 9_000)),
    "blanks": ("ask_user", _typed("boolean", 6, context="\u200b" * 6_000, text="?" + " " * 19_000)),
    "select": ("ask_user", _typed("select", 1, options=_options(1_000, 90), default="0 " + _text(90))),
    "selects": ("ask_user", _typed("select", 100, options=_options(24, 60))),
    "multi_select": ("ask_user", _typed("multi_select", 1, options=_MANY, default=_MANY)),
    "long multi_select": (
        "ask_user",
        _typed("multi_select", 1, options=_options(1_000, 60), default=_options(1_000, 60)),
    ),
    "multi_selects": (
        "ask_user",
        _typed("multi_select", 100, options=_options(12, 50), default=_options(12, 50)),
    ),
    "schema of many fields": (
        "ask_user",
        _typed("schema", 1, schema={"properties": _FIELDS, "required": list(_FIELDS)}),
    ),
    "schema of many choices": (
        "ask_user",
        _typed(
            "schema",
            4,
            schema={
                "properties": {
                    f"p{n}": {"type": "array", "items": {"enum": _MANY}, "default": _MANY}
                    for n in range(3)
                }
            },
            default={f"p{n}": _MANY for n in range(3)},
        ),
    ),
    "schema with patterns": (
        "ask_user",
        _typed(
            "schema",
            1,
            schema={
                "properties": {
                    f"p{n}": {"type": "string", "pattern": f"^[a-z]{{1,20}}_{n}$"} for n in range(400)
                }
            },
        ),
    ),
    "schema that is not flat": (
        "ask_user",
        _typed("schema", 1, schema={"anyOf": [{"const": str(n)} for n in range(1_800)]}),
    ),
    "single": ("ask_user", {"question": "?" * 900, "context": _text(15_000)}),
    "ask_user_form": (
        "ask_user",
        {
            "questions": [
                {"question": f"{n}?", "options": _labels(12, 60), "multiSelect": bool(n % 2)}
                for n in range(90)
            ]
        },
    ),
    "claude": (
        "AskUserQuestion",
        {
            "questions": [
                {
                    "question": f"{n}? {_text(9_000)}",
                    "header": "h",
                    "options": [
                        {"label": f"{m}", "description": _text(4_000), "preview": _text(5_000)}
                        for m in range(4)
                    ],
                    "multiSelect": bool(n % 2),
                }
                for n in range(4)
            ]
        },
    ),
    "question": (
        "question",
        {
            "questions": [
                {
                    "id": f"q{n}",
                    "prompt": f"{n}?",
                    "options": [{"value": f"{m}", "label": f"{m} {_text(60)}"} for m in range(16)],
                }
                for n in range(100)
            ]
        },
    ),
    "question of many options": (
        "question",
        {
            "questions": [
                {
                    "id": f"q{n}",
                    "prompt": f"{n}?",
                    "options": [{"value": f"{m}", "label": f"{m}"} for m in range(1_000)],
                }
                for n in range(6)
            ]
        },
    ),
    "tool_question": (
        "tool_question",
        {
            "tool": "git",
            "question": {
                "id": "a", "text": "?", "answer_type": "multi_select", "options": _MANY, "default": _MANY
            },
        },
    ),
    "elicitation": (
        "elicitation/create",
        {"message": _text(9_000), "requestedSchema": {"type": "object", "properties": _FIELDS}},
    ),
}  # fmt: skip


def _ask(name: str) -> Ask:
    tool, arguments = CALLS[name]
    assert len(json.dumps(arguments, ensure_ascii=False).encode()) < MAX_BODY, name
    dialect, form, *_ = registry.parse_call(tool, arguments)
    return Ask(
        id="ask_0123456789abcdef01234567",
        created_at=1_700_000_000,
        updated_at=1_700_000_000,
        request=Request(name=tool, dialect=dialect, arguments=arguments, form=form),
        placement=Placement(destination=Destination(surface="web"), responders=("anyone",)),
        walk=walker.start(form),
    )


def _answer(question: Question) -> Any:
    """Return the largest answer to a question."""
    match question.answer_type:
        case AnswerType.BOOLEAN:
            return True
        case AnswerType.TEXT:
            return _text(20_000)
        case AnswerType.SELECT:
            return question.options[-1].value
        case AnswerType.MULTI_SELECT:
            return [option.value for option in question.options]
        case AnswerType.SCHEMA:
            schema: Any = question.json_schema
            if "properties" not in schema:
                return "1799"
            return {
                name: field["items"]["enum"] if "items" in field else f"a_{name[1:]}"
                for name, field in schema["properties"].items()
            }


def _after(change: object) -> Ask:
    assert isinstance(change, Change), change
    return change.ask


def _states(name: str) -> Iterator[tuple[str, Ask]]:
    """Yield an ask at its first question, at its last, after Back, in review, edited, and at its longest ends."""
    ask = _ask(name)
    yield "open", ask
    last = ask
    while (question := ask.question) is not None:
        last, ask = (
            ask,
            _after(asks.apply_action(ask, Answer(value=_answer(question)), at=1.0, by=ADA)),
        )
    if last is not ask and last.walk.answers:
        yield "at the last question", last
    if last.walk.answers:
        yield "gone back", _after(asks.apply_action(last, Back(), at=1.0, by=ADA))
    if ask.open:
        yield "in review", ask
        first = ask.walk.answers[0].question_id
        yield "edited", _after(asks.apply_action(ask, Edit(question_id=first), at=1.0, by=ADA))
        ask = _after(asks.apply_action(ask, Submit(), at=1.0, by=ADA))
    yield "answered", ask
    yield "cancelled", _after(asks.apply_action(last, Reply(text=_text(20_000)), at=1.0, by=ADA))


Work = Callable[[], object]


def _steps(ask: Ask) -> Iterator[tuple[str, Work]]:
    """Yield every step of work for an ask in this state; each runs without yielding to the event loop."""
    view = view_of(ask)
    question = ask.question
    yield "view", lambda: view_of(ask)
    yield "json", lambda: json.dumps(ask_json(ask))
    yield "result", lambda: registry.render_result(ask)
    yield "row", lambda: rows.dump_state(ask)
    yield "request", lambda: rows.dump_request(ask.request)
    yield "slack", lambda: slack.render(view, LABELS)
    yield "slack, in full", lambda: slack_reading.full_text_modal(view, LABELS, 0, "{}")
    yield "discord", lambda: discord.message(view, LABELS)
    yield "discord, in full", lambda: discord_reading.page(view, Verb.SHOW_IN_FULL, 0, LABELS)
    yield "discord, previews", lambda: discord_reading.page(view, Verb.PREVIEW, 0, LABELS)
    yield "web", lambda: web.ask_page(ask, LABELS)
    yield (
        "web, inbox",
        lambda: web_listing.inbox_page([ask], LABELS, now=2.0, after=None, first=True),
    )
    for verb in (
        Verb.WRITE,
        Verb.CHOOSE,
        Verb.FILL,
        Verb.REPLY,
        Verb.OTHER,
    ):
        control = Control(ask.id, ask.revision, verb)
        yield f"slack, {verb}", partial(slack_modals.build_modal, view, control, LABELS, "{}")
    for kind in (
        Verb.WRITE,
        Verb.FILL,
        Verb.REPLY,
        Verb.SEARCH,
        Verb.OTHER,
    ):
        yield f"discord, {kind}", partial(discord_forms.modal_spec, view, kind, LABELS)
    if question is None:
        return
    everything = tuple(range(len(question.options)))
    list_state = discord_choices.ListState(chosen=everything)
    yield "discord, all ticked", lambda: discord.message(view, LABELS, list_state)
    yield (
        "discord, all ticked, in full",
        lambda: discord_reading.page(view, Verb.SHOW_IN_FULL, 0, LABELS, list_state),
    )
    yield "discord, searched", lambda: discord_choices.search_options(question, "a b c " * 600)
    yield "request line", lambda: asks.request_entry(ask, 1.0)
    value = _answer(question)
    yield "step", lambda: asks.apply_action(ask, Answer(value=value), at=1.0, by=ADA)
    wrong: list[Any] = [
        ["x"] * 50_000,
        {str(n): n for n in range(20_000)},
        "x" * 200_000,
        [[1]] * 40_000,
    ]
    for n, wrong_value in enumerate(wrong):
        yield (
            f"wrong answer {n}",
            partial(asks.apply_action, ask, Answer(value=wrong_value), at=1.0, by=ADA),
        )
    for n, text in enumerate(("1," * 20_000, ", ".join(_MANY * 20), "x" * 40_000, "[" * 40_000)):
        yield f"words {n}", partial(typed_answers.parse_typed_answer, ask, text, LABELS)


@pytest.mark.rule("DATA-9")
@pytest.mark.parametrize("name", CALLS)
def test_no_step_blocks_the_event_loop(name: str) -> None:
    slow = [
        f"{state}, {step}: {1_000 * taken:.0f} ms"
        for state, ask in _states(name)
        for step, work in _steps(ask)
        if (taken := seconds(work)) > BLOCKED
    ]
    assert slow == []
