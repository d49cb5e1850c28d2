"""An ask's files on its page: pictures where its texts place them, and behind these all others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup, escape

from answerback.core.ask import Ask
from answerback.core.file_references import placed_files, split_at_pictures, unplaced_files
from answerback.core.files import AttachedFile, size_in_words
from answerback.core.markdown import Span, Spans

_FIGURE: Final = Markup(
    '<figure><a class="picture" href="{address}" target="_blank" rel="noopener noreferrer"><img src="{address}"'
    ' alt="{label}" width="{width}" height="{height}"></a><figcaption class="text" dir="auto">{label}</figcaption>'
    "</figure>"
)
_DOWNLOAD: Final = Markup(
    '<p class="saved"><a href="{address}" download="{name}"><bdi class="text">{name}</bdi></a>'
    ' <span class="note">{size}</span></p>'
)
_NAMED: Final = Markup('<p class="saved"><bdi class="text">{label}</bdi></p>')


@dataclass(frozen=True, slots=True)
class PageFiles:
    """The files of an ask, as a page shows them.

    Args:
        address: returns where a file is served to the page; None: nowhere, so files are only named.
    """

    files: tuple[AttachedFile, ...] = ()
    rest: tuple[AttachedFile, ...] = ()
    """The files that no text of the ask places."""
    address: Callable[[AttachedFile], str] | None = None

    def places(self, text: str | None) -> bool:
        """Return True if a Markdown text places one of the pictures."""
        return bool(self.files and text and any(placed_files(text, self.files)))

    def render_rest(self) -> Markup:
        """Render the files that no text places; empty if there are none."""
        pictures = [(each, each.label) for each in self.rest if each.is_picture]
        others = [self._other(each) for each in self.rest if not each.is_picture]
        return Markup("\n").join([*self._group(pictures), *others])

    def render_paragraph(self, spans: Spans, paragraph: Callable[[Spans], Markup]) -> Markup | None:
        """Render a paragraph that places pictures: they stand between its texts. None: it places none.

        Pictures with only blanks between them stand side by side.
        """
        parts = [*split_at_pictures(spans, self.files)]
        if all(isinstance(each, Span) for each in parts):
            return None
        rendered: list[Markup] = []
        text: list[Span] = []
        group: list[tuple[AttachedFile, str]] = []
        for part in (*parts, None):
            if isinstance(part, Span):
                text.append(part)
                continue
            if part is None or "".join(each.text for each in text).strip():
                rendered += self._group(group)
                group = []
                if "".join(each.text for each in text).strip():
                    rendered.append(paragraph(tuple(text)))
            text = []
            group += [] if part is None else [part]
        rendered += self._group(group)
        return Markup("\n").join(rendered)

    def _group(self, pictures: Iterable[tuple[AttachedFile, str]]) -> Iterator[Markup]:
        """Yield pictures side by side; nothing without any."""
        shown = [self._picture(file, called) for file, called in pictures]
        if shown:
            yield Markup('<div class="pictures">{}</div>').format(Markup("").join(shown))

    def _picture(self, file: AttachedFile, called: str) -> Markup:
        if self.address is None:
            return _NAMED.format(label=called if called == file.name else f"{called} ({file.name})")
        return _FIGURE.format(
            address=self.address(file), label=called, width=file.width, height=file.height
        )

    def _other(self, file: AttachedFile) -> Markup:
        if self.address is None:
            return _NAMED.format(label=file.name)
        size = escape(size_in_words(file.bytes))
        return _DOWNLOAD.format(address=self.address(file), name=file.name, size=size)


NO_FILES: Final = PageFiles()


def page_files(ask: Ask, address: Callable[[AttachedFile], str] | None) -> PageFiles:
    """Return the files of an ask as its page shows them; see `PageFiles`."""
    files = ask.request.files
    return PageFiles(files, tuple(unplaced_files(ask.form, files)), address) if files else NO_FILES


def render_sent(
    files: tuple[AttachedFile, ...], address: Callable[[AttachedFile], str] | None
) -> Markup:
    """Render the files that a person sent with an answer."""
    return PageFiles(files, files, address).render_rest()
