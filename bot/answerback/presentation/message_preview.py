"""Show a planned message as HTML: what a chat says of an ask and where it cuts, though not how it looks there. Pure.

It is for reading a form before it is sent, so the question stands above its context, and each choice stands once. Every
text is escaped here; what an agent sent never becomes markup of the page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import unescape
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from answerback.core.files import AttachedFile, numbered_pictures
from answerback.core.form import Option, Question
from answerback.core.labels import Labels
from answerback.core.markdown import Span, Spans, append_link_addresses
from answerback.core.view import Prompt, View
from answerback.presentation import text_fitting, wording
from answerback.presentation.attribution import AttributionFormat, responder_name, utc_time
from answerback.presentation.context_markup import ContextMarkup
from answerback.presentation.control_buttons import (
    PlannedButton,
    Verb,
    answer_buttons,
    free_text_buttons,
    option_button,
)
from answerback.presentation.message_plan import (
    Answering,
    Answers,
    Asides,
    Context,
    Ending,
    Heading,
    Part,
    QuestionText,
    ReplyText,
    SoFar,
    Submitting,
    Summary,
    joined,
    plan_message,
)
from answerback.presentation.message_style import Markup as TextMarkup
from answerback.presentation.message_style import MessageStyle
from answerback.presentation.option_controls import OptionLimits, chosen_indexes, is_several
from answerback.presentation.text_blocks import BlockFitter, TextBlock
from answerback_base.sanitize import one_line, visible

_TAG: Final = re.compile(r"<[^<>]*>")
_FIGURE: Final = Markup(
    '<figure><img src="{address}" alt="{label}" width="{width}" height="{height}">'
    "<figcaption>{number}{label}</figcaption></figure>"
)
_ABOVE: Final = Heading | SoFar | QuestionText | Summary | Ending
"""The parts that stand above what the question is about."""
_MENU_FROM: Final = 11
"""The number of options from which they are a menu."""


class PictureLayout(NamedTuple):
    """The way in which a chat shows the pictures of an ask."""

    shows: Callable[[AttachedFile], bool]
    """Returns True for a file that is shown. The message names all others."""
    is_above: bool = False
    """True if they stand above the message, in messages of their own."""
    is_side_by_side: bool = True


def picture_address(file: AttachedFile) -> str:
    """Return the address of a picture in the HTML of a preview. `answerback preview` writes its bytes there.

    It is a content id, as in e-mail: https://www.rfc-editor.org/rfc/rfc2392.
    """
    return f"cid:{file.id}"


def preview_html(
    view: View, labels: Labels, style: MessageStyle, limits: OptionLimits, layout: PictureLayout
) -> Markup:
    """Return a message as HTML.

    Args:
        style: the chat's, for how much of each text it shows.
        limits: what the chat's controls hold.
        layout: where the chat shows pictures.
    """
    drawn = _pictures(view, layout)
    named = tuple(each for each in view.files if not layout.shows(each))
    plan = plan_message(view._replace(files=named), labels, _as_html(style))
    parts = sorted(plan.parts, key=lambda part: not isinstance(part, _ABOVE))
    shown = [_part(part, labels, limits) for part in parts]
    if not layout.is_above:
        asked = sum(isinstance(part, _ABOVE | Context) for part in parts)
        shown.insert(asked, drawn)
    shown += [_row(plan.walk), _row(plan.more)]
    message = Markup('<div class="container">{}</div>').format(Markup("").join(shown))
    return drawn + message if layout.is_above else message


def _pictures(view: View, layout: PictureLayout) -> Markup:
    """Return the pictures that a chat shows, each with its number, if there are several, and its text."""
    numbers = numbered_pictures(view.files)
    figures = Markup("").join(
        _FIGURE.format(
            address=picture_address(each),
            label=each.label,
            number=f"{numbers[each.id]}. " if len(numbers) > 1 else "",
            width=each.width,
            height=each.height,
        )
        for each in view.files
        if layout.shows(each)
    )
    side = " beside" if layout.is_side_by_side else ""
    return (
        Markup('<div class="pictures{}">{}</div>').format(side, figures) if figures else Markup("")
    )


def _part(part: Part, labels: Labels, limits: OptionLimits) -> Markup:
    match part:
        case QuestionText(header, text):
            return _element("small", header) + _element("h3", text)
        case Context(rendered) | Asides(rendered):
            return _element("div", rendered.text)
        case Answering(prompt):
            return _answering(prompt, labels, limits)
        case Answers(pairs):
            return _element("div", "\n".join(map("".join, pairs)))
        case Submitting():
            return _row([PlannedButton(labels.submit, Verb.SUBMIT, is_primary=True)])
        case ReplyText(text):
            return _element("blockquote", text)
        case _:
            return _element("div", joined(part.lines))


def _element(name: str, html: str) -> Markup:
    """Return text that is HTML already as an element; nothing if there is none."""
    inner = Markup(html)  # of the plan, whose texts are escaped below
    return Markup('<{0} class="text">{1}</{0}>').format(name, inner) if html else Markup("")


# --- controls ------------------------------------------------------------------------------------


def _row(planned: Iterable[PlannedButton]) -> Markup:
    buttons = Markup(" ").join(map(_button, planned))
    return Markup('<div class="row">{}</div>').format(buttons) if buttons else Markup("")


def _button(planned: PlannedButton) -> Markup:
    css = "danger" if planned.is_danger else "primary" if planned.is_primary else ""
    return Markup('<button type="button" class="{}">{}</button>').format(css, planned.label)


def _answering(prompt: Prompt, labels: Labels, limits: OptionLimits) -> Markup:
    """Return what answers the question, with each choice once."""
    question, planned = prompt.question, answer_buttons(prompt, labels)
    free = free_text_buttons(prompt, labels, takes_note=question.notes)
    if planned or not question.options:
        return _row([*planned, *free])
    chosen = chosen_indexes(prompt)
    submit = PlannedButton(labels.submit, Verb.SUBMIT_SELECTION, is_primary=True)
    if len(question.options) >= _MENU_FROM:
        rows = Markup("").join(
            Markup("<option{}>{}</option>").format(_if(i in chosen, " selected"), _label(each))
            for i, each in enumerate(question.options)
        )
        return Markup("<select>{}</select>").format(rows) + _row([submit, *free])
    if limits.is_one_click(question):
        return _one_click(question, chosen) + _row(free)
    kind = "checkbox" if is_several(prompt) else "radio"
    boxes = (
        Markup('<label><input type="{}"{}> {} <small>{}</small></label>').format(
            kind, _if(i in chosen, " checked"), _label(each), visible(each.description or "")
        )
        for i, each in enumerate(question.options)
    )
    return Markup("").join(boxes) + _row([submit, *free])


def _one_click(question: Question, chosen: Sequence[int]) -> Markup:
    buttons = [
        option_button(question, _label(each), i, chosen) for i, each in enumerate(question.options)
    ]
    if not any(each.description for each in question.options):
        return _row(buttons)
    shown = (
        Markup('<div class="section"><small>{}</small>{}</div>').format(
            visible(each.description or ""), _button(planned)
        )
        for each, planned in zip(question.options, buttons, strict=True)
    )
    return Markup("").join(shown)


def _label(option: Option) -> str:
    return one_line(option.label)


def _if(condition: bool, attribute: str) -> Markup:
    return Markup(attribute) if condition else Markup("")


# --- texts ---------------------------------------------------------------------------------------


def _as_html(style: MessageStyle) -> MessageStyle:
    """Return a chat's style with its budgets, that writes HTML."""
    return replace(
        style,
        markup=_MARKUP,
        fitter=BlockFitter(_shorten, _length, TextBlock("", "<b>{}</b>"), TextBlock("", "\n{}")),
        context=_CONTEXT,
        header=style.header._replace(frame="{}", style=""),
        question=style.question._replace(frame="{}", style=""),
        selected=style.selected._replace(frame="{}", style=""),
        prefill=style.prefill._replace(frame="{}", style=""),
    )


def _html(text: str) -> str:
    return str(escape(visible(text)))


def _responder(who: str) -> str:
    """Return a name, or the platform's id, which is all that is known before anybody is asked."""
    return _html(responder_name("", who) or f"@{who.removeprefix('@')}")


def _shorten(text: str, most: int, _style: str = "") -> tuple[str, bool]:
    shown = visible(text)
    kept = text_fitting.shorten(shown, most)
    return str(escape(kept)), kept != shown


def _shorten_line(text: str, most: int, tag: str = "") -> tuple[str, bool]:
    shown, cut = _shorten(one_line(text), most)
    return _in(tag, shown) if tag else shown, cut


def _in(tag: str, html: str) -> str:
    return f"<{tag}>{html}</{tag}>" if html else ""


def _length(html: str) -> int:
    return text_fitting.utf16_length(unescape(_TAG.sub("", html)))


_MARKUP: Final = TextMarkup(
    AttributionFormat(
        _html,
        _responder,
        lambda person: _html(wording.display_name(person)),
        utc_time,
    ),
    _html,
    lambda text: _in("b", _html(text)),
    _shorten_line,
    partial(_shorten_line, tag="b"),
    partial(_shorten_line, tag="small"),
    lambda line: _in("small", line),
    lambda line: _in("b", line),
)


class _HtmlContext(ContextMarkup):
    """A context as lines, in which code is in elements of its own."""

    rule = "<hr>"

    def _length(self, text: str) -> int:
        return _length(text)

    def _escape(self, text: str) -> str:
        return str(escape(text))

    def _text(self, spans: Spans) -> str:
        return "".join(map(_span, append_link_addresses(spans)))

    def _code(self, text: str, info: str, *, nested: bool) -> Iterator[str]:
        yield f"{_in('small', str(escape(info)))}<pre>{escape(text)}</pre>"


_CONTEXT: Final = _HtmlContext()


def _span(span: Span) -> str:
    shown = str(escape(span.text))
    for tag, has in (("code", span.code), ("b", span.bold), ("i", span.italic), ("s", span.strike)):
        shown = _in(tag, shown) if has else shown
    return shown
