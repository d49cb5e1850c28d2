"""What the client returns: asks, tool results, errors and verified webhooks. See `answerback_client.async_client`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NotRequired, Self, TypedDict

from pydantic import JsonValue, TypeAdapter, ValidationError
from standardwebhooks import Webhook, WebhookVerificationError

Json = dict[str, JsonValue]

OBJECT: Final = TypeAdapter(Json)
_ROWS: Final = TypeAdapter(list[Json])


class ClientError(Exception):
    """The root of what this client raises."""


class UnreachableError(ClientError):
    """Nothing answers at the address, or only errors of its own (5xx). What was asked stays asked."""


class RefusedError(ClientError):
    """The service refused the call. ``status`` is HTTP's; ``problem`` the whole problem document."""

    def __init__(self, status: int, problem: Json) -> None:
        super().__init__(str(problem.get("detail") or problem.get("title") or f"HTTP {status}"))
        self.status = status
        self.problem = problem


class UnauthorizedError(RefusedError):
    """The token is missing, unknown, or not one for this (401, 403)."""


class NotFoundError(RefusedError):
    """There is no such ask, or it is another agent's (404)."""


class InvalidCallError(RefusedError):
    """The tool call is wrong (422). ``tool_result`` tells the model what to fix; None for other mistakes."""

    def __init__(self, status: int, problem: Json) -> None:
        super().__init__(status, problem)
        found, errors = problem.get("tool_result"), problem.get("errors")
        self.tool_result = ToolResult.of(found) if isinstance(found, dict) else None
        rows = errors if isinstance(errors, list) else []
        self.messages = [str(row["message"]) for row in rows if isinstance(row, dict)]
        """What is wrong, in words."""


class StaleError(RefusedError):
    """Somebody else moved the ask on (409); ``ask`` is how it stands."""

    def __init__(self, status: int, problem: Json) -> None:
        super().__init__(status, {"title": "Somebody was faster", **problem})
        self.ask = Ask.of(problem)


class EndedError(RefusedError):
    """The ask has ended (410); ``ask`` is how."""

    def __init__(self, status: int, problem: Json) -> None:
        super().__init__(status, problem)
        found = problem.get("ask")
        self.ask = Ask.of(found if isinstance(found, dict) else problem)


class StillOpenError(ClientError):
    """Nobody answered in the time given; ``ask`` is still open and can be waited for again by its id."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(f"{ask.id} is not answered yet; it stays open.")
        self.ask = ask


class AskedBackError(StillOpenError):
    """Somebody asks for an explanation before they answer: `add_context`, then wait again.

    ``clarify`` has their ``text``, who they are (``by``) and when.
    """

    def __init__(self, ask: Ask, clarify: Json) -> None:
        super().__init__(ask)
        self.args = (f"{ask.id} is not answered yet; somebody asks: {clarify['text']}",)
        self.clarify = clarify


class WebhookError(ClientError):
    """A webhook is not signed by this secret, too old, or no webhook at all."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What goes back to the model."""

    content: str
    structured: JsonValue
    is_error: bool

    @classmethod
    def of(cls, found: Mapping[str, JsonValue]) -> Self:
        """From the API's JSON."""
        return cls(str(found["content"]), found["structured"], bool(found["is_error"]))


@dataclass(frozen=True, slots=True)
class Ask:
    """An ask as it stands; ``json`` is all that the API says of it."""

    id: str
    status: str
    revision: int
    tool_result: ToolResult | None
    """None while it is open, and when the person ended the turn: then the agent has to stop."""
    end_turn: bool
    reply: str | None
    answers: Json
    prompt: Json | None
    url: str | None
    """Where people see it, if that has an address."""
    json: Json

    @property
    def open(self) -> bool:
        """Whether it still waits for somebody."""
        return self.status == "open"

    @property
    def clarify(self) -> Json | None:
        """What somebody asks to have explained before they answer; None: nothing."""
        asked = self.json.get("clarify")
        return asked if isinstance(asked, dict) else None

    @classmethod
    def of(cls, found: Json) -> Self:
        """From the API's JSON.

        Raises:
            ClientError: it is no ask.
        """
        try:
            result, prompt, thread = found["tool_result"], found["prompt"], found["thread"]
            url = thread.get("url") if isinstance(thread, dict) else None
            return cls(
                id=str(found["id"]),
                status=str(found["status"]),
                revision=int(str(found["revision"])),
                tool_result=ToolResult.of(result) if isinstance(result, dict) else None,
                end_turn=bool(found["end_turn"]),
                reply=None if found["reply"] is None else str(found["reply"]),
                answers=OBJECT.validate_python(found["answers"]),
                prompt=prompt if isinstance(prompt, dict) else None,
                url=str(url) if url else None,
                json=found,
            )
        except (KeyError, ValueError) as error:
            raise ClientError(f"What answered is not an Answerback: {error!r}.") from error


@dataclass(frozen=True, slots=True)
class Answers:
    """Late answers. Each ask's ``json`` has a ``message``: the answer in words for a model that has moved on."""

    asks: tuple[Ask, ...]
    next: int | None
    """Acknowledges them, as ``after`` of the next call; None: there are none."""

    @classmethod
    def of(cls, found: Json) -> Self:
        """From the API's JSON.

        Raises:
            ClientError: it is none.
        """
        try:
            rows = _ROWS.validate_python(found["answers"])
            number = found["next"]
            return cls(tuple(map(Ask.of, rows)), None if number is None else int(str(number)))
        except (KeyError, ValueError) as error:
            raise ClientError(f"What answered is not an Answerback: {error!r}.") from error


class Envelope(TypedDict):
    """What an ask may say beside the tool call; see docs/api.md."""

    dialect: NotRequired[str]
    to: NotRequired[JsonValue]
    responders: NotRequired[Sequence[str] | str]
    callback: NotRequired[Mapping[str, str]]
    conversation: NotRequired[str]
    turn: NotRequired[str]
    tool_call_id: NotRequired[str]
    expires_in: NotRequired[float]
    on_expiry: NotRequired[str]
    remind_after: NotRequired[Sequence[float]]
    context_format: NotRequired[str]
    mode: NotRequired[str]
    accepts: NotRequired[Sequence[str]]
    metadata: NotRequired[Mapping[str, JsonValue]]


@dataclass(frozen=True, slots=True)
class Event:
    """A webhook whose signature was checked. ``id`` is the same on every try: an id seen before is a repeat."""

    id: str
    type: str
    ask: Ask


def verify_webhook(
    body: bytes | str, headers: Mapping[str, str], secret: str | Sequence[str]
) -> Event:
    """The event of a webhook, if one of the secrets (``whsec_…``) signed it in the last five minutes.

    Args:
        body: the raw body, before anything parsed it.

    Raises:
        WebhookError: it is not to be trusted.
    """
    candidates = [secret] if isinstance(secret, str) else list(secret)
    lowered = {name.lower(): value for name, value in headers.items()}
    for candidate in candidates:
        try:
            Webhook(candidate).verify(body, lowered, json_parse=False)
        except (WebhookVerificationError, ValueError):
            continue
        try:
            event = OBJECT.validate_json(body)
            ask = Ask.of(OBJECT.validate_python(event["data"]))
            return Event(lowered["webhook-id"], str(event["type"]), ask)
        except (ValidationError, KeyError, ClientError) as error:
            raise WebhookError("The webhook is signed, and not one of Answerback's.") from error
    raise WebhookError("No secret signed this webhook in the last five minutes.")
