"""Where people link their accounts by codes that they type in chats, and remove the links again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from aiohttp import web

from answerback.core.labels import Labels
from answerback.core.people import account_id
from answerback.core.person import AuthMethod, Person
from answerback.ports.commands import COMMAND
from answerback_base.sanitize import one_line
from answerback_teams.account_links import AccountLinks
from answerback_web import render, responses
from answerback_web.extension_pages import ExtensionPages, PageLink
from answerback_web.site import RemovableRow, Site
from answerback_web.visitors import Visitor, VisitorPages, Visitors

_PATH: Final = "accounts"


class AccountPages(ExtensionPages):
    """The page of linked accounts on both listeners.

    The operator's key is nobody in particular, and who has signed in is known by more than a link.
    """

    templates = "answerback_teams"

    def __init__(self, links: AccountLinks) -> None:
        self._links = links

    def routes(self, site: Site, visitors: Visitors) -> Sequence[web.RouteDef]:
        return _AccountPage(site, visitors, self._links).routes()

    async def links(self, visitor: Visitor, labels: Labels) -> Sequence[PageLink]:
        may_link = not visitor.is_operator and visitor.person.known is not AuthMethod.OIDC
        return [PageLink(_PATH, labels.link_title)] if may_link else []


class _AccountPage(VisitorPages):
    """The handlers of the page, for the visitors of one listener."""

    def __init__(self, site: Site, visitors: Visitors, links: AccountLinks) -> None:
        super().__init__(site, visitors)
        self._links = links

    def routes(self) -> list[web.RouteDef]:
        path = f"/inbox/{{name}}/{_PATH}"
        return [
            web.get(path, self._for_visitor(self._show)),
            web.post(path, self._for_visitor(self._change)),
        ]

    async def _show(self, _request: web.Request, visitor: Visitor) -> web.Response:
        return await self._page(visitor)

    async def _page(
        self, visitor: Visitor, *, error: str | None = None, status: int = 200
    ) -> web.Response:
        person, started = visitor.person, await self._links.started(visitor.person)
        by = started.typed_by if started is not None and started.agreed else None
        body = self._site.render_template(
            "answerback_teams/accounts",
            root="../../",
            home=self._home(visitor),
            you=render.visitor_line(person, self._site.labels),
            who=_name_of(person),
            rows=[
                RemovableRow(each.id, f"{_name_of(each.account)} ({each.id})", each.at)
                for each in await self._links.list_of(person)
            ],
            command="" if started is None or by else f"/{COMMAND} link {started.code}",
            typed_by=by and _name_of(by),
            typed_id=by and account_id(by),
            error=error,
        )
        return responses.page_response(body, status)

    async def _change(self, request: web.Request, visitor: Visitor) -> web.StreamResponse:
        """Start a link, confirm or refuse the account that has typed the code, or remove one."""
        post = await self._read(request, visitor)
        if isinstance(post, web.Response):
            return post
        person, account = visitor.person, post.first("account")
        match post.first("do"):
            case "start":
                await self._links.start(person)
            case "remove":
                await self._links.remove(account, person, person)
            case "link" | "reject" as choice:
                if not await self._links.confirm(person, account, mine=choice == "link"):
                    return await self._page(visitor, error=self._site.labels.link_gone, status=409)
            case _:
                return web.Response(status=422, headers=responses.HEADERS)
        return responses.see_other(_PATH)


def _name_of(person: Person) -> str:
    """Return an account's name, which its owner chooses freely."""
    return one_line(person.name or person.user_id)
