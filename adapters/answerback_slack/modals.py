"""Build the modals that clicks open, and parse the submitted ones. Pure.

A modal's ``callback_id`` is the control that opened it, and its ``private_metadata`` the message it belongs to, so a
submission can be resolved after a restart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from answerback.core.ask import Ask
from answerback.core.errors import Problem
from answerback.core.files import MAX_FILES
from answerback.core.intents import Choose, RequestedAction
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback.presentation import text_fitting
from answerback.presentation.attribution import fill
from answerback.presentation.divided_texts import join_texts
from answerback.presentation.form_inputs import InputKind
from answerback.presentation.form_spec import Entry, FormSpec, form_title
from answerback.presentation.form_values import read_form
from answerback_base.sanitize import as_json
from answerback_chat.control_codec import Control, Verb
from answerback_slack import blocks as kit
from answerback_slack import form_inputs, limits, show_in_full
from answerback_slack.blocks import Block, escape
from answerback_slack.parse import FILES_BLOCK, Submission, selected_indexes


def build_modal(
    view: View,
    control: Control,
    labels: Labels,
    metadata: str,
    selected: list[int] | None = None,
    *,
    takes_files: bool = False,
) -> Block | None:
    """Build the modal that a control opens on this view; None if it opens no modal (any more).

    Args:
        selected: the options that are selected in the message; None if it has nothing to select.
        takes_files: true if the app may read files.
    """
    if control.verb is Verb.SHOW_IN_FULL:
        return show_in_full.full_text_modal(view, labels, 0, metadata)
    if control.verb is Verb.PREVIEW:
        return show_in_full.preview_modal(view, labels, control.number or 0, metadata)
    spec = form_inputs.form_of(view, control, labels, selected)
    if spec is None:
        return None
    blocks = [kit.section(spec.question)] if spec.question else []
    blocks += kit.sections(spec.about)
    blocks += [kit.section(as_json(spec.schema))] if spec.schema is not None else []
    blocks += [kit.small_text(spec.selection)] if spec.selection else []
    blocks += form_inputs.form_blocks(spec, view.prompt, control, labels)
    blocks += [_files_input(spec, view, labels)] if takes_files and spec.takes_files else []
    return kit.modal_view(
        spec.title, control.encode(), metadata, blocks, submit=labels.submit, close=labels.cancel
    )


def _files_input(spec: FormSpec, view: View, labels: Labels) -> Block:
    """The input for files, which Slack cannot fill: what came with the earlier answer is named."""
    again = (
        view.prompt.again if view.prompt and spec.entry not in {Entry.REPLY, Entry.OBJECT} else None
    )
    hint = labels.attach_in_chat
    if again is not None and again.files:
        names = ", ".join(each.name for each in again.files)
        hint = f"{hint} {labels.attach_again.format(names=names)}"
    element: Block = {"type": "file_input", "action_id": FILES_BLOCK, "max_files": MAX_FILES}
    return kit.input_block(labels.attach, FILES_BLOCK, element, optional=True, hint=hint)


def rejected_submission_modal(
    entry: Entry | None, reason: str, typed: str, labels: Labels
) -> Block:
    """The modal that replaces one whose submission was rejected: the reason, and what was typed, to be copied.

    ``reason`` is mrkdwn, so that it can show people's names. Everything that was typed is shown, unless it exceeds what
    Slack accepts in one view.

    Args:
        entry: what the modal asked for, which stays its title; None if this version does not know it.
    """
    about = fill(labels.not_sent, escape, reason=reason) if typed.strip() else reason
    shown = kit.mrkdwn(text_fitting.shorten(about, limits.SECTION_TEXT))
    blocks: list[Block] = [{"type": "section", "text": shown, "expand": True}]
    blocks += [kit.small_text(labels.entered)] if typed.strip() else []
    rest, more = kit.sections(typed), kit.small_text(text_fitting.ELLIPSIS)
    title = form_title(entry, labels)
    frame = kit.modal_view(title, "ab1:notice", "", blocks, close=labels.close)
    room = limits.MODAL_BYTES - kit.json_bytes(frame)
    if sum(map(_item_bytes, rest)) > room:
        room -= _item_bytes(more)
        totals = accumulate(map(_item_bytes, rest))
        rest = [*(block for block, total in zip(rest, totals, strict=True) if total <= room), more]
    return frame | {"blocks": [*blocks, *rest]}


def _item_bytes(block: Block) -> int:
    """The number of bytes that a block adds to a list of blocks."""
    return kit.json_bytes(block) + len(", ")


def text_to_give_back(submission: Submission) -> str:
    """Return the text that was entered, for `rejected_submission_modal`: a plain text, or a form's fields with their
    labels."""
    selection = selected_indexes(submission.control, submission.values)
    text = join_texts(form_inputs.typed_texts(submission.values)).get(0)
    return (None if selection else text) or "\n".join(submission.lines)


def parse_submission(
    submission: Submission, view: View, labels: Labels
) -> RequestedAction | dict[str, str] | None:
    """The action that a submitted modal requests, or the errors by block_id; None if this view has no such form."""
    control = submission.control
    spec = form_inputs.form_of(view, control, labels)
    if spec is None:
        return None
    values = form_inputs.decode_values(spec, submission)
    chosen = values.get("0")
    if spec.entry in {Entry.CHOICE, Entry.NOTE}:
        indexes = chosen if isinstance(chosen, list) else None
        if indexes is None or (spec.inputs[0].kind is InputKind.ONE and len(indexes) != 1):
            missing = labels.choose_first.format(submit=labels.submit)
            return {form_inputs.first_menu(control): missing}
        if spec.entry is Entry.CHOICE:
            return Choose(tuple(indexes))
    action = read_form(spec, values, view.prompt)
    return _errors(spec, action, submission) if isinstance(action, tuple) else action


def errors_by_block(
    submission: Submission, ask: Ask, problems: Sequence[Problem], labels: Labels
) -> dict[str, str]:
    """Group the service's problems by the block_id that shows them."""
    spec = form_inputs.form_of(view_of(ask, labels), submission.control, labels)
    return _errors(spec, problems, submission) if spec else {}


def _errors(spec: FormSpec, problems: Sequence[Problem], submission: Submission) -> dict[str, str]:
    messages: dict[str, list[str]] = {}
    for problem in problems:
        block_id = form_inputs.block_of(spec, problem, submission)
        messages.setdefault(block_id, []).append(problem.message)
    return {block_id: "\n".join(each) for block_id, each in messages.items()}
