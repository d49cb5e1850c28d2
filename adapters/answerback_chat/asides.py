"""What people asked back about the open question, and what the agent explained, as blocks and as text. Pure."""

from __future__ import annotations

from answerback.core.form import ContextFormat
from answerback.core.labels import Labels
from answerback.core.markdown import Block, Verbatim, parse_context
from answerback.core.view import View
from answerback_chat.sanitize import visible


def asides(view: View, labels: Labels) -> tuple[Block, ...]:
    """What people asked about the open question, and what the agent explained, oldest first."""
    prompt = view.prompt
    if prompt is None or not prompt.asides:
        return ()
    found: list[Block] = []
    for one in prompt.asides:
        name = None if one.by is None else one.by.name or labels.somebody
        found += aside(name, one.text, prompt.context_format, view.label, labels)
    if prompt.asides[-1].by is not None:
        found.append(Verbatim(labels.explaining.format(label=visible(view.label))))
    return tuple(found)


def aside(
    name: str | None, text: str, context_format: ContextFormat, label: str, labels: Labels
) -> tuple[Block, ...]:
    """What a person asked or, without a name, what the agent explained."""
    if name is not None:
        return (Verbatim(visible(labels.asked_back.format(name=name, text=text))),)
    heading = Verbatim(visible(labels.explained.format(label=label)))
    return (heading, *parse_context(visible(text), context_format))


def asides_text(view: View, labels: Labels) -> str:
    """The same in full and verbatim, as text."""
    prompt = view.prompt
    lines: list[str] = []
    for aside in prompt.asides if prompt else ():
        if aside.by is not None:
            name = aside.by.name or labels.somebody
            lines.append(labels.asked_back.format(name=name, text=aside.text))
        else:
            lines += [labels.explained.format(label=view.label), aside.text]
    return visible("\n".join(lines))
