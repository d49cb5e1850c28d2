"""The client's types: asks, tool results, errors and verified webhooks. See `answerback_client.async_client`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final, NotRequired, Self, TypedDict

from pydantic import JsonValue, TypeAdapter, ValidationError
from standardwebhooks import Webhook, WebhookVerificationError

from answerback_client.errors import ClientError, RefusedError

Json = dict[str, JsonValue]

OBJECT: Final = TypeAdapter(Json)
_ROWS: Final = TypeAdapter(list[Json])


class InvalidCallError(RefusedError):
    """The tool call is invalid (422). ``tool_result`` tells the model what to fix; None for other errors."""

    def __init__(self, status: int, problem: Json) -> None:
        super().__init__(status, problem)
        result, errors = problem.get("tool_result"), problem.get("errors")
        self.tool_result = ToolResult.of(result) if isinstance(result, dict) else None
        rows = errors if isinstance(errors, list) else []
        self.messages = [str(row["message"]) for row in rows if isinstance(row, dict)]
        """The errors, in words."""


class StaleError(RefusedError):
    """Another person has acted on the ask meanwhile (409); ``ask`` is its current state."""

    def __init__(self, status: int, problem: Json) -> None:
        super().__init__(status, {"title": "Another person was faster", **problem})
        self.ask = Ask.of(problem)


class EndedError(RefusedError):
    """The ask has ended (410); ``ask`` is its final state."""

    def __init__(self, status: int, problem: Json) -> None:
        super().__init__(status, problem)
        ask = problem.get("ask")
        self.ask = Ask.of(ask if isinstance(ask, dict) else problem)


class StillOpenError(ClientError):
    """Nobody answered within the timeout; ``ask`` is still open, and can be waited for again by its id."""

    def __init__(self, ask: Ask) -> None:
        super().__init__(f"{ask.id} has not been answered yet. It stays open.")
        self.ask = ask


class AskedBackError(StillOpenError):
    """A person asked for an explanation before they answer: call `add_context`, then wait again.

    ``clarify`` has their question (``text``), the person (``by``) and the time.
    """

    def __init__(self, ask: Ask, clarify: Json) -> None:
        super().__init__(ask)
        self.args = (f"{ask.id} has not been answered yet. A person asks: {clarify['text']}",)
        self.clarify = clarify


class WebhookError(ClientError):
    """A webhook is not signed with the secret, is too old, or is not a webhook at all."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of the tool call, for the model."""

    content: str
    structured: JsonValue
    is_error: bool

    @classmethod
    def of(cls, body: Mapping[str, JsonValue]) -> Self:
        """Build a result from the API's JSON."""
        return cls(str(body["content"]), body["structured"], bool(body["is_error"]))


@dataclass(frozen=True, slots=True)
class Origin:
    """Who asks and from where; None where it is not known."""

    agent: str | None = None
    label: str | None = None
    project: str | None = None
    folder: str | None = None
    session: str | None = None
    owner: str | None = None

    @classmethod
    def of(cls, body: JsonValue) -> Self:
        """Build an origin from the API's JSON."""
        said = body if isinstance(body, dict) else {}
        known = {each.name: said.get(each.name) for each in fields(cls)}
        return cls(**{name: value for name, value in known.items() if isinstance(value, str)})


@dataclass(frozen=True, slots=True)
class Edited:
    """The call that a person changed and allowed: make this one."""

    arguments: Json
    """If the ask decides about several calls: the arguments of those that were changed, by question id."""
    written: str
    """The arguments as JSON, with each number as it was written."""
    digest: str
    """The digest by which the approval is consumed."""
    difference: str
    """The changes, in words."""

    @classmethod
    def of(cls, body: Json) -> Self:
        """Build an edited call from the API's JSON."""
        said = (str(body[name]) for name in ("written", "digest", "difference"))
        return cls(OBJECT.validate_python(body["arguments"]), *said)


@dataclass(frozen=True, slots=True)
class Ask:
    """The state of an ask; ``json`` is the API's complete representation."""

    id: str
    status: str
    revision: int
    tool_result: ToolResult | None
    """None while the ask is open, and if the person ended the turn: the agent then has to stop."""
    end_turn: bool
    reply: str | None
    answers: Json
    prompt: Json | None
    url: str | None
    """The address where people see the ask, if it has one."""
    json: Json

    @property
    def by_person(self) -> bool:
        """True if a person gave all answers, or a grant before, rather than a deadline or a machine."""
        return self.status == "answered" and self.json.get("source") in ("human", "grant")

    @property
    def open(self) -> bool:
        """True while the ask waits for an answer."""
        return self.status == "open"

    @property
    def headline(self) -> str:
        """One line that says what would happen, or asks the first question; empty after an erasure."""
        return str(self.json.get("headline") or "")

    @property
    def origin(self) -> Origin:
        """Who asks, and from where."""
        return Origin.of(self.json.get("origin"))

    @property
    def files(self) -> tuple[Json, ...]:
        """The files that were sent with it: ids for `AsyncClient.file`, names, types and sizes."""
        return tuple(_ROWS.validate_python(self.json.get("files") or []))

    @property
    def answer_files(self) -> tuple[Json, ...]:
        """The files of people's answers and replies, like ``files``; ``question_id`` is None for a reply's."""
        return tuple(_ROWS.validate_python(self.json.get("answer_files") or []))

    @property
    def confirmed_by(self) -> tuple[Json, ...]:
        """Who else has confirmed the answers."""
        return tuple(_ROWS.validate_python(self.json.get("confirmed_by") or []))

    @property
    def repaired(self) -> tuple[str, ...]:
        """JSON pointers to the arguments that the service had to read generously; a strict call has none."""
        read = self.json.get("repaired")
        return tuple(map(str, read)) if isinstance(read, list) else ()

    @property
    def edited(self) -> Edited | None:
        """The call as a person changed it before they allowed it; None if they allowed it as it was."""
        body = self.json.get("edited")
        return Edited.of(body) if isinstance(body, dict) else None

    @property
    def clarify(self) -> Json | None:
        """The explanation that a person asked for before they answer, or None."""
        asked = self.json.get("clarify")
        return asked if isinstance(asked, dict) else None

    @classmethod
    def of(cls, body: Json) -> Self:
        """Build an ask from the API's JSON.

        Raises:
            ClientError: the JSON is not an ask.
        """
        try:
            result, prompt, thread = body["tool_result"], body["prompt"], body["thread"]
            url = thread.get("url") if isinstance(thread, dict) else None
            return cls(
                id=str(body["id"]),
                status=str(body["status"]),
                revision=int(str(body["revision"])),
                tool_result=ToolResult.of(result) if isinstance(result, dict) else None,
                end_turn=bool(body["end_turn"]),
                reply=None if body["reply"] is None else str(body["reply"]),
                answers=OBJECT.validate_python(body["answers"]),
                prompt=prompt if isinstance(prompt, dict) else None,
                url=str(url) if url else None,
                json=body,
            )
        except (KeyError, ValueError) as error:
            raise ClientError(f"The response is not from Answerback: {error!r}.") from error


@dataclass(frozen=True, slots=True)
class Retry:
    """A person tells the agent to try again what nobody allowed in time. It allows nothing."""

    ask_id: str
    headline: str
    """One line that says what would happen."""
    text: str | None
    """The rest of the person's message."""
    json: Json

    @classmethod
    def of(cls, body: Json) -> Self:
        """Build a request to try again from the API's JSON."""
        text = body["text"]
        instruction = None if text is None else str(text)
        return cls(str(body["ask_id"]), str(body["headline"]), instruction, body)


@dataclass(frozen=True, slots=True)
class Answers:
    """Late answers. Each ask's ``json`` has a ``message``: the answer as a sentence, for a model that has gone on."""

    asks: tuple[Ask, ...]
    next: int | None
    """Acknowledges these answers as ``after`` of the next call; None: no answers."""
    retries: tuple[Retry, ...] = ()
    """The messages of people who told the agent to try again."""

    @classmethod
    def of(cls, body: Json) -> Self:
        """Build late answers from the API's JSON.

        Raises:
            ClientError: the JSON does not hold late answers.
        """
        try:
            rows = _ROWS.validate_python(body["answers"])
            number = body["next"]
            retries = tuple(Retry.of(row) for row in rows if row.get("kind") == "retry")
            asks = tuple(Ask.of(row) for row in rows if row.get("kind") != "retry")
            return cls(asks, None if number is None else int(str(number)), retries)
        except (KeyError, ValueError) as error:
            raise ClientError(f"The response is not from Answerback: {error!r}.") from error


class Envelope(TypedDict):
    """The fields of an ask besides the tool call; see docs/api.md."""

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
    origin: NotRequired[Mapping[str, str]]
    confirmations: NotRequired[int]
    urgency: NotRequired[str]
    takes_edited: NotRequired[bool]
    files: NotRequired[Sequence[str | os.PathLike[str] | Mapping[str, JsonValue]]]
    metadata: NotRequired[Mapping[str, JsonValue]]


@dataclass(frozen=True, slots=True)
class Event:
    """A verified webhook. ``id`` is the same for every delivery attempt: an id seen before is a repeat."""

    id: str
    type: str
    ask: Ask


def verify_webhook(
    body: bytes | str, headers: Mapping[str, str], secret: str | Sequence[str]
) -> Event:
    """Verify that a webhook was signed with one of the secrets (``whsec_…``) in the last five minutes.

    Args:
        body: the raw body, before any parsing.

    Raises:
        WebhookError: the webhook cannot be trusted.
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
            raise WebhookError(
                "The webhook is signed correctly, but is not from Answerback."
            ) from error
    raise WebhookError(
        "The webhook was not signed with any of the secrets in the last five minutes."
    )
