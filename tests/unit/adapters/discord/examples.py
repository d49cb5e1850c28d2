"""Asks in the states that a surface has to show, shared by the tests of rendering."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core import ask as asks
from answerback.core.actions import Action, Answer, Back, Edit, EndTurn, Other, Reply, Submit
from answerback.core.ask import Ask, Change, Destination, Reason, Request, Status
from answerback.core.form import AnswerType, Form, Option, OptionKind, Question
from answerback.core.walker import Person, can_go_back, start
from answerback_testing.example_asks import build_ask
from answerback_testing.strategies import forms, texts, values

KINDS = (*OptionKind,)
"""The kinds of options of a permission prompt."""
ANN = Person(surface="discord", user_id="80351110224678912", name="Ann")


def ask_of(form: Form, **fields: object) -> Ask:
    """A new ask in a Discord channel."""
    request = Request(name="ask_user", dialect="ask_user", arguments={}, form=form)
    values: dict[str, Any] = {
        "id": "ask_0123456789abcdef01234567",
        "created_at": 1_000.0,
        "updated_at": 1_000.0,
        "request": request,
        "destination": Destination(surface="discord", channel="41771983423143937"),
        "responders": (ANN.user_id,),
        "walk": start(form),
        **fields,
    }
    return build_ask(values)


def after(ask: Ask, *actions: Action) -> Ask:
    """The ask after Ann's actions, each of which must be valid."""
    for action in actions:
        change = asks.apply_action(ask, action, at=ask.updated_at + 1, by=ANN)
        assert isinstance(change, Change), change
        ask = change.ask
    return ask


def ended(ask: Ask, status: Status) -> Ask:
    """The ask ended without a person."""
    reason = {Status.EXPIRED: Reason.EXPIRED, Status.WITHDRAWN: Reason.WITHDRAWN}
    return asks.end_ask(
        ask, status, at=2_000.0, reason=reason.get(status, Reason.BACKEND_ERROR)
    ).ask


def question(kind: AnswerType, **fields: object) -> Question:
    """One question of a kind."""
    return Question.model_validate({"id": "q", "text": "Which one?", "answer_type": kind, **fields})


def options(count: int, *, label: str = "Option {n}", **fields: Any) -> tuple[Option, ...]:
    """Options of the given number; ``{n}`` in a text is replaced by the option's number."""
    return tuple(
        Option.model_validate(
            {
                "value": f"v{n}",
                "label": label.format(n=n),
                **{k: v.format(n=n) for k, v in fields.items()},
            }
        )
        for n in range(1, count + 1)
    )


@cache
def bulky(most: int) -> st.SearchStrategy[str]:
    """Non-blank texts up to a length, in any script: short ones, and short ones repeated many times."""
    return st.builds(
        lambda text, times: (text * times)[:most], texts(12), st.sampled_from([1, 1, 9, 90, 3_000])
    )


@cache
def _perhaps(most: int) -> st.SearchStrategy[str | None]:
    return st.none() | bulky(most)


@st.composite
def large_forms(draw: st.DrawFn) -> Form:
    """Forms with texts up to the limits of the API and many options."""
    form = draw(forms(most=4))
    made = []
    for each in form.questions:
        update: dict[str, object] = {
            "text": draw(bulky(20_000)),
            "context": draw(_perhaps(20_000)),
        }
        if each.options and each.default is None and each.when is None:
            count = draw(st.sampled_from([1, 5, 6, 7, 15, 16, 25, 26, 60]))
            label, described = draw(bulky(990)), draw(_perhaps(2_000))
            decides = each.answer_type is AnswerType.SELECT and draw(st.booleans())
            update["options"] = tuple(
                Option(
                    value=f"v{n}",
                    label=f"{n} {label}",
                    description=described,
                    preview=draw(_perhaps(500)) if n == 1 else None,
                    kind=KINDS[n % len(KINDS)] if decides else None,
                )
                for n in range(count)
            )
        made.append(each.model_copy(update=update))
    gates = {q.when.question_id for q in made if q.when}
    if any(
        made[i].options != form.questions[i].options and made[i].id in gates
        for i in range(len(made))
    ):
        made = [q.model_copy(update={"when": None}) for q in made]
    return form.model_copy(update={"questions": tuple(made)})


@st.composite
def walked(draw: st.DrawFn, shapes: st.SearchStrategy[Form]) -> Ask:
    """An ask somewhere in its walk."""
    ask = ask_of(draw(shapes))
    for _ in range(draw(st.integers(0, 6))):
        if not ask.open:
            break
        ask = after(ask, draw(_actions(ask)))
    if ask.open and draw(st.integers(0, 4)) == 0:
        return ended(ask, draw(st.sampled_from([Status.EXPIRED, Status.WITHDRAWN, Status.FAILED])))
    return ask


def _actions(ask: Ask) -> st.SearchStrategy[Action]:
    prompt = ask.question
    possible: list[st.SearchStrategy[Action]] = []
    if prompt is None:
        answered = [a.question_id for a in ask.walk.answers]
        possible += [
            st.just(Submit()),
            st.sampled_from(answered).map(lambda i: Edit(question_id=i)),
        ]
    else:
        possible += [_values(prompt).map(lambda v: Answer(value=v))] * 6
        possible += [bulky(9_000).map(lambda t: Other(text=t))] if prompt.other else []
    if can_go_back(ask.request.form, ask.walk):
        possible.append(st.just(Back()))
    possible += [st.just(EndTurn()), (st.none() | bulky(9_000)).map(lambda t: Reply(text=t))]
    return st.one_of(possible)


def _values(prompt: Question) -> st.SearchStrategy[JsonValue]:
    if prompt.answer_type is AnswerType.TEXT:
        return bulky(9_000)
    return values(prompt)
