"""The page of one ask: shown, followed, and what its form leads to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from aiohttp import web

from answerback.core.ask import Ask
from answerback.core.clarification import AskBack
from answerback.core.errors import Problem, StoreError, UnreadableRowError
from answerback.core.intents import Intent
from answerback.core.view import view_of
from answerback.core.walker import Action, Person
from answerback.http.unverified_connections import mark_request_verified
from answerback.ports.surface import Acted, Actor, Rejected, RejectReason
from answerback_chat import wording
from answerback_chat.responders import is_excluded
from answerback_web import parse, question_context, record, render, responses
from answerback_web.page_access import LinkTarget
from answerback_web.parse import ConfirmEndTurn, InvalidPost, KeepTurn, Post
from answerback_web.record import RecordLine
from answerback_web.site import NAME, Site
from answerback_web.visitors import Visitor, Visitors

logger = logging.getLogger(__name__)

_STATUS: Final = {
    RejectReason.NOT_FOUND: 404,
    RejectReason.NOT_ALLOWED: 403,
    RejectReason.UNCHECKED: 503,
    RejectReason.STALE: 409,
    RejectReason.ENDED: 410,
    RejectReason.INVALID: 422,
}


@dataclass(frozen=True, slots=True)
class _Place:
    """One ask's page under one of its addresses."""

    ask_id: str
    here: str
    """The last part of the address: what the page calls itself by."""
    visitor: Visitor | None
    """Who may answer here; None: nobody, the page only shows the ask."""
    home: str | None
    """Where that person's inbox is; None where this listener has none."""

    @property
    def person(self) -> Person | None:
        """The visitor as somebody who acts."""
        return self.visitor.person if self.visitor else None

    def may_answer(self, ask: Ask) -> bool:
        """Whether the visitor may: nobody is in a group here."""
        person = self.person
        if ask.destination.surface != NAME:
            return False
        return person is not None and not is_excluded(ask, Actor(person, all_groups=True))


class OtherSurface(NamedTuple):
    """Another place where an ask is answered."""

    url: str | None


_Handler: TypeAlias = Callable[[web.Request, _Place], Awaitable[web.StreamResponse]]


class AskPages:
    """The handlers of the pages of single asks, for the visitors of one listener."""

    def __init__(self, front: Site, visitors: Visitors) -> None:
        self._front = front
        self._visitors = visitors

    def with_link_access(self, handler: _Handler) -> responses.Handler:
        """A handler for the pages that a link opens."""

        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                found = await self._visitors.find_by_link(request)
                if found is None:
                    message = self._front.labels.page_missing
                    return self._front.notice_page(404, message, root="../", home=None)
                mark_request_verified(request)
                return await handler(request, self._place(*found))
            except StoreError as error:
                logger.exception("A page failed", extra={"action": "page"})
                labels = self._front.labels
                reading = request.method == "GET" and not isinstance(error, UnreadableRowError)
                message = labels.unavailable if reading else labels.save_error_message(error)
                return self._front.notice_page(503, message, root="../", home=None)

        return handle

    def _place(self, opened: LinkTarget, visitor: Visitor | None) -> _Place:
        here = self._visitors.link(opened.ask_id, visitor)
        inbox = self._visitors.inbox_name(visitor) if visitor else None
        return _Place(opened.ask_id, here, visitor, f"../inbox/{inbox}" if inbox else None)

    async def get(self, request: web.Request, place: _Place) -> web.StreamResponse:
        """The ask as it stands."""
        ask = await self._load(place)
        if ask is None:
            return self._missing(place)
        return await self._ask_page(place, ask)

    async def events(self, request: web.Request, place: _Place) -> web.StreamResponse:
        """Says once that the ask is not at the page's revision any more."""
        seen = request.query.get("revision")

        async def event() -> str:
            with self._front.service.follow(place.ask_id) as following:
                ask = await self._load(place)
                while ask is not None and str(ask.revision) == seen:
                    ask = await following.next_commit()
            # Without an ask the process is stopping: the browser comes back by itself.
            return "moved" if ask is not None else "stopping"

        return await responses.send_one_event(request, event)

    async def post(self, request: web.Request, place: _Place) -> web.StreamResponse:
        """What the page's form leads to: the page again, or on to it once something was done."""
        signed_in = place.visitor is not None and place.visitor.holder is None
        post = await self._front.read_post(
            request, root="../", home=place.home, signed_in=signed_in
        )
        if isinstance(post, web.Response):
            return post
        action = None if "key" in post.fields else parse.action_without_input(post)
        if place.person is not None and action is not None:
            return await self._act(place, place.person, post, action)
        ask = await self._load(place)
        if ask is None:
            return self._missing(place)
        if "key" in post.fields:
            return await self._unlock(place, ask, post)
        if place.person is None:
            notice, kept = self._front.labels.page_expired, parse.typed_texts(post)
            return await self._ask_page(place, ask, 403, notice=notice, kept=kept)
        return await self._answered(place, place.person, ask, post)

    async def _answered(
        self, place: _Place, person: Person, ask: Ask, post: Post
    ) -> web.StreamResponse:
        """What comes of a post to the page of ``ask``."""
        if ask.open and not place.may_answer(ask):
            return await self._rejected(place, post, Rejected(RejectReason.NOT_ALLOWED, ask))
        meant = parse.interpret_post(post, ask, self._front.labels)
        if (
            isinstance(meant, InvalidPost | ConfirmEndTurn | KeepTurn)
            and post.revision != ask.revision
        ):
            why = RejectReason.STALE if ask.open else RejectReason.ENDED
            return await self._rejected(place, post, Rejected(why, ask))
        match meant:
            case InvalidPost():
                return await self._ask_page(place, ask, 422, post=post, problems=meant.problems)
            case ConfirmEndTurn():
                return self._confirm(place, ask, post)
            case KeepTurn():
                return await self._ask_page(place, ask, post=post)
            case _:
                return await self._act(place, person, post, meant)

    async def _unlock(self, place: _Place, ask: Ask, post: Post) -> web.StreamResponse:
        """Leads whoever entered their key on to the page where they may answer."""
        visitor = await self._visitors.find_by_key(post.first("key"))
        if visitor is None:
            return await self._ask_page(place, ask, 403, key_error=self._front.labels.key_wrong)
        return responses.see_other(self._visitors.link(ask.id, visitor))

    async def _act(
        self, place: _Place, person: Person, post: Post, action: Action | AskBack
    ) -> web.StreamResponse:
        # A double click sends the same post from the same page: it counts once, and as itself.
        delivery = f"{NAME}:{place.ask_id}:{person.user_id}:{post.digest}"
        intent = Intent(place.ask_id, action, post.revision, delivery, surface=NAME)
        try:
            told = await self._front.service.apply(intent, Actor(person))
        except StoreError as error:
            logger.exception("A post failed", extra={"action": "page", "ask_id": place.ask_id})
            ask = await self._load(place)
            if ask is None:
                return self._missing(place)
            notice = self._front.labels.save_error_message(error)
            return await self._ask_page(place, ask, 503, post=post, notice=notice)
        if isinstance(told, Acted):
            rest = parse.without_ask_back(post) if isinstance(action, AskBack) else None
            # What else was entered is not lost: the question is still open.
            return (
                await self._ask_page(place, told.ask, post=rest)
                if rest
                else responses.see_other(place.here)
            )
        return await self._rejected(place, post, told)

    async def _rejected(self, place: _Place, post: Post, rejected: Rejected) -> web.StreamResponse:
        ask = rejected.ask
        if ask is None:
            return self._missing(place)
        status = _STATUS[rejected.why]
        if rejected.why is RejectReason.INVALID:
            problems = [_into_value(problem) for problem in rejected.problems]
            return await self._ask_page(place, ask, status, post=post, problems=problems)
        labels = self._front.labels  # ids of a chat platform would tell nobody who they are
        reader = place.person.user_id if place.person else None
        notice = wording.rejection_note(rejected, view_of(ask), labels, labels.those_asked, reader)
        kept = parse.typed_texts(post)
        return await self._ask_page(place, ask, status, notice=notice, kept=kept)

    # --- answers to the browser ----------------------------------------------------------------------

    async def _ask_page(
        self,
        place: _Place,
        ask: Ask,
        status: int = 200,
        *,
        post: Post | None = None,
        problems: tuple[Problem, ...] | list[Problem] = (),
        notice: str | None = None,
        kept: tuple[str, ...] = (),
        key_error: str | None = None,
    ) -> web.Response:
        draw = partial(
            render.ask_page,
            ask,
            self._front.labels,
            post=post,
            problems=problems,
            notice=notice,
            kept=kept,
        )
        page = await asyncio.to_thread(draw) if question_context.is_slow_to_render(ask) else draw()
        return responses.page_response(
            self._front.render_template(
                "ask",
                root="../",
                home=place.home,
                here=place.here,
                page=page,
                answering=place.may_answer(ask),
                stranger=place.person is not None,
                elsewhere=_elsewhere(ask),
                record=await self._record(place, ask),
                you=render.visitor_line(place.person, self._front.labels),
                key_error=key_error,
                share=self._front.link(ask.id) if place.person is not None else None,
            ),
            status,
        )

    def _confirm(self, place: _Place, ask: Ask, post: Post) -> web.Response:
        """Asks whether the turn is to end, and carries along what was entered."""
        kept = [(name, value) for name, values in post.fields.items() for value in values]
        return responses.page_response(
            self._front.render_template(
                "confirm",
                root="../",
                home=place.home,
                here=place.here,
                page=render.ask_page(ask, self._front.labels),
                kept=[(name, value) for name, value in kept if name != "do"],
            )
        )

    def _missing(self, place: _Place) -> web.Response:
        return self._front.notice_page(
            404, self._front.labels.page_missing, root="../", home=place.home
        )

    async def _load(self, place: _Place) -> Ask | None:
        """The ask of a page; asks that are shown elsewhere have one for the operator alone."""
        ask = await self._front.service.get(place.ask_id)
        if ask is None or ask.destination.surface == NAME:
            return ask
        return ask if place.visitor is not None and place.visitor.is_operator else None

    async def _record(self, place: _Place, ask: Ask) -> Sequence[RecordLine]:
        """What happened to an ask that has ended, for who is known."""
        if ask.open or place.visitor is None:
            return ()
        entries = await self._front.service.record(ask.id)
        return record.record_lines(entries, ask, self._front.labels)


def _elsewhere(ask: Ask) -> OtherSurface | None:
    """Where an ask is answered that is shown in another place; None for the page's own."""
    if ask.destination.surface == NAME:
        return None
    url = ask.thread.url if ask.thread else None
    return OtherSurface(url if url and url.startswith("https://") else None)


def _into_value(problem: Problem) -> Problem:
    """A problem as the page's inputs know it: its pointer leads into the value, not into the action."""
    return problem.model_copy(update={"pointer": problem.pointer.removeprefix("/value")})
