"""The platform-independent view of an ask: the prompt, the review or the result.

Texts are verbatim, as the agent and the people wrote them: every surface escapes them when it renders.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core import walker
from answerback.core.answer_lines import answer_lines as answer_lines
from answerback.core.asides import Aside
from answerback.core.ask import ANYONE, DEFAULT_ASKER, Ask, Outcome, headline_of
from answerback.core.confirmation import Vote
from answerback.core.confirmer_copies import unreachable_count
from answerback.core.controls import Control as Control
from answerback.core.controls import controls_of, offers_to_remember
from answerback.core.edited_call import EditableCall
from answerback.core.editing import as_decided, editable_call
from answerback.core.files import AttachedFile
from answerback.core.form import AnswerType, ContextFormat, Option, Question
from answerback.core.giving_up import TriedAgain
from answerback.core.granting import can_revoke, option_to_grant
from answerback.core.grants import GrantNote, GrantOffer
from answerback.core.handing_over import is_left_to_stand_ins, possible_recipients
from answerback.core.labels import ENGLISH, Labels
from answerback.core.option_labels import show_options
from answerback.core.placement import HandedOver
from answerback.core.question_markdown import MARKS, divide, is_markdown
from answerback.core.too_late import can_try_again
from answerback.core.typed_text import fold
from answerback.core.urgency import RouteMark, Urgency
from answerback.core.walker import GivenAnswer, Person, Phase

_MARKS: Final = re.compile(r"[\\`*_\[\]<>#~|]")
"""Characters that Markdown may read as marks."""


class SentCall(NamedTuple):
    """The parts of an ask that only "Show in full" shows."""

    folder: str | None
    name: str
    arguments: dict[str, JsonValue] | None
    """None unless permission is asked for: any other call is its questions."""


class Prompt(NamedTuple):
    """The open question. ``prefill`` is the initial value of its controls (None: empty)."""

    question: Question
    """With the options to show; see `answerback.core.option_labels`."""
    position: int
    total: int
    prefill: JsonValue
    remember: bool
    """True if "for this turn" answers are offered."""
    again: GivenAnswer | None = None
    """The earlier answer used as the prefill; None if the prefill is the question's default."""
    context_format: ContextFormat = "markdown"
    asides: tuple[Aside, ...] = ()
    """The questions that people asked about this one, each with the agent's explanation."""
    others: tuple[Option, ...] = ()
    """Options that only say "something else": they are not among the question's, but open the text entry."""
    every_option: tuple[Option, ...] = ()
    """The question's options and ``others``, in the order sent."""

    def other_label(self, labels: Labels) -> str:
        """Return the label of the control for the person's own words: the agent's, if it offers such an option."""
        return self.others[0].label if self.others else labels.other

    @property
    def with_every_option(self) -> Question:
        """The question with all options, as "Show in full" lists them."""
        return _with_options(self.question, (*self.question.options, *self.others))

    @property
    def about_other(self) -> str:
        """The agent's explanation of that option."""
        return "\n".join(each.description for each in self.others if each.description)

    @property
    def is_prefilled(self) -> bool:
        """True if there is a prefill; an answered null is one."""
        return self.again is not None or self.question.has_default

    @property
    def chosen(self) -> JsonValue:
        """The prefill without the "Something else…" text."""
        return self.again.chosen if self.again else self.prefill

    @property
    def other_text(self) -> str | None:
        """The prefill of "Something else…"; None if the earlier answer has no such text."""
        return self.again.other_text if self.again else None

    @property
    def note(self) -> str | None:
        """The note given with the earlier answer, or None."""
        return self.again.note if self.again else None

    @property
    def edited(self) -> str | None:
        """The changed call that the earlier answer allowed, as JSON, or None."""
        return self.again.edited.arguments if self.again and self.again.edited else None

    @property
    def progress(self) -> str | None:
        """``[N/M]``, or None if the form has one question."""
        return None if self.total == 1 else f"[{self.position}/{self.total}]"


class Line(NamedTuple):
    """One question and its answer; ``given`` is None if the question was never answered."""

    question: Question
    text: str
    """The text that stands for the question: in a review with its label in front."""
    given: GivenAnswer | None
    editable: bool = False
    by: Person | None = None
    """Who gave the answer, if several people have answered."""


class Confirmation(NamedTuple):
    """Answers that wait for people to confirm them."""

    due: int
    """The number of people who have to confirm."""
    missing: int
    """The number of them who have not done so yet."""
    about: Prompt
    """The decision to confirm, as a question whose context is that of all questions asked."""
    unreachable: int = 0
    """The number of those who may confirm them and cannot be reached."""
    stand_ins_left: bool = False
    """True if those who are left stand in for whoever answered, or the other way round, so that they cannot."""


class View(NamedTuple):
    """An ask as people should see it at ``revision``.

    Exactly one of these holds: ``prompt`` is set (a question is open), ``outcome`` is set (the
    ask has ended and has no controls), ``confirmation`` is set (the answers wait for confirmation), or none is (the
    review).
    """

    ask_id: str
    revision: int
    label: str
    """The asker's display name; see `asker_label`."""
    prompt: Prompt | None
    lines: tuple[Line, ...]
    """The answers so far; in review and after the end, those to all questions asked."""
    controls: tuple[Control, ...]
    outcome: Outcome | None
    reply: str | None
    reply_needs_text: bool
    agent_left: bool = False
    """True if the agent has stopped waiting for this answer, or had done so when the ask ended."""
    reviewed: bool = False
    """True if the form ends in a review; Back and Edit then discard no answers."""
    has_next: bool = False
    """True if the open question can be left for later, because there is another one without an answer."""
    responders: tuple[str, ...] = ()
    """The ids of those who may answer; empty if that need not be shown: in a direct message, and after the end."""
    mention: bool = False
    """True if the first post notifies the responders."""
    closes_at: float | None = None
    """When the open ask expires, in seconds since the epoch; None: never."""
    approval: bool = False
    """True if permission is asked for: Reply and End Turn then deny."""
    plan: bool = False
    """True if permission is asked for a plan: Reply then keeps the agent planning."""
    headline: str = ""
    """One line that says what would happen, or asks the first question; empty after an erasure."""
    erased: bool = False
    """True if the content has been erased; then only that fact is shown."""
    retry_request: TriedAgain | None = None
    """Who told the agent to try again what nobody had allowed in time."""
    can_try_again: bool = False
    """True if people can still tell the agent to try again."""
    unread_by_agent: bool = False
    """True if its agent has yet to get the outcome, or what it was told since."""
    read_by_agent_at: float | None = None
    """When its agent got that."""
    asked_at: float = 0.0
    """When it was asked, counted in time that has passed, in seconds since the epoch."""
    host: str = DEFAULT_ASKER
    """The asker's name alone, without where it asks from."""
    sent: SentCall | None = None
    """The parts that "Show in full" adds; None if there are none."""
    confirmation: Confirmation | None = None
    votes: tuple[Vote, ...] = ()
    """Who has confirmed the answers."""
    unconfirmed: bool = False
    """True if it ended while its answers waited for confirmation."""
    handed_over: HandedOver | None = None
    """Who handed it over last, and to whom, while it is open."""
    recipients: tuple[str, ...] | None = None
    """The ids of those to whom the open ask can be handed over, of whom groups are left out; None: it cannot be."""
    editable: EditableCall | None = None
    """The call that may be changed before it is allowed."""
    grants: GrantOffer | None = None
    """The grants that may be made along with the answer that allows once."""
    grant: GrantNote | None = None
    """The grant that was made with the answer, or that allowed this."""
    can_revoke: bool = False
    """True if people can revoke the grant here."""
    urgency: Urgency = Urgency.NORMAL
    """Its urgency while it is open; normal after that."""
    mark: RouteMark | None = None
    """The mark of its route."""
    files: tuple[AttachedFile, ...] = ()
    """The files that the agent sent with it."""

    @property
    def is_review(self) -> bool:
        """True if the person is to check the answers and submit them."""
        return self.prompt is None and self.outcome is None and self.confirmation is None

    @property
    def about(self) -> Prompt | None:
        """The prompt that people decide on: the open question, or the decision that they are to confirm."""
        return self.confirmation.about if self.confirmation else self.prompt


def asker_label(ask: Ask) -> str:
    """Return who asks: the label configured for the open question (or for all), else its tool, else the agent."""
    request = ask.request
    configured = _configured_label(ask) if request.prompt_labels else None
    return (
        configured or request.form.tool or request.origin.asker(request.agent, request.prompt_label)
    )


def _configured_label(ask: Ask) -> str | None:
    question, known = ask.question, ask.request.prompt_labels
    shown = (question,) if question is not None else ask.request.form.questions
    labels = {known.get(each.id) for each in shown}
    return labels.pop() if len(labels) == 1 else None


def view_of(ask: Ask, labels: Labels = ENGLISH, *, places_pictures: bool = False) -> View:
    """Return the current view of an ask; options are told apart from the controls with these labels.

    Args:
        places_pictures: whether pictures are shown where texts place them; if not, words stand there.
    """
    view = _view_of(ask, labels)
    if places_pictures or not view.files:
        return view
    return _with_pictures_in_words(view, ask.form.context_format, labels)


def _view_of(ask: Ask, labels: Labels) -> View:
    question, form = ask.question, ask.request.form
    return View(
        ask_id=ask.id,
        revision=ask.revision,
        label=asker_label(ask),
        prompt=_prompt(ask, question, labels) if question else None,
        lines=_lines(ask, question, labels),
        controls=controls_of(ask),
        outcome=_outcome(ask),
        reply=ask.retry_request.text if ask.retry_request else ask.walk.reply,
        reply_needs_text=form.reply_needs_text,
        agent_left=ask.attendance.agent_left,
        reviewed=(reviewed := walker.has_review(form)),
        has_next=reviewed and walker.has_next(form, ask.walk),
        responders=_responders(ask),
        mention=ask.request.mention,
        closes_at=ask.schedule.expires_at if ask.outcome is None else None,
        approval=form.decided_by_hand,
        plan=any(each.plan for each in form.questions),
        headline=headline_of(form) if not ask.request.editable else headline_now(ask),
        erased=ask.erased_at is not None,
        retry_request=ask.retry_request,
        can_try_again=ask.outcome is not None and can_try_again(ask),
        unread_by_agent=ask.collection.unread_by_agent,
        read_by_agent_at=ask.collection.read_by_agent_at,
        asked_at=ask.created_at - ask.schedule.clock_set_back,
        host=ask.request.origin.label(ask.request.agent, ask.request.prompt_label),
        sent=_sent_call(ask),
        confirmation=_confirmation(ask, labels) if ask.confirming else None,
        votes=ask.walk.votes,
        unconfirmed=_ended_unconfirmed(ask),
        handed_over=ask.placement.handed_over if ask.open else None,
        recipients=possible_recipients(ask) if ask.request.allowed_recipients is not None else None,
        editable=editable_call(ask) if ask.request.editable else None,
        grants=_grants(ask),
        grant=ask.grant,
        can_revoke=ask.grant is not None and can_revoke(ask),
        urgency=ask.request.urgency if ask.outcome is None else Urgency.NORMAL,
        mark=ask.request.mark,
        files=ask.request.files,
    )


def _with_pictures_in_words(view: View, context_format: ContextFormat, labels: Labels) -> View:
    # Few asks have files, and the reader of Markdown is not to be loaded with every service.
    from answerback.core.picture_words import option_in_words, question_in_words

    files = view.files

    def prompt_in_words(prompt: Prompt) -> Prompt:
        every = (option_in_words(each, files, labels) for each in prompt.every_option)
        question = question_in_words(prompt.question, files, prompt.context_format, labels)
        return prompt._replace(question=question, every_option=tuple(every))

    def line_in_words(line: Line) -> Line:
        question = question_in_words(line.question, files, context_format, labels)
        return line._replace(question=question)

    about = view.confirmation
    return view._replace(
        prompt=view.prompt and prompt_in_words(view.prompt),
        confirmation=about and about._replace(about=prompt_in_words(about.about)),
        lines=tuple(map(line_in_words, view.lines)),
    )


def _confirmation(ask: Ask, labels: Labels) -> Confirmation:
    rule = ask.form.confirmation
    assert rule is not None, "only answers that need it wait for confirmation"
    asked = [
        _with_what_is_known(ask, as_decided(ask, each) if ask.request.editable else each, labels)
        for each in ask.form.questions
        if ask.walk.answer(each.id) is not None
    ]
    explained = [each for each in asked if each.context]
    contexts = [
        each.context or "" if len(explained) == 1 else f"{each.text}\n\n{each.context}"
        for each in explained
    ]
    about = Question(
        id="", text="", answer_type=AnswerType.TEXT, context="\n\n---\n\n".join(contexts) or None
    )
    prompt = Prompt(
        question=about,
        position=len(asked),
        total=len(asked),
        prefill=None,
        remember=False,
        context_format=ask.form.context_format,
        asides=ask.asides,
    )
    missing = rule.due - len(ask.walk.votes)
    return Confirmation(
        rule.due, missing, prompt, unreachable_count(ask), is_left_to_stand_ins(ask)
    )


def headline_now(ask: Ask) -> str:
    """Return the headline of a call that may have been changed."""
    first = next((as_decided(ask, each) for each in ask.form.questions[:1]), None)
    return "" if first is None else headline_of(ask.form.model_copy(update={"questions": (first,)}))


def _grants(ask: Ask) -> GrantOffer | None:
    offer = ask.request.grants
    return offer if offer is not None and option_to_grant(ask) else None


def _ended_unconfirmed(ask: Ask) -> bool:
    walk = ask.walk
    if ask.outcome is None or ask.form.confirmation is None:
        return False
    is_submitted = walk.submitted_by is not None or not walker.has_review(ask.form)
    objected = walk.phase is Phase.CANCELLED and walk.at is None and is_submitted
    return objected or walk.phase is Phase.CONFIRMATION


def _responders(ask: Ask) -> tuple[str, ...]:
    person = ask.placement.destination.user
    alone = person is not None and ask.waits_for in {(person,), (ANYONE,)}
    return () if alone or not ask.open else ask.waits_for


def _outcome(ask: Ask) -> Outcome | None:
    """Return how the ask ended; after an erasure, without naming who ended it."""
    if ask.outcome is None or ask.erased_at is None:
        return ask.outcome
    return replace(ask.outcome, ended_by=None, source=None)


def _prompt(ask: Ask, question: Question, labels: Labels) -> Prompt:
    drawn = _drawn(ask, question) if MARKS.search(question.text) else question
    again, shown = ask.walk.again, _with_what_is_known(ask, drawn, labels)
    others: tuple[Option, ...] = ()
    every: tuple[Option, ...] = ()
    if question.options:
        answers, others, every = show_options(question, labels)
        shown = _with_options(shown, answers)
    return Prompt(
        question=_without_repetition(shown) if shown.header is not None else shown,
        others=others,
        every_option=every,
        position=(ask.walk.at or 0) + 1,
        total=len(ask.request.form.questions),
        prefill=again.value if again else question.default,
        remember=offers_to_remember(ask),
        again=again,
        context_format=ask.form.context_format,
        asides=tuple(aside for aside in ask.asides if aside.question_id == question.id),
    )


def _drawn(ask: Ask, question: Question) -> Question:
    """Return a question whose Markdown is in its context, for surfaces to draw."""
    if not is_markdown(ask.form, question):
        return question
    lead, asked = divide(question.text)
    if asked == question.text:
        return question
    context = "\n\n".join(filter(None, (lead, question.context))) or None
    return question.model_copy(update={"text": asked, "context": context})


def _with_what_is_known(ask: Ask, question: Question, labels: Labels) -> Question:
    """Return a question whose context begins with the fact that nothing is known, if so."""
    if not question.nothing_known:
        return question
    host = ask.request.origin.label(ask.request.agent, ask.request.prompt_label)
    name = labels.assistant.capitalize() if host == DEFAULT_ASKER else _MARKS.sub(r"\\\g<0>", host)
    said = [labels.nothing_known.format(label=name), question.context or ""]
    return question.model_copy(update={"context": "\n\n".join(filter(None, said))})


def _lines(ask: Ask, open_: Question | None, labels: Labels) -> tuple[Line, ...]:
    """Return the answers so far, or all.

    Args:
        open_: the open question, which is shown as the prompt, not as a line.
    """
    walk, is_open = ask.walk, ask.outcome is None
    if is_open and not walk.answers:
        return ()
    in_review = is_open and walk.phase is Phase.REVIEW
    # The ask ended without answers: the question that was open shows what it was about.
    last = None if is_open or walk.at is None else ask.form.questions[walk.at]
    left = frozenset[int]() if is_open else walker.left_for_later(ask.form, walk)
    answers = {given.question_id: given for given in walk.answers}
    several = len({given.by for given in walk.answers if given.by is not None}) > 1
    lines = []
    for number, question in enumerate(ask.request.form.questions, 1):
        given = answers.get(question.id)
        if given is not None and question is not open_:
            editable = in_review and given.source is walker.Source.HUMAN
            asked = question if given.edited is None else as_decided(ask, question)
            drawn = _drawn(ask, asked) if MARKS.search(asked.text) else asked
            text = _with_label(drawn, number) if in_review else drawn.text
            told_apart = drawn
            if question.options:
                told_apart = _with_options(drawn, show_options(question, labels).every)
            lines.append(Line(told_apart, text, given, editable, given.by if several else None))
        elif given is None and (question is last or number - 1 in left):
            drawn = _drawn(ask, question) if MARKS.search(question.text) else question
            lines.append(Line(drawn, drawn.text, None))
    return tuple(lines)


def _with_label(question: Question, number: int) -> str:
    """Return a question's text with its label in front, unless that is only a number."""
    label = _without_repetition(question).header
    return f"{label}: {question.text}" if label and label != f"Q{number}" else question.text


def _without_repetition(question: Question) -> Question:
    """Return the question without its header, if that only repeats the text."""
    repeats = question.header is not None and fold(question.header) == fold(question.text)
    return question.model_copy(update={"header": None}) if repeats else question


def _with_options(question: Question, options: tuple[Option, ...]) -> Question:
    same = options == question.options
    return question if same else question.model_copy(update={"options": options})


def _sent_call(ask: Ask) -> SentCall | None:
    """Return what "Show in full" adds to an ask; None if there is nothing."""
    request = ask.request
    folder, approval = request.origin.folder, request.form.decided_by_hand
    if folder is None and not approval:
        return None
    return SentCall(folder, request.name, request.as_sent if approval else None)
