"""Handlers of the page of one ask: show it, follow its changes, and handle its form."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from aiohttp import web

from answerback.core.ask import Ask
from answerback.core.clarification import AskBack
from answerback.core.errors import Problem, ProblemError, StoreError, UnreadableRowError
from answerback.core.granting import can_revoke
from answerback.core.handing_over import HandOver, people_to_choose
from answerback.core.intents import Intent, ResolvedAction
from answerback.core.secrecy import keeps_secret, without_unconfirmed
from answerback.core.too_late import can_try_again
from answerback.core.walker import Person
from answerback.http.unverified_connections import mark_request_verified
from answerback.ports.surface import Acted, Actor, Rejected, RejectReason
from answerback.presentation import wording
from answerback_web import (
    attached_files,
    parse,
    people_text,
    question_context,
    record,
    render,
    responses,
)
from answerback_web.extension_pages import ExtensionPages
from answerback_web.page_access import LinkTarget
from answerback_web.posts import (
    CHANGES,
    ChangedCall,
    ChangedRows,
    ConfirmEndTurn,
    InvalidPost,
    KeepTurn,
    Post,
)
from answerback_web.record import RecordLine
from answerback_web.render import AskPage
from answerback_web.site import HIDDEN_HEADER, NAME, Site
from answerback_web.visit import ReadableAsks, UnreadableError, Visit
from answerback_web.visitors import Visitor, Visitors

logger = logging.getLogger(__name__)

_LISTED: Final = 30
"""The number of waiting asks that are looked through for the next one."""
_STATUS: Final = {
    RejectReason.NOT_FOUND: 404,
    RejectReason.NOT_ALLOWED: 403,
    RejectReason.UNCHECKED: 503,
    RejectReason.STALE: 409,
    RejectReason.ENDED: 410,
    RejectReason.INVALID: 422,
}
_SENT_ALONE: Final = (AskBack, HandOver)
"""Actions that leave the question open, and what was entered beside them."""

_Handler: TypeAlias = Callable[[web.Request, Visit], Awaitable[web.StreamResponse]]


class AskPages:
    """The handlers of the pages of asks.

    Args:
        extensions: the pages that extensions add, which are told what is shown.
    """

    def __init__(
        self, site: Site, visitors: Visitors, extensions: Sequence[ExtensionPages] = ()
    ) -> None:
        self._site = site
        self._visitors = visitors
        self._extensions = extensions
        self._asks = ReadableAsks(site)

    def with_link_access(self, handler: _Handler) -> responses.Handler:
        """Wrap a handler of the pages that a link opens."""

        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                opened = await self._visitors.find_by_link(request)
                if opened is None:
                    message = self._site.labels.page_missing
                    return self._site.notice_page(404, message, root="../", home=None)
                mark_request_verified(request)
                if opened[0].is_revoked and opened[1] is None:
                    return await self._revoked_page(request, opened[0].ask_id)
                visit = self._visit_of(*opened)
                try:
                    return await handler(request, visit)
                except UnreadableError as error:
                    return self._unreadable(visit, error)
            except StoreError as error:
                logger.exception("A page failed", extra={"action": "page"})
                labels = self._site.labels
                reading = request.method == "GET" and not isinstance(error, UnreadableRowError)
                message = labels.unavailable if reading else labels.save_error_message(error)
                return self._site.notice_page(503, message, root="../", home=None)

        return handle

    async def _revoked_page(self, request: web.Request, ask_id: str) -> web.StreamResponse:
        """Return the page that asks for a key, in place of one whose key was replaced or revoked: with what was typed
        there, and nothing of the ask."""
        site, here = self._site, request.match_info["link"]
        if request.method != "POST":
            return site.door_page(403, root="../", here=here, error=site.labels.link_invalid)
        post = await site.read_post(request, root="../", home=None)
        if isinstance(post, web.Response):
            return post
        if "key" in post.fields:
            visitor = await self._visitors.find_by_key(post.first("key"))
            if visitor is not None:
                return responses.see_other(self._visitors.link(ask_id, visitor))
            return site.door_page(403, root="../", here=here, error=site.labels.key_wrong)
        ask = await site.service.get(ask_id)
        texts = () if ask is None else parse.typed_texts(post, ask)
        error = site.labels.page_expired
        return site.door_page(403, root="../", here=here, error=error, unsaved_texts=texts)

    def _visit_of(self, opened: LinkTarget, visitor: Visitor | None) -> Visit:
        here = self._visitors.link(opened.ask_id, visitor)
        inbox = self._visitors.inbox_name(visitor) if visitor else None
        home = f"../inbox/{inbox}" if inbox else None
        return Visit(opened.ask_id, here, visitor, home, self._site.service.people)

    async def get(self, request: web.Request, visit: Visit) -> web.StreamResponse:
        """Show the current state of the ask."""
        visit, ask = await self._asks.load(visit)
        if HIDDEN_HEADER not in request.headers:
            await self._site.note_seen([ask])
            if visit.person and ask.open:
                for each in self._extensions:
                    await each.note_shown(visit.person, [ask])
        return await self._ask_page(visit, ask)

    async def events(self, request: web.Request, visit: Visit) -> web.StreamResponse:
        """Send one event when the ask is no longer in the page's state."""
        seen = request.query.get("state")

        async def event() -> str:
            with self._site.service.follow(visit.ask_id) as following:
                ask: Ask | None = None
                with suppress(UnreadableError):
                    _, ask = await self._asks.load(visit)
                while ask is not None and render.state_of(ask) == seen:
                    ask = await following.next_commit()
            # Without an ask the process is stopping: the browser reconnects automatically.
            return "moved" if ask is not None else "stopping"

        return await responses.send_one_event(request, event)

    async def post(self, request: web.Request, visit: Visit) -> web.StreamResponse:
        """Handle the page's form: show the page again, or redirect to it after an action."""
        signed_in = visit.visitor is not None and visit.visitor.holder is None
        post = await self._site.read_post(request, root="../", home=visit.home, signed_in=signed_in)
        if isinstance(post, web.Response):
            return post
        try:
            return await self._take(visit, post)
        except UnreadableError as error:
            texts = () if error.ask is None else parse.typed_texts(post, error.ask)
            return self._unreadable(visit, error, texts)

    async def _take(self, visit: Visit, post: Post) -> web.StreamResponse:
        action = None if "key" in post.fields else parse.action_without_input(post)
        if visit.person is not None and action is not None:
            return await self._act(visit, visit.person, post, action)
        visit, ask = await self._asks.load(visit)
        if "key" in post.fields:
            return await self._unlock(visit, ask, post)
        if visit.person is None:
            notice, texts = self._site.labels.page_expired, parse.typed_texts(post, ask)
            return await self._ask_page(visit, ask, 403, notice=notice, unsaved_texts=texts)
        return await self._handle_post(visit, visit.person, ask, post)

    async def _handle_post(
        self, visit: Visit, person: Person, ask: Ask, post: Post
    ) -> web.StreamResponse:
        if ask.open and not visit.may_answer(ask):
            return await self._rejected(visit, post, Rejected(RejectReason.NOT_ALLOWED, ask))
        if attached_files.PART in post.fields:
            if not ask.open:
                return await self._rejected(visit, post, Rejected(RejectReason.ENDED, ask))
            return await attached_files.take_chunk(post, self._site.service.people_files, person)
        labels = self._site.labels
        # A changed call may be long, and is read as if the agent had sent it.
        if ask.request.editable and post.do in CHANGES:
            meaning = await asyncio.to_thread(parse.interpret_post, post, ask, labels)
        else:
            meaning = parse.interpret_post(post, ask, labels)
        if (
            isinstance(meaning, InvalidPost | ConfirmEndTurn | KeepTurn | ChangedRows | ChangedCall)
            and post.revision != ask.revision
        ):
            why = RejectReason.STALE if ask.open else RejectReason.ENDED
            return await self._rejected(visit, post, Rejected(why, ask))
        match meaning:
            case InvalidPost():
                return await self._ask_page(visit, ask, 422, post=post, problems=meaning.problems)
            case ConfirmEndTurn():
                return self._confirm(visit, ask, post)
            case KeepTurn() | ChangedCall():
                return await self._ask_page(visit, ask, post=post)
            case ChangedRows():
                return await self._ask_page(visit, ask, post=meaning.post)
            case _:
                return await self._act(visit, person, post, meaning)

    async def _unlock(self, visit: Visit, ask: Ask, post: Post) -> web.StreamResponse:
        """Redirect a person who entered their key to the page where they may answer."""
        visitor = await self._visitors.find_by_key(post.first("key"))
        if visitor is None:
            return await self._ask_page(visit, ask, 403, key_error=self._site.labels.key_wrong)
        return responses.see_other(self._visitors.link(ask.id, visitor))

    async def _act(
        self, visit: Visit, person: Person, post: Post, action: ResolvedAction
    ) -> web.StreamResponse:
        # A double click sends the same post from the same page: it counts once, and succeeds both times.
        delivery = f"{NAME}:{visit.ask_id}:{post.digest_by(person)}"
        is_known_elsewhere = (
            bool(visit.people.accounts) and visit.people.name_of(person) is not None
        )
        surface = None if is_known_elsewhere else NAME
        intent = Intent(visit.ask_id, action, post.revision, delivery, surface=surface)
        try:
            if attached_files.FIELD in post.fields:
                files = self._site.service.people_files
                wanted = await attached_files.with_files(action, post, files, person, visit.ask_id)
                intent = intent._replace(wanted=wanted)
            result = await self._site.service.apply(intent, Actor(person))
        except ProblemError as error:
            return await self._refused_files(visit, post, error)
        except StoreError as error:
            logger.exception("A post failed", extra={"action": "page", "ask_id": visit.ask_id})
            visit, ask = await self._asks.load(visit)
            notice = self._site.labels.save_error_message(error)
            return await self._ask_page(visit, ask, 503, post=post, notice=notice)
        if isinstance(result, Acted):
            rest = parse.without_sent(post) if isinstance(action, _SENT_ALONE) else None
            # The question is still open, so keep the other entries.
            return (
                await self._ask_page(visit, result.ask, post=rest)
                if rest and render.shows_entered(result.ask, self._site.labels, rest)
                else responses.see_other(await self._after(visit, result.ask, post))
            )
        return await self._rejected(visit, post, result)

    async def _refused_files(
        self, visit: Visit, post: Post, error: ProblemError
    ) -> web.StreamResponse:
        """Show the page with what was entered, and say what is wrong with the files that came with it."""
        visit, ask = await self._asks.load(visit)
        return await self._ask_page(visit, ask, 422, post=post, problems=error.problems)

    async def _after(self, visit: Visit, ask: Ask, post: Post) -> str:
        """Return the address that follows an action: in an inbox, the next ask is open as soon as one is done."""
        if "listed" not in post.fields or visit.home is None or visit.person is None:
            return visit.here
        if ask.open and not ask.confirming:
            return f"{visit.home}?open={ask.id}"
        waiting = await self._site.service.list_waiting_for(Actor(visit.person), None, _LISTED)
        left = [each for each in waiting.rows if each.id != ask.id]
        later = (each for each in left if (each.created_at, each.id) > (ask.created_at, ask.id))
        following = next(later, left[0] if left else None)
        return visit.home if following is None else f"{visit.home}?open={following.id}"

    async def _rejected(self, visit: Visit, post: Post, rejected: Rejected) -> web.StreamResponse:
        if rejected.ask is None:
            raise UnreadableError
        visit, ask = await self._asks.as_read(visit, rejected.ask)
        is_over = rejected.why is RejectReason.INVALID and not ask.open
        status = 409 if is_over else _STATUS[rejected.why]
        if rejected.why is RejectReason.INVALID and not is_over:
            problems = [_into_value(problem) for problem in rejected.problems]
            return await self._ask_page(visit, ask, status, post=post, problems=problems)
        labels = self._site.labels
        marks = people_text.plain_format(labels)
        reader = visit.person.user_id if visit.person else None
        notice = wording.rejection_note(rejected, labels, marks, reader)
        texts = parse.typed_texts(post, ask)
        return await self._ask_page(visit, ask, status, notice=notice, unsaved_texts=texts)

    # --- responses to the browser --------------------------------------------------------------------

    async def _ask_page(
        self,
        visit: Visit,
        ask: Ask,
        status: int = 200,
        *,
        post: Post | None = None,
        problems: tuple[Problem, ...] | list[Problem] = (),
        notice: str | None = None,
        unsaved_texts: tuple[str, ...] = (),
        key_error: str | None = None,
    ) -> web.Response:
        # Agents have this link, too.
        is_secret = visit.person is None and keeps_secret(ask)
        page = await self._rendered(
            visit,
            without_unconfirmed(ask) if is_secret else ask,
            post=post,
            problems=problems,
            notice=notice,
            unsaved_texts=unsaved_texts,
            hidden=is_secret and ask.open,
        )
        body = self._site.render_template(
            "ask",
            root="../",
            home=visit.home,
            events=self._site.watching.token(f"/a/{visit.here}/events?state={quote(page.state)}"),
            you=render.visitor_line(visit.person, self._site.labels),
            share=self._site.access.url(ask.id) if visit.person is not None else None,
            drafts=self._site.draft_key(visit.person),
            listed=post is not None and "listed" in post.fields,
            **await self._article(visit, ask, page, key_error),
        )
        return responses.page_response(body, status)

    async def _article(
        self, visit: Visit, ask: Ask, page: AskPage, key_error: str | None = None
    ) -> dict[str, Any]:
        """Return what the template of an ask needs, wherever it stands."""
        return {
            "here": visit.here,
            "page": page,
            "asked_at": ask.created_at,
            "draft": f"{ask.id}:{page.prompt.at}" if page.prompt else None,
            "confirmations": _confirmations_after(ask),
            "answering": visit.may_answer(ask),
            "identified": visit.person is not None,
            "try_again": can_try_again(ask, self._site.now()) and visit.may_answer(ask),
            "revoke": can_revoke(ask) and visit.may_answer(ask),
            "elsewhere": None if visit.may_answer(ask) else _elsewhere(ask),
            "record": await self._record(visit, ask),
            "key_error": key_error,
        }

    async def load_listed(self, visitor: Visitor, ask_id: str) -> tuple[Visit, Ask]:
        """Load an ask of a visitor's inbox.

        Raises:
            UnreadableError: they may not read it there; GroupsUnknownError, if that is unknown.
        """
        home = f"../inbox/{self._visitors.inbox_name(visitor)}"
        here = self._visitors.link(ask_id, visitor)
        visit = Visit(ask_id, here, visitor, home, self._site.service.people)
        visit, ask = await self._asks.load(visit)
        # The id alone opens nothing: unlike a link's digest, it is not secret.
        if not visit.is_theirs(ask):
            raise UnreadableError(ask)
        return visit, ask

    async def open_in_list(self, visitor: Visitor, ask_id: str) -> dict[str, Any]:
        """Return what the template of an ask needs within its visitor's inbox; raises as `load_listed` does."""
        visit, ask = await self.load_listed(visitor, ask_id)
        page = await self._rendered(visit, ask)
        return {
            **await self._article(visit, ask, page),
            "action": f"../a/{visit.here}",
            "ask_id": ask_id,
            "headline": None,
        }

    async def _rendered(self, visit: Visit, ask: Ask, **shown: Any) -> AskPage:
        """Render an ask for its visitor, in a thread if that may take long."""
        holder = visit.visitor.holder if visit.visitor else None
        address = partial(self._site.file_address, holder=holder)
        build_page = partial(render.ask_page, ask, self._site.labels, address=address, **shown)
        post = shown.get("post")
        changes = post is not None and post.do in CHANGES
        is_slow = changes or question_context.is_slow_to_render(ask)
        page = await asyncio.to_thread(build_page) if is_slow else build_page()
        if page.edit is not None and not visit.may_change(ask, self._site.now()):
            page = replace(page, edit=None)
        if page.recipients is not None:
            people = people_to_choose(ask, visit.people) or ()
            surface = ask.placement.destination.surface
            accounts = (Person(surface=surface, user_id=each) for each in people)
            named = (visit.people.as_named(each) for each in accounts)
            page = replace(
                page, recipients=tuple((each.user_id, each.name or "") for each in named)
            )
        return (
            visit.without_refused(page, ask, self._site.labels) if visit.may_answer(ask) else page
        )

    def _confirm(self, visit: Visit, ask: Ask, post: Post) -> web.Response:
        """Ask the person to confirm that the turn ends; the page carries what they entered."""
        fields = [(name, value) for name, values in post.fields.items() for value in values]
        return responses.page_response(
            self._site.render_template(
                "confirm",
                root="../",
                home=visit.home,
                here=visit.here,
                page=render.ask_page(ask, self._site.labels),
                fields=[(name, value) for name, value in fields if name != "do"],
            )
        )

    def _unreadable(
        self, visit: Visit, error: UnreadableError, texts: tuple[str, ...] = ()
    ) -> web.Response:
        """Return a page that shows nothing of an ask, and gives back what was typed."""
        labels = self._site.labels
        message = labels.page_missing if error.status == 404 else labels.unchecked
        return self._site.notice_page(
            error.status, message, root="../", home=visit.home, unsaved_texts=texts
        )

    async def _record(self, visit: Visit, ask: Ask) -> Sequence[RecordLine]:
        """Return the record of an ask that has ended, for an identified visitor."""
        if ask.open or visit.visitor is None:
            return ()
        entries = await self._site.service.record(ask.id)
        return record.record_lines(entries, ask, self._site.labels)


def _confirmations_after(ask: Ask) -> int:
    """Return how many people have to confirm what is answered now; 0 if nobody has to, or if that phase has begun."""
    rule = ask.form.confirmation
    return rule.due if rule is not None and ask.open and not ask.confirming else 0


def _elsewhere(ask: Ask) -> str | None:
    """Return the address of the other surface where an ask is answered, if it has one; None if that is the web."""
    if ask.placement.destination.surface == NAME:
        return None
    url = ask.placement.thread.url if ask.placement.thread else None
    return url if url and url.startswith("https://") else ""


def _into_value(problem: Problem) -> Problem:
    """Adapt a problem to the page's inputs: its pointer leads into the value, not into the action."""
    return problem.model_copy(update={"pointer": problem.pointer.removeprefix("/value")})
