"""The messages of the Agent Client Protocol that the proxy reads and writes.

Versions 1 and 2: https://agentclientprotocol.com/protocol/v1/overview. One JSON-RPC message per line.
"""

from __future__ import annotations

from typing import Final

from answerback_agents.acp import host_calls
from answerback_agents.acp.image_blocks import picture_blocks, take_pictures
from answerback_agents.acp.tool_calls import merge
from answerback_agents.pipe.ask_people import AgentFile, AskOutcome, Call
from answerback_agents.pipe.json_rpc import Json, as_object, id_key, params, without_nulls
from answerback_agents.pipe.saved_files import describe_files, files_of
from answerback_base.file_text import describe_files_with
from answerback_base.note_text import describe_note

PERMISSION: Final = "session/request_permission"
ELICITATION: Final = "elicitation/create"
CANCEL_SESSION: Final = "session/cancel"
CANCEL_REQUEST: Final = "$/cancel_request"
ALL_MODES: Final = frozenset({"form", "url"})
"""The elicitation modes that people can answer through Answerback."""
_CAPABILITIES: Final = ("clientCapabilities", "capabilities")
"""The key of a client's capabilities: in version 1, and from version 2 on."""
_DIALECTS: Final = {PERMISSION: "approval", ELICITATION: "elicitation"}


def new_session(response: Json) -> object:
    """The id of the session that was created, according to the response to its request; None for another response."""
    return as_object(response.get("result")).get("sessionId")


def agent_name(response: Json) -> str | None:
    """The name of the agent's program, according to the response to ``initialize``; None for another response."""
    result = as_object(response.get("result"))
    if "protocolVersion" not in result:
        return None
    # In version 1, and from version 2 on.
    about = as_object(result.get("agentInfo") or result.get("info"))
    return _text(about.get("name"))


def asks_people(message: Json) -> bool:
    """Return True if a message from the agent is a request for a person to answer."""
    return message.get("method") in (PERMISSION, ELICITATION) and "id" in message


def announce_elicitation(initialize: Json) -> frozenset[str] | None:
    """Announce all elicitation modes to the agent, and return the modes that the editor itself supports.

    None if the editor announces all modes already: `initialize` is then unchanged.
    """
    request_params = initialize["params"] = params(initialize)
    version = request_params.get("protocolVersion")
    places = [place for place in _CAPABILITIES if isinstance(request_params.get(place), dict)] or [
        _CAPABILITIES[isinstance(version, int) and version > 1]
    ]
    supported: set[str] = set()
    is_changed = False
    for place in places:
        capabilities = as_object(request_params.get(place))
        announced = as_object(capabilities.get("elicitation"))
        supported |= {mode for mode in ALL_MODES if isinstance(announced.get(mode), dict)}
        missing: Json = {mode: {} for mode in sorted(ALL_MODES - supported)}
        is_changed = is_changed or bool(missing)
        request_params[place] = {**capabilities, "elicitation": {**announced, **missing}}
    return frozenset(supported) if is_changed else None


def is_for_editor(request: Json, elicits: frozenset[str]) -> bool:
    """Return True if the editor can handle a request from the agent."""
    mode = params(request).get("mode", "form")
    return request["method"] == PERMISSION or mode not in [*(ALL_MODES - elicits)]


def call_from_request(request: Json, known: Json) -> Call:
    """Convert a request to a call for people, with what earlier messages said about its tool call."""
    request_params = params(request)
    tool_call = tool_call_of(request_params)
    files: tuple[AgentFile, ...] = ()
    if request["method"] == PERMISSION and tool_call:
        merged, files = take_pictures(merge(known, without_nulls(tool_call)))
        request_params = _with_tool_call(request_params, host_calls.complete(merged))
    return Call(
        name=request["method"],
        dialect=host_calls.question_dialect(tool_call) or _DIALECTS[request["method"]],
        arguments=request_params,
        conversation=_text(request_params.get("sessionId")),
        tool_call_id=_text(tool_call.get("toolCallId")) or _text(request_params.get("toolCallId")),
        files=files,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def tool_call_of(request_params: Json) -> Json:
    """The tool call that a permission request is about."""
    subject = as_object(request_params.get("subject"))
    return as_object(request_params.get("toolCall") or subject.get("toolCall"))


def says_what(tool_call: Json) -> bool:
    """Return True if a tool call holds more than its name."""
    return bool(tool_call.get("rawInput") or tool_call.get("content"))


def _with_tool_call(request_params: Json, tool_call: Json) -> Json:
    if request_params.get("toolCall"):
        return {**request_params, "toolCall": tool_call}
    return {**request_params, "subject": {**request_params["subject"], "toolCall": tool_call}}


def parse_tool_call_update(message: Json) -> tuple[str, Json, bool] | None:
    """Parse a notification about a tool call: its key, the fields that changed, and whether the call is over."""
    request_params = params(message)
    update = request_params.get("update")
    if message.get("method") != "session/update" or not isinstance(update, dict):
        return None
    if update.get("sessionUpdate") not in ("tool_call", "tool_call_update"):
        return None
    is_over = update.get("status") in ("completed", "failed", "cancelled")
    fields = without_nulls({**update, "sessionUpdate": None})  # a null: it has not changed
    return tool_call_key(request_params, update), fields, is_over


def tool_call_key(request_params: Json, tool_call: Json) -> str:
    """The key of a tool call within its session."""
    return id_key([request_params.get("sessionId"), tool_call.get("toolCallId")])


def result_of(method: str, outcome: AskOutcome) -> Json:
    structured = outcome.structured if outcome.is_decided else None
    return cancelled_result(method) if structured is None else structured


def cancelled_result(method: str) -> Json:
    if method == ELICITATION:
        return {"action": "cancel"}
    return {"outcome": {"outcome": "cancelled"}}


def takes_pictures(response: Json) -> bool | None:
    """Return whether prompts may have pictures, according to the response to ``initialize``; None for another one.

    https://agentclientprotocol.com/protocol/initialization#prompt-capabilities
    """
    result = as_object(response.get("result"))
    if "protocolVersion" not in result:
        return None
    # In version 1, and from version 2 on.
    about = as_object(result.get("agentCapabilities") or result.get("capabilities"))
    return bool(as_object(about.get("promptCapabilities")).get("image"))


def reply_of(outcome: AskOutcome, *, takes_pictures: bool) -> list[Json]:
    """Return a person's message and files, for which the result of a request has no place, as blocks of a prompt.

    Args:
        takes_pictures: whether the agent's prompts may have pictures; else it reads where they are saved, as always.
    """
    ask = outcome.ask or {}
    said, headline = _words_of(ask), str(ask.get("headline"))
    sent = files_of(ask)
    if files := describe_files(sent):
        said = describe_files_with(headline, files) if said is None else f"{said}\n{files}"
    if said is None:
        return []
    return [{"type": "text", "text": said}, *(picture_blocks(sent) if takes_pictures else ())]


def _words_of(ask: Json) -> str | None:
    headline = str(ask.get("headline"))
    if isinstance(note := ask.get("note"), str) and note:
        return describe_note(headline, note)
    reply = ask.get("reply")
    if ask.get("status") != "cancelled" or not isinstance(reply, str) or not reply:
        return None
    return f'The user was asked "{headline}" and replied: {reply}'


def add_replies(prompt: Json, replies: list[Json]) -> Json:
    """Add what people said and sent earlier to a prompt, as its first blocks."""
    request_params = params(prompt)
    sent = request_params.get("prompt")
    return {
        **prompt,
        "params": {
            **request_params,
            "prompt": [*replies, *(sent if isinstance(sent, list) else [])],
        },
    }
