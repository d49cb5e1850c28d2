"""Asks in every state, small and as large as the API lets them be, for the tests of Slack's rendering."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core import walker
from answerback.core.actions import Action, Answer, Back, EndTurn, Other, Reply, Submit
from answerback.core.ask import Ask, Change, Destination, Placement, Reason, Request, Status
from answerback.core.form import AnswerType, Form, Option, OptionKind, Persistence, Question
from answerback.core.typed_text import is_blank
from answerback.core.walker import Person
from answerback_testing import strategies
from answerback_testing.example_asks import with_values

ASK_ID = "ask_0123456789abcdef01234567"
ADA = Person(surface="slack", user_id="U0ADA", name="ada")
_FRAGMENTS = st.sampled_from(
    [
        "word ",
        "*bold* _x_ ~y~ `z` ",
        "<!channel> <@U1> & ",
        "漢字テスト ",
        "\U0001f469\u200d\U0001f469\u200d\U0001f467\U0001f3fd ",
        "\u05e9\u05dc\u202e\u05e2 ",
        "e\u0302\u0303 ",
        "a\nb\n\n",
        "x" * 97,
        ":smile: https://evil.example ",
        "\x00\x07\r\n",
        "```code``` ",
    ]
)


def ask_of(form: Form, **changes: Any) -> Ask:
    """An open ask with this form, as it is stored before anybody has acted."""
    request = Request(name="ask_user", dialect="ask_user", arguments={}, form=form)
    made = Ask(
        id=ASK_ID,
        created_at=1_700_000_000,
        updated_at=1_700_000_000,
        request=request,
        placement=Placement(
            destination=Destination(surface="slack", channel="C1"), responders=("anyone",)
        ),
        walk=walker.start(form),
    )
    return with_values(made, **changes)


def single_question_ask(kind: AnswerType, **changes: object) -> Ask:
    """An open ask with one question."""
    question = Question(id="q", text="Which one?", answer_type=kind)
    return ask_of(Form(questions=(question.model_copy(update=changes),)))


def after(ask: Ask, *actions: Action, by: Person = ADA) -> Ask:
    """The ask after these actions, each of which must fit."""
    for action in actions:
        change = asks.apply_action(ask, action, at=ask.updated_at + 1, by=by)
        assert isinstance(change, Change), change
        ask = change.ask
    return ask


@cache
def big_texts(most: int) -> st.SearchStrategy[str]:
    """Texts in any script, up to the length that the API allows."""
    repeated = st.builds(
        lambda part, length: (part * (length // len(part) + 1))[:length],
        _FRAGMENTS,
        st.integers(1, most)
        | st.sampled_from([most, min(most, 3000), min(most, 3001), 75, 76, 150, 151]),
    )
    return (repeated | strategies.texts(60)).filter(
        lambda text: not is_blank(text) and len(text) <= most
    )


@cache
def _optional_text(most: int) -> st.SearchStrategy[str | None]:
    return st.none() | big_texts(most)


KINDS = (*OptionKind,)
"""The kinds of options of a permission prompt."""


@st.composite
def big_questions(draw: st.DrawFn, question_id: str) -> Question:
    """A question whose parts may be as large as the API lets them be."""
    kind = draw(st.sampled_from(list(AnswerType)))
    options: tuple[Option, ...] = ()
    if kind in {AnswerType.SELECT, AnswerType.MULTI_SELECT}:
        count = draw(st.sampled_from([1, 2, 5, 6, 10, 11, 15, 16, 99, 100, 101, 250, 1000]))
        label = draw(big_texts(1_000 if count <= 100 else 120))
        described = draw(_optional_text(20_000 if count <= 5 else 100))
        preview = draw(_optional_text(20_000 if count <= 5 else 100))
        decides = kind is AnswerType.SELECT and draw(st.booleans())
        options = tuple(
            Option(
                value=f"v{i}",
                label=f"{i} {label}"[:1_000],
                description=described,
                preview=preview,
                kind=KINDS[i % len(KINDS)] if decides else None,
            )
            for i in range(count)
        )
    schema = draw(st.sampled_from(strategies.SCHEMAS)) if kind is AnswerType.SCHEMA else None
    question = Question(
        id=question_id,
        text=draw(big_texts(20_000)),
        context=draw(_optional_text(20_000)),
        header=draw(_optional_text(1_000)),
        answer_type=kind,
        options=options,
        json_schema=schema,
        other=bool(options) and draw(st.booleans()),
        notes=bool(options) and draw(st.booleans()),
        persistence=draw(st.sampled_from(Persistence)),
    )
    if draw(st.booleans()):
        question = question.model_copy(
            update={"default": draw(big_values(question)), "has_default": True}
        )
    return question


def big_values(question: Question) -> st.SearchStrategy[JsonValue]:
    """Answers to a question, including very large ones."""
    if question.answer_type is AnswerType.TEXT:
        return big_texts(50_000)
    return strategies.values(question)


@st.composite
def big_asks(draw: st.DrawFn) -> Ask:
    """An ask in any state: open at any question, in review, or ended in any way."""
    questions = tuple(draw(big_questions(f"q{i}")) for i in range(draw(st.integers(1, 3))))
    small = all(len(q.options) <= 11 for q in questions)
    copies = draw(st.sampled_from([1, 1, 1, 33])) if small else 1
    questions = tuple(
        q.model_copy(update={"id": f"{q.id}.{n}"}) for n in range(copies) for q in questions
    )
    form = Form(questions=questions, review=draw(st.booleans()))
    ask = ask_of(form)
    for _ in range(draw(st.integers(0, len(questions)))):
        if ask.question is None:
            break
        value = draw(big_values(ask.question))
        other = ask.question.other and draw(st.booleans())
        ask = after(ask, Other(text=draw(big_texts(20_000))) if other else Answer(value=value))
        if ask.open and draw(st.integers(0, 5)) == 0:
            ask = after(ask, Back())
    ending = draw(st.sampled_from([None, None, "submit", "reply", "end", "expired", "failed"]))
    if not ask.open or ending is None:
        return ask
    if ending == "submit":
        return after(ask, Submit()) if ask.question is None else ask
    if ending == "reply":
        return after(ask, Reply(text=draw(_optional_text(20_000))))
    if ending == "end":
        return after(ask, EndTurn())
    status = Status.EXPIRED if ending == "expired" else Status.FAILED
    return asks.end_ask(ask, status, at=ask.updated_at, reason=Reason.EXPIRED, message="No.").ask
