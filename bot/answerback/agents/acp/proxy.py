"""The proxy: lines pass as they are, and what an agent asks of people is put to the editor and the thread at once.

The first answer counts. If it is the editor's, the ask is withdrawn; if it is the thread's, the editor is told by
`$/cancel_request` (https://agentclientprotocol.com/protocol/v1/cancellation), and its own response is dropped.
Each direction is a thread that blocks on its pipes, so a slow reader slows its writer as it would without the proxy.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from answerback.agents.acp import messages
from answerback.agents.command_hooks.agent_host import AskOutcome, Call, Json, is_turn_ended
from answerback.agents.command_hooks.ask_people import ANSWER_PATIENCE, AskClient

_PARTING: Final = 5.0
"""Seconds for which the end of the proxy waits until what is still asked has been withdrawn."""


class Sink(Protocol):
    """Where bytes go."""

    def write(self, data: bytes, /) -> Any:
        """Takes bytes."""

    def flush(self) -> None:
        """Sends what it took."""

    def close(self) -> None:
        """Ends it."""


class LineWriter:
    """One way out: whole lines, from several threads."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._lock = threading.Lock()

    def write_line(self, line: bytes) -> None:
        """Writes a line; waits for the reader."""
        with self._lock:
            self._sink.write(line)
            self._sink.flush()

    def try_write_line(self, line: bytes) -> None:
        """Writes a line of the proxy's own, which nobody needs once the reader is gone."""
        with contextlib.suppress(OSError, ValueError):
            self.write_line(line)

    def close(self) -> None:
        """Says that nothing more comes."""
        with self._lock, contextlib.suppress(OSError):
            self._sink.close()


@dataclass(eq=False)
class _Race:
    """A request of the agent that is still to be answered."""

    request: Json
    editor_has_it: bool
    """Whether an answer may come from the editor."""
    error: bytes | None = None
    """What the editor answered instead."""
    ask_id: str | None = None
    is_over: bool = False
    asked: threading.Event = field(default_factory=threading.Event)
    """Set once people were asked, or cannot be."""

    @property
    def id_key(self) -> str:
        return messages.id_key(self.request["id"])

    @property
    def session(self) -> object:
        return messages.params(self.request).get("sessionId")

    def result(self, result: Json) -> bytes:
        return messages.encode_response(self.request["id"], result)

    def cancelled(self) -> bytes:
        return self.result(messages.cancelled_result(self.request["method"]))


@dataclass(eq=False)
class Proxy:
    """What stands between an editor and an agent."""

    people: AskClient
    agent: LineWriter
    editor: LineWriter
    warn: Callable[[str], None]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _elicits: frozenset[str] = frozenset()
    """The modes in which the editor itself elicits."""
    _races: list[_Race] = field(default_factory=list)
    _late: Counter[str] = field(default_factory=Counter)
    """Requests whose responses from the editor come too late. Counted: an agent may use an id again."""
    _tool_calls: dict[str, Json] = field(default_factory=dict)
    """What agents told of tool calls that go on: a permission prompt need not repeat it."""
    _withdrawals: list[threading.Thread] = field(default_factory=list)

    # --- from the agent ------------------------------------------------------------------------

    def relay_from_agent(self, lines: Iterable[bytes]) -> None:
        """Passes on what the agent says, until it says no more."""
        for line in lines:
            message = messages.parse_message(line)
            if messages.asks_people(message):
                self._race(message, line)
            else:
                self.editor.write_line(line)
                self._learn(message)

    def _race(self, request: Json, line: bytes) -> None:
        race = _Race(request, messages.is_for_editor(request, self._elicits))
        given = messages.params(request)
        tool_call = messages.tool_call_key(given, messages.tool_call_of(given))
        call = messages.call_from_request(request, self._tool_calls.get(tool_call, {}))
        with self._lock:
            self._races.append(race)
        if race.editor_has_it:
            self.editor.write_line(line)
        threading.Thread(target=self._ask, args=[race, call], daemon=True).start()

    def _learn(self, message: Json) -> None:
        if (told := messages.parse_tool_call_update(message)) is not None:
            tool_call, fields, is_over = told
            known = self._tool_calls.pop(tool_call, {})
            if not is_over:
                self._tool_calls[tool_call] = {**known, **fields}
        elif message.get("method") == messages.CANCEL_REQUEST:
            cancelled = messages.id_key(messages.params(message).get("requestId"))
            for race in self._leave(lambda race: race.id_key == cancelled):
                if not race.editor_has_it:
                    # Not in this thread: it alone reads what the agent says, and the agent may not read before.
                    answer = [race.cancelled()]
                    threading.Thread(
                        target=self.agent.try_write_line, args=answer, daemon=True
                    ).start()

    # --- from the editor -----------------------------------------------------------------------

    def relay_from_editor(self, lines: Iterable[bytes]) -> None:
        """Passes on what the editor says, until it says no more."""
        for line in lines:
            message = messages.parse_message(line)
            method = message.get("method")
            if method is None and "id" in message:
                self._response(message, line)
                continue
            self.agent.write_line(
                self._announced(message, line) if method == "initialize" else line
            )
            if method == messages.CANCEL_SESSION:
                self._cancelled(messages.params(message).get("sessionId"))

    def _cancelled(self, session: object) -> None:
        """Answers what the editor, which cancels the session, cannot."""
        for race in self._leave(lambda race: race.session == session):
            if not race.editor_has_it:
                self.agent.write_line(race.cancelled())

    def _announced(self, message: Json, line: bytes) -> bytes:
        elicits = messages.announce_elicitation(message)
        self._elicits = messages.ALL_MODES if elicits is None else elicits
        return line if elicits is None else messages.encode_message(message)

    def _response(self, message: Json, line: bytes) -> None:
        """Passes on a response, unless people answered first."""
        key = messages.id_key(message["id"])
        with self._lock:
            if self._late[key]:
                self._late -= Counter([key])
                return
            race = next((race for race in self._races if race.id_key == key), None)
            if race is not None and "error" in message:  # no answer: people may still give one
                race.error, race.editor_has_it = line, False
                return
            if race is not None:
                self._end(race)
        if race is not None:
            self._withdraw(race)
        self.agent.write_line(line)

    # --- from people ---------------------------------------------------------------------------

    def _ask(self, race: _Race, call: Call) -> None:
        """Puts a request to people, and waits for its end."""
        outcome = self.people.ask(call, lambda ask_id: self._opened(race, ask_id))
        race.asked.set()
        self._answer(race, outcome)
        if outcome.ask is None:
            self.warn(outcome.words)

    def _opened(self, race: _Race, ask_id: str) -> None:
        with self._lock:
            race.ask_id = ask_id
        if race.is_over:
            self._withdraw(race)
        race.asked.set()

    def _answer(self, race: _Race, outcome: AskOutcome) -> None:
        is_decided = messages.is_decided(outcome)
        with self._lock:
            if race.is_over:
                return
            self._end(race, is_decided)
        if outcome.ask is None:
            self._withdraw(race)
        if race.editor_has_it and not is_decided:
            return
        result = race.result(messages.result_of(race.request["method"], outcome))
        self.agent.try_write_line(result if is_decided else race.error or result)
        self._tell_editor(race)
        if is_turn_ended(outcome) and race.session is not None:
            self._end_turn(race.session)

    def _end_turn(self, session: object) -> None:
        """Interrupts the agent as an editor does: what else it asks in this session is answered too."""
        self.agent.try_write_line(
            messages.encode_notification(messages.CANCEL_SESSION, sessionId=session)
        )
        for race in self._leave(lambda race: race.session == session, is_answered=True):
            self.agent.try_write_line(race.cancelled())
            self._tell_editor(race)

    def _tell_editor(self, race: _Race) -> None:
        if race.editor_has_it:
            request_id = race.request["id"]
            self.editor.try_write_line(
                messages.encode_notification(messages.CANCEL_REQUEST, requestId=request_id)
            )

    # --- ends ----------------------------------------------------------------------------------

    def end(self) -> None:
        """Withdraws what is still asked: nobody waits for it."""
        until = time.monotonic() + _PARTING
        for race in self._leave(lambda _race: True):
            race.asked.wait(until - time.monotonic())
        for thread in self._withdrawals:
            thread.join(max(0.0, until - time.monotonic()))

    def _leave(self, matches: Callable[[_Race], bool], *, is_answered: bool = False) -> list[_Race]:
        """Ends races without people, whose asks are withdrawn; the races that it ended."""
        with self._lock:
            found = [race for race in self._races if matches(race)]
            for race in found:
                self._end(race, is_answered)
        for race in found:
            self._withdraw(race)
        return found

    def _end(self, race: _Race, is_answered: bool = False) -> None:
        """Ends a race; if it was answered here, what the editor answers later is dropped."""
        race.is_over = True
        self._races.remove(race)
        if is_answered and race.editor_has_it:
            self._late[race.id_key] += 1

    def _withdraw(self, race: _Race) -> None:
        """Takes the ask back, also after a restart of the service, while everything else goes on."""
        if race.ask_id is None:
            return
        thread = threading.Thread(
            target=self.people.withdraw, args=[race.ask_id, ANSWER_PATIENCE], daemon=True
        )
        self._withdrawals = [thread, *(one for one in self._withdrawals if one.is_alive())]
        thread.start()
