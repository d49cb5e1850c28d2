"""The service: submit, act, withdraw, expire. Each is one load → authorise → decide → commit, then wakes who waits.

Owns the order of things and who may do what. Decides nothing about forms (the walker does), shows
nothing (surfaces do), stores nothing itself (the store does).
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from pydantic import JsonValue

from bot import ask as asks
from bot import presenting, routing, typed
from bot.ask import ANYONE, Ask, Change, Entry, Reason, Request, Status
from bot.dialects import registry
from bot.errors import ConfigError, InvalidCallError, PlatformError, Problem, ProblemError
from bot.form import Form
from bot.labels import Labels
from bot.ports import (
    Acted,
    Actor,
    Clock,
    Created,
    Decision,
    Delivery,
    DeliveryState,
    Existing,
    Idempotency,
    Memory,
    Page,
    Rejected,
    Store,
    StoredDelivery,
    StoredEntry,
    Surface,
    Why,
    Write,
)
from bot.signals import Follower, Signals
from bot.submission import Agent, Plan, Routes, Submission, plan
from bot.view import can_remember
from bot.walker import Action, Answer, Refused, Source, Submit, start

logger = logging.getLogger(__name__)

_OPEN_IN_THREAD: Final = 10
_NO_AGENT: Final = ""
_DO_NOT_RETRY: Final = "Do not retry this tool call in this turn."


@dataclass(frozen=True, slots=True)
class Submitted:
    """An ask that an agent submitted; ``created`` is False when its idempotency key found an earlier one."""

    ask: Ask
    created: bool


@dataclass(frozen=True, slots=True)
class _NeedsGroups:
    """Whether the actor may act depends on groups that were not looked up yet."""

    ask: Ask
    groups: frozenset[str]


@dataclass(slots=True)
class Hooks:
    """Who is told of a commit beside those who wait for the ask: set by the app when it wires the rest."""

    show: Callable[[Ask], None] = field(default=lambda _ask: None)
    """The live message is behind."""
    deliver: Callable[[], None] = field(default=lambda: None)
    """The outbox has something new."""
    due: Callable[[float], None] = field(default=lambda _at: None)
    """The clock has something to do at this time."""


class Service:
    """The one way in which asks change.

    Args:
        known_surfaces: the names of all surfaces there are; ``surfaces`` holds the configured ones.
        check_callback: None when a callback may be sent to for an agent, else why not, in words.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        surfaces: Mapping[str, Surface],
        *,
        known_surfaces: frozenset[str],
        routes: Routes | None = None,
        rules: routing.Rules | None = None,
        labels: Labels | None = None,
        has_inquiry: bool = False,
        check_callback: Callable[[str, Agent | None], str | None] = lambda _url, _agent: None,
    ) -> None:
        self.store = store
        self.clock = clock
        self.surfaces = surfaces
        self.signals = Signals()
        self.hooks = Hooks()
        self.rules = rules or routing.Rules()
        self.labels = labels or Labels()
        self._known_surfaces = known_surfaces | surfaces.keys()
        self._routes = routes or Routes()
        self._has_inquiry = has_inquiry
        self._check_callback = check_callback
        self._stopping = False

    # --- submitting ------------------------------------------------------------------------------

    async def submit(
        self,
        body: Submission,
        *,
        agent: Agent | None = None,
        idempotency_key: str | None = None,
        digest: str = "",
    ) -> Submitted:
        """Stores a tool call as an ask and has it shown.

        Args:
            digest: of the whole body; a repeated key with another digest is refused.

        Raises:
            InvalidCallError: with every mistake in the call and around it; the record notes the refusal.
            ProblemError: the idempotency key was used for another body.
        """
        try:
            dialect, form, planned = self._read(body, agent)
        except InvalidCallError as error:
            await self._note_refusal(error, agent)
            raise
        ask = await self._named(self._new_ask(body, agent, dialect, form, planned))
        write = await self._opened(ask)
        key = (
            None
            if idempotency_key is None
            else Idempotency(agent.name if agent else _NO_AGENT, idempotency_key, digest)
        )
        stored = await self.store.create(write, key)
        match stored:
            case Existing(ask=first, same_body=True):
                return Submitted(first, created=False)
            case Existing():
                title = "This Idempotency-Key was used for another body"
                raise ProblemError(
                    422, title, "Send the same body again, or use a new key for a new ask."
                )
            case Created(ask=ask):
                self._committed(write)
                return Submitted(ask, created=True)

    def _read(self, body: Submission, agent: Agent | None) -> tuple[str, Form, Plan]:
        """The call's form and where it leads, or every mistake of both."""
        problems: list[Problem] = []
        planned = plan(body, self._routes, self._known_surfaces, agent)
        if isinstance(planned, tuple):
            problems += planned
        else:
            problems += self._check_place(planned)
        if body.callback is not None and (
            refusal := self._check_callback(body.callback.url, agent)
        ):
            problems.append(Problem(pointer="/callback/url", code="unknown_value", message=refusal))
        if not self.rules.enabled(body.name):
            message = f'The tool "{body.name}" is switched off here (tools.{body.name}.enable). Do not call it.'
            problems.append(Problem(pointer="/name", code="unknown_value", message=message))
        try:
            dialect, form = registry.parse_call(body.name, body.arguments, body.dialect)
        except InvalidCallError as error:
            raise InvalidCallError(
                error.tool, [*error.problems, *problems], error.dialect
            ) from None
        if problems or isinstance(planned, tuple):
            raise InvalidCallError(body.name[:100], problems, dialect)
        return dialect, form, planned

    def _check_place(self, planned: Plan) -> list[Problem]:
        surface = self.surfaces.get(planned.destination.surface)
        if surface is None:
            return []  # the ask will fail in words that are the model's, and be on the record
        if (wrong := surface.check(planned.destination)) is not None:
            return [Problem(pointer="/to", code="unknown_route", message=wrong)]
        if not self._responders(planned):
            message = (
                "Nobody is named who may answer there. Add responders to the call, to its route "
                f"(routes.<name>.responders) or to the surface ({surface.name}.responders): user ids, "
                '"@id" for a group or role, or "anyone".'
            )
            return [Problem(pointer="/responders", code="responders_required", message=message)]
        return []

    def _responders(self, planned: Plan) -> tuple[str, ...]:
        if planned.responders:
            return planned.responders
        if planned.destination.user is not None:
            return (planned.destination.user,)
        surface = self.surfaces.get(planned.destination.surface)
        return surface.default_responders(planned.destination) if surface else ()

    def _new_ask(
        self, body: Submission, agent: Agent | None, dialect: str, form: Form, planned: Plan
    ) -> Ask:
        now = self.clock.now()
        request = Request(
            name=body.name,
            dialect=dialect,
            arguments=body.arguments,
            form=form,
            agent=agent.name if agent else None,
            callback=body.callback.url if body.callback else None,
            conversation=body.conversation,
            turn=body.turn,
            tool_call_id=body.tool_call_id,
            on_expiry=planned.on_expiry,
            remind_after=planned.remind_after,
            escalation=planned.escalation,
            metadata=body.metadata,
            prompt_labels=self.rules.labels(body.name, form.tool),
        )
        return Ask(
            id=f"ask_{secrets.token_hex(12)}",
            created_at=now,
            updated_at=now,
            request=request,
            destination=planned.destination,
            responders=self._responders(planned),
            walk=start(form),
            expires_at=now + planned.expires_in if planned.expires_in is not None else None,
        )

    async def _named(self, ask: Ask) -> Ask:
        """The ask with its thread, where the surface knows it without posting anything."""
        surface = self.surfaces.get(ask.destination.surface)
        if surface is None or surface.live:
            return ask
        shown = await surface.show(ask, _save_nothing)
        return ask.model_copy(update={"thread": shown.thread})

    async def _opened(self, ask: Ask) -> Write:
        """What is stored of a new ask: open at its first question, or already answered without anybody."""
        change = Change(ask, asks.request_entry(ask, ask.created_at))
        remembered = await self._remembered(ask)
        if remembered is not None:
            answered = asks.acted(
                ask,
                Answer(value=remembered[0]),
                at=ask.created_at,
                by=None,
                source=Source.REMEMBERED,
            )
            if isinstance(answered, Change):
                return self._write(
                    Change(answered.ask, (*change.entries, *answered.entries)), ask.created_at
                )
        return self._write(self._routed(change, ask.created_at), ask.created_at)

    async def _remembered(self, ask: Ask) -> tuple[JsonValue] | None:
        request, question = ask.request, ask.question
        if (
            question is None
            or request.conversation is None
            or request.turn is None
            or not can_remember(ask)
        ):
            return None
        return await self.store.remembered(
            request.conversation, request.turn, ask.form.tool or "", question.id
        )

    async def _note_refusal(self, error: InvalidCallError, agent: Agent | None) -> None:
        body: dict[str, JsonValue] = {
            "refused": error.tool,
            "agent": agent.name if agent else None,
            "errors": [problem.model_dump() for problem in error.problems[:20]],
        }
        await self.store.note(None, Entry(at=self.clock.now(), kind="note", body=body))

    # --- acting ----------------------------------------------------------------------------------

    async def act(
        self,
        ask_id: str,
        action: Action,
        actor: Actor,
        *,
        revision: int | None = None,
        delivery: str | None = None,
    ) -> Acted | Rejected:
        """Acts on an ask as a responder (see `bot.ports.Asks`)."""
        acted = await self._act(
            ask_id, lambda _ask: action, actor, revision=revision, delivery=delivery
        )
        if acted is None:
            raise AssertionError("an action was given")
        return acted

    async def typed(
        self, ask_id: str, text: str, actor: Actor, *, delivery: str | None = None
    ) -> Acted | Rejected | None:
        """Takes words typed by a responder as the action they stand for (see `bot.ports.Asks`)."""
        return await self._act(
            ask_id,
            lambda ask: typed.action_of(ask, text, self.labels),
            actor,
            revision=None,
            delivery=delivery,
        )

    async def _act(
        self,
        ask_id: str,
        choose: Callable[[Ask], Action | None],
        actor: Actor,
        *,
        revision: int | None,
        delivery: str | None,
    ) -> Acted | Rejected | None:
        while True:
            decide = partial(self._decide, choose, actor, revision, self.clock.now())
            told, repeated = await self.store.change(ask_id, decide, delivery=delivery)
            if repeated:
                ask = await self.store.get(ask_id)
                return Acted(ask, repeated=True) if ask else Rejected(Why.NOT_FOUND)
            if isinstance(told, Write):
                self._committed(told)
                return Acted(told.ask)
            if not isinstance(told, _NeedsGroups):
                return told
            actor = await self._with_groups(told.ask, actor, told.groups)

    def _decide(
        self,
        choose: Callable[[Ask], Action | None],
        actor: Actor,
        revision: int | None,
        at: float,
        ask: Ask | None,
    ) -> Decision[Write | Rejected | _NeedsGroups | None]:
        if ask is None:
            return Decision(None, Rejected(Why.NOT_FOUND))
        if not ask.open:
            return Decision(None, Rejected(Why.ENDED, ask))
        if (missing := self._missing_groups(ask, actor)) is not None:
            return Decision(
                None, _NeedsGroups(ask, missing) if missing else Rejected(Why.NOT_ALLOWED, ask)
            )
        if revision is not None and revision != ask.revision:
            return Decision(None, Rejected(Why.STALE, ask))
        action = choose(ask)
        if action is None:
            return Decision(None, None)
        if isinstance(action, Answer) and action.remember and not can_remember(ask):
            problem = Problem(
                pointer="/remember",
                code="unknown_value",
                message="This answer cannot be remembered here.",
            )
            return Decision(None, Rejected(Why.INVALID, ask, (problem,)))
        change = asks.acted(ask, action, at=at, by=actor.person)
        if isinstance(change, Refused):
            return Decision(None, Rejected(Why.INVALID, ask, change.problems))
        write = self._write(self._routed(change, at), at, memory=_memory(ask, action))
        return Decision(write, write)

    @staticmethod
    def _missing_groups(ask: Ask, actor: Actor) -> frozenset[str] | None:
        """None: may act. Otherwise the groups that are still to be looked up; empty: may not act."""
        if ANYONE in ask.responders or actor.person.user_id in ask.responders:
            return None
        groups = frozenset(r[1:] for r in ask.responders if r.startswith("@"))
        if groups & actor.groups:
            return None
        return groups - actor.groups_known

    async def _with_groups(self, ask: Ask, actor: Actor, groups: frozenset[str]) -> Actor:
        """The actor with what the surface knows of these groups; a surface that cannot tell says no."""
        surface = self.surfaces.get(ask.destination.surface)
        found: frozenset[str] = frozenset()
        if surface is not None:
            try:
                found = await surface.groups_of(actor.person, groups)
            except PlatformError as error:
                extra = {"action": "groups_unknown", "ask_id": ask.id, "code": error.code}
                logger.warning(
                    "Whether somebody is in a group could not be found out: %s", error, extra=extra
                )
        return replace(actor, groups=actor.groups | found, groups_known=actor.groups_known | groups)

    # --- what ends an ask without a person's answer ------------------------------------------------

    async def withdraw(self, ask_id: str) -> Acted | Rejected:
        """The agent takes its ask back."""
        return await self._end(
            ask_id,
            lambda ask, at: asks.ended(ask, Status.WITHDRAWN, at=at, reason=Reason.WITHDRAWN),
        )

    async def fail(self, ask_id: str, reason: Reason, message: str) -> Acted | Rejected:
        """The ask cannot be put to anybody, in words for the model."""
        return await self._end(
            ask_id,
            lambda ask, at: asks.ended(ask, Status.FAILED, at=at, reason=reason, message=message),
        )

    async def expire(self, ask_id: str) -> Acted | Rejected:
        """Nobody answered in time: the defaults are taken where that was asked for and all are there."""
        return await self._end(ask_id, _expired)

    async def answer_by_inquiry(self, ask_id: str, value: JsonValue) -> Acted | Rejected:
        """The inquiry backend answered the open question; an answer that does not fit fails the ask."""

        def decide(ask: Ask, at: float) -> Change | None:
            if not ask.inquiring:
                return None
            change = asks.acted(ask, Answer(value=value), at=at, by=None, source=Source.INQUIRY)
            if isinstance(change, Refused):
                words = change.problems[0].message
                message = f"The inquiry backend's answer does not fit: {words} {_DO_NOT_RETRY}"
                return asks.ended(
                    ask, Status.FAILED, at=at, reason=Reason.BACKEND_ERROR, message=message
                )
            return self._routed(change, at)

        return await self._end(ask_id, decide)

    async def update(
        self, ask_id: str, decide: Callable[[Ask, float], Change | None]
    ) -> Acted | Rejected:
        """Changes an open ask for upkeep's purposes; ``decide`` is pure, and None leaves it as it is."""
        return await self._end(ask_id, decide)

    async def left(self, ask_id: str) -> None:
        """The message that the ask left behind has become a note, or cannot become one."""

        def decide(ask: Ask | None) -> Decision[None]:
            write = Write(ask.model_copy(update={"left": None})) if ask and ask.left else None
            return Decision(write, None)

        await self.store.change(ask_id, decide)

    async def _end(
        self, ask_id: str, decide: Callable[[Ask, float], Change | None]
    ) -> Acted | Rejected:
        at = self.clock.now()

        def decision(ask: Ask | None) -> Decision[Write | Rejected | Acted]:
            if ask is None:
                return Decision(None, Rejected(Why.NOT_FOUND))
            if not ask.open:
                return Decision(None, Rejected(Why.ENDED, ask))
            change = decide(ask, at)
            if change is None:
                return Decision(None, Acted(ask))
            write = self._write(change, at)
            return Decision(write, write)

        told, _ = await self.store.change(ask_id, decision)
        if not isinstance(told, Write):
            return told
        self._committed(told)
        return Acted(told.ask)

    # --- what all of them share --------------------------------------------------------------------

    def _routed(self, change: Change, at: float) -> Change:
        """Goes on for as long as nobody has to be asked: fixed answers are taken, what nobody can answer fails."""
        ask, entries = change.ask, change.entries
        while (question := ask.question) is not None and not ask.inquiring:
            # Once it is shown, an ask stays on its surface: whoever sees it can still answer it.
            reachable = ask.message is not None or self._reachable(ask)
            routed = routing.route(
                ask, question, self.rules, surface=reachable, inquiry=self._has_inquiry
            )
            if isinstance(routed, routing.Put):
                break
            if isinstance(routed, routing.Inquire):
                ask = ask.model_copy(update={"inquiring": True})
                break
            if isinstance(routed, routing.Fail):
                following = asks.ended(
                    ask, Status.FAILED, at=at, reason=routed.reason, message=routed.message
                )
            else:
                taken = asks.acted(
                    ask, Answer(value=routed.value), at=at, by=None, source=Source.CONFIG
                )
                if isinstance(taken, Refused):
                    raise ConfigError(
                        f"A fixed answer was checked and then refused: {taken.problems[0].message}"
                    )
                following = taken
            ask, entries = following.ask, (*entries, *following.entries)
        return Change(ask, entries)

    def _reachable(self, ask: Ask) -> bool:
        surface = self.surfaces.get(ask.destination.surface)
        return surface is not None and surface.ready() is None

    def _write(self, change: Change, at: float, *, memory: Memory | None = None) -> Write:
        ask = change.ask
        surface = self.surfaces.get(ask.destination.surface)
        if surface is None or not surface.live or ask.inquiring:
            ask = ask.model_copy(update={"shown_revision": ask.revision})
        deliveries: tuple[Delivery, ...] = ()
        if ask.outcome is not None and ask.request.callback is not None:
            deliveries = (_delivery(ask, ask.request.callback, at),)
        return Write(ask, change.entries, deliveries, memory)

    def _committed(self, write: Write) -> None:
        """Tells everybody who has to do with what was just stored."""
        ask = write.ask
        self.signals.notify(ask)
        if ask.shown_revision < ask.revision or ask.left is not None:
            self.hooks.show(ask)
        if write.deliveries:
            self.hooks.deliver()
        if (due := ask.next_due()) is not None:
            self.hooks.due(due)

    # --- reading and waiting -------------------------------------------------------------------------

    async def get(self, ask_id: str) -> Ask | None:
        """The ask as it stands, or None."""
        return await self.store.get(ask_id)

    async def wait(self, ask_id: str, seconds: float) -> Ask | None:
        """The ask once it has ended, or as it stands when ``seconds`` are over or the process stops."""
        with self.signals.follow(ask_id) as follower:
            ask = await self.store.get(ask_id)
            if ask is None or not ask.open or self._stopping:
                return ask
            try:
                async with asyncio.timeout(seconds):
                    while ask.open:
                        changed = await follower.changed()
                        if changed is None:
                            break
                        ask = changed
            except TimeoutError:
                pass
            return ask

    def follow(self, ask_id: str) -> AbstractContextManager[Follower]:
        """Follows the commits to an ask, from now on."""
        return self.signals.follow(ask_id)

    @property
    def stopping(self) -> bool:
        """Whether the process is about to stop, and nobody should wait any more."""
        return self._stopping

    def stop_waiting(self) -> None:
        """Releases everybody who waits, each with the ask as it stands: the process is stopping."""
        self._stopping = True
        self.signals.release()

    async def open_in(self, surface: str, channel: str, thread: str | None) -> Sequence[Ask]:
        """The open asks shown in a thread (see `bot.ports.Asks`)."""
        return await self.store.find(surface, channel, thread, _OPEN_IN_THREAD)

    async def inbox(self, surface: str, after: str | None, limit: int) -> Page[Ask]:
        """The open asks of a surface, newest first."""
        return await self.store.page(status=Status.OPEN, surface=surface, after=after, limit=limit)

    async def record(self, ask_id: str, after: int = 0) -> Sequence[StoredEntry]:
        """The record of an ask behind a number, oldest first."""
        return await self.store.record(ask_id, after)

    async def draft(self, key: str) -> JsonValue:
        """What a person has entered so far (see `bot.ports.Asks`)."""
        return await self.store.draft(key)

    async def save_draft(self, key: str, value: JsonValue) -> None:
        """Keeps or drops what a person has entered so far (see `bot.ports.Asks`)."""
        await self.store.save_draft(key, value, self.clock.now())

    async def redeliver(self, delivery_id: str) -> StoredDelivery | None:
        """Has a webhook sent again, now; None when there is none of this id."""
        stored = await self.store.delivery(delivery_id)
        if stored is None:
            return None
        now = self.clock.now()
        again = replace(stored, state=DeliveryState.PENDING, next_at=now, updated_at=now, tries=0)
        await self.store.tried([again], [])
        self.hooks.deliver()
        return again


def _expired(ask: Ask, at: float) -> Change:
    """The end of an ask whose time is up."""
    change = Change(ask, ())
    if ask.request.on_expiry == "defaults":
        while change.ask.open:
            question = change.ask.question
            if question is not None and not question.has_default:
                break
            action: Action = Submit() if question is None else Answer(value=question.default)
            following = asks.acted(change.ask, action, at=at, by=None, source=Source.DEFAULT)
            if isinstance(following, Refused):
                break
            change = Change(following.ask, (*change.entries, *following.entries))
        if not change.ask.open:
            return Change(
                change.ask.model_copy(update={"revision": ask.revision + 1}), change.entries
            )
    return asks.ended(ask, Status.EXPIRED, at=at, reason=Reason.EXPIRED)


def _memory(ask: Ask, action: Action) -> Memory | None:
    request, question = ask.request, ask.question
    if not (isinstance(action, Answer) and action.remember and question):
        return None
    if request.conversation is None or request.turn is None:
        return None
    return Memory(
        request.conversation, request.turn, ask.form.tool or "", question.id, action.value
    )


def _delivery(ask: Ask, url: str, at: float) -> Delivery:
    body: JsonValue = {
        "type": f"ask.{ask.status.value}",
        "timestamp": presenting.iso(at),
        "data": presenting.ask_json(ask),
    }
    return Delivery(
        id=f"msg_{secrets.token_hex(12)}",
        ask_id=ask.id,
        type=f"ask.{ask.status.value}",
        url=url,
        agent=ask.request.agent,
        body=json.dumps(body, ensure_ascii=False),
        created_at=at,
    )


async def _save_nothing(_shown: object) -> None:
    """A surface without a live message has nothing to save."""
