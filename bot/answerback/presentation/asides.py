"""Asides: what people asked back about the open question and what the agent explained, as blocks and text. Pure."""

from __future__ import annotations

from answerback.core.form import ContextFormat
from answerback.core.labels import Labels
from answerback.core.markdown import Block, Verbatim
from answerback.core.view import View
from answerback.presentation.context_blocks import context_blocks, hides_marks
from answerback.presentation.wording import sentence
from answerback_base.sanitize import visible


def asides(view: View, labels: Labels) -> tuple[Block, ...]:
    """Return the asides of the open question as blocks, oldest first."""
    prompt = view.about
    if prompt is None or not prompt.asides:
        return ()
    blocks: list[Block] = []
    for each in prompt.asides:
        name = None if each.by is None else each.by.name or labels.somebody
        blocks += aside(name, each.text, prompt.context_format, view.label, labels)
    if prompt.asides[-1].by is not None:
        blocks.append(Verbatim(visible(sentence(labels.explaining, view.label, labels))))
    return tuple(blocks)


def aside(
    name: str | None, text: str, context_format: ContextFormat, label: str, labels: Labels
) -> tuple[Block, ...]:
    """Return one aside as blocks: a person's question or, without a name, the agent's explanation."""
    if name is not None:
        return (Verbatim(visible(labels.asked_back.format(name=name, text=text))),)
    heading = Verbatim(visible(sentence(labels.explained, label, labels)))
    return (heading, *context_blocks(text, context_format))


def asides_hide_marks(view: View) -> bool:
    """Return True if the blocks of the asides leave out marks of the agent's explanations."""
    prompt = view.about
    return prompt is not None and any(
        each.by is None and hides_marks(each.text, prompt.context_format) for each in prompt.asides
    )


def asides_text(view: View, labels: Labels) -> str:
    """Return the asides in full and verbatim, as text."""
    prompt = view.about
    lines: list[str] = []
    for aside in prompt.asides if prompt else ():
        if aside.by is not None:
            name = aside.by.name or labels.somebody
            lines.append(labels.asked_back.format(name=name, text=aside.text))
        else:
            lines += [sentence(labels.explained, view.label, labels), aside.text]
    return visible("\n".join(lines))
