"""Parse a form post into the action it stands for; pure.

What a person entered is kept verbatim, so that the page can show it again if it is not a valid answer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias, assert_never
from urllib.parse import parse_qsl

from pydantic import JsonValue

from answerback.core.actions import (
    Action,
    Answer,
    Back,
    Confirm,
    Edit,
    EndTurn,
    Next,
    Object,
    Other,
    Reply,
    Submit,
)
from answerback.core.ask import Ask
from answerback.core.clarification import AskBack
from answerback.core.edited_call import digest_of
from answerback.core.editing import AllowEdited
from answerback.core.errors import Problem
from answerback.core.form import AnswerType, OptionKind, Question
from answerback.core.granting import RevokeGrant
from answerback.core.handing_over import HandOver
from answerback.core.intents import ResolvedAction
from answerback.core.labels import Labels
from answerback.core.option_labels import show_options
from answerback.core.person import Person
from answerback.core.schema_field_values import (
    FieldEntry,
    is_blank_row,
    parse_json_answer,
)
from answerback.core.schema_fields import Field, FieldKind, fields_from_schema
from answerback.core.too_late import TryAgain
from answerback.core.typed_text import is_blank
from answerback.core.view import view_of
from answerback.dialects.approvals import edits
from answerback.presentation.form_inputs import NO_LIMITS, field_inputs
from answerback.presentation.form_spec import Entry, plan_form
from answerback.presentation.form_values import FormValues, read_fields, read_grant
from answerback_web import edit_form, edit_part, limits, plan_comments
from answerback_web.form_inputs import BOOLEAN_VALUES

OTHER = "other"
"""The value of the last choice, "Something else…"; the other choices' values are option indexes."""


_FIELD: Final = re.compile(r"f\d+(\.\d+\.\d+)?", re.ASCII)
"""The name of an input of a schema, perhaps in a row."""
_QUESTION_FIELDS: Final = ("revision", "at")
"""The fields that identify the question that a page showed."""
_ASK_BACK_FIELDS: Final = frozenset({"do", "ask_back", *_QUESTION_FIELDS})
_TEXT_FIELDS: Final = frozenset({"text", "json", "other", "note", "ask_back", "reply"})
"""The text inputs."""


class PageAction(StrEnum):
    """The action of a page's button. ``edit`` is followed by a colon and the question's index; so is ``answer`` by the
    choice, if its button is the choice."""

    ANSWER = "answer"
    YES = "yes"
    NO = "no"
    YES_FOR_TURN = "yes_for_turn"
    NO_FOR_TURN = "no_for_turn"
    BACK = "back"
    NEXT = "next"
    ASK_BACK = "ask_back"
    HAND_OVER = "hand_over"
    REPLY = "reply"
    OBJECT = "object"
    END_TURN = "end_turn"
    """Asks for confirmation."""
    END_TURN_NOW = "end_turn_now"
    STAY = "stay"
    """Not confirmed: return to the question."""
    SUBMIT = "submit"
    CONFIRM = "confirm"
    EDIT = "edit"
    ADD_ROW = "add_row"
    """Followed by a colon and the id of the field of rows. The page is shown again, as it was left but for the row."""
    REMOVE_ROW = "remove_row"
    """Followed by a colon, the id of the field of rows, a dot and the row's key."""
    CHANGE = "change"
    """Show what the person has changed in the call, before it is allowed so."""
    CHANGE_JSON = "change_json"
    """Change all arguments of the call as JSON."""
    ALLOW_CHANGED = "allow_changed"
    """Allow the call as it was changed; followed by a colon and the choice's index."""
    GRANT = "grant"
    """Allow once, and again for a while."""
    REVOKE = "revoke"
    """Revoke what was allowed again."""
    TRY_AGAIN = "try_again"
    """Tell the agent to try again what nobody allowed in time."""


CHANGES: Final = frozenset({PageAction.CHANGE, PageAction.CHANGE_JSON, PageAction.ALLOW_CHANGED})
"""What is done with a call that the person changes."""


@dataclass(frozen=True, slots=True)
class Post:
    """A form post: every field with its values in order; line ends are ``\\n``."""

    fields: Mapping[str, tuple[str, ...]]
    digest: str
    """Identical for identical posts, so that a double click is recognised."""

    def first(self, name: str) -> str:
        """Return a field's first value; empty if there is none."""
        return self.fields.get(name, ("",))[0]

    def all_values(self, name: str) -> tuple[str, ...]:
        return self.fields.get(name, ())

    def digest_by(self, person: Person) -> str:
        """Return a digest of the post that is this person's own, and does not reveal who they are."""
        return hashlib.sha256(f"{person.user_id}\n{self.digest}".encode()).hexdigest()

    @property
    def revision(self) -> int:
        """The revision of the page that was posted; 0 if it is missing."""
        text = self.first("revision")
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0

    @property
    def do(self) -> PageAction | None:
        """The action of the button, or None for an unknown button."""
        name = self.first("do").partition(":")[0]
        return PageAction(name) if name in PageAction.__members__.values() else None


@dataclass(frozen=True, slots=True)
class InvalidPost:
    """The input is not a valid answer; pointers lead into the value, as in a rejection."""

    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class ConfirmEndTurn:
    """The person has to confirm that the turn ends."""


@dataclass(frozen=True, slots=True)
class KeepTurn:
    """The person did not confirm; the page is shown as they left it."""


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """The person added or removed a row without JavaScript; the page is shown with what they entered."""

    post: Post


@dataclass(frozen=True, slots=True)
class ChangedCall:
    """The person has changed the call and not allowed it yet: the page shows what they changed, or takes it as JSON."""


PostMeaning: TypeAlias = (
    ResolvedAction | InvalidPost | ConfirmEndTurn | KeepTurn | ChangedRows | ChangedCall
)


def parse_post(body: bytes) -> Post | None:
    """Parse a request body; None if it is not a form post.

    Bytes that are not UTF-8 become replacement characters, as in any page that a browser decodes.
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


def typed_texts(post: Post, ask: Ask) -> tuple[str, ...]:
    """Return the texts a person typed into a page of an ask, whichever question it showed."""
    names = [name for name in post.fields if name in _TEXT_FIELDS]
    names += [name for name in post.fields if _FIELD.fullmatch(name)]
    texts = [
        plan_comments.with_comments(_comments(post), ""),
        *edit_part.unsent_texts(ask, post.fields),
    ]
    texts += [post.first(name) for name in names]
    return tuple(
        t for t in texts if not is_blank(t) and not t.isdecimal() and t not in BOOLEAN_VALUES
    )


def without_ask_back(post: Post) -> Post | None:
    """Return the post with only what was entered besides the ask-back text; None if nothing was."""
    rest = {name: values for name, values in post.fields.items() if name not in _ASK_BACK_FIELDS}
    has_input = not all(is_blank(value) for values in rest.values() for value in values)
    question = {name: post.fields[name] for name in _QUESTION_FIELDS if name in post.fields}
    return replace(post, fields=rest | question) if has_input else None


def action_without_input(post: Post) -> Action | TryAgain | RevokeGrant | None:
    """Return the action of a post that depends on neither its question nor its input; None for any other."""
    match post.do:
        case PageAction.BACK:
            return Back()
        case PageAction.SUBMIT:
            return Submit()
        case PageAction.CONFIRM:
            return Confirm()
        case PageAction.END_TURN_NOW:
            return EndTurn()
        case PageAction.TRY_AGAIN:
            return TryAgain(text=post.first("text") or None)
        case PageAction.REVOKE:
            return RevokeGrant()
        case _:
            return None


def interpret_post(post: Post, ask: Ask, labels: Labels) -> PostMeaning:
    """Interpret a post to the page of ``ask``; the caller has to compare the post's revision."""
    read = _changed_call if ask.request.editable and post.do in CHANGES else _meaning
    meaning = read(post, ask, labels)
    comments = _comments(post) if plan_comments.FIELD in post.fields else ()
    return _with_comments(meaning, comments, post, ask, labels) if comments else meaning


def _comments(post: Post) -> tuple[plan_comments.Comment, ...]:
    sent = post.first(plan_comments.FIELD)
    return plan_comments.comments_of(sent) if sent else ()


def _with_comments(
    meaning: PostMeaning,
    comments: tuple[plan_comments.Comment, ...],
    post: Post,
    ask: Ask,
    labels: Labels,
) -> PostMeaning:
    """Send the comments on a plan's lines along with a decision about it, in the place that it has for words."""
    match meaning:
        case Reply():
            return Reply(text=plan_comments.with_comments(comments, meaning.text or ""))
        case Object():
            return Object(text=plan_comments.with_comments(comments, meaning.text or ""))
        case Other():
            return replace(meaning, text=plan_comments.with_comments(comments, meaning.text))
        case Answer() | AllowEdited():
            question = _question_at(post.first("at"), ask)
            said = plan_comments.with_comments(comments, meaning.note or "")
            if question is None or question.notes:
                return replace(meaning, note=said)
            if question.kind_of(meaning.value) is OptionKind.DENY:
                return Reply(text=said)
            deny = labels.reply_and_end(deny=True, plan=True)[0]
            return _invalid("takes_no_note", labels.comments_not_taken.format(deny=deny))
        case _:
            return meaning


def _meaning(post: Post, ask: Ask, labels: Labels) -> PostMeaning:
    do = post.do
    match do:
        case (
            PageAction.ANSWER
            | PageAction.YES
            | PageAction.NO
            | PageAction.YES_FOR_TURN
            | PageAction.NO_FOR_TURN
        ):
            question = _question_at(post.first("at"), ask)  # a stale page's is not the open one
            return _answer(post, do, question, labels) if question else _unknown(labels)
        case PageAction.ADD_ROW | PageAction.REMOVE_ROW:
            return ChangedRows(_with_changed_rows(post))
        case PageAction.GRANT:
            return _grant(post, ask, labels)
        case PageAction.ASK_BACK:
            return AskBack(text=post.first("ask_back"))
        case PageAction.HAND_OVER:
            return HandOver(to=post.first("hand_over").strip())
        case PageAction.REPLY:
            return Reply(text=post.first("reply") or None)
        case PageAction.OBJECT:
            return Object(text=post.first("reply") or None)
        case PageAction.END_TURN | PageAction.STAY:
            return ConfirmEndTurn() if do is PageAction.END_TURN else KeepTurn()
        case PageAction.NEXT | PageAction.EDIT:
            return _move(post, ask, labels)
        case _:
            return action_without_input(post) or _unknown(labels)


def _move(post: Post, ask: Ask, labels: Labels) -> Action | InvalidPost:
    if post.do is PageAction.NEXT:
        # Moving on would lose it.
        is_unsent = has_unsent_answer(post, ask, labels)
        return _invalid("unsent", labels.answer_later_unsent) if is_unsent else Next()
    edited = _question_at(post.first("do").partition(":")[2], ask)
    return Edit(question_id=edited.id) if edited else _unknown(labels)


def has_unsent_answer(post: Post, ask: Ask, labels: Labels) -> bool:
    """Whether a person entered an answer to the open question, or changed the earlier one, without sending it."""
    prompt = view_of(ask, labels).prompt
    if prompt is None:
        return False
    entered = _answer(post, PageAction.ANSWER, prompt.question, labels)
    match entered:
        case Other():
            return entered.text != (prompt.other_text or "")
        case Answer():
            is_blank_still = not entered.value and prompt.prefill is None
            return not (is_blank_still or entered.value == prompt.prefill) or bool(
                entered.note and entered.note != prompt.note
            )
        case _:
            return bool(typed_texts(post, ask))


def _changed_call(post: Post, ask: Ask, labels: Labels) -> PostMeaning:
    view = view_of(ask, labels)
    start, question = edit_part.start_of(view), ask.question
    if start is None or view.editable is None or question is None:
        return _unknown(labels)
    written = edit_form.read_edit_form(post.fields, start)
    if isinstance(written, tuple):
        return InvalidPost(written)
    if post.do is PageAction.CHANGE_JSON:
        return ChangedCall()
    read = edits.read_edit(ask.request, view.editable, written)
    if isinstance(read, tuple):
        return InvalidPost(read)
    if read is None:
        return _invalid("unchanged", labels.edit_unchanged)
    chosen = _indexes((post.first("do").partition(":")[2],), len(question.options))
    has_read = post.first(edit_form.SEEN) == digest_of(read.arguments)
    if post.do is PageAction.CHANGE or not chosen or not has_read:
        return ChangedCall()
    value = question.options[chosen[0]].value
    return AllowEdited(value=value, edited=read.arguments, note=post.first("note") or None)


def _grant(post: Post, ask: Ask, labels: Labels) -> Action | InvalidPost:
    view = view_of(ask, labels)
    spec = plan_form(view, Entry.GRANT, labels, NO_LIMITS)
    if spec is None or spec.grants is None or view.prompt is None:
        return _unknown(labels)
    values = parse_entries(post, spec.fields)
    answer = read_grant(spec.grants, spec.fields, spec.inputs, values, view.prompt.question)
    return InvalidPost(answer) if isinstance(answer, tuple) else answer


def parse_entries(post: Post, fields: Sequence[Field]) -> FormValues:
    """Return what was entered in the inputs of a flat schema, by position; the page names them ``f0``, ``f1``, …"""
    return {str(i): _entry(post, f"f{i}", field) for i, field in enumerate(fields)}


def _answer(post: Post, do: PageAction, question: Question, labels: Labels) -> Action | InvalidPost:
    if do is not PageAction.ANSWER:
        for_turn = do in {PageAction.YES_FOR_TURN, PageAction.NO_FOR_TURN}
        return Answer(value=do in {PageAction.YES, PageAction.YES_FOR_TURN}, remember=for_turn)
    match question.answer_type:
        case AnswerType.BOOLEAN:
            return _invalid("required", labels.choose_first.format(submit=labels.answer))
        case AnswerType.TEXT:
            return Answer(value=post.first("text"))
        case AnswerType.SELECT | AnswerType.MULTI_SELECT:
            return _choice_answer(post, question, labels)
        case AnswerType.SCHEMA:
            return _schema_answer(post, question, labels)
        case _:
            assert_never(question.answer_type)


def _choice_answer(post: Post, question: Question, labels: Labels) -> Action | InvalidPost:
    chosen = chosen_values(post)
    own_text = post.first("other")
    several = question.answer_type is AnswerType.MULTI_SELECT
    selected = tuple(text for text in chosen if text != OTHER)
    options = show_options(question, labels).options
    indexes = _indexes(selected, len(options))
    if indexes is None:
        return _unknown(labels)
    values: list[JsonValue] = [options[i].value for i in indexes]
    # Text without a choice counts: a person without JavaScript may forget to tick the choice.
    if question.other and (OTHER in chosen or (not is_blank(own_text) and not chosen)):
        return Other(text=own_text, value=values if several else None)
    if several and question.other and not is_blank(own_text):
        message = labels.other_unticked.format(other=labels.other)
        return InvalidPost((Problem(pointer="/text", code="unknown_value", message=message),))
    if not (several or indexes):
        return _invalid("required", labels.choose_first.format(submit=labels.answer))
    value = values if several else values[0]
    return Answer(value=value, note=post.first("note") or None)


def chosen_values(post: Post) -> tuple[str, ...]:
    """Return the choices: that of the button, or else those that are ticked; "Something else…" goes with them."""
    pressed = post.first("do").partition(":")[2] if post.do is PageAction.ANSWER else ""
    ticked = post.all_values("choice")
    if pressed == OTHER:  # its button stands in a list, where more may be ticked
        return tuple(dict.fromkeys((*ticked, OTHER)))
    return (pressed,) if pressed else ticked


def _schema_answer(post: Post, question: Question, labels: Labels) -> Action | InvalidPost:
    fields = None if "json" in post.fields else fields_from_schema(question.json_schema, rows=True)
    if fields is None:
        value = parse_json_answer(post.first("json"))
        return InvalidPost((value,)) if isinstance(value, Problem) else Answer(value=value)
    inputs = field_inputs(fields, {}, labels, NO_LIMITS)
    answer = read_fields(fields, inputs, parse_entries(post, fields))
    return InvalidPost(answer) if isinstance(answer, tuple) else answer


def row_keys(post: Post, name: str) -> list[str]:
    """Return the keys of the rows of a field in a post, in order."""
    sent = dict.fromkeys(post.all_values(f"{name}.row"))
    return [key for key in sent if key.isascii() and key.isdecimal() and len(key) < 10]


def filled_row_keys(post: Post, name: str, field: Field) -> list[str]:
    """Return the keys of those rows in which something is entered: the others are not sent."""
    keys = row_keys(post, name)
    return [key for key in keys if not is_blank_row(field, _row(post, name, key, field))]


def _row(post: Post, name: str, key: str, field: Field) -> dict[str, FieldEntry]:
    row: dict[str, FieldEntry] = {}
    for i, column in enumerate(field.columns):
        entry = _entry(post, f"{name}.{key}.{i}", column)
        is_answer = column.kind is FieldKind.BOOLEAN and isinstance(entry, list)
        row[column.name] = entry == [0] if is_answer else entry
    return row


def added_row(post: Post) -> str | None:
    """Return the name of the field to which a row was added."""
    return post.first("do").partition(":")[2] if post.do is PageAction.ADD_ROW else None


def _with_changed_rows(post: Post) -> Post:
    """Return a post with one row more, or one less."""
    name, _, key = post.first("do").partition(":")[2].partition(".")
    keys = row_keys(post, name)
    if post.do is PageAction.REMOVE_ROW:
        keys = [each for each in keys if each != key]
    else:
        keys.append(str(max(map(int, keys), default=-1) + 1))
    return replace(post, fields={**post.fields, f"{name}.row": tuple(keys)})


def _entry(post: Post, name: str, field: Field) -> FieldEntry:
    if field.kind is FieldKind.ROWS:
        return tuple(_row(post, name, key, field) for key in row_keys(post, name))
    if field.kind is FieldKind.BOOLEAN:
        text = post.first(name)
        return [BOOLEAN_VALUES.index(text)] if text in BOOLEAN_VALUES else None
    if field.kind in {FieldKind.CHOICE, FieldKind.CHOICES}:
        # An index that was never offered becomes -1, so that it is rejected rather than ignored.
        sent = [text for text in post.all_values(name) if text]
        return [int(t) if t.isascii() and t.isdecimal() and len(t) < 6 else -1 for t in sent]
    return post.first(name)


def _indexes(sent: tuple[str, ...], count: int) -> list[int] | None:
    indexes = []
    for text in sent:
        if not (text.isascii() and text.isdecimal() and len(text) < 6 and int(text) < count):
            return None
        indexes.append(int(text))
    return sorted(set(indexes))


def _question_at(text: str, ask: Ask) -> Question | None:
    indexes = _indexes((text,), len(ask.form.questions))
    return ask.form.questions[indexes[0]] if indexes else None


def _unknown(labels: Labels) -> InvalidPost:
    return _invalid("unknown_value", labels.too_late_unknown)


def _invalid(code: str, message: str) -> InvalidPost:
    return InvalidPost((Problem(pointer="", code=code, message=message),))
