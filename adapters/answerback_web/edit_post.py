"""Interpret a form post of the editor of a call that people may change; pure."""

from __future__ import annotations

from answerback.core.ask import Ask
from answerback.core.edited_call import digest_of
from answerback.core.editing import AllowEdited
from answerback.core.labels import Labels
from answerback.core.view import view_of
from answerback.dialects.approvals import edits
from answerback_web import edit_form, edit_part
from answerback_web.posts import (
    ChangedCall,
    InvalidPost,
    PageAction,
    Post,
    PostMeaning,
    choice_indexes,
    invalid_post,
    unknown_choice,
)


def interpret_changed_call(post: Post, ask: Ask, labels: Labels) -> PostMeaning:
    """Interpret a post about a changed call: a call is allowed only as its person has read it."""
    view = view_of(ask, labels)
    start, question = edit_part.start_of(view), ask.question
    if start is None or view.editable is None or question is None:
        return unknown_choice(labels)
    written = edit_form.read_edit_form(post.fields, start)
    if isinstance(written, tuple):
        return InvalidPost(written)
    if post.do is PageAction.CHANGE_JSON:
        return ChangedCall()
    read = edits.read_edit(ask.request, view.editable, written)
    if isinstance(read, tuple):
        return InvalidPost(read)
    if read is None:
        return invalid_post("unchanged", labels.edit_unchanged)
    chosen = choice_indexes((post.first("do").partition(":")[2],), len(question.options))
    has_read = post.first(edit_form.SEEN) == digest_of(read.arguments)
    if post.do is PageAction.CHANGE or not chosen or not has_read:
        return ChangedCall()
    value = question.options[chosen[0]].value
    return AllowEdited(value=value, edited=read.arguments, note=post.first("note") or None)
