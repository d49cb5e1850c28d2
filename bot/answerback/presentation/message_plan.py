"""Plan the live message of an ask: its parts, their order, how much of each there is room for, and its buttons. Pure.

A chat says in a `MessageStyle` how it writes and counts text, and lays out the parts of the plan in its own blocks. The
texts of a message share one budget: short ones are shown whole, and long ones share what is left. If anything is left
out, the plan has a button that shows everything in full (see `answerback.presentation.full_text`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from answerback.core.labels import Labels
from answerback.core.view import Line, Prompt, View
from answerback.presentation import answer_summary, attribution, durations, wording
from answerback.presentation.context_layout import NOTHING_TO_RENDER, RenderedContext
from answerback.presentation.control_buttons import PlannedButton, more_buttons, walk_buttons
from answerback.presentation.header_tag import header_tag
from answerback.presentation.message_style import SENTENCE_BUDGET, MessageStyle
from answerback.presentation.text_blocks import TextBlock
from answerback.presentation.text_fitting import fits_line
from answerback_base.sanitize import one_line

LABEL_BUDGET: Final = 200
"""Units of a line of our own, such as the one that says who asks."""
QUESTION_IN_LINE: Final = 120
ANSWER_IN_LINE: Final = 200
PLAIN_BUDGET: Final = 1_900
"""Units of the text of a minimal message."""


# --- the parts of a message ----------------------------------------------------------------------


class Heading(NamedTuple):
    """Who asks, and below it who may answer until when."""

    asks: str
    audience: str

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self)


class SoFar(NamedTuple):
    """The newest answers above an open question."""

    above: list[str]
    answers: list[str]
    answered_by: str

    @property
    def lines(self) -> tuple[str, ...]:
        return (*self.above, *self.answers, self.answered_by)


class Context(NamedTuple):
    """The context that a question is decided on."""

    rendered: RenderedContext


class QuestionText(NamedTuple):
    """The question, and its header, which stands in front."""

    header: str
    text: str

    @property
    def lines(self) -> tuple[str, ...]:
        return (f"{self.header}{self.text}",)


class Asides(NamedTuple):
    """The questions that people asked back, and the agent's explanations."""

    rendered: RenderedContext


class Options(NamedTuple):
    """The options as text, where no control shows them in full."""

    lines: list[str]


class Notes(NamedTuple):
    """The options that are selected, or the text that is sent, unless people change them."""

    lines: list[str]


class Answering(NamedTuple):
    """Where the controls are that answer the question."""

    prompt: Prompt


class Summary(NamedTuple):
    """The title of all answers, to review or to confirm them, and what to do."""

    title: str
    text: str
    answered_by: str

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self)


class Answers(NamedTuple):
    """Questions with their answers, each as its two texts."""

    pairs: list[tuple[str, str]]


class Submitting(NamedTuple):
    """Where the controls of a review are."""


class Ending(NamedTuple):
    """Who asked, how that ended, when and after how long, and who answered."""

    asked: str
    how: str
    at: str
    waited: str
    answered_by: str

    @property
    def lines(self) -> tuple[str, ...]:
        return (self.asked, f"{self.how} · {self.at} · {self.waited}", self.answered_by)


class ReplyText(NamedTuple):
    """The message that a person wrote instead of an answer."""

    text: str


class Text(NamedTuple):
    """The text of a minimal message."""

    text: str

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self)


Lines: TypeAlias = Heading | SoFar | QuestionText | Options | Notes | Summary | Ending | Text
"""The parts that are lines of text below each other, of which some may be empty."""
Part: TypeAlias = Lines | Context | Asides | Answering | Answers | Submitting | ReplyText


class MessagePlan(NamedTuple):
    """A message, from top to bottom; its buttons are below its parts."""

    parts: tuple[Part, ...]
    walk: list[PlannedButton]
    """The buttons that move through the questions or end them."""
    more: list[PlannedButton]
    """The buttons that show the rest of an ask, or act on one that has ended."""
    spare: int = 0
    """Units that are left for text."""


# --- planning ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Controls:
    """The needs of a prompt's controls that the message around them has to meet."""

    listed: Sequence[TextBlock] = ()
    """The options that have to be listed as text."""
    selected: str = ""
    """The names of the options that are selected but out of sight."""
    hides: bool = False
    """True if they leave something out that is only shown in full elsewhere."""
    units: int = 0
    """Units that the texts in them count."""


NO_CONTROLS: Final = Controls()


def plan_message(
    view: View, labels: Labels, style: MessageStyle, controls: Controls = NO_CONTROLS
) -> MessagePlan:
    """Plan the live message of a view: its prompt, its review or confirmation, or its record."""
    plan = _Plan(view, labels, style, style.budget - controls.units)
    if view.prompt is not None:
        plan.add_prompt(view.prompt, controls)
    elif view.outcome is not None:
        plan.add_record()
    else:
        plan.add_summary()
    return plan.finish()


def plan_minimal_message(view: View, labels: Labels, style: MessageStyle) -> MessagePlan:
    """Plan a message for when the platform refuses the other one, which would be a defect of ours."""
    plan = _Plan(view, labels, style, style.budget)
    plan.is_cut = True
    plan.add_heading()
    text = view.prompt.question.text if view.prompt else wording.ending(view, labels)
    text = text or wording.summary_title(view, labels)
    plan.parts.append(Text(style.fitter.shorten(text, PLAIN_BUDGET, "")[0]))
    return plan.finish()


@dataclass
class _Plan:
    """A plan in the making: its parts, and what is left of its budget."""

    view: View
    labels: Labels
    style: MessageStyle
    left: int
    parts: list[Part] = field(default_factory=list)
    is_cut: bool = False
    context: RenderedContext = NOTHING_TO_RENDER
    asides: RenderedContext = NOTHING_TO_RENDER

    def add_prompt(self, prompt: Prompt, controls: Controls) -> None:
        """Add an open question: what was answered before, its context, its text, and what its controls need."""
        style, question = self.style, prompt.question
        self.add_heading()
        if self.view.lines:
            self._add_answers_so_far()
        if prompt.asides:
            self._fit_asides(3)
        tag = header_tag(question.header) if question.header else None
        self.is_cut |= controls.hides or (tag is not None and tag.is_cut)
        asked = [style.header._replace(raw=tag.short)] if tag else []
        asked.append(style.question._replace(raw=question.text))
        prefilled = answer_summary.prefill_texts(prompt, self.labels)
        below = [
            *controls.listed,
            *([style.selected._replace(raw=controls.selected)] if controls.selected else []),
            *(style.prefill._replace(raw=text) for text in prefilled),
        ]
        texts, others = self._fit_around_context(prompt, asked, below)
        if self.context.text:
            self.parts.append(Context(self.context))
        self.parts.append(QuestionText(texts[0] if tag else "", texts[-1]))
        if self.asides.text:
            self.parts.append(Asides(self.asides))
        self._add_files()
        count = len(controls.listed)
        if count:
            self.parts.append(Options(others[:count]))
        if notes := [*filter(None, others[count:])]:
            self.parts.append(Notes(notes))
        self.parts.append(Answering(prompt))

    def add_summary(self) -> None:
        """Add all answers, to review and submit them or to confirm them."""
        view, labels, markup = self.view, self.labels, self.style.markup
        self.add_heading()
        summary = Summary(
            markup.bold(wording.summary_title(view, labels)),
            markup.escape(wording.summary_text(view, labels)),
            self._answered_by(),
        )
        self._take(*summary)
        if view.confirmation is not None:
            about = view.confirmation.about
            if about.asides:
                self._fit_asides(4)
            if about.question.context:
                self.context = self._render_context(about, self.left // 2)
                self._take(self.context.text)
        if self.context.text:
            self.parts.append(Context(self.context))
        self.parts.append(summary)
        if self.asides.text:
            self.parts.append(Asides(self.asides))
        self._add_files()
        self._add_answers(numbered=True)
        if view.is_review:
            self.parts.append(Submitting())

    def add_record(self) -> None:
        """Add how the ask ended, with all answers."""
        view, style = self.view, self.style
        if view.outcome is None:
            raise AssertionError("an open ask has no record")
        people = style.markup.people
        ending = Ending(
            self._asks_line(),
            style.markup.strong(wording.ending_with_person(view, self.labels, people)),
            people.time(view.outcome.at),
            people.text(durations.waited(view, self.labels)),
            self._answered_by(),
        )
        self._take(*ending)
        self.parts.append(ending)
        self._add_files()
        self.is_cut |= not fits_line(wording.ending(view, self.labels), SENTENCE_BUDGET)
        self.is_cut |= any(line.question.context for line in view.lines)
        # A Reply may have ended an ask that has answers: two thirds of the room are kept for them.
        most = self.left // 3 if view.lines else self.left
        reply = self._shorten(view.reply or "", _least(most, style.most_reply))
        self._add_answers()
        if reply:
            self.parts.append(ReplyText(reply))

    def finish(self) -> MessagePlan:
        """Return the plan, with its buttons."""
        labels, more = self.labels, None
        if self.is_cut:
            more = labels.details
        elif self.context.text or self.asides.text:
            more = self.context.more_label(labels) or self.asides.more_label(labels)
        return MessagePlan(
            tuple(self.parts),
            walk_buttons(self.view, labels),
            more_buttons(self.view, labels, more),
            self.left,
        )

    def add_heading(self) -> None:
        """Add who asks, and who may answer until when."""
        view, markup = self.view, self.style.markup
        who = attribution.audience_line(
            view.responders, view.closes_at, self.labels, markup.people, view.handed_over
        )
        heading = Heading(self._asks_line(), who and markup.quiet(who))
        self._take(*heading)
        self.parts.append(heading)

    def _add_files(self) -> None:
        """Add what was sent with the ask, in words."""
        if self.view.files:
            text = wording.files_line(self.view, self.labels)
            line, short = self.style.markup.quiet_line(text, LABEL_BUDGET)
            self.is_cut |= short
            self._take(line)
            self.parts.append(Notes([line]))

    def _asks_line(self) -> str:
        text = wording.asks_line(self.view, self.labels)
        asks, short = self.style.markup.quiet_line(text, LABEL_BUDGET)
        self.is_cut |= short
        return asks

    def _add_answers_so_far(self) -> None:
        """Add the newest answers, one per line."""
        labels, markup = self.labels, self.style.markup

        def line_of(line: Line) -> str:
            question, cut_question = markup.line(line.text, QUESTION_IN_LINE)
            full_answer = " · ".join(map(one_line, answer_summary.answer_texts(line, labels)))
            answer, cut_answer = markup.bold_line(full_answer, ANSWER_IN_LINE)
            self.is_cut |= cut_question or cut_answer
            return markup.quiet(f"{question} → {answer or '—'}")

        lines, earlier = answer_summary.recent_answers(self.view, line_of)
        above = [labels.answered_so_far]
        if earlier:
            self.is_cut = True
            above.append(labels.answered_earlier.format(count=earlier))
        said = [markup.quiet_line(text, LABEL_BUDGET)[0] for text in above]
        part = SoFar(said, lines, self._answered_by())
        self._take(*part.lines)
        self.parts.append(part)

    def _add_answers(self, *, numbered: bool = False) -> None:
        """Add all questions with their answers, in what is left."""
        lines, fitter = self.view.lines, self.style.fitter
        if not lines:
            return
        # Platforms bound the styled parts of a message, and each question of a long list would take some.
        if self.style.most_marked is not None and len(lines) > self.style.most_marked:
            fitter = fitter._replace(question=TextBlock(""))
        pairs, cut = fitter.fit_answers(lines, self.labels, self.left, numbered=numbered)
        self.is_cut |= cut
        self._take(*(text for pair in pairs for text in pair))
        self.parts.append(Answers(pairs))

    def _answered_by(self) -> str:
        """Return who answered and when; empty if that is obvious."""
        markup = self.style.markup
        line = attribution.answered_by_line(self.view, self.labels, markup.people)
        return line and markup.quiet(line)

    def _fit_around_context(
        self, prompt: Prompt, asked: Sequence[TextBlock], below: Sequence[TextBlock]
    ) -> tuple[list[str], list[str]]:
        """Fit the context and the texts: these may take half of what is left, and the context takes the rest.

        Args:
            asked: the question, which has half of that even if there are many options.
            below: what stands below it.
        """
        # The context may be of any length, but people need the question: half of the room is kept for the texts.
        room = self.left
        if prompt.question.context:
            self.context = self._render_context(prompt, self.left // 2)
            room -= self.style.fitter.length(self.context.text)
        texts = self._fit(asked, room // 2 if below else room)
        others = self._fit(below, room - sum(map(self.style.fitter.length, texts)))
        # The texts were often shorter than their half. A context that was cut gets the rest.
        if not self.context.fitted.whole:
            self.context = self._render_context(prompt, self.left)
        self._take(self.context.text)
        return texts, others

    def _fit(self, blocks: Sequence[TextBlock], room: int) -> list[str]:
        """Fit texts into ``room``, and take them from what is left."""
        if not blocks:
            return []
        texts, cut = self.style.fitter.fit(blocks, room)
        self.is_cut |= cut
        self._take(*texts)
        return texts

    def _render_context(self, prompt: Prompt, most: int) -> RenderedContext:
        return self.style.context.render_context(prompt, _least(most, self.style.most_context))

    def _fit_asides(self, share: int) -> None:
        """Fit what was asked back and explained into a share of what is left."""
        most = min(self.style.most_asides, self.left // share)
        self.asides = self.style.context.render_asides(self.view, self.labels, most)
        self._take(self.asides.text)

    def _shorten(self, text: str, most: int) -> str:
        """Shorten a text to at most ``most`` units, and take them from what is left."""
        shown, cut = self.style.fitter.shorten(text, most, "") if text else ("", False)
        self.is_cut |= cut
        self._take(shown)
        return shown

    def _take(self, *texts: str) -> None:
        """Take texts, and a line end below each, from what is left."""
        for text in filter(None, texts):
            self.left -= self.style.fitter.length(text) + 1


def _least(most: int, limit: int | None) -> int:
    return most if limit is None else min(most, limit)


def joined(lines: Iterable[str]) -> str:
    """Return the lines that are not empty as one text."""
    return "\n".join(filter(None, lines))
