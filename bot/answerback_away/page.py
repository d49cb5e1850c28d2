"""The page on which a person says that they are away, and in which hours they are told of what waits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from aiohttp import web
from markupsafe import Markup

from answerback.core.labels import Labels
from answerback.ports.clock import Clock
from answerback.ports.person_key import is_operator
from answerback_away import snooze_page, texts
from answerback_away.absences import parse_hours, parse_until
from answerback_away.announced_absences import AnnouncedAbsences
from answerback_away.commands import about
from answerback_away.snooze_page import SnoozePage, notice_of
from answerback_away.snoozes import Snoozes
from answerback_web import responses
from answerback_web.extension_pages import ExtensionPages, PageLink, RowLink
from answerback_web.site import NAME, Site
from answerback_web.visitors import Visitor, VisitorPages, Visitors

if TYPE_CHECKING:
    from answerback.core.person import Person

_PATH: Final = "away"


class AwayPages(ExtensionPages):
    """The page on both listeners. The operator's key is nobody in particular, and so is never away."""

    templates = "answerback_away"

    def __init__(self, away: AnnouncedAbsences, snoozes: Snoozes, clock: Clock) -> None:
        self._away, self._snoozes, self._clock = away, snoozes, clock

    def routes(self, site: Site, visitors: Visitors) -> Sequence[web.RouteDef]:
        snooze = SnoozePage(site, visitors, self._snoozes, self._clock)
        return [*_AwayPage(site, visitors, self._away).routes(), *snooze.routes()]

    async def links(self, visitor: Visitor, labels: Labels) -> Sequence[PageLink]:
        found = [] if is_operator(visitor.person) else [PageLink(_PATH, texts.TITLE)]
        if snoozed := await self._snoozes.list_of(visitor.person):
            count = texts.SNOOZED_COUNT.format(count=len(snoozed))
            found.append(PageLink(snooze_page.PATH, count))
        return found

    def row_link(self, labels: Labels) -> RowLink:
        return RowLink(snooze_page.PATH, texts.SNOOZE, "s")

    async def notice(
        self, request: web.Request, visitor: Visitor, home: str, labels: Labels
    ) -> Markup | None:
        ask_id = request.query.get(snooze_page.DONE)
        return await notice_of(self._snoozes, visitor, ask_id, home) if ask_id else None


class _AwayPage(VisitorPages):
    def __init__(self, site: Site, visitors: Visitors, away: AnnouncedAbsences) -> None:
        super().__init__(site, visitors)
        self._away = away

    def routes(self) -> list[web.RouteDef]:
        path = f"/inbox/{{name}}/{_PATH}"
        return [
            web.get(path, self._for_visitor(self._show)),
            web.post(path, self._for_visitor(self._change)),
        ]

    async def _show(self, _request: web.Request, visitor: Visitor) -> web.StreamResponse:
        return await self._page(visitor)

    async def _page(
        self, visitor: Visitor, *, error: str | None = None, status: int = 200
    ) -> web.Response:
        site, person = self._site, visitor.person
        if is_operator(person):
            missing = site.labels.page_missing
            return site.notice_page(404, missing, root="../../", home=None)
        said, now = await self._away.said_by(person), self._away.now()
        names = [
            self._away.people.as_named(each[0]).name or known
            for known in self._away.people.accounts
            if (each := self._away.people.persons_named(known))
        ]
        content = responses.render_content(
            "answerback_away/away",
            back=texts.BACK,
            explained=texts.ABOUT,
            how_long=texts.HOW_LONG,
            who=texts.WHO,
            save=texts.SAVE,
            hours_title=texts.HOURS_TITLE,
            hours_label=texts.HOURS_LABEL,
            about=about(said, now),
            is_away=said.absent(now) is not None,
            hours=said.hours,
            names=names,
            error=error,
        )
        return self._extension_page(visitor, texts.TITLE, content, error=error, status=status)

    async def _change(self, request: web.Request, visitor: Visitor) -> web.StreamResponse:
        post = await self._read(request, visitor)
        if isinstance(post, web.Response):
            return post
        person, problem = visitor.person, None
        if is_operator(person):
            return await self._page(visitor)
        match post.first("do"):
            case "leave":
                problem = await self._leave(person, post.first("until"), post.first("stand_in"))
            case "back":
                await self._away.return_(person)
            case "hours":
                written = post.first("hours").strip()
                hours = await asyncio.to_thread(parse_hours, written) if written else None
                problem = texts.BAD_HOURS if written and hours is None else None
                if problem is None:
                    await self._away.set_hours(person, hours)
            case _:
                return web.Response(status=422, headers=responses.HEADERS)
        if problem is not None:
            return await self._page(visitor, error=problem, status=422)
        return responses.see_other(_PATH)

    async def _leave(self, person: Person, until: str, name: str) -> str | None:
        at = parse_until(until.strip(), self._away.now())
        stand_in = self._away.find_person(name.strip(), NAME)
        if at is None:
            return texts.BAD_TIME
        if isinstance(stand_in, str):
            return texts.REFUSED[stand_in]
        return texts.REFUSED.get(await self._away.leave(person, at, stand_in) or "")
