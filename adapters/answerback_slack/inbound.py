"""What people do on Slack, over Socket Mode and HTTP alike: each payload is one action, committed, then acknowledged.

Owns the way from a parsed payload to the service and back to the person. Nothing here waits for Slack's API
before the acknowledgement, but for members of a user group that were never looked up; modals are opened and
notes are told after it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import Final

from answerback.core.ask import Ask
from answerback.core.errors import PlatformError, RateLimitedError, StoreError, UnavailableError
from answerback.core.labels import Labels
from answerback.core.view import View, view_of
from answerback.core.walker import Action, Answer, Back, Edit, EndTurn, Submit
from answerback.ports.surface import Acted, Actor, Asks, Groups, Rejected, Why
from answerback_chat import messages, responders
from answerback_chat.background import Background
from answerback_chat.controls import Control, Verb
from answerback_chat.missed import Missed
from answerback_chat.retry import retry
from answerback_slack import modals, notes, reading
from answerback_slack.blocks import Block, escape
from answerback_slack.calls import Calls
from answerback_slack.missed import Place
from answerback_slack.notes import Notes
from answerback_slack.parse import Click, Identity, Submission, Words, chosen, parse
from answerback_slack.typed_words import Listener

logger = logging.getLogger(__name__)

_OPENING: Final = frozenset(
    {Verb.WRITE, Verb.OTHER, Verb.FILL, Verb.REPLY, Verb.CHOOSE, Verb.FULL, Verb.PREVIEW}
)
_READING: Final = frozenset({Verb.FULL, Verb.PREVIEW, Verb.PAGE})
_TRIGGER_SECONDS: Final = 2.5
"""How long after a click a modal may be opened: Slack takes its trigger for three seconds.

https://docs.slack.dev/interactivity/handling-user-interaction
"""


class Inbound:
    """Takes payloads in."""

    def __init__(
        self,
        asks: Asks,
        calls: Calls,
        told: Notes,
        later: Background,
        labels: Labels,
        identity: Identity,
        surface: Groups,
        listener: Listener,
        missed: Missed[Place],
    ) -> None:
        self._asks = asks
        self._calls = calls
        self._notes = told
        self._later = later
        self._labels = labels
        self._identity = identity
        self._surface = surface
        self._listener = listener
        self._missed = missed

    async def receive(self, kind: str, payload: object) -> object:
        """Handles one payload; gives what its acknowledgement is to say, None for nothing.

        Raises:
            StoreError: nothing is known to be saved; the payload is not to be acknowledged.
            PlatformError: what a typed message is for cannot be told yet; neither is it.
        """
        inbound = parse(kind, payload, self._identity.team)
        match inbound:
            case Click():
                await self._click(inbound)
            case Submission():
                return await self._submission(inbound)
            case Words():
                await self._listener.heard(inbound)
                await self._missed.heard(inbound.at)
            case None:
                self._unknown(payload)
        return None

    # --- clicks ----------------------------------------------------------------------------------

    async def _click(self, click: Click) -> None:
        try:
            if click.control.verb in _OPENING:
                await self._open(click)
            elif click.control.verb is Verb.PAGE:
                await self._turn_page(click)
            elif click.control.verb is Verb.USE:
                await self._listener.use(click)
            else:
                await self._act(click)
        except StoreError as error:
            self._tell(self._labels.unsaved(error), click)
            raise

    async def _act(self, click: Click) -> None:
        control, labels = click.control, self._labels
        told = await self._asks.choose(
            control.ask_id,
            lambda ask: action_of(click, ask),
            Actor(click.person),
            revision=control.revision,
            delivery=f"slack:{click.trigger_id}",
            at=click.at,
        )
        if told is None:
            self._tell(labels.choose_first.format(submit=labels.submit), click)
        elif isinstance(told, Rejected):
            self._tell_rejected(told, click)

    async def _open(self, click: Click) -> None:
        """Opens a modal, if this person could hand it in."""
        until = time.monotonic() + _TRIGGER_SECONDS
        control = click.control
        ask = await self._asks.get(control.ask_id)
        refused = await self._refusal(ask, click)
        if ask is None or refused is not None:
            self._tell_rejected(refused or Rejected(Why.NOT_FOUND), click)
            return
        metadata = click.where.encode() if click.where else ""
        ticked = chosen(control, click.values)
        modal = modals.opened(view_of(ask), control, self._labels, metadata, ticked)
        if modal is None:
            self._tell_rejected(Rejected(Why.STALE, ask), click)
            return
        client, trigger_id = self._calls.client, click.trigger_id

        def opening() -> Awaitable[object]:
            return self._calls.do(
                "views.open",
                lambda: client.views_open(trigger_id=trigger_id, view=modal),
                seconds=max(until - time.monotonic(), 0.0),
            )

        self._later.do("modal", self._shown(click, opening))

    async def _shown(self, click: Click, showing: Callable[[], Awaitable[object]]) -> None:
        """Shows a modal after the acknowledgement; if Slack does not, the person is told to press again."""
        try:
            await showing()
        except PlatformError:
            self._tell(self._labels.press_again, click)
            raise

    async def _refusal(self, ask: Ask | None, click: Click) -> Rejected | None:
        """Why this person is not to be shown this modal; None when they are. Reading is for all who see the message."""
        control = click.control
        if ask is None:
            return Rejected(Why.NOT_FOUND)
        if control.verb is Verb.FULL:
            return None
        if not ask.open:
            return Rejected(Why.ENDED, ask)
        try:
            if control.verb not in _READING:
                actor = await responders.known(ask, click.person, self._surface)
                if responders.is_stranger(ask, actor):
                    return Rejected(Why.NOT_ALLOWED, ask)
        except PlatformError as error:
            extra = {"action": "groups_unknown", "ask_id": ask.id, "code": error.code}
            logger.warning("Who is in a user group is not known: %s", error, extra=extra)
            later = isinstance(error, (RateLimitedError, UnavailableError))
            return Rejected(Why.UNCHECKED if later else Why.NOT_ALLOWED, ask)
        return None if ask.revision == control.revision else Rejected(Why.STALE, ask)

    async def _turn_page(self, click: Click) -> None:
        ask = await self._asks.get(click.control.ask_id)
        if ask is None or click.view_id is None:
            self._tell_rejected(Rejected(Why.NOT_FOUND), click)
            return
        page = int(click.control.argument) if click.control.argument.isdigit() else 0
        metadata = click.where.encode() if click.where else ""
        view = reading.full(view_of(ask), self._labels, page, metadata)
        client, view_id, view_hash = self._calls.client, click.view_id, click.view_hash

        def turning() -> Awaitable[object]:
            return self._calls.do(
                "views.update",
                lambda: client.views_update(view_id=view_id, hash=view_hash, view=view),
            )

        self._later.do("page", self._shown(click, turning))

    # --- modals ----------------------------------------------------------------------------------

    async def _submission(self, submission: Submission) -> object:
        """Acts on a submitted modal; what it acknowledges keeps what was typed, unless it counted."""
        control, labels = submission.control, self._labels
        if control.verb in _READING:
            return None
        wrong: dict[str, str] = {}
        seen: list[View] = []

        def read(ask: Ask) -> Action | None:
            seen[:] = [view_of(ask)]
            found = modals.submitted(submission, seen[0], labels)
            if not isinstance(found, dict):
                return found
            wrong.update(found)
            return None

        try:
            told = await self._asks.choose(
                control.ask_id,
                read,
                Actor(submission.person),
                revision=control.revision,
                delivery=f"slack:{submission.trigger_id}",
            )
        except StoreError as error:
            first = next(iter(submission.values), None)
            if first is None:
                raise
            return errors_of({first: labels.unsaved(error)})
        if told is None:
            return errors_of(wrong)
        if isinstance(told, Acted):
            return None
        if told.why is Why.INVALID and seen:
            return errors_of(modals.refused(control, seen[0], told.problems))
        return self._noticed(told, submission)

    def _noticed(self, rejected: Rejected, submission: Submission) -> object:
        self._refresh(rejected)
        copy = messages.Copy(submission.control.revision, time.time())
        said = notes.mrkdwn_of(rejected, submission.person, self._labels, copy)
        view = modals.notice(said, modals.everything_typed(submission), self._labels)
        return {"response_action": "update", "view": view}

    # --- notes -----------------------------------------------------------------------------------

    def _unknown(self, payload: object) -> None:
        """A control that no version of us knows any more must not be silent."""
        body = payload if isinstance(payload, dict) else {}
        url, user = body.get("response_url"), body.get("user")
        if body.get("type") == "block_actions" and isinstance(url, str) and isinstance(user, dict):
            text = escape(self._labels.not_found)
            self._later.do("note", self._notes.tell(text, str(user.get("id")), None, url))

    def _tell(self, sentence: str, click: Click) -> None:
        self._note(escape(sentence), click)

    def _tell_rejected(self, rejected: Rejected, click: Click) -> None:
        self._refresh(rejected)
        copy = messages.Copy(click.control.revision, time.time())
        self._note(notes.mrkdwn_of(rejected, click.person, self._labels, copy), click)

    def _refresh(self, rejected: Rejected) -> None:
        """Has a message shown again that somebody saw as it no longer is."""
        ask = rejected.ask
        if ask is not None and rejected.why in {Why.STALE, Why.ENDED}:
            self._later.do("refresh", retry(lambda: self._asks.show_again(ask.id)))

    def _note(self, text: str, click: Click) -> None:
        user = click.person.user_id
        self._later.do("note", self._notes.tell(text, user, click.where, click.response_url))


def action_of(click: Click, ask: Ask) -> Action | None:
    """The action of a control of the ask as it stands; None where nothing is chosen."""
    control, question = click.control, ask.question
    match control.verb:
        case Verb.BACK:
            return Back()
        case Verb.END_TURN:
            return EndTurn()
        case Verb.EDIT:
            place = click.index if click.index is not None else _index(control)
            found = view_of(ask).lines
            known = place is not None and place < len(found)
            return (
                Edit(question_id=found[place].question.id) if known and place is not None else None
            )
        case Verb.ANSWER | Verb.REMEMBER if question is not None and control.argument in _BOOLEANS:
            return Answer(value=_BOOLEANS[control.argument], remember=control.verb is Verb.REMEMBER)
        case Verb.ANSWER if question is not None:
            index = _index(control)
            return None if index is None else modals.taken(question, [index])
        case Verb.TAKE if question is not None and not question.options:
            prompt = view_of(ask).prompt
            return Answer(value=prompt.prefill if prompt else None)
        case Verb.TAKE if question is not None:
            return modals.taken(question, chosen(control, click.values))
        case _:
            return Submit()


_BOOLEANS: Final = {"true": True, "false": False}


def errors_of(found: dict[str, str]) -> Block:
    """The acknowledgement that shows mistakes at the inputs of a modal."""
    return {"response_action": "errors", "errors": found}


def _index(control: Control) -> int | None:
    text = control.argument
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None
