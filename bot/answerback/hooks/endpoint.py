"""The hooks, at ``/hooks/`` and a host's name: they forward its questions and permission prompts.

A host takes a non-2xx status, a lost connection or a timeout for the lack of a hook, and continues
(https://code.claude.com/docs/en/hooks#http-hook-fields). So a response that has to hold it back is always a 200. Claude
Code calls its endpoint itself; `answerback hook` passes on the events of hosts whose hooks are commands.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final, NamedTuple

from aiohttp import web
from aiohttp.web_routedef import AbstractRouteDef
from pydantic import BaseModel, ConfigDict, Field

from answerback.core.ask import Ask, RecordEntry, Status
from answerback.core.errors import (
    DeclinedCallError,
    IdempotencyKeyReusedError,
    InvalidCallError,
    ProblemError,
    StoreError,
)
from answerback.core.files import AttachedFile
from answerback.core.secrecy import readable_files
from answerback.core.too_late import APPROVAL
from answerback.core.urgency import Urgency
from answerback.dialects.owed_note import owed_note
from answerback.dialects.registry import render_refusal, render_result
from answerback.hooks.host import Call, Host, Outcome, encode_answer, text_in
from answerback.ports.store import Decision, Write
from answerback.service.agent_requests import (
    RESPONSE_TRACKER,
    Callers,
    parse_query,
    read_body,
    single_header,
)
from answerback.service.late_answer_text import describe_late_answer, with_files
from answerback.service.late_answers import ResponseTracker
from answerback.service.service import Service
from answerback.service.submission_request import Agent, read_submission
from answerback.service.submit import Submitted
from answerback_agents.pipe.host_answers import answers_of
from answerback_agents.pipe.origins import origin_of
from answerback_agents.pipe.saved_files import file_name
from answerback_base import strict_json
from answerback_base.file_text import place_in_service
from answerback_base.hosts import load_parts

Json = dict[str, Any]

HOSTS: Final[dict[str, Host]] = {name: part.HOST for name, part in load_parts("hook").items()}
"""The hosts whose hooks have an endpoint."""
for _name in HOSTS:
    answers_of(_name)  # read from their files now, because nothing may block the event loop later
HOOK_HEADER: Final = "Answerback-Hook"
"""Says whose hook answered, so that `answerback hook` notices if another program has taken the service's port."""
FILES_HEADER: Final = "Answerback-Files"
"""Says which files the answer names, so that `answerback hook` saves them: their conversation, ids and digests."""
_MAX_FILES_SAVED: Final = 20
"""Files of a response; the address of any other is in its text. Some proxies take no more than 4 kB of headers."""
DEFAULT_WAIT: Final = 590.0
"""Seconds: just under the 600 after which Claude Code gives up on a hook without a ``timeout``."""
_LONGEST_WAIT: Final = 7 * 86_400.0
_MAX_KEY_LENGTH: Final = 500
"""The maximum length of a key, in characters; the hosts' ids, of which it is made, are shorter."""
_MAX_LATE_ANSWERS: Final = 20
"""The number of late answers that one event delivers; the rest come with the next."""
_LATE_ANSWERS_INTRO: Final = (
    "What you asked earlier in this session has ended since you stopped waiting for it."
)


class HookQuery(BaseModel):
    """The query of a hook's URL, as configured in the host's settings or sent by `answerback hook`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    to: str | None = None
    """Where to ask; by default the token's route, or else the default route."""
    urgency: Urgency | None = None
    """The urgency that the hook states; None: the route's."""
    files: str | None = None
    """The ids of pictures that a question shows, found in the session's folder; separated by commas."""
    wait: Annotated[float, Field(ge=0, le=_LONGEST_WAIT, allow_inf_nan=False)] = DEFAULT_WAIT
    """Seconds to wait; should be a little less than the hook's timeout."""
    poll: Annotated[float | None, Field(ge=0, le=300, allow_inf_nan=False)] = None
    """Seconds after which to respond 202 if the ask is still open: the caller calls again. 0: its time is up."""


class _Caller(NamedTuple):
    """The calling agent, its hook and that hook's settings, and the tracker of what the response delivers."""

    host: Host
    query: HookQuery
    agent: Agent | None
    tracker: ResponseTracker
    run: str | None
    """The idempotency key of this run of `answerback hook`, which may call several times."""

    @property
    def agent_name(self) -> str | None:
        return self.agent.name if self.agent else None

    @property
    def seconds(self) -> float:
        """The seconds to wait in this call."""
        return self.query.wait if self.query.poll is None else self.query.poll


@dataclass(frozen=True, slots=True)
class HookEndpoints:
    service: Service
    callers: Callers

    def routes(self) -> Sequence[AbstractRouteDef]:
        return [
            web.post(f"/hooks/{name}", partial(self.handle, host)) for name, host in HOSTS.items()
        ]

    async def handle(self, host: Host, request: web.Request) -> web.Response:
        """Handle an event; an event that does not concern people gets an empty response."""
        agent, query = await self.callers.agent(request), parse_query(HookQuery, request)
        run = single_header(request, "Idempotency-Key")
        if not _is_text(run):
            raise ProblemError(400, "Bad Idempotency-Key", "It is not UTF-8.")
        caller = _Caller(host, query, agent, request[RESPONSE_TRACKER], run)
        raw = await read_body(request)
        event = parse_event(raw)
        headers = {HOOK_HEADER: host.name}
        outcome: Outcome | None = None
        ended: Sequence[Ask] = ()
        if (answer := host.immediate_answer(event)) is None:
            if (call := host.call(event)) is None:
                await self._withdraw_passed(event, caller)
                answer, ended = await self._fetch_late_answers(event, caller)
            else:
                wrong = _find_mistake(raw)
                found = (
                    Outcome(None, wrong, was_asked=False)
                    if wrong
                    else await self._outcome(call, caller)
                )
                if isinstance(found, str):
                    return web.json_response({"message": found}, status=202, headers=headers)
                answer = host.answer(event, found)
                outcome, ended = found, () if found.ask is None else (found.ask,)
        text = encode_answer(answer, raw)
        files = [(ask, each.file) for ask in ended for each in readable_files(ask)]
        named = [(ask, file) for ask, file in files if place_in_service(file.id) in text]
        # What this answer does not tell comes with the next event that takes context.
        if outcome is not None and files and (len(named) == len(files) or outcome.is_turn_ended):
            caller.tracker.add_outcome(files[0][0])
        return web.json_response(text=text, headers=headers | _files_header(named))

    async def _withdraw_passed(self, event: Json, caller: _Caller) -> None:
        """Withdraw the permission prompts of a session that its host has decided in its own window."""
        has_passed, session = caller.host.moved_on(event), text_in(event, "session_id")
        if has_passed is None or session is None:
            return
        page = await self.service.store.asks.page(
            status=Status.OPEN, conversation=session, agent=caller.agent_name
        )
        for ask in page.rows:
            request = ask.request
            by = (request.hook, request.agent)
            is_own = request.dialect == APPROVAL and by == (caller.host.name, caller.agent_name)
            # A subagent works beside the session, and may still wait.
            is_subagents = "subagent" in request.metadata
            if is_own and not is_subagents and has_passed(request.arguments):
                await self.callers.run_to_completion(self.service.withdraw(ask.id))

    async def _fetch_late_answers(self, event: Json, caller: _Caller) -> tuple[Json, Sequence[Ask]]:
        """Deliver answers that came after the agent stopped waiting, as context; each of them once."""
        if (conversation := caller.host.conversation(event)) is None:
            return {}, ()
        unseen = await self.service.late_answer_tracker.list_unseen(
            caller.agent_name, conversation, None, _MAX_LATE_ANSWERS
        )
        asks = [late.ask for late in unseen]
        if not asks:
            return {}, ()
        for ask in asks:
            caller.tracker.add_outcome(ask)
        texts = [with_files(ask, describe_late_answer(ask)) for ask in asks]
        return caller.host.tell_model(event, "\n\n".join((_LATE_ANSWERS_INTRO, *texts))), asks

    async def _outcome(self, call: Call, caller: _Caller) -> Outcome | str:
        """Ask people about a call; returns the outcome, or what it waits for if the caller calls again."""
        if (answered := await self._find_answered(call, caller)) is not None:
            return Outcome(answered)
        try:
            ask = await self._ask_and_wait(call, caller)
        except (InvalidCallError, ProblemError) as error:
            reason = _describe_error(error)
            if caller.query.poll and _is_temporary(error):
                return reason
            return Outcome(None, reason, was_asked=False)
        if not ask.open and ask.outcome and ask.outcome.gave_up:
            return Outcome(None, self._describe_denied(caller.query))
        if not ask.open:
            return Outcome(ask)
        if caller.query.poll and not self.service.stopping:
            return _describe_open(ask)
        if caller.query.poll:
            raise ProblemError(503, "Stopping", "Call again when the service is back.")
        return Outcome(None, f"{self._why_unanswered(caller.query)}. {_describe_open(ask)}")

    async def _find_answered(self, call: Call, caller: _Caller) -> Ask | None:
        """Find the ask whose answers a call already contains: the host requests permission to use them.

        A model can write answers into its call, and an agent can submit asks of its own. So these answers count only
        if people gave them, to the very questions of this call, in an ask that this hook itself put for this session;
        and only once, as the next call has to be asked again.
        """
        if call.answers is None or call.conversation is None:
            return None
        page = await self.service.store.asks.page(
            status=Status.ANSWERED, conversation=call.conversation, agent=caller.agent_name
        )
        for ask in page.rows:
            if _is_put_for(call, caller, ask) and await self._use_once(ask, caller):
                caller.tracker.add_outcome(ask)
                return ask
        return None

    async def _use_once(self, ask: Ask, caller: _Caller) -> bool:
        """Note in the record that a call uses an ask's answers; returns whether it is the only one."""
        now = self.service.clock.now()
        entry = RecordEntry(at=now, kind="note", body={"used": "permission"})

        def decide(latest: Ask | None) -> Decision[None]:
            return Decision(Write(latest, (entry,)) if latest else None, None)

        try:
            change = self.service.store.asks.change(
                ask.id, decide, delivery=f"hook:{ask.id}", digest=caller.run or ""
            )
            _, is_repeat = await self.callers.run_to_completion(change)
        except IdempotencyKeyReusedError:
            return False
        return not is_repeat or caller.run is not None

    async def _ask_and_wait(self, call: Call, caller: _Caller) -> Ask:
        """Submit an ask and wait: returns it once it has ended, or still open when the time is up.

        If the time is up, its prompt shows that the agent waits no longer. If the host closes the connection of a
        permission prompt, it was decided elsewhere, and the ask is withdrawn.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + caller.seconds
        submitting = await self._submit_within_limits(call, caller, until)
        try:
            ask = submitting.result().ask
            caller.tracker.hold_back(ask)
            if ask.open:
                left = max(until - loop.time(), 0.0)
                with suppress(StoreError):  # keep the ask as it was submitted
                    ask = await self.service.wait(ask.id, left, ask) or ask
        except asyncio.CancelledError:
            await self._abandon(call, submitting)
            raise
        is_last = ask.open and not caller.query.poll
        if is_last:  # pragma: no branch - Python 3.11 loses its trace if a timeout was raised
            ask = await self.callers.run_to_completion(self._leave(ask))
        has_files = bool(ask.walk.file_ids and readable_files(ask))
        if not has_files and owed_note(ask) is None:
            caller.tracker.add_outcome(ask)  # else what tells of it, now or with the next event
        return ask

    async def _leave(self, ask: Ask) -> Ask:
        """Stop waiting. A permission ends before its host is told no; a question stays answerable, and says so."""
        if ask.request.dialect == APPROVAL:
            with suppress(StoreError):  # its lease ends it
                ask = (await self.service.approval_leases.report_no_answer(ask.id)).ask or ask
            return ask
        self.service.presence.forget(ask.id)
        await self.service.set_attended(ask.id, attended=False)
        return ask

    async def _submit_within_limits(
        self, call: Call, caller: _Caller, until: float
    ) -> asyncio.Future[Submitted]:
        """Start to submit, again if the agent has reached one of its limits and there is time left.

        A caller that calls again does so only once its time is up.
        """
        while True:
            submitting = asyncio.ensure_future(self._submit(call, caller))
            try:
                await asyncio.wait([submitting])
            except asyncio.CancelledError:
                await self._abandon(call, submitting)
                raise
            error = submitting.exception()
            pause = error.retry_after if isinstance(error, DeclinedCallError) else None
            left = until - asyncio.get_running_loop().time()
            if pause is not None and pause > left and caller.query.poll:
                await asyncio.sleep(left)
            if pause is None or pause > left:
                return submitting
            await asyncio.sleep(pause)

    async def _submit(self, call: Call, caller: _Caller) -> Submitted:
        hook = caller.host.name
        key = call.key and f"call:{call.key}"
        if key is None or len(key) > _MAX_KEY_LENGTH:
            key = caller.run and f"run:{caller.run}"[:_MAX_KEY_LENGTH]
        body = read_submission(
            {
                "name": call.name,
                "arguments": call.arguments,
                "dialect": call.dialect,
                "to": caller.query.to,
                "urgency": caller.query.urgency,
                "conversation": call.conversation,
                "turn": call.turn,
                "tool_call_id": call.tool_call_id,
                "origin": origin_of(call.metadata.get("cwd"), call.conversation),
                "metadata": call.metadata,
                "takes_edited": call.takes_edited,
                "files": [
                    {"id": each, "folder": True}
                    for each in (caller.query.files or "").split(",")
                    if each
                ],
            }
        )
        return await self.callers.submit(self.service, body, caller.agent, key, hook)

    async def _abandon(self, call: Call, submitting: asyncio.Future[Submitted]) -> None:
        """Withdraw the ask of a permission prompt whose host has closed the connection."""
        if call.is_permission:
            await self.callers.run_to_completion(self._withdraw(submitting))

    async def _withdraw(self, submitting: asyncio.Future[Submitted]) -> None:
        with suppress(InvalidCallError, ProblemError):
            await self.service.withdraw((await submitting).ask.id)

    def _describe_denied(self, query: HookQuery) -> str:
        return (
            f"{self._why_unanswered(query)}, so this is not allowed. Do not try to do the same in another way: "
            "continue with work that does not depend on it, or stop and say what you are waiting for."
        )

    def _why_unanswered(self, query: HookQuery) -> str:
        if self.service.stopping:
            return "Answerback was stopped before anyone answered"
        return f"Nobody answered within {query.wait:g} second{'' if query.wait == 1 else 's'}"


def _is_put_for(call: Call, caller: _Caller, ask: Ask) -> bool:
    """Return True if people answered this ask, and this hook put it for the same questions with these answers."""
    request = ask.request
    if (request.hook, request.agent, request.dialect, request.name) != (
        *(caller.host.name, caller.agent_name, call.dialect),
        call.name,
    ):
        return False
    if not Outcome(ask).is_answered or not strict_json.json_equal(
        request.arguments, call.arguments
    ):
        return False
    result = render_result(ask)
    structured = result.structured if result else None
    return isinstance(structured, dict) and strict_json.json_equal(
        structured.get("answers"), call.answers
    )


def parse_event(raw: bytes) -> Json:
    """Parse a body as an event.

    Raises:
        ProblemError: the body is not an event.
    """
    try:
        event = strict_json.load_with_numbers(raw)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise ProblemError(400, "Bad hook event", "The body is not a JSON object.")
    if not all(map(_is_text, event.values())):
        raise ProblemError(400, "Bad hook event", "It contains half a surrogate pair.")
    return event


def _find_mistake(raw: bytes) -> str | None:
    """Say why people cannot be asked about an event: they might read something else in it than the host."""
    try:
        strict_json.parse_bytes(raw)
    except strict_json.NotJsonError as error:
        return f"People cannot be asked about this: its JSON is not valid, {error}."
    return None


def _is_text(value: object) -> bool:
    """Return True for text that can be stored, and for a value that is no text at all."""
    return not isinstance(value, str) or strict_json.is_encodable(value)


def _describe_open(ask: Ask) -> str:
    where = (
        f" at {ask.placement.thread.url}"
        if ask.placement.thread and ask.placement.thread.url
        else ""
    )
    return (
        f"The question stays open{where} ({ask.id}). Do not assume an answer: continue with work that does not depend "
        "on it, or stop and say what you are waiting for."
    )


def _files_header(named: Sequence[tuple[Ask, AttachedFile]]) -> dict[str, str]:
    """Return the header by which `answerback hook` saves the files that an answer names."""
    if not named:
        return {}
    ask = named[0][0]
    conversation = ask.request.conversation or ask.id
    files = [
        {"id": each.id, "name": file_name(each.model_dump()), "sha256": each.sha256}
        for _, each in named[:_MAX_FILES_SAVED]
    ]
    return {FILES_HEADER: json.dumps({"conversation": conversation, "files": files})}


def _is_temporary(error: InvalidCallError | ProblemError) -> bool:
    """Return True if the agent has reached one of its limits, and may try again."""
    return isinstance(error, DeclinedCallError) and error.retry_after is not None


def _describe_error(error: InvalidCallError | ProblemError) -> str:
    """Explain to the model why people could not be asked."""
    if isinstance(error, InvalidCallError):
        return render_refusal(error).content
    return f"{error.title}. {error.detail or ''}".rstrip()
