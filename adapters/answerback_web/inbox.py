"""The inbox, which shows a person's open asks and updates live; the history; and the sign-in page for both."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple
from urllib.parse import quote

from aiohttp import web

from answerback.core.ask import Ask, headline_of
from answerback.core.errors import StoreError
from answerback.core.walker import Person
from answerback.http.unverified_connections import mark_request_verified
from answerback.ports.search import Search
from answerback.ports.store_values import Page
from answerback.ports.surface import Actor, Batch, CommitSubscription
from answerback_base.sanitize import one_line
from answerback_web import history_filters, inbox_view, render, responses
from answerback_web.ask_page import AskPages
from answerback_web.extension_pages import ExtensionPages
from answerback_web.inbox_view import GrantRow, SearchForm
from answerback_web.posts import PageAction, Post
from answerback_web.site import HIDDEN_HEADER, NAME, Site
from answerback_web.visit import GroupsUnknownError, UnreadableError
from answerback_web.visitors import PROXY_INBOX, Visitor, Visitors

logger = logging.getLogger(__name__)

_PAGE: Final = 30
"""Asks per page: a screen or two."""
_SAMPLE: Final = 100
"""Asks whose agents a person can search for."""
_DECISIONS: Final = {"allow_once": True, "deny": False}
"""The decisions of the buttons about the permissions that are ticked: True allows."""


class _Links(NamedTuple):
    """A page's relative links to the site's root and the visitor's inbox."""

    root: str
    home: str | None
    """The visitor's inbox."""


class Inbox:
    """The handlers of the inbox.

    Args:
        tokens: whether agents need tokens; the example then shows one.
        asks: the pages of asks, which are also opened within the inbox.
        extensions: the pages that extensions add, to which it may link.
    """

    def __init__(
        self,
        site: Site,
        visitors: Visitors,
        *,
        tokens: bool,
        asks: AskPages,
        extensions: Sequence[ExtensionPages] = (),
    ) -> None:
        self._site = site
        self._asks = asks
        self._visitors = visitors
        self._tokens = tokens
        self._extensions = extensions

    async def sign_in_page(self, request: web.Request) -> web.StreamResponse:
        """Ask for the key; the addresses that `answerback serve` and `answerback person` print contain it.

        A person whom the proxy names skips this page. If nobody can have an inbox, the page does not exist.
        """
        try:
            if self._visitors.find_by_proxy(request) is not None:
                return responses.see_other(f"inbox/{PROXY_INBOX}")
            if not await self._visitors.can_have_inboxes():
                raise web.HTTPNotFound(headers=responses.HEADERS)
            if "key" not in request.query:
                return self._door_page(200, root="")
            return await self._check_key(request, request.query["key"])
        except StoreError:
            return self._unavailable_page("")

    async def sign_in(self, request: web.Request) -> web.StreamResponse:
        """Handle the key that was entered on the sign-in page."""
        try:
            if not await self._visitors.can_have_inboxes():
                raise web.HTTPNotFound(headers=responses.HEADERS)
            post = await self._site.read_post(request, root="", home=None)
            if isinstance(post, web.Response):
                return post
            return await self._check_key(request, post.first("key"))
        except StoreError:
            return self._unavailable_page("")

    async def _check_key(self, request: web.Request, key: str) -> web.StreamResponse:
        visitor = await self._visitors.find_by_key(key)
        if visitor is None:
            return self._door_page(403, root="", error=self._site.labels.key_wrong)
        mark_request_verified(request)
        name = self._visitors.inbox_name(visitor)
        if name is None:
            return self._door_page(403, root="", error=self._site.labels.key_elsewhere)
        return responses.see_other(f"inbox/{name}")

    def _door_page(self, status: int, *, root: str, error: str | None = None) -> web.Response:
        return self._site.door_page(status, root=root, here=root or "./", error=error)

    def _unavailable_page(self, root: str) -> web.Response:
        logger.exception("The inbox failed", extra={"action": "page"})
        return self._site.notice_page(503, self._site.labels.unavailable, root=root, home=None)

    async def _visitor(self, request: web.Request) -> Visitor | None:
        visitor = await self._visitors.find_by_inbox(request)
        if visitor is None and not await self._visitors.can_have_inboxes():
            raise web.HTTPNotFound(headers=responses.HEADERS)
        if visitor is not None:
            mark_request_verified(request)
        return visitor

    async def get(self, request: web.Request) -> web.StreamResponse:
        """Show the asks that wait for the visitor, the most urgent and then the oldest first."""
        return await self._show_to_visitor(request, "../", self._inbox_page)

    async def decide(self, request: web.Request) -> web.StreamResponse:
        """Decide about the permissions that are ticked, each on its own."""
        return await self._show_to_visitor(request, "../", self._decided_page)

    async def _decided_page(
        self, request: web.Request, visitor: Visitor, links: _Links
    ) -> web.Response:
        signed_in = visitor.holder is None
        post = await self._site.read_post(request, root="../", home=links.home, signed_in=signed_in)
        if isinstance(post, web.Response):
            return post
        if post.do is PageAction.NO_BUTTON:
            notice, ticked = self._site.labels.no_button, post.all_values("ask")
            return await self._inbox_page(request, visitor, links, notice=notice, ticked=ticked)
        left = await self._decide_ticked(visitor.person, post)
        if left == 0:
            return responses.see_other(str(self._visitors.inbox_name(visitor)))
        labels = self._site.labels
        named = await self._name_left(visitor, post.all_values("ask"))
        notice = (labels.batch_left_named if len(named) == left else labels.batch_left).format(
            count=left
        )
        return await self._inbox_page(request, visitor, links, notice=notice, left_over=named)

    async def _name_left(self, visitor: Visitor, ticked: Sequence[str]) -> list[str]:
        """Return what of that which was ticked has not been decided, each with its reason."""
        labels, named = self._site.labels, []
        for tick in list(dict.fromkeys(ticked))[:_SAMPLE]:
            ask_id, _, revision = tick.partition(":")
            try:
                _, ask = await self._asks.load_listed(visitor, ask_id)
            except UnreadableError:
                continue
            if ask.last_actor == visitor.person:
                continue
            reason = labels.batch_left_cut
            if not ask.open:
                reason = labels.batch_left_ended
            elif str(ask.revision) != revision:
                reason = labels.batch_left_changed
            named.append(reason.format(what=one_line(headline_of(ask.form))))
        return named

    async def _decide_ticked(self, person: Person, post: Post) -> int:
        """Decide about what is ticked; returns how many of those asks are left undecided."""
        allow, ticked = _DECISIONS.get(post.first("do")), post.all_values("ask")
        if allow is None:
            return max(len(ticked), 1)
        delivery = f"{NAME}:{post.digest_by(person)}"
        batch = Batch(ticked, allow, delivery, inbox_view.is_whole_in_row)
        return await self._site.service.decide_batch(batch, Actor(person))

    async def history(self, request: web.Request) -> web.StreamResponse:
        """Show the asks, open and ended, that the visitor may see, newest first."""
        return await self._show_to_visitor(request, "../../", self._history_page)

    async def _show_to_visitor(
        self,
        request: web.Request,
        root: str,
        show: Callable[[web.Request, Visitor, _Links], Awaitable[web.Response]],
    ) -> web.StreamResponse:
        links = _Links(root, None)
        try:
            visitor = await self._visitor(request)
            if visitor is None:
                return self._door_page(403, root=root, error=self._visitors.why_unknown(request))
            links = _Links(root, f"{root}inbox/{self._visitors.inbox_name(visitor)}")
            return await show(request, visitor, links)
        except StoreError:
            return self._unavailable_page(root)
        except ValueError:
            missing = self._site.labels.page_missing
            return self._site.notice_page(404, missing, root=root, home=links.home)

    async def _inbox_page(
        self,
        request: web.Request,
        visitor: Visitor,
        links: _Links,
        notice: str | None = None,
        left_over: Sequence[str] = (),
        ticked: Sequence[str] = (),
    ) -> web.Response:
        after = request.query.get("after")
        results = await self._site.service.list_waiting_for(Actor(visitor.person), after, _PAGE)
        cursor = f"&after={quote(after)}" if after else ""
        if HIDDEN_HEADER not in request.headers:
            await self._site.note_seen(results.rows)
            for each in self._extensions:
                await each.note_shown(visitor.person, results.rows)
        opened, left = None, ""
        if ask_id := request.query.get("open"):
            try:
                opened = await self._asks.open_in_list(visitor, ask_id)
            except GroupsUnknownError:
                notice = self._site.labels.unchecked
            except UnreadableError:
                pass  # the list is shown alone
        if opened is not None:
            opened["is_listed"] = any(ask.id == ask_id for ask in results.rows)
            others = sum(ask.id != ask_id for ask in results.rows)
            left = f"{others}+" if results.after else str(others or "")
        return self._page(
            "inbox",
            visitor,
            links,
            results,
            after,
            events=self._site.watching.token(
                f"/inbox/{self._visitors.inbox_name(visitor)}/events?state={_state(results)}{cursor}"
            ),
            curl=self._curl() if visitor.is_operator else None,
            notice=notice,
            left_over=left_over,
            opened=opened,
            left=left,
            listed=True,
            cursor=f"after={quote(after)}&" if after else "",
            ticked=ticked,
            ticked_all_of=request.query.get("all"),
            installable=True,
            drafts=self._site.draft_key(visitor.person),
            grants=await self._grants(visitor, links),
            **await self._of_extensions(request, visitor, links),
        )

    async def _of_extensions(
        self, request: web.Request, visitor: Visitor, links: _Links
    ) -> dict[str, object]:
        """Return what extensions add to the inbox."""
        labels, home = self._site.labels, links.home or ""
        notify: dict[str, str] = {}
        for each in self._extensions:
            notify |= await each.notify_data(visitor, root=links.root, home=home)
        notices = [await each.notice(request, visitor, home, labels) for each in self._extensions]
        return {
            "notify": notify,
            "further": [
                link for each in self._extensions for link in await each.links(visitor, labels)
            ],
            "row_links": [link for each in self._extensions if (link := each.row_link(labels))],
            "notices": [notice for notice in notices if notice],
        }

    async def _grants(self, visitor: Visitor, links: _Links) -> list[GrantRow]:
        """Return what the visitor has allowed again, or the operator what all people have."""
        service, labels = self._site.service, self._site.labels
        person = None if visitor.is_operator else visitor.person
        found = await service.list_grants(person)
        return [
            inbox_view.grant_row(
                each, f"{links.root}a/{self._visitors.link(each.ask_id, visitor)}", labels
            )
            for each in found[:_PAGE]
        ]

    async def _history_page(
        self, request: web.Request, visitor: Visitor, links: _Links
    ) -> web.Response:
        filters, after = history_filters.parse_filters(request.query), request.query.get("after")
        error: str | None = None
        results: Page[Ask] = Page((), None)
        try:
            search = filters.search(NAME)
        except ValueError:
            error = self._site.labels.filter_wrong_date
        else:
            person = None if visitor.is_operator else visitor.person
            results = await self._site.service.search_for(person, search, after, _PAGE)
        labels = self._site.labels
        people = await self._visitors.link_holder_names() if visitor.is_operator else None
        form = SearchForm(
            filters,
            inbox_view.statuses(labels, own=people is None),
            await self._agents(visitor),
            people,
            error,
        )
        return self._page("history", visitor, links, results, after, search=form)

    async def _agents(self, visitor: Visitor) -> dict[str, str]:
        """Return the agents to search for: for others than the operator, those of the newest asks that they may see."""
        known = dict(self._site.agents)
        for extension in self._extensions:
            known |= await extension.agents()
        if visitor.is_operator:
            return known
        service, person = self._site.service, visitor.person
        waiting = await service.list_waiting_for(Actor(person), None, _SAMPLE)
        answered = await service.search_for(person, Search(), None, _SAMPLE)
        seen = {ask.request.agent for ask in (*waiting.rows, *answered.rows)}
        return {name: label for name, label in known.items() if name in seen}

    def _page(
        self,
        name: str,
        visitor: Visitor,
        links: _Links,
        results: Page[Ask],
        after: str | None,
        **more: object,
    ) -> web.Response:
        labels = self._site.labels
        page = inbox_view.inbox_page(
            results.rows, labels, now=self._site.now(), after=results.after, first=not after
        )
        ask_links = {
            ask.id: f"{links.root}a/{self._visitors.link(ask.id, visitor)}"
            for ask in results.rows
            if visitor.is_operator
            or self._site.service.people.ids_of(visitor.person, ask.placement.destination.surface)
            != ()
        }
        you = render.visitor_line(visitor.person, labels)
        return responses.page_response(
            self._site.render_template(
                name, root=links.root, home=links.home, you=you, page=page, links=ask_links, **more
            )
        )

    async def events(self, request: web.Request) -> web.StreamResponse:
        """Send one event when the inbox no longer looks as the browser shows it."""
        visitor = await self._visitor(request)
        if visitor is None:
            return web.Response(status=403, headers=responses.HEADERS)
        after = request.query.get("after")

        async def event() -> str:
            service = self._site.service
            accounts = service.people.accounts_of(visitor.person)
            with ExitStack() as stack:
                following = [
                    stack.enter_context(service.follow(surface))
                    for surface in dict.fromkeys(surface for surface, _ in accounts)
                ]
                try:
                    results = await service.list_waiting_for(Actor(visitor.person), after, _PAGE)
                except ValueError:
                    return "gone"
                if _state(results) == request.query.get("state"):
                    await _first_commit(following)
            return "moved"

        return await responses.send_one_event(request, event)

    def _curl(self) -> str:
        token = ' -H "Authorization: Bearer $ANSWERBACK_TOKEN"' if self._tokens else ""
        return (
            f"curl -s {self._site.local_url}/v1/asks{token} -H 'Content-Type: application/json' \\\n"
            """  -d '{"name": "ask_user", "arguments": {"question": "Which port?"}, "to": "web"}'"""
        )


async def _first_commit(following: Sequence[CommitSubscription]) -> None:
    """Wait for the next commit that any of these reports."""
    waiting = [asyncio.ensure_future(each.next_commit()) for each in following]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waiting:
            each.cancel()


def _state(results: Page[Ask]) -> str:
    """Return a digest of what a page of the inbox shows; it changes when the page does."""
    text = " ".join(f"{ask.id}:{ask.revision}" for ask in results.rows) + f" {results.after}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
