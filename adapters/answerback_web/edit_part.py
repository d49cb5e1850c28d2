"""Convert a call that people may change to the plain values of the page's editor; pure."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from answerback.core.ask import Ask
from answerback.core.edited_call import EditedCall, digest_of
from answerback.core.form import ContextFormat, OptionKind
from answerback.core.labels import Labels
from answerback.core.markdown import Code
from answerback.core.view import View, view_of
from answerback.dialects.approvals import edits
from answerback_base.sanitize import one_line, visible
from answerback_web import diffs, edit_form, question_context
from answerback_web.edit_form import EditInput, Entered


@dataclass(frozen=True, slots=True)
class EditPreview:
    """The call that would be allowed, and the changes that the person has made to it."""

    headline: str
    context: Markup | None
    difference: Markup
    digest: str
    """Names what was read, so that nothing else is allowed."""


@dataclass(frozen=True, slots=True)
class EditPart:
    inputs: tuple[EditInput, ...]
    json: str | None
    """All arguments, where they are edited as JSON; None: each has an input of its own."""
    options: tuple[tuple[int, str], ...]
    """The choices that allow the changed call, as index and label."""
    preview: EditPreview | None
    is_open: bool


def start_of(view: View) -> str | None:
    """Return the arguments that the editor starts with: those of the earlier answer, or the agent's own."""
    if view.editable is None or view.prompt is None:
        return None
    return view.prompt.edited or view.editable.arguments


def unsent_texts(ask: Ask, entered: Entered) -> tuple[str, ...]:
    """Return what a person has changed in a call that can no longer be allowed."""
    if not edit_form.is_entered(entered) or not ask.request.editable:
        return ()
    start = start_of(view_of(ask)) or ask.request.editable[0].arguments
    return edit_form.changed_texts(entered, start)


def edit_part(
    ask: Ask, view: View, labels: Labels, entered: Entered, *, as_json: bool, previews: bool
) -> EditPart | None:
    """Return the editor; None if nobody may change the call.

    Args:
        entered: the fields of a post, which are shown again if it comes from a page with the editor.
        as_json: whether all arguments are to be edited as JSON.
        previews: whether to show what they would do.
    """
    start = start_of(view)
    if start is None or view.editable is None or view.prompt is None:
        return None
    sent = entered if edit_form.is_entered(entered) else {}
    inputs = edit_form.as_entered(sent, start)
    written = edit_form.read_edit_form(sent, start)
    is_json = edit_form.JSON in sent or (as_json and isinstance(written, str)) or not inputs
    preview = None
    if previews and isinstance(written, str):
        read = edits.read_edit(ask.request, view.editable, written)
        if isinstance(read, EditedCall):
            preview = _preview(read, ask.form.context_format, labels)
    question = view.prompt.question
    return EditPart(
        inputs=inputs,
        json=written if is_json and isinstance(written, str) else None,
        options=tuple(
            (i, visible(option.label))
            for i, option in enumerate(question.options)
            if option.kind is OptionKind.ALLOW_ONCE
        ),
        preview=preview,
        is_open=as_json or previews or bool(edit_form.changed_texts(sent, start)),
    )


def _preview(read: EditedCall, context_format: ContextFormat, labels: Labels) -> EditPreview:
    context = read.context
    return EditPreview(
        headline=one_line(read.headline),
        context=question_context.render_source(context, context_format, labels)
        if context
        else None,
        difference=render_difference(read.difference, labels),
        digest=digest_of(read.arguments),
    )


def render_difference(difference: str, labels: Labels) -> Markup:
    """Render what was changed in a call, with removed and added lines marked."""
    return diffs.render_diff(Code(visible(difference), "diff"), None, labels)
