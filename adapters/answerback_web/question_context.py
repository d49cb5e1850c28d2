"""Render a context's blocks as HTML: escaped, links with their addresses shown, code highlighted and collapsed.

All markup comes from this module: every text from an agent is escaped when it is inserted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final, assert_never

from markupsafe import Markup, escape

from answerback.core.ask import Ask
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
    Span,
    Spans,
    Table,
    Verbatim,
    append_link_addresses,
    spans_to_text,
)
from answerback.core.view import Prompt, View
from answerback.presentation import asides as chat
from answerback.presentation.context_blocks import context_blocks, hides_marks
from answerback_base.sanitize import visible
from answerback_web import diffs, limits
from answerback_web.pictures import NO_FILES, PageFiles

_LANGUAGES: Final = {
    name: lexer
    for lexer, names in {
        "bash": ("bash", "console", "sh", "shell", "zsh"),
        "css": ("css",),
        "go": ("go", "golang"),
        "ini": ("cfg", "ini"),
        "javascript": ("javascript", "js", "jsx"),
        "json": ("json",),
        "python": ("py", "python"),
        "rust": ("rs", "rust"),
        "sql": ("mysql", "postgresql", "sql", "sqlite"),
        "toml": ("toml",),
        "typescript": ("ts", "tsx", "typescript"),
        "yaml": ("yaml", "yml"),
    }.items()
    for name in names
}
"""The lexer for each language that is highlighted, by the language names used on code fences."""


def render_context(prompt: Prompt, labels: Labels, files: PageFiles = NO_FILES) -> Markup | None:
    source, context_format = prompt.question.context, prompt.context_format
    if not source:
        return None
    return render_source(source, context_format, labels, with_tabs=True, files=files)


def is_slow_to_render(ask: Ask) -> bool:
    """Return True if rendering the open question's texts could block the event loop for too long."""
    texts: list[str | None] = [aside.text for aside in ask.asides]
    questions = ask.form.questions if ask.confirming else filter(None, (ask.question,))
    for question in questions:
        texts += [question.context, *(option.preview for option in question.options)]
    return sum(len(text or "") for text in texts) > limits.MAX_RENDERED_INLINE


def render_asides(view: View, labels: Labels) -> Markup:
    """Render the questions and explanations about the open question; empty if there are none."""
    rendered = render_blocks(chat.asides(view, labels), labels)
    if not chat.asides_hide_marks(view):
        return rendered
    return rendered + _original(chat.asides_text(view, labels), labels)


def render_source(
    source: str,
    context_format: ContextFormat,
    labels: Labels,
    *,
    with_tabs: bool = False,
    files: PageFiles = NO_FILES,
) -> Markup:
    """Render a text from an agent and, where something is rendered away, the text as it was written.

    Args:
        with_tabs: whether links lead to the changes of each file, if it has several; only one text of a page can.
    """
    blocks = context_blocks(source, context_format)
    before: tuple[Block | None, ...] = (None, *blocks)
    paths = [diffs.path_of(*pair) for pair in zip(before, blocks, strict=False)]
    rendered = render_blocks(blocks, labels, number_files=with_tabs, files=files)
    if with_tabs:
        rendered = (
            diffs.render_tabs([path for path in paths if path is not None], labels) + rendered
        )
    repeats = any(
        path is not None and isinstance(block, Code) and diffs.repeats_path(path, block)
        for path, block in zip(paths, blocks, strict=True)
    )
    is_changed = repeats or hides_marks(source, context_format)
    return rendered + _original(source, labels) if is_changed else rendered


def _original(source: str, labels: Labels) -> Markup:
    return Markup('\n<details class="original"><summary>{}</summary>{}</details>').format(
        labels.original, _pre(visible(source), "")
    )


def render_blocks(
    blocks: Iterable[Block],
    labels: Labels,
    *,
    number_files: bool = False,
    files: PageFiles = NO_FILES,
) -> Markup:
    """Render blocks; with ``number_files`` each diff below the path of its file has an id."""
    rendered: list[Markup] = []
    before: Block | None = None
    numbered = 0
    for block in blocks:
        path = diffs.path_of(before, block)
        if path is not None and isinstance(block, Code):
            numbered += 1
            name = Markup(' id="file{}"').format(numbered) if number_files else ""
            diff = _info(block, "info hidden") + diffs.render_diff(block, path, labels)
            rendered.append(Markup("<div{}>{}\n{}</div>").format(name, rendered.pop(), diff))
        else:
            rendered.append(_block(block, labels, files))
        before = block
    return Markup("\n").join(rendered)


def _block(block: Block, labels: Labels, files: PageFiles) -> Markup:
    match block:
        case Paragraph(spans):
            with_pictures = files.render_paragraph(spans, _paragraph) if files.files else None
            return _paragraph(spans) if with_pictures is None else with_pictures
        case Heading(level, spans):
            # Below the page's own headings: the question is at level 1.
            return Markup(
                '<div class="text heading" dir="auto" role="heading" aria-level="{}">{}</div>'
            ).format(min(level + 1, 6), _spans(spans))
        case Code():
            return _code(block, labels)
        case Quote(blocks):
            return Markup("<blockquote>{}</blockquote>").format(
                render_blocks(blocks, labels, files=files)
            )
        case List():
            return _list(block, labels, files)
        case Table():
            return _table(block)
        case Verbatim(text):
            return _element("p", escape(text), "text")
        case Rule():
            return Markup("<hr>")
        case _:
            assert_never(block)


def _paragraph(spans: Spans) -> Markup:
    return _element("p", _spans(spans), "text")


def _element(name: str, inner: Markup, css: str) -> Markup:
    return Markup('<{0} class="{1}" dir="auto">{2}</{0}>').format(name, css, inner)


def _list(block: List, labels: Labels, files: PageFiles) -> Markup:
    numbered = block.items[0].number is not None
    items = Markup("").join(
        Markup("<li{}>{}</li>").format(
            Markup(' value="{}"').format(item.number) if item.number else "",
            render_blocks(item.blocks, labels, files=files),
        )
        for item in block.items
    )
    return Markup("<{0}>{1}</{0}>").format("ol" if numbered else "ul", items)


def _table(block: Table) -> Markup:
    aligned = block.alignments or ("",) * len(block.rows[0])
    head, *body = (
        Markup("<tr>{}</tr>").format(
            Markup("").join(
                _element(cell, _spans(spans), f"{_cell_class(spans)} {alignment}".rstrip())
                for spans, alignment in zip(row, aligned, strict=True)
            )
        )
        for cell, row in (("td" if i else "th", row) for i, row in enumerate(block.rows))
    )
    # A wide table scrolls on its own, also by keyboard; the page does not scroll sideways.
    return Markup(
        '<div class="scroll" tabindex="0" role="group"><table><thead>{}</thead><tbody>{}</tbody></table></div>'
    ).format(head, Markup("").join(body))


def _cell_class(spans: Spans) -> str:
    """Return the CSS class of a cell: a word breaks only if it is so long that the table would not fit."""
    pieces = spans_to_text(append_link_addresses(spans)).split()
    return "text" if max(map(len, pieces), default=0) > limits.LONGEST_WORD else "text whole"


def _spans(spans: Spans) -> Markup:
    return Markup("").join(map(_span, append_link_addresses(spans)))


def _span(span: Span) -> Markup:
    shown = escape(span.text)
    styles = (("code", span.code), ("strong", span.bold), ("em", span.italic), ("s", span.strike))
    for name, applies in styles:
        if applies:
            shown = Markup("<{0}>{1}</{0}>").format(name, shown)
    if span.link is None:
        return shown
    return Markup('<a href="{}" target="_blank" rel="noopener noreferrer nofollow">{}</a>').format(
        span.link, shown
    )


def _code(code: Code, labels: Labels) -> Markup:
    if code.language in diffs.LANGUAGES:
        return _info(code, "info hidden") + diffs.render_diff(code, None, labels)
    lines, info = code.text.split("\n"), _info(code, "info")
    if len(lines) <= limits.CODE_LINES:
        return info + _pre(code.text, code.language)
    shown = limits.CODE_LINES_SHOWN
    return Markup("{}{}<details><summary>{}</summary>{}</details>").format(
        info,
        _pre("\n".join(lines[:shown]), code.language),
        labels.show_all_lines.format(n=len(lines)),
        _pre("\n".join(lines[shown:]), code.language),
    )


def _info(code: Code, css: str) -> Markup:
    """Render the language of code; that of a diff is hidden, because its colours say so."""
    return Markup('<p class="{}">{}</p>').format(css, code.info) if code.info else Markup("")


def _pre(text: str, language: str) -> Markup:
    return Markup('<pre class="code"><code>{}</code></pre>').format(
        Markup("").join(_highlight(text, language))
    )


@cache
def css_classes() -> Mapping[Any, str]:
    """Return the classes of the kinds of tokens, and load Pygments, which takes 2 MB: only pages need it."""
    from pygments import lexers, token  # noqa: F401 - the lexers are needed next

    return {
        token.Comment: "comment",
        token.Keyword: "keyword",
        token.Literal.String: "string",
        token.Literal.Number: "number",
        token.Name.Function: "name",
        token.Name.Class: "name",
    }


def _highlight(text: str, language: str) -> Iterator[Markup]:
    name = _LANGUAGES.get(language)
    if name is None or len(text) > limits.MAX_HIGHLIGHTED:
        yield escape(text)
        return
    from pygments.lexers import get_lexer_by_name

    classes, lexer = css_classes(), get_lexer_by_name(name, stripnl=False, ensurenl=False)
    for kind, part in lexer.get_tokens(text):
        css = next((classes[each] for each in reversed(kind.split()) if each in classes), None)
        yield _part(part, css)


def _part(text: str, css: str | None) -> Markup:
    return Markup('<span class="{}">{}</span>').format(css, text) if css else escape(text)
