"""Asks people about a request of the agent and waits, even while the service restarts."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from answerback_agents.pipe.json_rpc import Json, as_object, without_nulls
from answerback_agents.pipe.saved_files import MAX_FILE, files_of, remove_old_files, save_files
from answerback_base.strict_json import dump_as_written
from answerback_client.blocking_connection import (
    ANSWER_PATIENCE,
    LOOKUP_PATIENCE,
    SUBMIT_PATIENCE,
    BlockingConnection,
    why_unasked,
)
from answerback_client.errors import (
    ClientError,
    RefusedError,
    TooManyAsksError,
    UnreachableError,
)
from answerback_client.retries import CALL_TIMEOUT, LONG_POLL

_STATUSES: Final = (
    *("open", "answered", "cancelled", "turn_ended", "expired", "withdrawn", "failed"),
)
_END_TIMEOUT: Final = 5.0
"""Seconds that a proxy waits at its end until its open asks are withdrawn."""


class AgentFile(NamedTuple):
    """A file that an agent shows with a request."""

    name: str
    data: bytes


class Call(NamedTuple):
    """A request that people are asked about, with the fields of the API."""

    name: str
    dialect: str
    arguments: Json
    conversation: str | None
    tool_call_id: str | None = None
    origin: Json = {}  # noqa: RUF012 - never changed
    metadata: Json = {}  # noqa: RUF012 - never changed
    takes_edited: bool | None = None
    """True if the call is made with other arguments if people have changed it."""
    files: tuple[AgentFile, ...] = ()
    """The files that people are shown; one that the service refuses is left out."""


class AskOutcome(NamedTuple):
    """The ask once it has ended; or None, with the reason in words."""

    ask: Json | None
    """Its ``answer_files`` have the paths at which the files of people are saved."""
    message: str = ""

    @property
    def is_decided(self) -> bool:
        """True if people ended the ask or had granted it. Otherwise a deadline, a default or another machine did."""
        ask = self.ask or {}
        by_people = ask.get("status") == "answered" and ask.get("source") in ("human", "grant")
        return by_people or ask.get("status") in ("cancelled", "turn_ended")

    @property
    def is_turn_ended(self) -> bool:
        return self.ask is not None and self.ask["status"] == "turn_ended"

    @property
    def edited(self) -> str | None:
        """The arguments that people allowed in place of the call's, as JSON; None: those of the call."""
        written = as_object((self.ask or {}).get("edited")).get("written")
        return written if isinstance(written, str) else None

    @property
    def structured(self) -> Json | None:
        """The tool result as an object, if it is one."""
        result = as_object((self.ask or {}).get("tool_result")).get("structured")
        return result if isinstance(result, dict) else None


@dataclass(eq=False, kw_only=True)
class Asking:
    """A request of an agent or a server that people are asked about."""

    ask_id: str | None = None
    asked: threading.Event = field(default_factory=threading.Event)
    """Set once people were asked, or cannot be asked."""
    over: threading.Event = field(default_factory=threading.Event)
    """Set once no agent waits for them any more."""


@dataclass(eq=False)
class AskClient:
    """Asks people on behalf of the agent: through one service, as one agent."""

    service: BlockingConnection
    to: str | None = None
    """Where to ask; by default the token's route, or else the default route."""
    urgency: str | None = None
    """The urgency of what is asked; by default the route's."""
    patience: float = SUBMIT_PATIENCE
    """Seconds for which calls are retried until the service has accepted the ask."""
    _withdrawing: list[threading.Thread] = field(default_factory=list)

    def ask(self, asking: Asking, call: Call) -> AskOutcome:
        """Ask people and return the outcome once there is one, whatever fails: its caller waits for it.

        If the agent has reached one of its limits, waits and tries again until the request is over.
        """
        try:
            ask = self._submit(asking, call)
            asking.ask_id = ask["id"]
            if asking.over.is_set():
                self.withdraw_in_background(asking)
            asking.asked.set()
            return self._wait(ask)
        except UnreachableError as error:
            return AskOutcome(None, why_unasked(error))
        except RefusedError as error:
            return AskOutcome(None, error.explanation)
        except ClientError as error:
            return AskOutcome(None, str(error))
        except Exception as error:  # noqa: BLE001 - the caller waits for an answer
            failure = error
        finally:
            asking.asked.set()
        return AskOutcome(None, f"Nobody could be asked: {failure!r}.")

    def _submit(self, asking: Asking, call: Call) -> Json:
        files = [*self._upload(call.files)] or None
        fields = without_nulls(
            {
                **call._asdict(),
                "to": self.to,
                "urgency": self.urgency,
                "leased": True,
                "files": files,
            }
        )
        key = secrets.token_hex(16)
        while True:
            try:
                return self._call("POST", "/v1/asks", fields, key=key, patience=self.patience)
            except TooManyAsksError as error:
                self.service.pause(error.retry_after)
                if asking.over.is_set():
                    raise

    def _upload(self, files: Iterable[AgentFile]) -> Iterator[Json]:
        """Upload files, and yield what a submission says of each."""
        for each in files:
            try:
                stored = self.service.upload(each.name, each.data, self.patience)
            except UnreachableError:
                raise
            except ClientError:  # of the service, or of a proxy before it that limits bodies
                continue
            yield {"id": stored["id"]}

    def _wait(self, ask: Json) -> AskOutcome:
        path = _path(ask["id"])
        try:
            while ask["status"] == "open":
                ask = self._call(
                    "GET", path, wait=LONG_POLL, patience=ANSWER_PATIENCE, waits_out_others=True
                )
        except UnreachableError as error:
            return AskOutcome(None, f"{error} The question stays open ({ask['id']}).")
        return self._outcome(ask)

    def _outcome(self, ask: Json) -> AskOutcome:
        """Return the outcome of an ask that has ended, with its files saved."""
        files = files_of(ask)
        if not files:
            return AskOutcome(ask)
        conversation = str(ask.get("conversation") or ask["id"])
        return AskOutcome({**ask, "answer_files": save_files(files, conversation, self._fetch)})

    def _fetch(self, file_id: str, timeout: float) -> bytes:
        return self.service.read(f"/v1/files/{quote(file_id, safe='')}", MAX_FILE, timeout)

    def report_no_answer(self, ask_id: str) -> AskOutcome:
        """Report that the agent is about to be told no; returns what people have decided, if they were faster."""
        with suppress(ClientError):  # the ask ends with its lease
            try:
                self._call("POST", f"{_path(ask_id)}/carried", {"decision": "denied"})
            except RefusedError as error:
                if _is_ask(error.problem):
                    return self._outcome(error.problem)
        return AskOutcome(None)

    def withdraw(
        self, ask_id: str, patience: float = LOOKUP_PATIENCE, timeout: float = CALL_TIMEOUT
    ) -> AskOutcome | None:
        """Withdraw an ask, if it is still open; return how it has ended, or None if that is unknown."""
        try:
            ended = self._call(
                "DELETE", _path(ask_id), patience=patience, timeout=timeout, waits_out_others=True
            )
        except RefusedError as error:
            ended = as_object(error.problem.get("ask"))
            return self._outcome(ended) if _is_ask(ended) else AskOutcome(None)
        except ClientError:
            return None
        return AskOutcome(ended)

    def withdraw_in_background(self, asking: Asking) -> None:
        """Withdraw what was asked, if anything was: no agent waits for it any more."""
        if asking.ask_id is not None:
            arguments = (asking.ask_id, ANSWER_PATIENCE)
            thread = threading.Thread(target=self.withdraw, args=arguments, daemon=True)
            self._withdrawing = [thread, *(each for each in self._withdrawing if each.is_alive())]
            thread.start()

    def end(self, unfinished: Iterable[Asking]) -> None:
        """Wait until everything is withdrawn, with what is still being asked; not for long."""
        until = time.monotonic() + _END_TIMEOUT
        for each in unfinished:
            each.asked.wait(max(0.0, until - time.monotonic()))
        for thread in self._withdrawing:
            thread.join(max(0.0, until - time.monotonic()))
        remove_old_files()

    def _call(self, method: str, path: str, body: Json | None = None, **more: Any) -> Json:
        """Call the API and return the ask, if that is what came back."""
        sent = None if body is None else dump_as_written(body).encode()
        response = self.service.call(method, path, sent, **more)
        if not _is_ask(response.body):
            raise self.service.foreign(response.status)
        return response.body


def _is_ask(body: Json) -> bool:
    result = body.get("tool_result")
    return (
        isinstance(body.get("id"), str)
        and body.get("status") in _STATUSES
        and (result is None or isinstance(as_object(result).get("is_error"), bool))
    )


def _path(ask_id: str) -> str:
    return f"/v1/asks/{quote(ask_id, safe='')}"
