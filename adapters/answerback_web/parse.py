"""A form post as the action it stands for; pure.

What a person entered is kept word for word, for the page to show it again where it is no answer yet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias, assert_never
from urllib.parse import parse_qsl

from pydantic import JsonValue

from answerback.core.ask import Ask
from answerback.core.clarification import AskBack
from answerback.core.errors import Problem
from answerback.core.form import AnswerType, Question
from answerback.core.labels import Labels
from answerback.core.schema_field_values import FieldEntry, parse_json_answer, value_from_entries
from answerback.core.schema_fields import Field, FieldKind, fields_from_schema
from answerback.core.walker import Action, Answer, Back, Edit, EndTurn, Other, Reply, Submit
from answerback_web import limits

OTHER = "other"
"""The value of the last choice, "Something else…", beside the options' indexes."""


_ABOUT: Final = ("revision", "at")
"""The fields that say which question a page was about."""
_ASKS_BACK: Final = frozenset({"do", "ask_back", *_ABOUT})
_TYPED: Final = frozenset({"text", "json", "other", "note", "ask_back", "reply"})
"""The inputs for words."""


class PageAction(StrEnum):
    """What a button of the page does. ``edit`` carries the question's index behind a colon."""

    ANSWER = "answer"
    YES = "yes"
    NO = "no"
    YES_FOR_TURN = "yes_for_turn"
    NO_FOR_TURN = "no_for_turn"
    BACK = "back"
    ASK_BACK = "ask_back"
    REPLY = "reply"
    END_TURN = "end_turn"
    """Asks to confirm."""
    END_TURN_NOW = "end_turn_now"
    STAY = "stay"
    """Not confirmed: back to the question."""
    SUBMIT = "submit"
    EDIT = "edit"


@dataclass(frozen=True, slots=True)
class Post:
    """What the browser sent: every field with its values in order; line ends are ``\\n``."""

    fields: Mapping[str, tuple[str, ...]]
    digest: str
    """The same for the same post from the same page: a double click."""

    def first(self, name: str) -> str:
        """A field's first value; empty where there is none."""
        return self.fields.get(name, ("",))[0]

    def all_values(self, name: str) -> tuple[str, ...]:
        """All values of a field."""
        return self.fields.get(name, ())

    @property
    def revision(self) -> int:
        """The revision of the page that was sent; 0 where it does not say."""
        text = self.first("revision")
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0

    @property
    def do(self) -> PageAction | None:
        """What the button does, or None for a button that we did not make."""
        name = self.first("do").partition(":")[0]
        return PageAction(name) if name in PageAction.__members__.values() else None


@dataclass(frozen=True, slots=True)
class InvalidPost:
    """What was entered is no answer yet; pointers lead into the value, as those of a refusal do."""

    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class ConfirmEndTurn:
    """The person is to confirm that the turn ends."""


@dataclass(frozen=True, slots=True)
class KeepTurn:
    """The person did not confirm; the page is shown as it was left."""


PostMeaning: TypeAlias = Action | AskBack | InvalidPost | ConfirmEndTurn | KeepTurn


def parse_post(body: bytes) -> Post | None:
    """A form post, or None where the body is none.

    Bytes that are no UTF-8 become replacement characters, as in any page that a browser decodes.
    """
    try:
        pairs = parse_qsl(
            body.decode("utf-8", "replace"),
            keep_blank_values=True,
            max_num_fields=limits.MAX_POST_FIELDS,
        )
    except ValueError:
        return None
    fields: dict[str, tuple[str, ...]] = {}
    for name, value in pairs:
        fields[name] = (*fields.get(name, ()), value.replace("\r\n", "\n"))
    return Post(fields, hashlib.sha256(body).hexdigest())


def typed_texts(post: Post) -> tuple[str, ...]:
    """The words a person typed into a page, whatever it was about."""
    names = [name for name in post.fields if name in _TYPED]
    names += [name for name in post.fields if name.startswith("f") and name[1:].isdecimal()]
    texts = [post.first(name) for name in names]
    return tuple(t for t in texts if t.strip() and not t.isdecimal() and t not in {"true", "false"})


def without_ask_back(post: Post) -> Post | None:
    """What was entered beside a question that is asked back; None: nothing."""
    rest = {name: values for name, values in post.fields.items() if name not in _ASKS_BACK}
    something = any(value.strip() for values in rest.values() for value in values)
    about = {name: post.fields[name] for name in _ABOUT if name in post.fields}
    return replace(post, fields=rest | about) if something else None


def action_without_input(post: Post) -> Action | None:
    """What a post wants whatever its question is, and with nothing that was entered; None where that is not known."""
    match post.do:
        case PageAction.BACK:
            return Back()
        case PageAction.SUBMIT:
            return Submit()
        case PageAction.END_TURN_NOW:
            return EndTurn()
        case _:
            return None


def interpret_post(post: Post, ask: Ask, labels: Labels) -> PostMeaning:
    """What a post to the page of ``ask`` stands for; the post's revision is the caller's to compare."""
    do = post.do
    match do:
        case (
            PageAction.ANSWER
            | PageAction.YES
            | PageAction.NO
            | PageAction.YES_FOR_TURN
            | PageAction.NO_FOR_TURN
        ):
            question = _question(post, ask)
            return _answer(post, do, question, labels) if question else _unknown(labels)
        case PageAction.ASK_BACK:
            return AskBack(text=post.first("ask_back"))
        case PageAction.REPLY:
            return Reply(text=post.first("reply") or None)
        case PageAction.END_TURN:
            return ConfirmEndTurn()
        case PageAction.STAY:
            return KeepTurn()
        case PageAction.EDIT:
            edited = _at(post.first("do").partition(":")[2], ask)
            return Edit(question_id=edited.id) if edited else _unknown(labels)
        case PageAction.BACK | PageAction.SUBMIT | PageAction.END_TURN_NOW | None:
            return action_without_input(post) or _unknown(labels)
        case _:
            assert_never(do)


def parse_entries(post: Post, fields: tuple[Field, ...]) -> dict[str, FieldEntry]:
    """What was entered in the inputs of a flat schema; the page names them by their place."""
    return {field.name: _entry(post, f"f{i}", field) for i, field in enumerate(fields)}


def _answer(post: Post, do: PageAction, question: Question, labels: Labels) -> Action | InvalidPost:
    if do is not PageAction.ANSWER:
        for_turn = do in {PageAction.YES_FOR_TURN, PageAction.NO_FOR_TURN}
        return Answer(value=do in {PageAction.YES, PageAction.YES_FOR_TURN}, remember=for_turn)
    match question.answer_type:
        case AnswerType.BOOLEAN:
            return _wrong("required", labels.choose_first.format(submit=labels.answer))
        case AnswerType.TEXT:
            return Answer(value=post.first("text"))
        case AnswerType.SELECT | AnswerType.MULTI_SELECT:
            return _chosen(post, question, labels)
        case AnswerType.SCHEMA:
            return _schema(post, question)
        case _:
            assert_never(question.answer_type)


def _chosen(post: Post, question: Question, labels: Labels) -> Action | InvalidPost:
    chosen = post.all_values("choice")
    own_words = post.first("other")
    several = question.answer_type is AnswerType.MULTI_SELECT
    selected = tuple(text for text in chosen if text != OTHER)
    indexes = _indexes(selected, len(question.options))
    if indexes is None:
        return _unknown(labels)
    values: list[JsonValue] = [question.options[i].value for i in indexes]
    # Words without a choice are meant: a person without JavaScript may forget to tick the choice.
    if question.other and (OTHER in chosen or (own_words.strip() and not chosen)):
        return Other(text=own_words, value=values if several else None)
    if several and question.other and own_words.strip():
        message = labels.other_unticked.format(other=labels.other)
        return InvalidPost((Problem(pointer="/text", code="unknown_value", message=message),))
    if not (several or indexes):
        return _wrong("required", labels.choose_first.format(submit=labels.answer))
    value = values if several else values[0]
    return Answer(value=value, note=post.first("note") or None)


def _schema(post: Post, question: Question) -> Action | InvalidPost:
    fields = fields_from_schema(question.json_schema)
    if fields is None:
        value = parse_json_answer(post.first("json"))
        return InvalidPost((value,)) if isinstance(value, Problem) else Answer(value=value)
    found = value_from_entries(fields, parse_entries(post, fields))
    return InvalidPost(found) if isinstance(found, tuple) else Answer(value=found)


def _entry(post: Post, name: str, field: Field) -> FieldEntry:
    if field.kind in {FieldKind.CHOICE, FieldKind.CHOICES}:
        # An index that was never offered stays one, so that it is refused and not forgotten.
        sent = [text for text in post.all_values(name) if text]
        return [int(t) if t.isascii() and t.isdecimal() and len(t) < 6 else -1 for t in sent]
    text = post.first(name)
    if field.kind is FieldKind.BOOLEAN:
        return {"true": True, "false": False}.get(text)
    return text


def _indexes(sent: tuple[str, ...], count: int) -> list[int] | None:
    indexes = []
    for text in sent:
        if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) < count):
            return None
        indexes.append(int(text))
    return sorted(set(indexes))


def _question(post: Post, ask: Ask) -> Question | None:
    """The question that the page was about, which a stale page's is not any more."""
    return _at(post.first("at"), ask)


def _at(text: str, ask: Ask) -> Question | None:
    indexes = _indexes((text,), len(ask.form.questions))
    return ask.form.questions[indexes[0]] if indexes else None


def _unknown(labels: Labels) -> InvalidPost:
    return _wrong("unknown_value", labels.too_late_unknown)


def _wrong(code: str, message: str) -> InvalidPost:
    return InvalidPost((Problem(pointer="", code=code, message=message),))
