"""Renders a context's blocks as terminal lines: with indents, marked code, tables in columns, and link addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, assert_never

from pydantic import JsonValue
from rich.cells import cell_len

from answerback.cli.terminal.terminal_output import Fragments
from answerback.core.files import AttachedFile
from answerback.core.form import ContextFormat
from answerback.core.labels import Labels
from answerback.core.markdown import (
    Block,
    Code,
    Heading,
    List,
    Paragraph,
    Quote,
    Rule,
    Spans,
    Table,
    Verbatim,
    append_link_addresses,
)
from answerback.core.picture_words import pictures_in_words
from answerback.core.typed_text import fold
from answerback.presentation import asides as chat
from answerback.presentation.context_blocks import context_blocks, hides_marks
from answerback.presentation.context_layout import padded_cells
from answerback.presentation.header_tag import HeaderTag, header_tag
from answerback.presentation.wording import sentence
from answerback_agents.cli.ask_output import get_dicts
from answerback_base.sanitize import one_line

_DIM: Final = "ansibrightblack"
_DIFF: Final = {"+": "ansigreen", "-": "ansired", "@": "ansicyan"}
_RULE: Final = "─" * 20


def render_lines(blocks: Iterable[Block]) -> Iterator[Fragments]:
    """Render blocks as lines, separated by empty lines."""
    for number, block in enumerate(blocks):
        if number:
            yield []
        yield from _block(block)


def render_context(prompt: Mapping[str, JsonValue]) -> Iterator[Fragments]:
    yield from render_lines(context_blocks(str(prompt["context"]), format_of(prompt)))


def with_pictures_in_words(
    ask: Mapping[str, JsonValue], prompt: Mapping[str, JsonValue], labels: Labels
) -> Mapping[str, JsonValue]:
    """Return a prompt with words in place of the pictures that its texts place."""
    sent = get_dicts(ask, "files")
    if not sent:
        return prompt
    files = [AttachedFile.model_validate(each) for each in sent]
    context, options = prompt.get("context"), get_dicts(prompt, "options")
    if isinstance(context, str) and format_of(prompt) == "markdown":
        context = pictures_in_words(context, files, labels)
    for number, option in enumerate(options):
        if isinstance(preview := option.get("preview"), str):
            options[number] = {**option, "preview": pictures_in_words(preview, files, labels)}
    shown: dict[str, JsonValue] = {**prompt, "context": context}
    return shown | ({"options": [*options]} if options else {})


def original_texts(prompt: Mapping[str, JsonValue]) -> list[str]:
    """Return what is not shown as it was written: a shortened header, and texts whose marks are rendered away."""
    tag = header_of(prompt)
    header = [tag.whole] if tag and tag.is_cut else []
    texts = [str(prompt.get("context") or "")]
    texts += [str(row["text"]) for row in get_dicts(prompt, "asides") if row["by"] is None]
    return header + [text for text in texts if hides_marks(text, format_of(prompt))]


def header_of(prompt: Mapping[str, JsonValue]) -> HeaderTag | None:
    header, text = prompt.get("header"), str(prompt.get("text") or "")
    if not isinstance(header, str) or fold(header) == fold(text):
        return None
    return header_tag(header)


def format_of(prompt: Mapping[str, JsonValue]) -> ContextFormat:
    return "text" if prompt.get("context_format") == "text" else "markdown"


def render_below_question(
    prompt: Mapping[str, JsonValue], label: str, labels: Labels
) -> Iterator[Fragments]:
    """Render the note of the earlier answer, what was asked back about a prompt, and the explanations."""
    if note := prompt.get("prefill_note"):
        text = labels.noted.format(text=one_line(str(note)))
        yield [(_DIM, labels.prefilled.format(text=text))]
    last: JsonValue = None
    for row in get_dicts(prompt, "asides"):
        last = row["by"]
        name = str(last.get("name") or labels.somebody) if isinstance(last, dict) else None
        yield from render_lines(
            chat.aside(name, str(row["text"]), format_of(prompt), label, labels)
        )
    if last is not None:
        yield [(_DIM, sentence(labels.explaining, label, labels))]


def _block(block: Block) -> Iterator[Fragments]:
    match block:
        case Paragraph(spans):
            yield from _spans(spans)
        case Heading(_, spans):
            yield from (
                [("bold underline " + style, text) for style, text in line]
                for line in _spans(spans)
            )
        case Code():
            yield from _code(block)
        case Quote(blocks):
            yield from ([(_DIM, "│ "), *line] for line in render_lines(blocks))
        case List(items):
            for number, inner in items:
                yield from _item(f"{number}. " if number else "• ", inner)
        case Table():
            yield from _table(block)
        case Verbatim(text):
            yield from ([("", line)] for line in text.split("\n"))
        case Rule():
            yield [(_DIM, _RULE)]
        case _:
            assert_never(block)


def _item(mark: str, blocks: Iterable[Block]) -> Iterator[Fragments]:
    before = mark
    for line in render_lines(blocks):
        if line:
            yield [("", before), *line]
            before = " " * len(mark)
    if before == mark:
        yield [("", mark)]


def _spans(spans: Spans) -> Iterator[Fragments]:
    line: Fragments = []
    for span in append_link_addresses(spans):
        looks = (("bold", span.bold), ("italic", span.italic), ("strike", span.strike))
        style = " ".join(name for name, has in looks if has)
        style += (" ansicyan" if span.code else "") + (" underline" if span.link else "")
        first, *rest = span.text.split("\n")
        line.append((style, first))
        for text in rest:
            yield line
            line = [(style, text)]
    yield line


def _code(code: Code) -> Iterator[Fragments]:
    if code.info:
        yield [(_DIM, code.info)]
    is_diff = code.language in {"diff", "patch"}
    for line in code.text.split("\n"):
        style = _DIFF.get(line[:1], "") if is_diff else ""
        yield [(_DIM, "┃ "), (style, line)]


def _table(table: Table) -> Iterator[Fragments]:
    for number, row in enumerate(padded_cells(table)):
        yield [("" if number else "bold", " │ ".join(row).rstrip())]
        if not number:
            yield [(_DIM, "─┼─".join("─" * cell_len(cell) for cell in row))]
