"""Hypothesis strategies for forms and their answers, shared by the tests of all modules.

Hypothesis validates a strategy on its first draw, which takes longer than drawing: strategies with few parameters are
therefore cached.
"""

from __future__ import annotations

from functools import cache, lru_cache

from hypothesis import strategies as st
from pydantic import JsonValue

from answerback.core.form import AnswerType, Form, Option, Question, When
from answerback.core.typed_text import is_blank

_ALPHABET = st.characters(codec="utf-8")
"""Any character that UTF-8 can encode, including controls, bidirectional overrides and emoji."""

SCHEMAS: tuple[dict[str, JsonValue], ...] = (
    {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]},
    {"type": "array", "items": {"type": "string"}},
    {"type": ["number", "null"]},
)
_SCHEMA_VALUES: tuple[tuple[JsonValue, ...], ...] = (
    ({"n": 1}, {"n": 7, "more": True}),
    ([], ["a", "b"]),
    (None, 1, 1.0, 2.5),
)


@cache
def texts(most: int = 40) -> st.SearchStrategy[str]:
    """Return texts that are not blank, in any script."""
    return st.text(_ALPHABET, min_size=1, max_size=most).filter(lambda text: not is_blank(text))


@cache
def _optional_texts(most: int) -> st.SearchStrategy[str | None]:
    return st.none() | texts(most)


@cache
def _labels(most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(texts(most), min_size=1, max_size=6, unique=True)


_KINDS = st.sampled_from(list(AnswerType))
_WRITTEN = st.just("") | texts()
_VALUES_OF_SCHEMAS = tuple(map(st.sampled_from, _SCHEMA_VALUES))


@st.composite
def questions(
    draw: st.DrawFn, question_id: str, earlier: tuple[Question, ...] = (), text_size: int = 40
) -> Question:
    """Return a question that may depend on an earlier one."""
    kind = draw(_KINDS)
    choice = kind in {AnswerType.SELECT, AnswerType.MULTI_SELECT}
    labels = draw(_labels(text_size)) if choice else []
    described = _optional_texts(text_size)
    schema = draw(st.sampled_from(SCHEMAS)) if kind is AnswerType.SCHEMA else None
    text, context = draw(texts(text_size)), draw(described)
    named = [
        (f"v{i}" if draw(st.booleans()) else label, draw(described))
        for i, label in enumerate(labels)
    ]
    distinct = len({value for value, _ in named}) == len(named)
    question = Question(
        id=question_id,
        text=text,
        context=context,
        answer_type=kind,
        options=tuple(
            Option(value=value if distinct else label, label=label, description=description)
            for label, (value, description) in zip(labels, named, strict=True)
        ),
        json_schema=schema,
        other=choice and draw(st.booleans()),
        other_beside=kind is AnswerType.MULTI_SELECT and draw(st.booleans()),
    )
    if draw(st.booleans()):
        question = question.model_copy(
            update={"default": draw(values(question)), "has_default": True}
        )
    gated: bool = draw(st.booleans())
    if earlier and gated:
        parent = draw(st.sampled_from(earlier))
        skipped = parent.when is not None and draw(st.booleans())
        equals = None if skipped else draw(values(parent))
        question = question.model_copy(update={"when": When(question_id=parent.id, equals=equals)})
    return question


@st.composite
def forms(draw: st.DrawFn, most: int = 6, text_size: int = 40) -> Form:
    """Return a valid form that may have a review."""
    earlier: tuple[Question, ...] = ()
    for i in range(draw(st.integers(1, most))):
        earlier = (*earlier, draw(questions(f"q{i}", earlier, text_size)))
    return Form(questions=earlier, review=draw(st.booleans()))


def values(question: Question) -> st.SearchStrategy[JsonValue]:
    """Return normalised values that answer a question."""
    match question.answer_type:
        case AnswerType.BOOLEAN:
            return st.booleans()
        case AnswerType.TEXT:
            return _WRITTEN
        case AnswerType.SELECT:
            return _one_of(tuple(option.value for option in question.options))
        case AnswerType.MULTI_SELECT:
            return _some_of(tuple(option.value for option in question.options))
        case AnswerType.SCHEMA:
            return _VALUES_OF_SCHEMAS[SCHEMAS.index(question.json_schema)]


@lru_cache(maxsize=256)
def _one_of(order: tuple[str, ...]) -> st.SearchStrategy[JsonValue]:
    return st.sampled_from(order)


@lru_cache(maxsize=256)
def _some_of(order: tuple[str, ...]) -> st.SearchStrategy[JsonValue]:
    return st.sets(st.sampled_from(order)).map(lambda chosen: [v for v in order if v in chosen])
