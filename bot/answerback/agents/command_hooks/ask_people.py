"""Asks people about a hook's call over HTTP and waits, even while the service restarts.

Uses the standard library's HTTP client: importing another one takes too long for a hook.
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

_LONG_POLL: Final = 60
"""Seconds that one long poll lasts."""
_LONG_POLL_GRACE: Final = 15
ANSWER_PATIENCE: Final = 900.0
"""Seconds for which calls are retried once the service has accepted the ask, which stays open meanwhile."""
_LOOKUP_PATIENCE: Final = 2.0
"""Seconds for which a mere look-up is retried."""
_FIRST_PAUSE: Final = 0.25
_MAX_PAUSE: Final = 5.0


class ServiceUnavailableError(Exception):
    """The service cannot be reached, or is temporarily unable to answer."""


class RefusedError(Exception):
    """The service refused a call; the message says why."""


@dataclass(frozen=True, slots=True)
class AskClient:
    """Asks people on behalf of a hook: through one service, as one agent."""

    url: str
    token: str | None = None
    to: str | None = None
    """Where to ask; by default the token's route, or else the default route."""
    wait: float = 86_000.0
    """Seconds to wait for an answer: must be less than the host waits for its hook."""
    patience: float = 20.0
    """Seconds for which calls are retried until the service has accepted the ask."""
    token_env: str = "ANSWERBACK_TOKEN"
    """The environment variable that the token comes from."""
    receipt: DeliveryReceipt | None = None
    """Confirms a response once it has been passed on to the agent; None: reading it is enough."""

    def ask(self, call: Call, opened: Callable[[str], None] = lambda _ask_id: None) -> AskOutcome:
        """Ask people and return the outcome once there is one or the time is up. Reports the ask's id to `opened`."""
        try:
            ask = self._find_answered(call) or self._submit(call)
        except ServiceUnavailableError as error:
            return AskOutcome(
                None,
                f"Nobody could be asked: {error} The user has to start it with `answerback serve`.",
            )
        except RefusedError as error:
            return AskOutcome(None, str(error))
        opened(ask["id"])
        try:
            return self._wait(ask)
        except BaseException:
            # The host no longer waits, and decides without us: people's decision would not count any more.
            if call.is_permission:
                self.withdraw(ask["id"])
            raise

    def fetch_late_answers(self, conversation: str) -> str | None:
        """Fetch what people answered after a conversation stopped waiting, for its model; each answer once.

        If the service is down, this returns None: nothing is lost, as the next event fetches them.

        Raises:
            RefusedError: the service refused the call.
        """
        try:
            query = urlencode({"conversation": conversation})
            answers = self._call("GET", f"/v1/answers?{query}", timeout=_LOOKUP_PATIENCE)
        except ServiceUnavailableError:
            return None
        return "\n\n".join(late["message"] for late in answers["answers"]) or None

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
        fields = {key: value for key, value in body.items() if value is not None}
        headers = {"Idempotency-Key": call.key or secrets.token_hex(16)}
        return self._call("POST", "/v1/asks", fields, headers, patience=self.patience)

    def _find_answered(self, call: Call) -> Json | None:
        """Find the ask whose answers a call already contains: the host requests permission to use them."""
        if call.answers is None or call.conversation is None:
            return None
        query = urlencode({"status": "answered", "conversation": call.conversation})
        page = self._call("GET", f"/v1/asks?{query}", patience=self.patience)
        for ask in page["asks"]:
            result = ask["tool_result"]["structured"]
            if isinstance(result, dict) and result.items() >= call.answers.items():
                return dict(ask)
        return None

    def _wait(self, ask: Json) -> AskOutcome:
        until = time.monotonic() + self.wait
        path = f"/v1/asks/{quote(ask['id'], safe='')}"
        try:
            while ask["status"] == "open" and (left := until - time.monotonic()) > 0:
                prefer = {"Prefer": f"wait={max(1, int(min(left, _LONG_POLL)))}"}
                ask = self._call("GET", path, headers=prefer, patience=min(left, ANSWER_PATIENCE))
        except ServiceUnavailableError as error:
            return AskOutcome(None, f"{error} {_describe_open(ask)}")
        except RefusedError as error:
            return AskOutcome(None, str(error))
        if ask["status"] == "open":
            return AskOutcome(
                None, f"Nobody answered within {self.wait:g} seconds. {_describe_open(ask)}"
            )
        return AskOutcome(ask, "")

    def withdraw(self, ask_id: str, patience: float = _LOOKUP_PATIENCE) -> None:
        """Withdraw an ask, if it is still open."""
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
        patience: float = _LOOKUP_PATIENCE,
        timeout: float = _LONG_POLL + _LONG_POLL_GRACE,
    ) -> Json:
        """Call the API, retrying while the service is down.

        Args:
            patience: seconds for which the call is retried.
            timeout: seconds after which a single try fails.
        """
        until, pause = time.monotonic() + patience, _FIRST_PAUSE
        while True:
            try:
                return self._call_once(method, path, body, headers or {}, timeout)
            except ServiceUnavailableError:
                if time.monotonic() + pause > until:
                    raise
            time.sleep(pause)
            pause = min(pause * 2, _MAX_PAUSE)

    def _call_once(
        self, method: str, path: str, body: Json | None, headers: dict[str, str], timeout: float
    ) -> Json:
        address = urlsplit(self.url)
        secure = address.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        try:
            if not address.hostname or address.scheme not in ("http", "https"):
                raise RefusedError(
                    f"{self.url} is not a valid Answerback address. Use http://host:port."
                )
            connection = kind(address.hostname, address.port, timeout=timeout)
        except ValueError:
            raise RefusedError(
                f"{self.url} is not a valid Answerback address. Use http://host:port."
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
            raise ServiceUnavailableError(
                f"Cannot reach Answerback at {self.url}: {why}."
            ) from error
        finally:
            connection.close()
        if status == HTTPStatus.UNAUTHORIZED:
            token_state = "holds a different one" if self.token else "is not set"
            raise RefusedError(
                f"Nobody could be asked: Answerback at {self.url} requires an agent's token, and the environment "
                f"variable {self.token_env} {token_state}. The user has to put the token there."
            )
        return _parse_response(self.url, status, raw)


def _parse_response(url: str, status: int, raw: bytes) -> Json:
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise ServiceUnavailableError(f"{url} answered HTTP {status}.")
    try:
        body: Any = json.loads(raw)
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise RefusedError(f"The server at {url} is not Answerback (HTTP {status}).")
    if status < HTTPStatus.BAD_REQUEST:
        return body
    result = body.get("tool_result")
    if result:
        raise RefusedError(str(result["content"]))
    raise RefusedError(f"{body.get('title')}. {body.get('detail') or ''}".rstrip())


def _describe_open(ask: Json) -> str:
    where = (ask.get("thread") or {}).get("url")
    at = f" at {where}" if where else ""
    return (
        f"The question stays open{at} ({ask['id']}). Do not assume an answer: continue with work that does not depend "
        "on it, or stop and say what you are waiting for."
    )
