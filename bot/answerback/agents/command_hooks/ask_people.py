"""Puts a hook's call to people over HTTP and waits, also while the service is restarted.

With the standard library's client: importing another takes longer than a hook may.
"""

from __future__ import annotations

import http.client
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

from answerback.agents.command_hooks.agent_host import AskOutcome, Call, Json
from answerback.agents.command_hooks.delivery_receipts import DeliveryReceipt

_HOLD: Final = 60
"""Seconds that one waiting call lasts."""
_GRACE: Final = 15
ANSWER_PATIENCE: Final = 900.0
"""Seconds for which a service that is away is called again once it has taken the ask, which stays open meanwhile."""
_TO_LOOK: Final = 2.0
"""Seconds for what a hook only looks up."""
_FIRST_PAUSE: Final = 0.25
_LONGEST_PAUSE: Final = 5.0


class ServiceUnavailableError(Exception):
    """Nothing answers, or only that it cannot now."""


class RefusedError(Exception):
    """The service refused a call, in words."""


@dataclass(frozen=True, slots=True)
class AskClient:
    """People, as a hook reaches them: by one service, as one agent."""

    url: str
    token: str | None = None
    to: str | None = None
    """Where to ask; without it the token's route or the default."""
    wait: float = 86_000.0
    """Seconds to wait for an answer: less than the host waits for its hook."""
    patience: float = 20.0
    """Seconds for which a service that is away is called again before anything is asked."""
    token_env: str = "ANSWERBACK_TOKEN"
    """The environment variable that the token is from."""
    receipt: DeliveryReceipt | None = None
    """Holds what was told until it is passed on to the agent; None: reading it is enough."""

    def ask(self, call: Call, opened: Callable[[str], None] = lambda _ask_id: None) -> AskOutcome:
        """The outcome of a call, once it has one or the time is up. `opened` is told the ask's id before."""
        try:
            ask = self._earlier(call) or self._submit(call)
        except ServiceUnavailableError as error:
            return AskOutcome(
                None,
                f"Nobody could be asked: {error} The user has to start it: `answerback serve`.",
            )
        except RefusedError as error:
            return AskOutcome(None, str(error))
        opened(ask["id"])
        try:
            return self._wait(ask)
        except BaseException:
            # The host does not wait any more. What it decided without us is no longer anybody's to decide.
            if call.is_permission:
                self.withdraw(ask["id"])
            raise

    def fetch_late_answers(self, conversation: str) -> str | None:
        """What people answered after a conversation had stopped waiting, for its model; each answer once.

        A service that is away is passed over: nothing is lost, the next event asks again.

        Raises:
            RefusedError: the service does not take the call.
        """
        try:
            query = urlencode({"conversation": conversation})
            found = self._call("GET", f"/v1/answers?{query}", hold=_TO_LOOK)
        except ServiceUnavailableError:
            return None
        return "\n\n".join(one["message"] for one in found["answers"]) or None

    def _submit(self, call: Call) -> Json:
        body = {
            "name": call.name,
            "arguments": call.arguments,
            "dialect": call.dialect,
            "to": self.to,
            "conversation": call.conversation,
            "turn": call.turn,
            "tool_call_id": call.tool_call_id,
            "metadata": {"cwd": call.cwd} if call.cwd else None,
        }
        given = {key: value for key, value in body.items() if value is not None}
        headers = {"Idempotency-Key": call.key or secrets.token_hex(16)}
        return self._call("POST", "/v1/asks", given, headers, patience=self.patience)

    def _earlier(self, call: Call) -> Json | None:
        """The ask whose answers a call has already, for a host that asks for leave to use them."""
        if call.answers is None or call.conversation is None:
            return None
        query = urlencode({"status": "answered", "conversation": call.conversation})
        found = self._call("GET", f"/v1/asks?{query}", patience=self.patience)
        for ask in found["asks"]:
            given = ask["tool_result"]["structured"]
            if isinstance(given, dict) and given.items() >= call.answers.items():
                return dict(ask)
        return None

    def _wait(self, ask: Json) -> AskOutcome:
        until = time.monotonic() + self.wait
        path = f"/v1/asks/{quote(ask['id'], safe='')}"
        try:
            while ask["status"] == "open" and (left := until - time.monotonic()) > 0:
                prefer = {"Prefer": f"wait={max(1, int(min(left, _HOLD)))}"}
                ask = self._call("GET", path, headers=prefer, patience=min(left, ANSWER_PATIENCE))
        except ServiceUnavailableError as error:
            return AskOutcome(None, f"{error} {_open(ask)}")
        except RefusedError as error:
            return AskOutcome(None, str(error))
        if ask["status"] == "open":
            return AskOutcome(None, f"Nobody answered within {self.wait:g} seconds. {_open(ask)}")
        return AskOutcome(ask, "")

    def withdraw(self, ask_id: str, patience: float = _TO_LOOK) -> None:
        """Takes an ask back, if it is still open."""
        try:
            self._call("DELETE", f"/v1/asks/{quote(ask_id, safe='')}", patience=patience)
        except (ServiceUnavailableError, RefusedError):
            return

    def _call(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        headers: dict[str, str] | None = None,
        patience: float = _TO_LOOK,
        hold: float = _HOLD + _GRACE,
    ) -> Json:
        """One call of the API, repeated while the service is away.

        Args:
            hold: seconds in which something has to come of a single try.
        """
        until, pause = time.monotonic() + patience, _FIRST_PAUSE
        while True:
            try:
                return self._once(method, path, body, headers or {}, hold)
            except ServiceUnavailableError:
                if time.monotonic() + pause > until:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE)

    def _once(
        self, method: str, path: str, body: Json | None, headers: dict[str, str], hold: float
    ) -> Json:
        address = urlsplit(self.url)
        secure = address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        try:
            if not address.hostname or address.scheme not in ("http", "https"):
                raise RefusedError(
                    f"{self.url} is not an address of Answerback: use http://host:port."
                )
            connection = kind(address.hostname, address.port, timeout=hold)
        except ValueError:
            raise RefusedError(
                f"{self.url} is not an address of Answerback: use http://host:port."
            ) from None
        sent = {"Content-Type": "application/json", **headers}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        raw = None if body is None else json.dumps(body).encode()
        try:
            connection.connect()
            if self.receipt is not None:
                self.receipt.hold_connection(connection.sock)
            connection.request(method, address.path + path, raw, sent)
            response = connection.getresponse()
            status, raw = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "strerror", None) or error
            raise ServiceUnavailableError(f"No Answerback answers at {self.url}: {why}.") from error
        finally:
            connection.close()
        if status == HTTPStatus.UNAUTHORIZED:
            held = "has another" if self.token else "is not set"
            raise RefusedError(
                f"Nobody could be asked: Answerback at {self.url} takes calls with an agent's token only, and the "
                f"environment variable {self.token_env} {held}. The user has to put the token there."
            )
        return _read(self.url, status, raw)


def _read(url: str, status: int, raw: bytes) -> Json:
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise ServiceUnavailableError(f"{url} answers HTTP {status}.")
    try:
        found: Any = json.loads(raw)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise RefusedError(f"What answers at {url} is not an Answerback (HTTP {status}).")
    if status < HTTPStatus.BAD_REQUEST:
        return found
    told = found.get("tool_result")
    if told:
        raise RefusedError(str(told["content"]))
    raise RefusedError(f"{found.get('title')}. {found.get('detail') or ''}".rstrip())


def _open(ask: Json) -> str:
    where = (ask.get("thread") or {}).get("url")
    at = f" at {where}" if where else ""
    return (
        f"The question stays open{at} ({ask['id']}). Do not assume an answer: go on with what does not depend on it, "
        "or stop and say what you wait for."
    )
