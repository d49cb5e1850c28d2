"""Describe the use of a tool: its headline, and the context that starts with what matters."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from pydantic import JsonValue

from answerback.core import headline
from answerback.core.headline import McpTool, ToolKind
from answerback.dialects.approvals.arguments_markdown import Block, inline_code, render_context
from answerback.dialects.approvals.file_changes import PATHS, Diff, read_changes

Json = dict[str, JsonValue]

_COMMANDS: Final = ("command", "cmd", "script")
_SEVERAL_COMMANDS: Final = "commands"
_SHELLS: Final = re.compile(r"(?:.*/)?(?:ba|z|da|k)?sh")
_SHELL_RUNS: Final = re.compile(rf"{_SHELLS.pattern} -l?c ")
_SHELL_PARTS: Final = 3
"""A shell, its option, and the script."""
_DESCRIPTION: Final = "description"
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


class ToolUse(NamedTuple):
    """What an agent would do, in one line and at length."""

    headline: str
    context: str | None


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
) -> ToolUse:
    """Describe the use of a tool.

    Args:
        notes: what the host says besides; it is shown after the arguments.
        server: the label of the MCP server that has the tool.
        acp_kind: what the tool does, as ACP says it.
        line: what would be allowed, where that is not the use of the tool.
        lead: what is shown first.
    """
    mcp = McpTool(server, tool) if server else headline.mcp_tool(tool)
    kind = ToolKind.MCP if mcp else headline.kind_of(tool, acp_kind)
    if isinstance(arguments, str) and kind in {ToolKind.SHELL, ToolKind.EDIT}:
        arguments = {"command" if kind is ToolKind.SHELL else "input": arguments}
    parts = None
    if line is None and isinstance(arguments, dict | None) and kind in _DESCRIBERS:
        parts = _DESCRIBERS[kind](kind, arguments or {}, notes)
    if parts is None:
        line = line or (headline.call(mcp) if mcp else headline.use(tool, arguments))
        parts = _other(line, arguments, notes)
    return ToolUse(
        headline.fit(parts.headline),
        render_context([*lead, *parts.lead], parts.arguments or None, parts.notes or None),
    )


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
    diffs = [*read.diffs]
    # A host may send the same change twice: as its tool's arguments, and as its protocol's diff.
    diffs += [
        diff for diff in from_notes.diffs if not any(_is_same(diff, each) for each in read.diffs)
    ]
    rest = {**read.rest}
    lead = [*map(_diff_block, diffs), *_agents_description(rest)]
    changes = [diff.change for diff in diffs] or _unknown_change(fields, notes)
    if fields and not changes:
        return None
    return _Parts(headline.change_files(changes), lead, rest, from_notes.rest)


def _is_same(one: Diff, other: Diff) -> bool:
    """Whether two diffs are one change of one file, whose path may be given from the host's folder or from the root."""
    paths = [each.change.path or "" for each in (one, other)]
    short, long = sorted(paths, key=len)
    return one.text == other.text and (not short or f"/{long}".endswith(f"/{short}"))


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
    plan, rest = fields.get("plan"), {**fields}
    lead = []
    if isinstance(plan, str) and plan.strip():
        del rest["plan"]
        lead.append(Block("", _closed(plan), None))
    return _Parts(headline.APPROVE_PLAN, lead, rest, notes)


def _closed(markdown: str) -> str:
    """Close a code block that a text leaves open: what follows it is not the agent's."""
    fence = ""
    for line in re.split(r"\r\n|[\r\n]", markdown):
        found = _FENCE.match(line)
        if found is None:
            continue
        if not fence:
            is_fence = found[1][0] == "~" or "`" not in found[2]
            fence = found[1] if is_fence else ""
        elif found[1].startswith(fence) and not found[2].strip():
            fence = ""
    return f"{markdown}\n{fence}" if fence else markdown


def _first(fields: Json, *keys: str) -> str | None:
    texts = (fields.get(key) for key in keys)
    return next((text for text in texts if isinstance(text, str) and text.strip()), None)


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
    whole = [Block("", line)] if headline.fit(line) != line else []
    return _Parts(line, [*whole, *map(_diff_block, (*diffs, *from_notes))], arguments, notes)


_DESCRIBERS: Final[dict[ToolKind, Callable[[ToolKind, Json, Json], _Parts | None]]] = {
    ToolKind.SHELL: _shell,
    ToolKind.EDIT: _edit,
    ToolKind.DELETE: _place,
    ToolKind.MOVE: _place,
    ToolKind.PLAN: _plan,
    ToolKind.FETCH: _fetch,
    ToolKind.WEB_SEARCH: _search,
    ToolKind.SEARCH: _search,
    ToolKind.SUBAGENT: _subagent,
}
