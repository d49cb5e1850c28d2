"""The body of a submission: the tool call, where to ask, who may answer and for how long; read with all its errors."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ModelWrapValidatorHandler,
    SkipValidation,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from answerback.core.ask import ANYONE
from answerback.core.confirmation import MAX_CONFIRMATIONS
from answerback.core.errors import InvalidCallError
from answerback.core.files import MAX_ALT, MAX_FILES
from answerback.core.form import ContextFormat
from answerback.core.grants import GrantRule
from answerback.core.people import NOBODY_KNOWN, PERSON_PREFIX, People
from answerback.core.urgency import PLACES, RouteMark, Urgency
from answerback.dialects.call_reader import did_you_mean
from answerback.ports.store_values import NO_LIMITS, AskLimits
from answerback.service.json_bodies import find_size_problem, problems_of
from answerback_base import strict_json

_PLAIN_JSON: Final = TypeAdapter(JsonValue)
_MAX_SECONDS: Final = 366 * 86_400
DEFAULT_SURFACE: Final = "web"
MAX_PLACE: Final = 100
"""Characters of a part of an origin."""


def _require_encodable(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not strict_json.is_all_encodable(value):
        raise ValueError("contains half a surrogate pair, which is not valid text")
    return value


Name = Annotated[str, Field(min_length=1, max_length=1_000)]
Responders = Annotated[tuple[Name, ...], Field(max_length=1_000)] | Literal["anyone"]
_Place = Annotated[str, Field(min_length=1, max_length=MAX_PLACE)]
_Seconds = Annotated[float, Field(strict=True, gt=0, le=_MAX_SECONDS, allow_inf_nan=False)]


class _StrictModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Callback(_StrictModel):
    """Where to send the webhook with the outcome."""

    url: Annotated[str, Field(min_length=1, max_length=2_000)]


class To(_StrictModel):
    """A destination, spelled out."""

    surface: Name
    channel: Name | None = None
    thread: Name | None = None
    user: Name | None = None


class SubmittedOrigin(_StrictModel):
    """The place from which the agent asks. Its token says who it is."""

    project: _Place | None = None
    folder: _Place | None = None
    session: _Place | None = None


class SubmittedFile(_StrictModel):
    """A file: the id of an uploaded one, or a small one itself."""

    id: Annotated[Name | None, Field(description="The id that `POST /v1/files` has returned.")] = (
        None
    )
    name: Annotated[
        Name | None, Field(description="The name of a file that stands here itself.")
    ] = None
    media_type: Annotated[
        Name | None,
        Field(description="Ignored: the bytes decide what is shown as a picture."),
    ] = None
    data: Annotated[
        str | None,
        Field(description="Its bytes as base64, of all such files together at most 128 KiB."),
    ] = None
    alt: Annotated[
        str | None,
        Field(max_length=MAX_ALT, description="What stands for it where it is not seen."),
    ] = None
    folder: Annotated[
        bool,
        Field(
            description="Whether it was found in the agent's folder because a text names it: it is left out where "
            "anyone may answer."
        ),
    ] = False

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        sent = (self.name, self.data)
        if (self.id is None) == (None in sent) or (self.id is not None and any(sent)):
            raise ValueError("a file has either an id, or a name and data")
        return self


class Submission(_StrictModel):
    """The body of ``POST /v1/asks``."""

    name: Annotated[Name, Field(description="The tool's name, as the model called it.")]
    arguments: Annotated[
        dict[str, SkipValidation[JsonValue]],  # whatever was parsed as JSON
        Field(description="The tool call's arguments, in any dialect."),
    ]
    dialect: Annotated[
        Name | None, Field(description="Overrides the dialect that name and shape choose.")
    ] = None
    to: Annotated[
        Name | To | None,
        Field(
            description="A route, surface:channel[/thread], surface:@user, web, owner (the person whose agent it is), "
            "or a place as an object."
        ),
    ] = None
    responders: Annotated[
        Responders | None,
        Field(description='User ids, "@id" for a group or role, or "anyone": who may act.'),
    ] = None
    callback: Callback | None = None
    conversation: Name | None = None
    turn: Name | None = None
    tool_call_id: Name | None = None
    expires_in: Annotated[_Seconds | None, Field(description="Seconds until the ask expires.")] = (
        None
    )
    on_expiry: Literal["cancel", "defaults"] | None = None
    remind_after: Annotated[
        tuple[_Seconds, ...] | None,
        Field(max_length=20, description="Seconds until each reminder."),
    ] = None
    context_format: Annotated[
        ContextFormat | None,
        Field(description="How contexts are shown: as Markdown (the default), or as plain text."),
    ] = None
    mode: Annotated[
        Literal["wait", "async"] | None,
        Field(
            description="async: nothing waits for the answer. `interim_result` explains this to the model, and the "
            "answer arrives late."
        ),
    ] = None
    accepts: Annotated[
        tuple[Literal["clarify"], ...],
        Field(
            max_length=1,
            description="clarify: people may ask the agent to explain; it receives their question as `clarify`.",
        ),
    ] = ()
    confirmations: Annotated[
        int | None,
        Field(
            strict=True,
            ge=1,
            description="How many other people have to confirm the answers, if that is more than the route asks for.",
        ),
    ] = None
    join: Annotated[
        Name | None,
        Field(
            description="A name for the caller. The same call again joins its ask if nobody waits for that, or if its "
            "answer was not delivered: in the same conversation or, without one, by this caller within ten minutes."
        ),
    ] = None
    urgency: Annotated[
        Urgency | None,
        Field(
            description="What is most urgent comes first in people's lists. A route may have a default, and a limit "
            "to which a higher one is lowered. It changes nothing else."
        ),
    ] = None
    takes_edited: Annotated[
        bool,
        Field(
            strict=True,
            description="Whether the caller makes an approved call with other arguments if people have changed it.",
        ),
    ] = False
    leased: Annotated[bool, Field(description="Whether an approval ends with its caller.")] = False
    origin: Annotated[
        SubmittedOrigin, Field(description="The agent's project, its folder and its session.")
    ] = SubmittedOrigin()
    files: Annotated[
        tuple[SubmittedFile, ...],
        Field(
            max_length=MAX_FILES,
            description="Files to show with it, at most 20 MiB. Markdown contexts and previews place a picture with "
            "`![Before](file:before.png)`; the others follow the context.",
        ),
    ] = ()
    metadata: Annotated[dict[str, JsonValue], AfterValidator(_require_encodable)] = {}
    _written: dict[str, JsonValue] | None = None

    @model_validator(mode="wrap")
    @classmethod
    def _note_numbers(cls, body: object, validate: ModelWrapValidatorHandler[Self]) -> Self:
        arguments = body.get("arguments") if isinstance(body, dict) else None
        if not isinstance(arguments, dict) or not strict_json.has_rewritten_numbers(arguments):
            return validate(body)
        submission = validate({**body, "arguments": _PLAIN_JSON.validate_python(arguments)})  # type: ignore[dict-item]
        submission._written = arguments
        return submission

    @property
    def is_rewritten(self) -> bool:
        """True if the arguments hold a number that the host wrote otherwise, so that other calls look like this one."""
        return self._written is not None

    @property
    def written_arguments(self) -> dict[str, JsonValue]:
        """The arguments, with numbers that know how the host wrote them."""
        return self.arguments if self._written is None else self._written


class ConfirmationTable(_StrictModel):
    """The number of other people who have to confirm the answers, and who may; without a list, the responders."""

    count: Annotated[int, Field(strict=True, ge=1, le=MAX_CONFIRMATIONS)] = 1
    confirmers: Annotated[tuple[Name, ...] | None, Field(alias="from", min_length=1)] = None


def _read_count(value: object) -> object:
    return value if isinstance(value, dict | ConfirmationTable) else {"count": value}


RouteConfirmations = Annotated[ConfirmationTable, BeforeValidator(_read_count)]
"""``confirmations = 1``, or ``{ count = 1, from = ["@S9LEADS"] }``."""


class RouteEscalation(_StrictModel):
    """``[routes.<name>.escalate]``: what happens if nobody has answered after ``after`` seconds."""

    after: _Seconds
    to: str | To | None = None
    responders: Responders = ()


class Route(_StrictModel):
    """``[routes.<name>]``: a named destination with its own rules."""

    to: str | To
    responders: Annotated[tuple[Name, ...], Field(min_length=1)] | Literal["anyone"] | None = None
    """Who may act there; a call may name some of them, but nobody else."""
    responders_from_call: bool = True
    """True if a call may name the responders."""
    mention: bool = False
    """True if the first post notifies the responders."""
    remind_after: tuple[_Seconds, ...] = ()
    push_after: _Seconds = 10.0
    expires_in: _Seconds | None = None
    on_expiry: Literal["cancel", "defaults"] = "cancel"
    context_format: ContextFormat = "markdown"
    escalate: RouteEscalation | None = None
    confirmations: RouteConfirmations | None = None
    """The number of other people who have to confirm the answers, and who may."""
    requester: Literal["may_confirm"] | None = None
    """True if the person on whose behalf the agent asks may confirm."""
    grants: GrantRule | None = None
    edit: bool = False
    """True if people may change a call before they allow it."""
    urgency: Urgency = Urgency.NORMAL
    """The urgency of an ask whose call says none."""
    max_urgency: Urgency = Urgency.HIGH
    """The highest urgency; a call that says a higher one gets this."""
    mark: RouteMark | None = None

    @model_validator(mode="after")
    def _check_urgency(self) -> Self:
        if PLACES[self.urgency] < PLACES[self.max_urgency]:
            raise ValueError(
                f"urgency {self.urgency.value} is more than max_urgency {self.max_urgency.value} allows"
            )
        return self

    @model_validator(mode="after")
    def _check_who_edits(self) -> Self:
        escalated = self.escalate.responders if self.escalate else ()
        if self.edit and any(ANYONE in names for names in (self.responders or (), escalated)):
            raise ValueError(
                "edit = true needs named responders: where anyone may answer, nobody may change what is allowed"
            )
        return self


@dataclass(slots=True)
class Routes:
    """All routes, and the default (a route's name or a destination) for asks that name none. They can be reloaded."""

    default: str = DEFAULT_SURFACE
    by_name: Mapping[str, Route] = field(default_factory=dict)
    people: People = NOBODY_KNOWN


NO_ROUTES: Final = Routes()


def normalize_responders(
    responders: tuple[str, ...] | Literal["anyone"] | None, surface: str, people: People
) -> tuple[str, ...] | None:
    """Return the responders as the surface knows them: ``web:alice`` is ``alice`` there, ``person:ann`` her ids."""
    if responders == ANYONE:
        return (ANYONE,)
    if responders is None:
        return None
    prefix = f"{surface}:"
    names: dict[str, None] = {}
    for name in responders:
        person = name.removeprefix(PERSON_PREFIX)
        is_person = person != name
        ids = people.ids_on(person, surface) if is_person else (name.removeprefix(prefix),)
        names.update(dict.fromkeys(ids))
    return tuple(names)


@dataclass(frozen=True, slots=True)
class Agent:
    """A caller of the API that submits or acts: a token's name, what it may do and where it may ask."""

    name: str
    token_hash: str = ""
    """The hash of the token that it called with."""
    role: Literal["agent", "surface"] = "agent"
    routes: tuple[str, ...] = ()
    """The names of the routes that it may use; empty: every route and destination."""
    label: str | None = None
    """The name of the asker that people see; None: the token's name."""
    owner: str | None = None
    """The person in the directory on whose behalf it asks."""

    limits: AskLimits = NO_LIMITS
    """The limits of what it asks."""

    @property
    def display_name(self) -> str:
        """The name of the asker that people see."""
        return self.label or self.name


def name_of(agent: Agent | None) -> str:
    """Return the name under which an agent's files, keys and limits are kept; empty if there are no tokens."""
    return agent.name if agent else ""


def read_submission(body: JsonValue) -> Submission:
    """Validate a JSON body as a submission, with the call as OpenAI or Anthropic writes it, too.

    Raises:
        InvalidCallError: with every error in the body.
    """
    body = _with_arguments(body)
    if (too_many := find_size_problem(body, free=("arguments", "metadata"))) is not None:
        raise InvalidCallError(_tool_name(body), [too_many])
    try:
        return Submission.model_validate(body)
    except ValidationError as error:
        belongs = (
            '; the arguments of the tool call belong in "arguments"'  # what is unknown often does
        )
        fields = Submission.model_fields
        problems = problems_of(error, lambda name: did_you_mean(name, fields) or belongs)
        raise InvalidCallError(_tool_name(body), problems) from None


def without_files(body: JsonValue) -> JsonValue:
    """Return a body without its files: the same file may have been uploaded again, and then has another id."""
    if not isinstance(body, dict) or "files" not in body:
        return body
    return {key: each for key, each in body.items() if key != "files"}


def _with_arguments(body: JsonValue) -> JsonValue:
    """Return a body with the call's arguments as an object: OpenAI sends them as JSON in a text, Anthropic as input."""
    if not isinstance(body, dict):
        return body
    if "arguments" not in body and isinstance(body.get("input"), dict):
        return {"arguments" if key == "input" else key: each for key, each in body.items()}
    sent = body.get("arguments")
    if isinstance(sent, str):
        with suppress(strict_json.NotJsonError):
            parsed = strict_json.parse(sent)
            return {**body, "arguments": parsed} if isinstance(parsed, dict) else body
    return body


def _tool_name(body: JsonValue) -> str:
    name = body.get("name") if isinstance(body, dict) else None
    return name[:100] if isinstance(name, str) and strict_json.is_encodable(name) else "ask"
