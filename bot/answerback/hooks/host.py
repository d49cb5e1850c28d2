"""The interface between the hooks' endpoint and an agent's host: its calls, and its answers. Pure."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from answerback.core.ask import Ask, Status
from answerback.core.editing import written_edit
from answerback.core.secrecy import is_unconfirmed
from answerback.core.walker import Source
from answerback.dialects.approvals.decision_note import decision_note
from answerback.dialects.registry import render_result
from answerback.service.late_answer_text import with_files
from answerback_agents.pipe.host_answers import output
from answerback_base import json_edits, strict_json

Json = dict[str, Any]

MCP_SERVER_NAME: Final = "answerback"
"""The name that `answerback connect` gives our MCP server."""
_MAX_NAME: Final = 100
"""Characters of a subagent's name."""
_PERMISSION_FIELDS: Final = (
    "tool_name",
    "tool_input",
    "permission_suggestions",
    "mcp_server",
    "cwd",
)
NOT_ALLOWED: Final = "The user did not allow this use of the tool."
_NO_PERSON: Final = {
    Source.DEFAULT: "No person answered in time, so the defaults were taken",
    Source.CONFIG: "No person answered: the answer is set in Answerback's configuration",
}


class Call(NamedTuple):
    """A call that people are asked about, with the fields of the API."""

    name: str
    arguments: Json
    dialect: str
    conversation: str | None
    turn: str | None = None
    tool_call_id: str | None = None
    is_permission: bool = False
    """True if the host waits for permission to continue: once it stops waiting, an answer no longer counts."""
    metadata: Json = {}  # noqa: RUF012 - never changed
    takes_edited: bool = False
    """True if the host makes the call with other arguments if people have changed it."""
    answers: Json | None = None
    """Answers that the call already contains: a person's if the same hook got them for the same questions."""

    @property
    def key(self) -> str | None:
        """The same for the same call, so that a hook that runs again finds its ask; None: the host sends no id.

        It has the arguments, because another call of a session may have the same id, if a model numbers its calls anew.
        """
        if not self.conversation or not self.tool_call_id:
            return None
        digest = strict_json.digest_of(self.arguments)
        return f"{self.conversation}:{self.tool_call_id}:{digest}"


class Outcome(NamedTuple):
    """The ask once it has ended; or None, with the reason in words for the model."""

    ask: Ask | None
    reason: str = ""
    was_asked: bool = True
    """False if there was no ask: the host may then still ask its own user."""

    @property
    def is_turn_ended(self) -> bool:
        return self.ask is not None and self.ask.status is Status.TURN_ENDED

    @property
    def is_answered(self) -> bool:
        """True if people answered the ask or had granted it, rather than a deadline, the configuration or a machine."""
        ended = self.ask.outcome if self.ask else None
        return (
            ended is not None
            and ended.source in {Source.HUMAN, Source.GRANT}
            and ended.status is Status.ANSWERED
        )

    @property
    def structured(self) -> Json | None:
        """The tool result for the host; None if there is none, or if it holds an answer that no person gave."""
        ask = self.ask
        if ask is None or (ask.status is Status.ANSWERED and not self.is_answered):
            return None
        result = render_result(ask)
        structured = None if result is None or result.is_error else result.structured
        return structured if isinstance(structured, dict) else None

    @property
    def edited(self) -> str | None:
        """The arguments that a person allowed in place of the call's, as JSON; None: those of the call."""
        return None if self.ask is None or not self.is_answered else written_edit(self.ask)

    @property
    def description(self) -> str:
        """A sentence that says how the ask ended, for a model whose host only takes words."""
        ask = self.ask
        return self.reason if ask is None else with_files(ask, self._described(ask))

    @property
    def files(self) -> str | None:
        """The lines in which the model reads of the files that people sent; None if there are none."""
        return None if self.ask is None else with_files(self.ask, "").lstrip() or None

    def _described(self, ask: Ask) -> str:
        result = render_result(ask)
        content = result.content if result else ""
        match ask.status:
            case Status.ANSWERED if self.is_answered:
                return f"The user answered: {content}"
            case Status.ANSWERED:
                source = ask.outcome.source if ask.outcome else None
                why = _NO_PERSON.get(source or Source.INQUIRY, "No person answered, but a machine")
                return f"{why}: {content}"
            case Status.TURN_ENDED:
                return "The user ended the turn. Stop now, and do not call any more tools."
            case _ if is_unconfirmed(ask):
                said = f" The user replied: {ask.walk.reply}" if ask.walk.reply else ""
                return (
                    f"There is no answer: the answers were not confirmed. Do not assume one.{said}"
                )
            case Status.CANCELLED if ask.walk.reply:
                return f"The user did not choose an answer, and replied: {ask.walk.reply}"
            case Status.CANCELLED:
                return "The user declined to answer these questions."
            case Status.EXPIRED:
                return "There is no answer: the questions were not answered in time. Do not assume one."
            case Status.WITHDRAWN:
                return "There is no answer: the questions were withdrawn. Do not assume one."
            case _:
                return content

    @property
    def denial_reason(self) -> str | None:
        """Why the model may not use a tool; None if people allow it."""
        result = self.structured or {}
        decision = result.get("hookSpecificOutput", {}).get("decision", result)
        if self.is_answered and decision.get("behavior") == "allow":
            return None
        ask = self.ask
        if ask is not None and self.is_answered and (note := decision_note(ask)):
            return with_files(ask, f"{NOT_ALLOWED} They said: {note}")
        is_plain = ask is not None and ask.status is Status.CANCELLED and not ask.walk.reply
        if ask is not None and (self.is_answered or is_plain):
            return with_files(ask, NOT_ALLOWED)
        message = decision.get("message")
        return with_files(ask, message) if ask is not None and message else self.description


@dataclass(frozen=True, slots=True)
class Echo:
    """An object of an event, to be sent back by the bytes received: printing it again could change numbers."""

    name: str
    """The event's field."""
    more: Json = field(default_factory=dict)
    """Members to add."""
    edited: str | None = None
    """The arguments as a person has changed them, as JSON: only their changes are taken from this. None: no change."""

    def text(self, event: str) -> str:
        """Return the object as JSON; an empty one if the event has none."""
        sent = strict_json.members(event).get(self.name, "")
        if self.edited is not None:
            return json_edits.merge(sent or "{}", self.edited)
        members = strict_json.members(sent) if sent.startswith("{") else {}
        added = {key: json.dumps(value) for key, value in self.more.items()}
        if members and not added:
            return sent
        every = {json.dumps(key): value for key, value in {**members, **added}.items()}
        return f"{{{','.join(f'{key}:{value}' for key, value in every.items())}}}"


def encode_answer(answer: Json, event: bytes) -> str:
    """Encode a host's answer to an event as JSON, with what it echoes of the event."""
    echoes: dict[str, Echo] = {}

    def stand_in(value: object) -> str:
        assert isinstance(value, Echo)
        echoes[key := secrets.token_hex(16)] = value
        return key

    text = json.dumps(answer, default=stand_in)
    for key, echo in echoes.items():
        text = text.replace(f'"{key}"', echo.text(event.decode()))
    return text


class Host(NamedTuple):
    """The program that an agent runs in, and how its hooks ask and are answered."""

    name: str
    call: Callable[[Json], Call | None]
    """Converts an event to a call for people; None for an event that asks nothing."""
    answer: Callable[[Json, Outcome], Json]
    """Converts an outcome to the host's answer, which may hold an `Echo`."""
    conversation: Callable[[Json], str | None]
    """The conversation whose late answers can be delivered in the answer to an event; None: the event takes none."""
    tell_model: Callable[[Json, str], Json] = lambda event, text: output(
        event, {"additionalContext": text}
    )
    """Converts words for the model to the host's answer: context, in the shape of most hosts."""
    moved_on: Callable[[Json], Callable[[Json], bool] | None] = lambda _event: None
    """Returns for an event which permission prompts of its session no longer wait, by the arguments of their calls;
    None: it does not say. A host may show its own window at the same time, and not stop its hook if that is faster."""
    immediate_answer: Callable[[Json], Json | None] = lambda _event: None
    """The host's answer if nobody needs to be asked, as with our own MCP tools, which ask people themselves."""


def text_in(event: Json, key: str) -> str | None:
    """A field, if it is a non-empty string."""
    value = event.get(key)
    return value if isinstance(value, str) and value else None


def parse_arguments(value: object) -> Json:
    """Parse a tool's arguments, which some hosts send as strict JSON in a string; what is no object stays whole."""
    parsed = value
    if isinstance(value, str):
        with suppress(strict_json.NotJsonError):
            parsed = strict_json.parse(value)
    if parsed is None:
        return {}
    return parsed if isinstance(parsed, dict) else {"input": value}


def origin(event: Json, **more: str | None) -> Json:
    """The metadata of an event's ask."""
    subagent = text_in(event, "agent_type")
    found = {**more, "cwd": text_in(event, "cwd"), "subagent": subagent and subagent[:_MAX_NAME]}
    return {key: value for key, value in found.items() if value is not None}


def question_call(event: Json, tool: str, dialect: str) -> Call | None:
    """Convert an event before a call of the host's tool that asks its user; None for another event."""
    if event.get("hook_event_name") != "PreToolUse" or event.get("tool_name") != tool:
        return None
    return Call(
        name=tool,
        arguments=parse_arguments(event.get("tool_input")),
        dialect=dialect,
        conversation=text_in(event, "session_id"),
        turn=text_in(event, "turn_id"),
        tool_call_id=text_in(event, "tool_use_id"),
        metadata=origin(event),
    )


def permission_call(event: Json, via: str | None = None, *, takes_edited: bool = False) -> Call:
    """Convert a permission prompt, in the shape that most hosts share."""
    return Call(
        name="PermissionRequest",
        arguments={key: event[key] for key in _PERMISSION_FIELDS if event.get(key) is not None},
        dialect="approval",
        conversation=text_in(event, "session_id"),
        turn=text_in(event, "turn_id"),
        is_permission=True,
        metadata=origin(event, via=via),
        takes_edited=takes_edited,
    )


def session_of(*names: str) -> Callable[[Json], str | None]:
    """Return a function for the session of an event with one of these names, whose answer may add context."""
    return lambda event: (
        text_in(event, "session_id") if text_in(event, "hook_event_name") in names else None
    )
