"""Convert a View to an `AskPage`, the plain values for the page's templates; pure.

Owns what is shown where and in which words; the templates own the markup. Texts from agents and
people pass through `visible` once, here; input values are left unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from markupsafe import Markup

from answerback.core.ask import Ask, Outcome, Status
from answerback.core.clarification import walk_revision
from answerback.core.errors import Problem
from answerback.core.files import AttachedFile
from answerback.core.form import AnswerType
from answerback.core.granting import describe_offer
from answerback.core.labels import Labels
from answerback.core.person import AuthMethod
from answerback.core.schema_fields import Field, FieldKind, fields_from_schema
from answerback.core.secrecy import view_for_agent
from answerback.core.urgency import RouteMark
from answerback.core.view import Control, Line, Prompt, View, answer_lines, view_of
from answerback.core.walker import Person, question_index
from answerback.presentation import answer_summary, durations, wording
from answerback.presentation.form_inputs import NO_LIMITS
from answerback.presentation.form_spec import Entry, field_index, native_fields, plan_form
from answerback.presentation.sent_call import SentCallText, sent_call_text
from answerback.presentation.text_fitting import shorten
from answerback_base.sanitize import one_line, visible
from answerback_web import (
    attached_files,
    edit_form,
    edit_part,
    form_inputs,
    limits,
    people_text,
    plan_comments,
    question_context,
)
from answerback_web.attached_files import AttachPart
from answerback_web.edit_part import EditPart
from answerback_web.form_inputs import Input
from answerback_web.pictures import NO_FILES, PageFiles, page_files, render_sent
from answerback_web.post_entries import filled_row_keys, parse_entries
from answerback_web.posts import CHANGES, PageAction, Post
from answerback_web.prompt_part import OPTION_LIMITS, PromptPart, prompt_part

_MAX_FORMATTED: Final = 10_000
"""Characters of contexts up to which those of an ended ask are formatted. More are shown as they were written, because
formatting them would hold up everyone else."""


@dataclass(frozen=True, slots=True)
class Error:
    """An error message, and the id of the input it is about (None: the page as a whole)."""

    text: str
    target: str | None


@dataclass(frozen=True, slots=True)
class Row:
    """A question with its answer, in "so far", the review and the record."""

    question: str
    answers: tuple[str, ...]
    """Empty: not answered."""
    code: bool
    """True if the answer is JSON."""
    note: str | None
    difference: Markup | None
    """The changes of the call that it allowed."""
    by: str | None
    """Who answered it; None if no person did."""
    at: float | None
    """When they answered."""
    edit: str | None
    """The value that the Edit button sends."""
    context: Markup | None
    """The context that the answer was given on, once it is to be confirmed or the ask has ended."""
    folded: bool
    """True if the context starts collapsed: it is long, and nothing is left to decide."""
    files: Markup | None
    """The files that came with the answer."""


@dataclass(frozen=True, slots=True)
class Summary:
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class GrantPart:
    """The grants that may be made, and the inputs for their scope and duration."""

    texts: tuple[str, ...]
    inputs: tuple[Input, ...]
    is_open: bool


@dataclass(frozen=True, slots=True)
class AskPage:
    revision: int
    title: str
    label: str
    """Who asks."""
    host: str
    """The agent's host, without where it asks from."""
    approval: bool
    """True if permission is asked for."""
    plan: bool
    """True if permission is asked for a plan."""
    asks: str
    urgency: str
    """The words for its urgency; empty if it is as urgent as most are."""
    mark: RouteMark | None
    progress: str | None
    place: tuple[int, int] | None
    """Position and total, for the progress bar."""
    prompt: PromptPart | None
    review: bool
    summary: Summary | None
    """The heading of all answers, which are reviewed or confirmed."""
    hidden: bool
    """True if the visitor may not read anything yet."""
    confirmed: str | None
    """Who has confirmed the answers."""
    can_move: bool
    """True if moving to another question keeps all answers."""
    has_next: bool
    """True if the question can be left for later."""
    answered_before: bool
    """True if the open question was answered before."""
    key_hints: tuple[str, ...]
    """The keys that work on this page, each with what it does."""
    rows: tuple[Row, ...]
    controls: frozenset[str]
    needs_text: bool
    asides: Markup
    """The questions that people asked back about this one, and the agent's explanations."""
    walk_revision: int
    """Changes when another question is shown, or the same one again."""
    has_unsaved_input: bool
    """True if it shows input that is not stored anywhere."""
    comments: str
    """The comments beside the lines of a plan, as their field holds them."""
    ask_back: str
    """The text in the box for asking back."""
    hand_over: str
    """To whom it is to be handed over, as entered."""
    recipients: tuple[tuple[str, str], ...] | None
    """To whom it can be handed over, as ids with the names that are known; None: to nobody."""
    reply: str
    """The text in the reply box."""
    reply_open: bool
    decided: str
    """The decision in a few words; empty if there is none."""
    ended: Markup | None
    """A line that says how it ended and by whom."""
    collected: Markup
    """A line that says if its agent knows how it ended; empty while it is open."""
    state: str
    """Changes when the page does."""
    outcome: str | None
    """The CSS class of its outcome; None while it is open."""
    replied: str | None
    """The text of the reply that ended the ask."""
    failure: str | None
    audience: Markup
    """Who may answer and until when; empty if there is nothing to show."""
    ended_at: float | None
    sent: SentCallText
    """The parts behind "Show in full"."""
    waited: str
    """The time that it waited for its end; empty while it is open."""
    errors: tuple[Error, ...] = ()
    notice: str | None = None
    unsaved_texts: tuple[str, ...] = ()
    """Texts that a person entered into a page that was out of date."""
    grant: GrantPart | None = None
    """The grants that may be made; None: none may."""
    files: Markup | None = None
    """The files that no text places; None if there are none."""
    edit: EditPart | None = None
    """The call that may be changed before it is allowed; None: none may."""
    attach: AttachPart | None = None
    """The files that are sent with an answer; None: nothing takes any."""
    reply_files: Markup | None = None
    """The files that came with the reply that ended the ask."""

    def errors_of(self, target: str) -> tuple[Error, ...]:
        return tuple(error for error in self.errors if error.target == target)


def ask_page(
    ask: Ask,
    labels: Labels,
    *,
    post: Post | None = None,
    problems: Sequence[Problem] = (),
    notice: str | None = None,
    unsaved_texts: tuple[str, ...] = (),
    hidden: bool = False,
    address: Callable[[AttachedFile], str] | None = None,
) -> AskPage:
    """Return the page that shows the current state of an ask.

    Args:
        post: what the person entered; it is shown again instead of the prefill.
        problems: what is wrong with it.
        notice: a sentence to show at the top.
        unsaved_texts: texts to show below the notice, which would be lost otherwise.
        hidden: whether the visitor may not read anything yet, and perhaps is the agent.
        address: returns where a file is served to the page; None: nowhere, so files are only named.
    """
    view = view_of(ask, labels, places_pictures=True)
    if hidden:
        view = view_for_agent(ask, view)
    prompt, files = view.prompt, NO_FILES if hidden else page_files(ask, address)
    part = prompt_part(prompt, labels, post, files) if prompt else None
    outcome, status = view.outcome, wording.ending_status(view)
    errors = tuple(
        Error(visible(each.message), _target(each.pointer, prompt, post)) for each in problems
    )
    contexts = () if ask.open else tuple(line.question.context or "" for line in view.lines)
    verbatim = sum(map(len, contexts)) > _MAX_FORMATTED
    rows = tuple(_row(ask, line, labels, files, address, verbatim=verbatim) for line in view.lines)
    answered_before = prompt is not None and ask.walk.answer(prompt.question.id) is not None
    return AskPage(
        revision=view.revision,
        title=labels.sign_in if hidden else one_line(_title(view, labels)),
        label=one_line(view.label),
        host=one_line(view.host),
        approval=view.approval,
        plan=view.plan,
        asks=one_line(wording.who_asks(view, labels)),
        urgency=wording.urgency_text(view.urgency, labels),
        mark=view.mark,
        progress=prompt.progress if prompt else None,
        place=(prompt.position, prompt.total) if prompt and prompt.progress else None,
        prompt=part,
        review=view.is_review,
        summary=Summary(wording.summary_title(view, labels), wording.summary_text(view, labels))
        if prompt is None and outcome is None
        else None,
        hidden=hidden,
        confirmed=people_text.confirmed_by(view, labels),
        can_move=view.reviewed,
        has_next=view.has_next,
        answered_before=answered_before,
        key_hints=tuple(_key_hints(view, labels, answered_before=answered_before)),
        rows=rows,
        controls=frozenset(control.value for control in view.controls),
        needs_text=view.reply_needs_text,
        asides=question_context.render_asides(view, labels),
        walk_revision=walk_revision(ask),
        has_unsaved_input=post is not None,
        comments=post.first(plan_comments.FIELD) if post else "",
        ask_back=post.first("ask_back") if post else "",
        hand_over=post.first("hand_over") if post else "",
        recipients=None
        if view.recipients is None
        else tuple((each, "") for each in view.recipients),
        reply=post.first("reply") if post else "",
        reply_open=post is not None
        and bool(post.first("reply") or post.do in {PageAction.REPLY, PageAction.OBJECT}),
        decided=shorten(one_line(_decided(view, labels)), limits.DETAIL_LENGTH),
        ended=people_text.ended(view, labels) or None,
        collected=people_text.collected(view, labels),
        state=state_of(ask),
        outcome=status.value if status else None,
        replied=visible(view.reply) if view.reply is not None else None,
        failure=visible(outcome.message) if outcome and outcome.message else None,
        audience=people_text.audience_line(view, ask.placement.destination.surface, labels),
        ended_at=outcome.at if outcome else None,
        sent=sent_call_text(view.sent, labels),
        waited=durations.waited(view, labels),
        errors=errors,
        notice=visible(notice) if notice else None,
        unsaved_texts=tuple(visible(text) for text in unsaved_texts),
        grant=_grant(view, labels, post),
        files=files.render_rest() or None,
        edit=_edit(ask, view, labels, post) if view.editable is not None else None,
        attach=attached_files.attach_part(
            view, post, notes_in_more=part is not None and part.main is not None
        ),
        reply_files=render_sent(ask.walk.reply_files, address) if ask.walk.reply_files else None,
    )


def shows_entered(ask: Ask, labels: Labels, post: Post) -> bool:
    """Return True if the page of an ask shows something that was entered in a post."""
    filled = ask_page(ask, labels, post=post)
    return replace(filled, has_unsaved_input=False) != ask_page(ask, labels)


def _edit(ask: Ask, view: View, labels: Labels, post: Post | None) -> EditPart | None:
    do = post.do if post else None
    return edit_part.edit_part(
        ask,
        view,
        labels,
        post.fields if post else {},
        as_json=do is PageAction.CHANGE_JSON,
        previews=do in {PageAction.CHANGE, PageAction.ALLOW_CHANGED},
    )


def _grant(view: View, labels: Labels, post: Post | None) -> GrantPart | None:
    spec = plan_form(view, Entry.GRANT, labels, NO_LIMITS)
    if spec is None:
        return None
    inputs, is_open = spec.inputs, False
    if post is not None and post.do in {PageAction.GRANT, PageAction.NO_BUTTON}:
        entered = parse_entries(post, spec.fields)
        inputs = tuple(replace(each, start=entered[each.id]) for each in inputs)
        is_open = post.do is PageAction.GRANT or inputs != spec.inputs
    said = describe_offer(spec.grants, labels) if spec.grants else []
    return GrantPart(
        (labels.grant_about, *map(visible, said)), form_inputs.inputs_of(inputs, labels), is_open
    )


def state_of(ask: Ask) -> str:
    """Return a text that changes when the page of an ask does."""
    return f"{ask.revision}!" if ask.collection.unread_by_agent else str(ask.revision)


def visitor_line(person: Person | None, labels: Labels) -> str | None:
    """Return who the visitor of a page is, and how that is known; None for an anonymous visitor."""
    if person is None:
        return None
    is_operator = person.known is AuthMethod.KEY
    name = (
        visible(wording.display_name(person))
        if is_operator
        else people_text.name_with_proof(person, labels)
    )
    return labels.you_are.format(name=name)


def _title(view: View, labels: Labels) -> str:
    if view.prompt:
        progress = f"{view.prompt.progress} " if view.prompt.progress else ""
        return progress + shorten(one_line(view.prompt.question.text), 80)
    return wording.ending(view, labels) or wording.summary_title(view, labels)


def _decided(view: View, labels: Labels) -> str:
    """Return what people decided; defaults that were taken at a deadline are no decision."""
    if view.erased:
        return ""
    match view.outcome:
        case None:
            return ""
        case Outcome(status=Status.ANSWERED):
            is_default = wording.ending_status(view) is not Status.ANSWERED
            return "" if is_default else answer_summary.brief_answer(view, labels)
        case Outcome(status=Status.CANCELLED) if view.approval and not view.unconfirmed:
            return labels.denied_with_message if view.reply else labels.denied_plainly
        case Outcome(status=Status.TURN_ENDED) if view.approval:
            return labels.denied_and_stopped
        case _:
            return ""


def _key_hints(view: View, labels: Labels, *, answered_before: bool) -> Iterator[str]:
    if view.prompt is not None:
        question = view.prompt.question
        is_one_click = question.answer_type is AnswerType.BOOLEAN or OPTION_LIMITS.is_one_click(
            question
        )
        if question.options or question.answer_type is AnswerType.BOOLEAN:
            yield labels.keys_press if is_one_click else labels.keys_choose
        if not is_one_click or question.other:
            yield labels.keys_answer
    if view.reviewed and (answered_before or view.has_next or Control.BACK in view.controls):
        yield labels.keys_move


def _row(
    ask: Ask,
    line: Line,
    labels: Labels,
    files: PageFiles,
    address: Callable[[AttachedFile], str] | None,
    *,
    verbatim: bool,
) -> Row:
    given = line.given
    index = question_index(ask.form, line.question.id)
    context = line.question.context if ask.confirming or not ask.open else None
    return Row(
        question=visible(line.text),
        answers=tuple(
            map(visible, answer_lines(line.question, replace(given, edited=None, files=()), labels))
        )
        if given
        else (),
        code=line.question.answer_type is AnswerType.SCHEMA
        and fields_from_schema(line.question.json_schema, rows=True) is None,
        note=wording.source_note(given.source, labels) if given else None,
        difference=edit_part.render_difference(given.edited.difference, labels)
        if given and given.edited
        else None,
        by=people_text.byline(given.by, labels) if given else None,
        at=given.at if given and given.by else None,
        edit=f"{PageAction.EDIT}:{index}" if line.editable else None,
        context=question_context.render_source(
            context, "text" if verbatim else ask.form.context_format, labels, files=files
        )
        if context
        else None,
        folded=not ask.open and len(context or "") > limits.MAX_OPEN_ANSWERS,
        files=render_sent(given.files, address) if given and given.files else None,
    )


def _target(pointer: str, prompt: Prompt | None, post: Post | None) -> str | None:
    """Return the id of the input that a problem's pointer leads to."""
    do = post.do if post else None
    if pointer == "/files":
        return "files"
    if do in {PageAction.REPLY, PageAction.OBJECT}:
        return "reply"
    if do in {PageAction.ASK_BACK, PageAction.HAND_OVER, PageAction.GRANT}:
        return do.value
    if do in CHANGES:
        return pointer[1:] if edit_form.is_input(pointer[1:]) else "edit"
    if prompt is None or do is not PageAction.ANSWER:
        return None
    question = prompt.question
    if pointer in {"/text", "/note"}:
        return {"/text": "other", "/note": "note"}[pointer]
    is_schema = question.json_schema is not None
    fields = native_fields(prompt, rows=limits.MAX_ROW_INPUTS) if is_schema else None
    if fields is not None:
        index = field_index(fields, pointer)
        if index is None or fields[index].kind is not FieldKind.ROWS or post is None:
            return None if index is None else f"f{index}"
        return _target_in_rows(
            pointer.removeprefix(fields[index].pointer), f"f{index}", fields[index], post
        )
    return {
        AnswerType.TEXT: "text",
        AnswerType.SCHEMA: "json",
        AnswerType.SELECT: "choices",
        AnswerType.MULTI_SELECT: "choices",
    }.get(question.answer_type)


def _target_in_rows(rest: str, name: str, field: Field, post: Post) -> str:
    """Return the id of the input in a row, or else of all rows, that the rest of a pointer leads to."""
    _, number, *within = rest.split("/", 2) if rest else ("", "")
    keys = filled_row_keys(post, name, field)
    column = field_index(field.columns, f"/{within[0]}") if within else None
    if column is None or not number.isdecimal() or int(number) >= len(keys):
        return name
    return f"{name}.{keys[int(number)]}.{column}"
