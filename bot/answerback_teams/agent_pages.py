"""Where people connect their own agents by codes that they type, and remove them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from aiohttp import web

from answerback.core.labels import Labels
from answerback.core.person import Person
from answerback.http.unverified_connections import mark_request_verified
from answerback_teams.sign_in_text import (
    agent_row,
    decided_text,
    refusal_text,
    request_lines,
)
from answerback_teams.sign_ins import SignIns
from answerback_teams.values import SignIn, SignInRefusal, SignInState
from answerback_web import render, responses
from answerback_web.extension_pages import ExtensionPages, PageLink
from answerback_web.posts import Post
from answerback_web.site import RemovableRow, Site
from answerback_web.visitors import PROXY_INBOX, Visitor, VisitorPages, Visitors

_ROOT: Final = "../../"
_PATH: Final = "device"


class AgentPages(ExtensionPages):
    """The page of agents on both listeners."""

    templates = "answerback_teams"

    def __init__(self, sign_ins: SignIns) -> None:
        self._sign_ins = sign_ins

    def routes(self, site: Site, visitors: Visitors) -> Sequence[web.RouteDef]:
        return _AgentPage(site, visitors, self._sign_ins).routes()

    async def links(self, visitor: Visitor, labels: Labels) -> Sequence[PageLink]:
        return [PageLink(_PATH, labels.connect_agent)] if self._sign_ins.is_open() else []

    async def agents(self) -> Mapping[str, str]:
        return {each.name: each.name for each in await self._sign_ins.list_for(None)}


class _AgentPage(VisitorPages):
    """The handlers of the page, for the visitors of one listener.

    No address holds a code: it is always typed.
    """

    door = _PATH

    def __init__(self, site: Site, visitors: Visitors, sign_ins: SignIns) -> None:
        super().__init__(site, visitors)
        self._sign_ins = sign_ins

    def routes(self) -> list[web.RouteDef]:
        """Return the routes. The page itself is below its person's inbox."""
        page = f"/inbox/{{name}}/{_PATH}"
        return [
            web.get(f"/{_PATH}", self._or_notice(self._find_person)),
            web.post(f"/{_PATH}", self._or_notice(self._sign_in)),
            web.get(page, self._for_visitor(self._show)),
            web.post(page, self._for_visitor(self._change)),
        ]

    async def _find_person(self, request: web.Request) -> web.Response:
        """Send a person whom the proxy names to their page; ask others for their key."""
        if self._visitors.find_by_proxy(request) is not None:
            return responses.see_other(f"inbox/{PROXY_INBOX}/{_PATH}")
        if not await self._visitors.can_have_inboxes():
            raise web.HTTPNotFound(headers=responses.HEADERS)
        return self._site.door_page(200, root="", here=_PATH)

    async def _sign_in(self, request: web.Request) -> web.Response:
        """Handle the key that was entered."""
        post = await self._site.read_post(request, root="", home=None)
        if isinstance(post, web.Response):
            return post
        visitor = await self._visitors.find_by_key(post.first("key"))
        name = None if visitor is None else self._visitors.inbox_name(visitor)
        if name is None:
            labels = self._site.labels
            error = labels.key_wrong if visitor is None else labels.connect_operator
            return self._site.door_page(403, root="", here=_PATH, error=error)
        mark_request_verified(request)
        return responses.see_other(f"inbox/{name}/{_PATH}")

    async def _show(self, _request: web.Request, visitor: Visitor) -> web.Response:
        return await self._page(visitor)

    async def _change(self, request: web.Request, visitor: Visitor) -> web.Response:
        """Look a code up, decide about what it stands for, or remove an agent."""
        post = await self._read(request, visitor, self._home(visitor))
        if isinstance(post, web.Response):
            return post
        if post.first("do") == "remove":
            await self._sign_ins.remove(post.first("agent"), self._whose(visitor))
            return responses.see_other(_PATH)
        found = await self._decide(post, visitor)
        if isinstance(found, SignInRefusal):
            status = 429 if found is SignInRefusal.TOO_OFTEN else 422
            return await self._page(
                visitor, error=refusal_text(found, self._site.labels), status=status
            )
        if found.state is SignInState.PENDING:
            return await self._page(visitor, asking=found)
        return await self._page(visitor, said=decided_text(found, self._site.labels))

    async def _decide(self, post: Post, visitor: Visitor) -> SignIn | SignInRefusal:
        decision = post.first("do")
        if decision in {"approve", "deny"}:
            is_approved = decision == "approve"
            return await self._sign_ins.decide(
                post.first("id"), visitor.person, approve=is_approved
            )
        return await self._sign_ins.look_up(post.first("code"), visitor.person)

    async def _page(
        self,
        visitor: Visitor,
        *,
        asking: SignIn | None = None,
        said: str | None = None,
        error: str | None = None,
        status: int = 200,
    ) -> web.Response:
        labels, agents = self._site.labels, await self._sign_ins.list_for(self._whose(visitor))
        everyones = visitor.is_operator
        lines = [] if asking is None else request_lines(asking, self._sign_ins.terms(), labels)
        rows = [(each.name, agent_row(each, labels), each.owner) for each in agents]
        body = self._site.render_template(
            "answerback_teams/device",
            root=_ROOT,
            home=self._home(visitor),
            you=render.visitor_line(visitor.person, labels),
            is_operator=everyones,
            asking=asking,
            lines=lines,
            said=said,
            error=error,
            rows=[
                RemovableRow(name, f"{text} {_owned_by(owner, labels)}" if everyones else text)
                for name, text, owner in rows
            ],
        )
        return responses.page_response(body, status)

    @staticmethod
    def _whose(visitor: Visitor) -> Person | None:
        """Return whose agents a visitor sees; the operator sees everyone's."""
        return None if visitor.is_operator else visitor.person


def _owned_by(owner: Person, labels: Labels) -> str:
    return labels.agent_owner.format(name=owner.name or owner.user_id)
