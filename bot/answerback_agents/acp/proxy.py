"""The proxy: relays lines unchanged, and shows what an agent asks in the editor and in the chat thread at once.

The first answer counts. If the editor answers first, the ask is withdrawn before the agent gets that answer. If the
chat thread answers first, the editor gets a `$/cancel_request`
(https://agentclientprotocol.com/protocol/v1/cancellation), and its own response is dropped. Each direction has a thread
that blocks on its pipes, so a slow reader slows its writer as it would without the proxy.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from answerback_agents.acp import messages, tool_calls
from answerback_agents.pipe import json_rpc
from answerback_agents.pipe.ask_people import AskClient, Asking, AskOutcome, Call
from answerback_agents.pipe.json_rpc import Json
from answerback_agents.pipe.lines import LineWriter
from answerback_agents.pipe.origins import MAX_FOLDERS, Folders

_MAX_TOOL_CALLS: Final = 200
"""Tool calls in progress that are remembered, those that changed last."""
_ARGUMENTS_TIMEOUT: Final = 0.5
"""Seconds for which people are not asked yet, while an agent has not said what it wants to do."""
_WITHDRAW_TIMEOUT: Final = 2.0
"""Seconds for which an editor's answer waits until its ask is withdrawn; after that, it counts."""


@dataclass(eq=False)
class _Race(Asking):
    """An unanswered request from the agent, which the editor and people may both answer."""

    request: Json
    editor_has_it: bool
    """True if the editor may still answer."""
    error: bytes | None = None
    """The error that the editor sent in place of an answer."""
    is_answered: bool = False
    """True if the editor has answered, and only the ask has yet to be withdrawn."""

    @property
    def id_key(self) -> str:
        return json_rpc.id_key(self.request["id"])

    @property
    def session(self) -> object:
        return json_rpc.params(self.request).get("sessionId")

    def result(self, result: Json) -> bytes:
        return json_rpc.encode_response(self.request["id"], result)

    def cancelled(self) -> bytes:
        return self.result(messages.cancelled_result(self.request["method"]))


@dataclass(eq=False)
class Proxy:
    people: AskClient
    agent: LineWriter
    editor: LineWriter
    warn: Callable[[str], None]
    host: str = ""
    """The name of the agent's program: of its command, until it says one itself."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _updated: threading.Condition = field(default_factory=threading.Condition)
    """Guards what is known of tool calls, and tells when an agent has said more."""
    _elicits: frozenset[str] = frozenset()
    """The elicitation modes that the editor itself supports."""
    _races: list[_Race] = field(default_factory=list)
    _late_responses: Counter[str] = field(default_factory=Counter)
    """Requests for which a response from the editor would come too late. Counted, as an agent may reuse an id."""
    _tool_calls: dict[str, Json] = field(default_factory=dict)
    """The tool calls in progress, as agents reported them: a permission prompt need not repeat them."""
    _replies: dict[str, list[Json]] = field(default_factory=dict)
    """The replies and files of people in a session, for which the protocol has no place: blocks of its next prompt."""
    _takes_pictures: bool = False
    """True if the agent's prompts may have pictures."""
    _folders: Folders = field(default_factory=Folders)
    _requested_folders: dict[str, object] = field(default_factory=dict)
    """The folders of sessions that the editor has requested, by the ids of its requests."""

    # --- from the agent ------------------------------------------------------------------------

    def relay_from_agent(self, lines: Iterable[bytes]) -> None:
        """Relay the agent's messages until its stream ends."""
        for line in lines:
            message = json_rpc.parse_message(line)
            if messages.asks_people(message):
                self._start_race(message, line)
            else:
                self.editor.write_line(line)
                self._track(message)

    def _start_race(self, request: Json, line: bytes) -> None:
        race = _Race(request, messages.is_for_editor(request, self._elicits))
        with self._lock:
            self._races.append(race)
        if race.editor_has_it:
            self.editor.write_line(line)
        place = {"origin": self._folders.origin(race.session), "metadata": {"host": self.host}}
        threading.Thread(target=self._ask, args=[race, place], daemon=True).start()

    def _track(self, message: Json) -> None:
        if "method" not in message:
            requested = self._requested_folders.pop(json_rpc.id_key(message.get("id")), None)
            self._folders.remember(messages.new_session(message), requested)
            self.host = messages.agent_name(message) or self.host
            if (takes_pictures := messages.takes_pictures(message)) is not None:
                self._takes_pictures = takes_pictures
        if (update := messages.parse_tool_call_update(message)) is not None:
            tool_call, fields, is_over = update
            with self._updated:
                known = self._tool_calls.pop(tool_call, {})
                if not is_over:
                    self._tool_calls[tool_call] = tool_calls.merge(known, fields)
                if len(self._tool_calls) > _MAX_TOOL_CALLS:
                    del self._tool_calls[next(iter(self._tool_calls))]
                self._updated.notify_all()
        elif message.get("method") == messages.CANCEL_REQUEST:
            cancelled = json_rpc.id_key(json_rpc.params(message).get("requestId"))
            for race in self._end_matching(lambda race: race.id_key == cancelled):
                if not race.editor_has_it:
                    # In another thread: this one alone reads from the agent, which may not read until it has written.
                    answer = [race.cancelled()]
                    threading.Thread(
                        target=self.agent.try_write_line, args=answer, daemon=True
                    ).start()

    # --- from the editor -----------------------------------------------------------------------

    def relay_from_editor(self, lines: Iterable[bytes]) -> None:
        """Relay the editor's messages until its stream ends."""
        for line in lines:
            message = json_rpc.parse_message(line)
            method = message.get("method")
            if method is None and "id" in message:
                self._relay_response(message, line)
                continue
            self._track_session(message)
            if method == "initialize":
                line = self._with_elicitation(message, line)
            elif method == "session/prompt":
                line = self._with_replies(message, line)
            self.agent.write_line(line)
            if method == messages.CANCEL_SESSION:
                self._answer_cancelled(json_rpc.params(message).get("sessionId"))

    def _track_session(self, request: Json) -> None:
        """Note the folder of a session that the editor starts or continues, before the agent can ask anything in it."""
        params = json_rpc.params(request)
        if (folder := params.get("cwd")) is None:
            return
        self._folders.remember(params.get("sessionId"), folder)
        if len(self._requested_folders) < MAX_FOLDERS:
            self._requested_folders[json_rpc.id_key(request.get("id"))] = folder

    def _answer_cancelled(self, session: object) -> None:
        """Cancel the requests of a session that the editor cancelled but never received."""
        for race in self._end_matching(lambda race: race.session == session):
            if not race.editor_has_it:
                self.agent.write_line(race.cancelled())

    def _with_elicitation(self, message: Json, line: bytes) -> bytes:
        elicits = messages.announce_elicitation(message)
        self._elicits = messages.ALL_MODES if elicits is None else elicits
        return line if elicits is None else json_rpc.encode_message(message)

    def _with_replies(self, message: Json, line: bytes) -> bytes:
        """Put what people replied and sent before the editor's next prompt."""
        with self._lock:
            replies = self._replies.pop(_session_key(message), [])
        return json_rpc.encode_message(messages.add_replies(message, replies)) if replies else line

    def _relay_response(self, message: Json, line: bytes) -> None:
        """Relay a response, unless people answered first."""
        key = json_rpc.id_key(message["id"])
        with self._lock:
            if self._late_responses[key]:
                self._late_responses -= Counter([key])
                return
            race = next((race for race in self._races if race.id_key == key), None)
            if race is not None and "error" in message:  # no answer: people may still give one
                race.error, race.editor_has_it = line, False
                return
            if race is not None:
                race.is_answered, race.editor_has_it = True, False
        if race is None or self._withdraw_first(race):
            self.agent.write_line(line)

    def _withdraw_first(self, race: _Race) -> bool:
        """End a race that the editor has won; return whether it has, or people were faster and their answer counts."""
        outcome = None
        if race.ask_id is not None:
            outcome = self.people.withdraw(race.ask_id, 0.0, _WITHDRAW_TIMEOUT)
        if outcome is not None and outcome.is_decided:
            self._answer(race, outcome)
        with self._lock:
            if race.over.is_set():
                return False
            self._end(race)
        if outcome is None:
            self.people.withdraw_in_background(race)
        return True

    # --- from people ---------------------------------------------------------------------------

    def _ask(self, race: _Race, place: Json) -> None:
        call = self._call(race.request)._replace(**place)
        outcome = self.people.ask(race, call)
        self._answer(race, outcome)
        if outcome.ask is None:
            self.warn(outcome.message)

    def _call(self, request: Json) -> Call:
        """Return what people are asked; waits a moment for the arguments, where nothing is known of the tool call.

        opencode 1.18.33 sends the arguments of an MCP tool just after it has requested the permission.
        """
        params = json_rpc.params(request)
        own = messages.tool_call_of(params)
        tool_call = messages.tool_call_key(params, own)

        def is_known() -> bool:
            return messages.says_what(own) or messages.says_what(
                self._tool_calls.get(tool_call, {})
            )

        with self._updated:
            if request["method"] == messages.PERMISSION and own:
                self._updated.wait_for(is_known, _ARGUMENTS_TIMEOUT)
            return messages.call_from_request(request, self._tool_calls.get(tool_call, {}))

    def _answer(self, race: _Race, outcome: AskOutcome) -> None:
        waits_for_editor = race.editor_has_it or race.is_answered
        if outcome.ask is None and race.ask_id is not None and not waits_for_editor:
            outcome = self.people.report_no_answer(race.ask_id)._replace(message=outcome.message)
        decided = outcome.is_decided
        with self._lock:
            if race.over.is_set() or (race.is_answered and not decided):
                return
            self._end(race, decided)
        if outcome.ask is None:
            self.people.withdraw_in_background(race)
        if race.editor_has_it and not decided:
            return
        if said := messages.reply_of(outcome, takes_pictures=self._takes_pictures):
            with self._lock:
                self._replies.setdefault(_session_key(race.request), []).extend(said)
        result = race.result(messages.result_of(race.request["method"], outcome))
        self.agent.try_write_line(result if decided else race.error or result)
        self._notify_editor(race)
        if outcome.is_turn_ended and race.session is not None:
            self._end_turn(race.session)

    def _end_turn(self, session: object) -> None:
        """Interrupt the agent as an editor does, and answer its other requests in this session as cancelled."""
        self.agent.try_write_line(
            json_rpc.encode_notification(messages.CANCEL_SESSION, sessionId=session)
        )
        for race in self._end_matching(lambda race: race.session == session, is_answered=True):
            self.agent.try_write_line(race.cancelled())
            self._notify_editor(race)

    def _notify_editor(self, race: _Race) -> None:
        if race.editor_has_it:
            request_id = race.request["id"]
            self.editor.try_write_line(
                json_rpc.encode_notification(messages.CANCEL_REQUEST, requestId=request_id)
            )

    # --- ends ----------------------------------------------------------------------------------

    def end(self) -> None:
        """Withdraw the open asks: the agent no longer waits for them."""
        ended = self._end_matching(lambda _race: True)
        self.people.end(ended)

    def _end_matching(
        self, matches: Callable[[_Race], bool], *, is_answered: bool = False
    ) -> list[_Race]:
        """End the matching races without an answer from people and withdraw their asks; returns those races."""
        with self._lock:
            ended = [race for race in self._races if matches(race)]
            for race in ended:
                self._end(race, is_answered)
        for race in ended:
            self.people.withdraw_in_background(race)
        return ended

    def _end(self, race: _Race, is_answered: bool = False) -> None:
        """End a race; if it was answered here, a later answer from the editor is dropped."""
        race.over.set()
        self._races.remove(race)
        if is_answered and race.editor_has_it:
            self._late_responses[race.id_key] += 1


def _session_key(message: Json) -> str:
    return json_rpc.id_key(json_rpc.params(message).get("sessionId"))
