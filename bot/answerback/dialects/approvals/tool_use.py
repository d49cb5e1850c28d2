"""Describe the use of a tool: its headline, and the context that starts with what matters."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core import headline
from answerback.core.form import MAX_PLAN, MAX_TEXT
from answerback.core.headline import McpTool, ToolKind
from answerback.dialects.approvals.arguments_markdown import (
    Block,
    close_fences,
    inline_code,
    render_context,
)
from answerback.dialects.approvals.file_changes import (
    PATHS,
    Diff,
    add_changes,
    read_changes,
)
from answerback_base.headline_text import fit
from answerback_base.strict_json import nodes

Json = dict[str, JsonValue]

_COMMANDS: Final = ("command", "cmd", "script")
_SEVERAL_COMMANDS: Final = "commands"
_SHELLS: Final = re.compile(r"(?:.*/)?(?:ba|z|da|k)?sh")
_SHELL_RUNS: Final = re.compile(rf"{_SHELLS.pattern} -l?c ")
_SHELL_PARTS: Final = 3
"""A shell, its option, and the script."""
_DESCRIPTION: Final = "description"


class ToolUse(NamedTuple):
    """The effect of a tool's use, in one line and at length."""

    headline: str
    context: str | None
    is_plan: bool


class _Parts(NamedTuple):
    """A headline in full, what matters most, and the arguments and notes that follow it."""

    headline: str
    lead: list[Block]
    arguments: JsonValue
    notes: Json


def describe(
    tool: str,
    arguments: JsonValue,
    notes: Json,
    *,
    server: str | None = None,
    acp_kind: JsonValue = None,
    line: str | None = None,
    lead: Sequence[Block] = (),
    title: str | None = None,
    said: Sequence[str] = (),
    texts: Sequence[str] = (),
) -> ToolUse:
    """Describe the use of a tool.

    Args:
        notes: what the host says besides; it is shown after the arguments.
        server: the label of the MCP server that has the tool.
        acp_kind: what the tool does, as ACP says it.
        line: what would be allowed, where that is not the use of the tool.
        lead: what is shown first.
        title: the host's words for it, which lead: as the headline where nothing better is known, or above the rest.
        said: what else the host says of it, which follows them.
        texts: Markdown that follows what matters most, unless it stands in the arguments.
    """
    mcp = McpTool(server, tool) if server else headline.mcp_tool(tool)
    kind = ToolKind.MCP if mcp else headline.kind_of(tool, acp_kind)
    if isinstance(arguments, str) and kind in {ToolKind.SHELL, ToolKind.EDIT}:
        arguments = {"command" if kind is ToolKind.SHELL else "input": arguments}
    parts = None
    if line is None and isinstance(arguments, dict | None) and kind in _DESCRIBERS:
        parts = _DESCRIBERS[kind](kind, arguments or {}, notes)
    known = _strings(arguments)
    is_plan = kind is ToolKind.PLAN
    leading = [each for each in (title, *said) if each and not _is_in(each, known)]
    following = [each for each in texts if not _is_in(each, known)]
    if parts is None:
        line = line or (headline.call(mcp) if mcp else title or headline.use(tool, arguments))
        parts = _other(line, arguments, notes)
        leading = [each for each in leading if each != parts.headline]
    blocks = [
        *lead,
        *map(_markdown, leading),
        *parts.lead,
        *map(_markdown, following),
    ]
    most = MAX_PLAN if is_plan else MAX_TEXT
    return ToolUse(
        fit(parts.headline),
        render_context(blocks, parts.arguments or None, parts.notes or None, most=most),
        is_plan,
    )


def _markdown(text: str) -> Block:
    return Block("", close_fences(text), None)


def _strings(value: JsonValue) -> list[str]:
    """Return all texts in arguments."""
    return [each for each in nodes(value) if isinstance(each, str)]


def _is_in(text: str, known: Sequence[str]) -> bool:
    """Return True if a text stands whole in one that is shown anyway."""
    return any(text.strip() in each for each in known)


def _shell(_kind: ToolKind, fields: Json, notes: Json) -> _Parts | None:
    key = next((key for key in (*_COMMANDS, _SEVERAL_COMMANDS) if fields.get(key)), None)
    if key is None:
        return None
    sent, rest = fields[key], {**fields}
    if isinstance(sent, str):
        commands = [sent]
        del rest[key]
        line = headline.run(_unwrapped(sent))
    elif isinstance(sent, list) and all(isinstance(part, str) for part in sent):
        parts = [str(part) for part in sent]
        commands = parts if key == _SEVERAL_COMMANDS else [_command_line(parts)]
        if key == _SEVERAL_COMMANDS:
            del rest[key]
        line = headline.run("\n".join(commands))
    else:
        return None
    lead = [*(Block("", command) for command in commands), *_agents_description(rest)]
    return _Parts(line, lead, rest, notes)


def _unwrapped(command: str) -> str:
    """Return the script that a command has a shell run, or else the command."""
    if _SHELL_RUNS.match(command) is None:
        return command
    try:
        parts = shlex.split(command)
    except ValueError:
        return command
    return _command_line(parts) if len(parts) == _SHELL_PARTS else command


def _command_line(parts: list[str]) -> str:
    """Return a command as people write it: the script itself where a shell runs one."""
    match parts:
        case [shell, "-c" | "-lc", script] if _SHELLS.fullmatch(shell):
            return script
    return shlex.join(parts)


def _agents_description(rest: Json) -> list[Block]:
    """Take the agent's own description out of the arguments, to be quoted as such."""
    description = rest.get(_DESCRIPTION)
    if not isinstance(description, str) or not description.strip():
        return []
    del rest[_DESCRIPTION]
    return [Block("The agent describes it as:", description)]


def _edit(_kind: ToolKind, fields: Json, notes: Json) -> _Parts | None:
    read = read_changes(fields, creates=True)
    from_notes = read_changes(notes, creates=False)
    diffs = add_changes(read.diffs, from_notes.diffs)
    rest = {**read.rest}
    lead = [*map(_diff_block, diffs), *_agents_description(rest)]
    changes = [diff.change for diff in diffs] or _unknown_change(fields, notes)
    if fields and not changes:
        return None
    return _Parts(headline.change_files(changes), lead, rest, from_notes.rest)


def _diff_block(diff: Diff) -> Block:
    path = diff.change.path
    return Block(inline_code(path) if path else "", diff.text, "diff" if diff.text else None)


def _unknown_change(fields: Json, notes: Json) -> list[headline.FileChange]:
    """The file that is changed in a way that no diff shows."""
    path = _path(fields, notes)
    return [] if path is None else [headline.FileChange(path, "Edit")]


def _place(kind: ToolKind, fields: Json, notes: Json) -> _Parts | None:
    """A file that is deleted or moved."""
    path = _path(fields, notes)
    if path is None:
        return None
    verb = "Delete" if kind is ToolKind.DELETE else "Move"
    return _Parts(
        headline.change_files([headline.FileChange(path, verb)]),
        [Block("", path)],
        {**fields},
        notes,
    )


def _path(fields: Json, notes: Json) -> str | None:
    locations = notes.get("locations")
    located = locations[0] if isinstance(locations, list) and locations else None
    places = (fields, located if isinstance(located, dict) else {})
    found = (place.get(key) for place in places for key in PATHS)
    return next((path for path in found if isinstance(path, str) and path), None)


def _plan(_kind: ToolKind, fields: Json, notes: Json) -> _Parts:
    plan, rest, file = fields.get("plan"), {**fields}, fields.get("planFilePath")
    lead = []
    if isinstance(plan, str) and plan.strip():
        del rest["plan"]
        named = inline_code(headline.file_name(file)) if isinstance(file, str) and file else ""
        lead.append(_markdown(plan)._replace(title=named))
    return _Parts(headline.APPROVE_PLAN, lead, rest, notes)


def _first(fields: Json, *keys: str) -> str | None:
    texts = (fields.get(key) for key in keys)
    return next((text for text in texts if isinstance(text, str) and text.strip()), None)


def _read(_kind: ToolKind, fields: Json, notes: Json) -> _Parts | None:
    path = _path(fields, notes)
    return None if path is None else _Parts(headline.read(path), [], fields, notes)


def _fetch(_kind: ToolKind, fields: Json, notes: Json) -> _Parts | None:
    url = _first(fields, "url", "uri")
    return None if url is None else _Parts(headline.fetch(url), [], fields, notes)


def _search(kind: ToolKind, fields: Json, notes: Json) -> _Parts | None:
    query = _first(fields, "query", "pattern", "q")
    if query is None:
        return None
    line = headline.search(query, web=kind is ToolKind.WEB_SEARCH)
    return _Parts(line, [], fields, notes)


def _subagent(_kind: ToolKind, fields: Json, notes: Json) -> _Parts:
    task = _first(fields, _DESCRIPTION, "task_name", "message", "prompt") or ""
    return _Parts(headline.start_subagent(task), [], fields, notes)


def _other(line: str, arguments: JsonValue, notes: Json) -> _Parts:
    """The use of any other tool, or of a known one without the arguments that it has elsewhere."""
    diffs: tuple[Diff, ...] = ()
    if isinstance(arguments, dict):
        diffs, arguments = read_changes(arguments, creates=False)
    from_notes, notes = read_changes(notes, creates=False)
    # The names in it stand nowhere else.
    whole = [Block("", line)] if fit(line) != line else []
    return _Parts(
        line, [*whole, *map(_diff_block, add_changes(diffs, from_notes))], arguments, notes
    )


_DESCRIBERS: Final[dict[ToolKind, Callable[[ToolKind, Json, Json], _Parts | None]]] = {
    ToolKind.SHELL: _shell,
    ToolKind.EDIT: _edit,
    ToolKind.DELETE: _place,
    ToolKind.MOVE: _place,
    ToolKind.PLAN: _plan,
    ToolKind.READ: _read,
    ToolKind.FETCH: _fetch,
    ToolKind.WEB_SEARCH: _search,
    ToolKind.SEARCH: _search,
    ToolKind.SUBAGENT: _subagent,
}
