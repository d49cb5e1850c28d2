"""The messages of the Agent Client Protocol that the proxy reads, and those that it writes.

Versions 1 and 2: https://agentclientprotocol.com/protocol/v1/overview. One JSON-RPC message a line.
"""

from __future__ import annotations

import json
from typing import Any, Final

from answerback.agents.command_hooks.agent_host import (
    AskOutcome,
    Call,
    Json,
    first_text,
    is_turn_ended,
)

PERMISSION: Final = "session/request_permission"
ELICITATION: Final = "elicitation/create"
CANCEL_SESSION: Final = "session/cancel"
CANCEL_REQUEST: Final = "$/cancel_request"
ALL_MODES: Final = frozenset({"form", "url"})
"""The elicitations that people answer here."""
_CAPABILITIES: Final = ("clientCapabilities", "capabilities")
"""Where a client says what it can do: in version 1, and from version 2 on."""
_DECISIONS: Final = frozenset({"answered", "cancelled", "turn_ended"})


def parse_message(line: bytes) -> Json:
    """The message of a line; empty for a line that is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def params(message: Json) -> Json:
    """What a message comes with; empty where that is no object."""
    found = message.get("params")
    return found if isinstance(found, dict) else {}


def id_key(request_id: object) -> str:
    """An id to compare with: 1, "1" and true are three."""
    return json.dumps(request_id)


def asks_people(message: Json) -> bool:
    """Whether a message from the agent is a request that a person answers."""
    return message.get("method") in (PERMISSION, ELICITATION) and "id" in message


def announce_elicitation(initialize: Json) -> frozenset[str] | None:
    """The modes in which the editor itself elicits, once all are announced to the agent; None where they were."""
    given = initialize["params"] = params(initialize)
    version = given.get("protocolVersion")
    places = [place for place in _CAPABILITIES if isinstance(given.get(place), dict)] or [
        _CAPABILITIES[isinstance(version, int) and version > 1]
    ]
    taken: set[str] = set()
    is_changed = False
    for place in places:
        capabilities = given.get(place) or {}
        announced = capabilities.get("elicitation")
        announced = announced if isinstance(announced, dict) else {}
        taken |= {mode for mode in ALL_MODES if isinstance(announced.get(mode), dict)}
        missing: Json = {mode: {} for mode in sorted(ALL_MODES - taken)}
        is_changed = is_changed or bool(missing)
        given[place] = {**capabilities, "elicitation": {**announced, **missing}}
    return frozenset(taken) if is_changed else None


def is_for_editor(request: Json, elicits: frozenset[str]) -> bool:
    """Whether the editor knows what to do with a request of the agent."""
    mode = params(request).get("mode", "form")
    return request["method"] == PERMISSION or mode not in ALL_MODES - elicits


def call_from_request(request: Json, known: Json) -> Call:
    """What a request puts to people, with what is known of its tool call from earlier messages."""
    given = params(request)
    tool_call = tool_call_of(given)
    if request["method"] == ELICITATION:
        schema = given.get("requestedSchema")
        # Its type may be left out: https://agentclientprotocol.com/protocol/v1/schema
        if isinstance(schema, dict):
            given = {**given, "requestedSchema": {"type": "object", **schema}}
    elif tool_call:
        given = _with_tool_call(given, {**known, **_told(tool_call)})
    return Call(
        name=request["method"],
        arguments=given,
        conversation=first_text(given, "sessionId"),
        tool_call_id=first_text(tool_call, "toolCallId") or first_text(given, "toolCallId"),
        is_permission=request["method"] == PERMISSION,
    )


def tool_call_of(given: Json) -> Json:
    """The tool call that a permission is asked for."""
    subject = given.get("subject")
    found = given.get("toolCall") or (isinstance(subject, dict) and subject.get("toolCall"))
    return found if isinstance(found, dict) else {}


def _with_tool_call(given: Json, tool_call: Json) -> Json:
    if given.get("toolCall"):
        return {**given, "toolCall": tool_call}
    return {**given, "subject": {**given["subject"], "toolCall": tool_call}}


def parse_tool_call_update(message: Json) -> tuple[str, Json, bool] | None:
    """What a notification tells of a tool call: which one, the fields it changes, and whether the call is over."""
    given = params(message)
    update = given.get("update")
    if message.get("method") != "session/update" or not isinstance(update, dict):
        return None
    if update.get("sessionUpdate") not in ("tool_call", "tool_call_update"):
        return None
    is_over = update.get("status") in ("completed", "failed", "cancelled")
    fields = {name: value for name, value in _told(update).items() if name != "sessionUpdate"}
    return tool_call_key(given, update), fields, is_over


def tool_call_key(given: Json, tool_call: Json) -> str:
    """A tool call of a session."""
    return id_key([given.get("sessionId"), tool_call.get("toolCallId")])


def _told(tool_call: Json) -> Json:
    """The fields of a tool call that say something: one that is null is left as it was."""
    return {name: value for name, value in tool_call.items() if value is not None}


def is_decided(outcome: AskOutcome) -> bool:
    """Whether people made an end of an ask: expiry and failure leave it to the editor."""
    return outcome.ask is not None and outcome.ask["status"] in _DECISIONS


def result_of(method: str, outcome: AskOutcome) -> Json:
    """What the agent is answered."""
    found = outcome.ask and outcome.ask["tool_result"]
    if is_turn_ended(outcome) or not found or found["is_error"]:
        return cancelled_result(method)
    result: Json = found["structured"]
    return result


def cancelled_result(method: str) -> Json:
    """The result of a request that nobody decides any more."""
    if method == ELICITATION:
        return {"action": "cancel"}
    return {"outcome": {"outcome": "cancelled"}}


def encode_response(request_id: object, result: Json) -> bytes:
    """A line with the result of a request."""
    return encode_message({"id": request_id, "result": result})


def encode_notification(method: str, **given: Any) -> bytes:
    """A line that asks for no response."""
    return encode_message({"method": method, "params": given})


def encode_message(message: Json) -> bytes:
    """A message as a line."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
