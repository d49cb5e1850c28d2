"""Approval requests of agents that speak the Agent Client Protocol, in its versions 1 and 2.

Format: https://agentclientprotocol.com/protocol/tool-calls#requesting-permission. Agents say what they want to do in
different places: as ``rawInput``, as JSON or Markdown in text blocks, as diffs, or in the title alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pydantic import JsonValue

from answerback.core.form import Option
from answerback.core.option_labels import tell_apart
from answerback.dialects.approvals.approval_request import (
    DECISION,
    AnswersById,
    ApprovalRequest,
    Json,
    Variant,
    others,
    read_options,
    read_tool_name,
    together,
)
from answerback.dialects.approvals.arguments_markdown import parse_json_arguments
from answerback.dialects.call_reader import ArgumentNode

_KIND_WORDS: Final = {
    "allow_once": "allow once",
    "allow_always": "always allow",
    "reject_once": "deny once",
    "reject_always": "always deny",
}
_IDS: Final = ("type", "toolCall", "toolCallId", "terminalId", "_meta")
_REQUEST: Final = ("sessionId", "options", "toolCall", "subject", "_meta")
_TOOL_CALL: Final = ("toolCallId", "status", "rawInput", "content", "_meta")
"""Fields of a tool call that do not describe it, and those that are shown in another place."""
_COMPARED: Final = ("title", "locations", "content")
"""Fields of a tool call that are compared with the file that it changes."""
_QUESTION_TOOLS: Final = frozenset({"askuserquestion", "ask_user_question", "ask_user", "question"})
"""Tools by which agents ask their user, where that comes as a request for permission."""
_PLAN_TOOL: Final = "exit_plan_mode"
_BARE_NAME: Final = re.compile(r"[\w./:-]+")
_IN_PARTICULAR: Final = re.compile(r"[^\w\s-]|\d")
"""The sign that a title says more than the name of a tool: a path, an argument or a number."""
_PLACE: Final = frozenset({"cwd", "workdir", "timeout"})
"""Arguments that say where or how long something runs, and not what."""


class _Content(NamedTuple):
    """The parts of a tool call's content."""

    arguments: JsonValue
    """The call's arguments, with those that a text block holds as JSON."""
    texts: list[str]
    """The other texts, which are Markdown."""
    rest: list[JsonValue]
    """Diffs, terminals and so on."""


def _read(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    offered = read_options(call, "optionId", "name")
    subject = call.at("subject")
    tool_call = subject.at("toolCall") if subject.has("toolCall") else call.at("toolCall")
    keys = ("name", "title", "kind", "toolCallId")
    names = [(tool_call, key) for key in keys if tool_call.has(key)]
    tool = read_tool_name(*names, (call, "title"))
    own = others(subject, *_IDS)  # of version 2, which is not a tool call but, say, a command
    content = _read_content(tool_call)
    if _is_plan(tool_call, content.arguments):
        tool = _PLAN_TOOL
    said = [*_sentences(call), *_sentences(tool_call)]
    title = said[0] if said else None
    name = () if title else ("name",)
    notes = together(
        others(call, *_REQUEST, *_sentences(call).values()),
        toolCall={
            **others(tool_call, *_TOOL_CALL, *name, *_sentences(tool_call).values()),
            **({"content": content.rest} if content.rest else {}),
        },
    )
    if tool.casefold() in _QUESTION_TOOLS and content.texts:
        yield _question(tool, content, notes, [option for option, _ in offered])
        return
    request = ApprovalRequest(
        tool=tool,
        arguments=own or content.arguments,
        compared=(
            *(subject.at(key) for key in own),
            *(tool_call.at(key) for key in (*_COMPARED, "rawInput") if not own),
        ),
        acp_kind="execute" if subject.has("command") else tool_call.at("kind").value,
        notes=notes,
        options=tuple(_with_kinds(offered)),
        title=title,
        said=tuple(said[1:]),
        texts=tuple(content.texts),
        takes_note=True,  # the proxy puts it before the next prompt
    )
    yield replace(request, nothing_known=not _says_something(request))


def _is_plan(tool_call: ArgumentNode, arguments: JsonValue) -> bool:
    """Return True if a tool call presents a plan, whatever it is called."""
    plan = arguments.get("plan") if isinstance(arguments, dict) else None
    return tool_call.at("kind").value == "switch_mode" and isinstance(plan, str)


def _read_content(tool_call: ArgumentNode) -> _Content:
    """Read the content, and the arguments as far as they are known."""
    arguments, sent = (
        parse_json_arguments(tool_call.at("rawInput").value),
        tool_call.at("content").value,
    )
    texts: list[str] = []
    rest: list[JsonValue] = []
    for block in sent if isinstance(sent, list) else [sent] if sent else []:
        text = _text_of(block)
        if text is None:
            rest.append(block)
            continue
        parsed = parse_json_arguments(text)
        if isinstance(parsed, dict) and _agree(arguments, parsed):
            arguments = {**parsed, **(arguments or {})}  # type: ignore[dict-item]  # they agree: it is an object
        elif text.strip() and text not in texts:
            texts.append(text)
    return _Content(arguments, texts, rest)


def _text_of(block: JsonValue) -> str | None:
    match block:
        case {
            "type": "content",
            "content": {"type": "text", "text": str() as text, **more},
            **others,
        }:
            return None if more or others else text
        case _:
            return None


def _agree(arguments: JsonValue, parsed: Json) -> bool:
    """Return True if an object can be the arguments, or a part of them: nothing that is known has another value in
    it."""
    if not arguments:
        return True
    known = arguments if isinstance(arguments, dict) else {"": arguments}
    return all(known.get(key, parsed[key]) == parsed[key] for key in parsed) and "" not in known


def _sentences(node: ArgumentNode) -> dict[str, str]:
    """Return the host's own words in an object, each with its field; the bare name of a tool does not count."""
    found = {key: node.at(key).value for key in ("title", "description")}
    return {
        text: key
        for key, text in found.items()
        if isinstance(text, str) and text.strip() and not _BARE_NAME.fullmatch(text)
    }


def _question(
    tool: str, content: _Content, notes: Json, options: Sequence[Option]
) -> ApprovalRequest:
    """A question to the user: its options allow nothing."""
    *before, asked = content.texts
    return ApprovalRequest(
        tool=tool,
        arguments=content.arguments,
        notes=notes,
        options=tuple(each.model_copy(update={"kind": None, "lasting": False}) for each in options),
        headline=asked,
        texts=tuple(before),
    )


def _says_something(request: ApprovalRequest) -> bool:
    """Return True if it is known what would happen, if only in part."""
    arguments = request.arguments
    if isinstance(arguments, dict):
        arguments = {key: value for key, value in arguments.items() if key not in _PLACE and value}
    places = {
        key: value for key, value in request.notes.items() if key not in {"title", "kind"} and value
    }
    title = _IN_PARTICULAR.search(request.title) if request.title else None
    return bool(arguments or places or request.said or request.texts or title)


def _with_kinds(options: Sequence[tuple[Option, JsonValue]]) -> Iterator[Option]:
    """Yield the options, saying what kind they are: those that look alike, and those that hold for good unsaid."""
    labels = [option.label for option, _ in options]
    for (option, kind), shown in zip(options, tell_apart(labels), strict=True):
        said = _KIND_WORDS.get(str(kind), "")
        unsaid = "always" in said and "always" not in option.label.casefold()
        if said and (unsaid or shown != option.label):
            yield option.model_copy(update={"label": f"{option.label} ({said})"})
        else:
            yield option


def _decision(answers: AnswersById, _arguments: Json) -> JsonValue:
    return {"outcome": {"outcome": "selected", "optionId": answers[DECISION]}}


def _no_decision(_answers: AnswersById, arguments: Json, _reason: str) -> JsonValue:
    offered: Any = arguments["options"]
    for option in offered:
        if option.get("kind") == "reject_once":
            return _decision({DECISION: option["optionId"]}, arguments)
    return {"outcome": {"outcome": "cancelled"}}


ACP: Final = Variant(_read, _decision, _no_decision)
