"""The operator's page of numbers: charts and tables that need no script."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from aiohttp import web
from markupsafe import Markup

from answerback.core.labels import Labels
from answerback.presentation.durations import duration
from answerback_numbers.stats import MAX_WEEKS, OFTEN, WEEKS, Stats
from answerback_numbers.waits import ERROR
from answerback_web import responses
from answerback_web.extension_pages import ExtensionPages, PageLink
from answerback_web.site import Site
from answerback_web.visitors import Visitor, VisitorPages, Visitors

_PATH: Final = "numbers"
_TITLE: Final = "Numbers"
_CHOICES: Final = (4, 12, 52, 104)
"""The weeks that the page offers."""
Read = Callable[[int, Labels], Awaitable[Stats]]


class NumbersPages(ExtensionPages):
    """The pages on both listeners; only the operator has them."""

    templates = "answerback_numbers"

    def __init__(self, read: Read) -> None:
        self._read = read

    def routes(self, site: Site, visitors: Visitors) -> Sequence[web.RouteDef]:
        return _NumbersPage(site, visitors, self._read).routes()

    async def links(self, visitor: Visitor, labels: Labels) -> Sequence[PageLink]:
        return [PageLink(_PATH, _TITLE)] if visitor.is_operator else []


class _NumbersPage(VisitorPages):
    def __init__(self, site: Site, visitors: Visitors, read: Read) -> None:
        super().__init__(site, visitors)
        self._read_stats = read

    def routes(self) -> list[web.RouteDef]:
        return [web.get(f"/inbox/{{name}}/{_PATH}", self._for_visitor(self._show))]

    async def _show(self, request: web.Request, visitor: Visitor) -> web.Response:
        labels = self._site.labels
        if not visitor.is_operator:
            return self._site.notice_page(404, labels.page_missing, root="../../", home=None)
        wanted = request.query.get("weeks", "")
        is_number = wanted.isascii() and wanted.isdecimal() and len(wanted) <= 3
        weeks = min(max(int(wanted), 1), MAX_WEEKS) if is_number else WEEKS
        stats = await self._read_stats(weeks, labels)
        return self._extension_page(visitor, _TITLE, _content_of(stats, weeks, labels))


def _content_of(stats: Stats, weeks: int, labels: Labels) -> Markup:
    def duration_text(seconds: float | None) -> str:
        return "–" if seconds is None else duration(seconds, labels)

    return responses.render_content(
        "answerback_numbers/numbers",
        stats=stats,
        weeks=weeks,
        choices=_CHOICES,
        error=f"{ERROR:.0%}",
        often=OFTEN,
        duration_text=duration_text,
        lists=(("week", "Week of"), ("agent", "Agent"), ("route", "Route")),
    )
