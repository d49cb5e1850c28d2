"""The page on which a person snoozes a question, and the list of what they have snoozed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from aiohttp import web
from markupsafe import Markup

from answerback.ports.clock import Clock
from answerback.presentation.attribution import utc_time
from answerback_away import texts
from answerback_away.absences import parse_until
from answerback_away.snooze_commands import subject_of
from answerback_away.snoozes import Snoozes
from answerback_web import responses
from answerback_web.site import Site
from answerback_web.visitors import Visitor, VisitorPages, Visitors

PATH: Final = "snooze"
DONE: Final = "snoozed"
"""The inbox's parameter with the id of the ask that has just been taken off it."""


class SnoozePage(VisitorPages):
    def __init__(self, site: Site, visitors: Visitors, snoozes: Snoozes, clock: Clock) -> None:
        super().__init__(site, visitors)
        self._snoozes, self._clock = snoozes, clock

    def routes(self) -> list[web.RouteDef]:
        path = f"/inbox/{{name}}/{PATH}"
        return [
            web.get(path, self._for_visitor(self._show)),
            web.post(path, self._for_visitor(self._change)),
        ]

    async def _show(self, request: web.Request, visitor: Visitor) -> web.StreamResponse:
        return await self._page(visitor, request.query.get("ask", ""))

    async def _page(
        self, visitor: Visitor, ask_id: str, *, error: str | None = None, status: int = 200
    ) -> web.Response:
        person = visitor.person
        ask = await self._snoozes.find(person, ask_id) if ask_id else None
        if ask_id and ask is None:
            error, status = texts.NOT_WAITING, 422 if error else 404
        snoozed = [] if ask else await self._snoozes.list_of(person)
        rows = [
            {
                "id": each.ask.id,
                "text": subject_of(each.ask),
                "until": Markup(texts.UNTIL).format(time=_time(each.until)),
                "link": f"{self._home(visitor)}?open={each.ask.id}",
            }
            for each in snoozed
        ]
        content = responses.render_content(
            "answerback_away/snooze",
            explained=texts.SNOOZE_EXPLAINED,
            lengths=texts.SNOOZE_FOR,
            other=texts.SNOOZE_OTHER,
            snooze=texts.SNOOZE,
            show_again=texts.SHOW_AGAIN,
            nothing=texts.NOTHING_SNOOZED,
            ask=ask and {"id": ask.id, "text": subject_of(ask)},
            rows=rows,
        )
        heading = texts.SNOOZE if ask else texts.SNOOZED_LIST
        return self._extension_page(visitor, heading, content, error=error, status=status)

    async def _change(self, request: web.Request, visitor: Visitor) -> web.StreamResponse:
        post = await self._read(request, visitor)
        if isinstance(post, web.Response):
            return post
        ask_id = post.first("ask")
        ask = await self._snoozes.find(visitor.person, ask_id) if ask_id else None
        if ask is None:
            return await self._page(visitor, ask_id, error=texts.NOT_WAITING, status=422)
        inbox = f"../{self._visitors.inbox_name(visitor)}"
        match post.first("do"):
            case "show_again":
                await self._snoozes.show_again(visitor.person, ask)
                return responses.see_other(inbox)
            case "until":
                length = post.first("until").strip()
            case length:
                pass
        until = parse_until(length, self._clock.now())
        if until is None:
            return await self._page(visitor, ask_id, error=texts.BAD_SNOOZE, status=422)
        await self._snoozes.snooze(visitor.person, ask, until)
        return responses.see_other(f"{inbox}?{DONE}={ask.id}")


async def notice_of(snoozes: Snoozes, visitor: Visitor, ask_id: str, home: str) -> Markup | None:
    """Return what an inbox says once an ask has been taken off it, with what undoes that; None: it has not been."""
    listed = await snoozes.list_of(visitor.person)
    snoozed = next((each for each in listed if each.ask.id == ask_id), None)
    if snoozed is None:
        return None
    what = subject_of(snoozed.ask)
    text = Markup(texts.SNOOZED).format(time=_time(snoozed.until), what=what)
    values = {"action": f"{home}/{PATH}", "ask_id": ask_id, "text": text}
    return responses.render_content("answerback_away/snoozed", undo=texts.UNDO, **values)


def _time(at: float) -> Markup:
    """Return a time, which a script shows in the reader's time zone."""
    iso = datetime.fromtimestamp(at, UTC).isoformat()
    return Markup('<time datetime="{iso}" class="local">{text}</time>').format(
        iso=iso, text=utc_time(at)
    )
