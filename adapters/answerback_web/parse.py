"""Interpret a form post of the page of an ask: the action it stands for; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, assert_never

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
from answerback.core.editing import AllowEdited
from answerback.core.errors import Problem
from answerback.core.form import AnswerType, OptionKind, Question
from answerback.core.granting import RevokeGrant
from answerback.core.handing_over import HandOver
from answerback.core.labels import Labels
from answerback.core.option_labels import show_options
from answerback.core.schema_field_values import parse_json_answer
from answerback.core.schema_fields import fields_from_schema
from answerback.core.too_late import TryAgain
from answerback.core.typed_text import is_blank
from answerback.core.view import view_of
from answerback.presentation.form_inputs import NO_LIMITS, field_inputs
from answerback.presentation.form_spec import Entry, plan_form
from answerback.presentation.form_values import read_fields, read_grant
from answerback_web import edit_part, plan_comments
from answerback_web.edit_post import interpret_changed_call
from answerback_web.form_inputs import BOOLEAN_VALUES
from answerback_web.post_entries import parse_entries, with_changed_rows
from answerback_web.posts import (
    CHANGES,
    OTHER,
    ChangedRows,
    ConfirmEndTurn,
    InvalidPost,
    KeepTurn,
    PageAction,
    Post,
    PostMeaning,
    choice_indexes,
    chosen_values,
    invalid_post,
    unknown_choice,
)

_FIELD: Final = re.compile(r"f\d+(\.\d+\.\d+)?", re.ASCII)
"""The name of an input of a schema, perhaps in a row."""
_SENT_ALONE: Final[Mapping[PageAction | None, str]] = {
    PageAction.ASK_BACK: "ask_back",
    PageAction.HAND_OVER: "hand_over",
}
"""The fields that some actions send alone, which leave the question open."""
_TEXT_FIELDS: Final = frozenset({"text", "json", "other", "note", "ask_back", "reply"})
"""The text inputs."""


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


def without_sent(post: Post) -> Post | None:
    """Return the post without what its action has sent, if that leaves the question open; None for other actions."""
    if post.do not in _SENT_ALONE:
        return None
    fields = {**post.fields, "do": (PageAction.NO_BUTTON,)}
    fields.pop(_SENT_ALONE[post.do], None)
    return replace(post, fields=fields)


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
    if post.first("do") == PageAction.NO_BUTTON:
        return invalid_post("required", labels.no_button)
    read = interpret_changed_call if ask.request.editable and post.do in CHANGES else _meaning
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
            return invalid_post("takes_no_note", labels.comments_not_taken.format(deny=deny))
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
            return _answer(post, do, question, labels) if question else unknown_choice(labels)
        case PageAction.ADD_ROW | PageAction.REMOVE_ROW:
            return ChangedRows(with_changed_rows(post))
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
            return action_without_input(post) or unknown_choice(labels)


def _move(post: Post, ask: Ask, labels: Labels) -> Action | InvalidPost:
    if post.do is PageAction.NEXT:
        # Moving on would lose it.
        is_unsent = has_unsent_answer(post, ask, labels)
        return invalid_post("unsent", labels.answer_later_unsent) if is_unsent else Next()
    edited = _question_at(post.first("do").partition(":")[2], ask)
    return Edit(question_id=edited.id) if edited else unknown_choice(labels)


def has_unsent_answer(post: Post, ask: Ask, labels: Labels) -> bool:
    """Return True if a person entered an answer to the open question, or changed the earlier one, without sending
    it."""
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


def _grant(post: Post, ask: Ask, labels: Labels) -> Action | InvalidPost:
    view = view_of(ask, labels)
    spec = plan_form(view, Entry.GRANT, labels, NO_LIMITS)
    if spec is None or spec.grants is None or view.prompt is None:
        return unknown_choice(labels)
    values = parse_entries(post, spec.fields)
    answer = read_grant(spec.grants, spec.fields, spec.inputs, values, view.prompt.question)
    return InvalidPost(answer) if isinstance(answer, tuple) else answer


def _answer(post: Post, do: PageAction, question: Question, labels: Labels) -> Action | InvalidPost:
    if do is not PageAction.ANSWER:
        for_turn = do in {PageAction.YES_FOR_TURN, PageAction.NO_FOR_TURN}
        return Answer(value=do in {PageAction.YES, PageAction.YES_FOR_TURN}, remember=for_turn)
    match question.answer_type:
        case AnswerType.BOOLEAN:
            return invalid_post("required", labels.choose_first.format(submit=labels.answer))
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
    indexes = choice_indexes(selected, len(options))
    if indexes is None:
        return unknown_choice(labels)
    values: list[JsonValue] = [options[i].value for i in indexes]
    # Text without a choice counts: a person without JavaScript may forget to tick the choice.
    if question.other and (OTHER in chosen or (not is_blank(own_text) and not chosen)):
        return Other(text=own_text, value=values if several else None)
    if several and question.other and not is_blank(own_text):
        message = labels.other_unticked.format(other=labels.other)
        return InvalidPost((Problem(pointer="/text", code="unknown_value", message=message),))
    if not (several or indexes):
        return invalid_post("required", labels.choose_first.format(submit=labels.answer))
    value = values if several else values[0]
    return Answer(value=value, note=post.first("note") or None)


def _schema_answer(post: Post, question: Question, labels: Labels) -> Action | InvalidPost:
    fields = None if "json" in post.fields else fields_from_schema(question.json_schema, rows=True)
    if fields is None:
        value = parse_json_answer(post.first("json"))
        return InvalidPost((value,)) if isinstance(value, Problem) else Answer(value=value)
    inputs = field_inputs(fields, {}, labels, NO_LIMITS)
    answer = read_fields(fields, inputs, parse_entries(post, fields))
    return InvalidPost(answer) if isinstance(answer, tuple) else answer


def _question_at(text: str, ask: Ask) -> Question | None:
    indexes = choice_indexes((text,), len(ask.form.questions))
    return ask.form.questions[indexes[0]] if indexes else None
