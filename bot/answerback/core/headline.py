"""The headline of an ask: what would happen, in one line. Pure.

One table of tools decides how the use of a tool reads, whatever a host calls the tool.
"""

from __future__ import annotations

import json
import re
from enum import StrEnum
from itertools import pairwise
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from answerback_base.headline_text import CUT, SHORTENED, show_line
from answerback_base.visible_text import one_line, visible

_BESIDE_A_CUT: Final = 16
"""Characters on each side of a cut that are looked for in the context."""
_MAX_ARGUMENT: Final = 80
"""Characters of an argument that is short enough to stand for the use of a tool."""
_PLAIN_NAME: Final = re.compile(r"[\w./:-]+")
_MCP: Final = re.compile(r"mcp__(.+?)__(.+)", re.DOTALL)


class ToolKind(StrEnum):
    """The kind of a tool, which decides how its headline reads."""

    SHELL = "shell"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"
    PLAN = "plan"
    READ = "read"
    FETCH = "fetch"
    WEB_SEARCH = "web_search"
    SEARCH = "search"
    MCP = "mcp"
    SUBAGENT = "subagent"
    OTHER = "other"


_NAMES: Final[dict[ToolKind, tuple[str, ...]]] = {
    ToolKind.SHELL: (
        *("Bash", "PowerShell", "shell", "shell_command", "local_shell", "local_shell_call", "exec_command"),
        *("run_shell_command", "execute_command", "commandExecution", "run_in_terminal", "run_terminal_command"),
        *("terminal", "Execute", "Monitor"),
    ),
    ToolKind.EDIT: (
        *("Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch", "replace", "write_file", "write_to_file"),
        *("edit_file", "replace_in_file", "str_replace", "str_replace_editor", "str_replace_based_edit_tool"),
        *("insert_edit_into_file", "create_file", "create", "fileChange", "apply_diff", "patch", "ApplyPatch"),
        *("notebook_edit",),
    ),
    ToolKind.PLAN: ("ExitPlanMode", "exit_plan_mode", "x.ai/exit_plan_mode", "plan_exit", "ExitSpecMode"),
    ToolKind.READ: ("Read", "read_file", "ReadFile", "read_many_files", "view", "view_file"),
    ToolKind.FETCH: ("WebFetch", "web_fetch", "fetch_webpage", "FetchUrl"),
    ToolKind.WEB_SEARCH: ("WebSearch", "web_search", "google_web_search"),
    ToolKind.SUBAGENT: ("Task", "Agent", "spawn_agent", "runSubagent", "invoke_agent"),
}  # fmt: skip
"""The tools of today's hosts, by what they do."""
_KINDS: Final = {name.casefold(): kind for kind, names in _NAMES.items() for name in names}
_ACP_KINDS: Final = {
    "execute": ToolKind.SHELL,
    "edit": ToolKind.EDIT,
    "delete": ToolKind.DELETE,
    "move": ToolKind.MOVE,
    "read": ToolKind.READ,
    "fetch": ToolKind.FETCH,
    "search": ToolKind.SEARCH,
}
"""The kinds of ACP: https://agentclientprotocol.com/protocol/tool-calls."""


class McpTool(NamedTuple):
    """A tool of an MCP server."""

    server: str
    name: str


class FileChange(NamedTuple):
    """A change of one file that a call would make."""

    path: str | None
    verb: str
    """``Edit``, ``Create``, ``Delete`` or ``Move``."""
    added: int = 0
    removed: int = 0


def mcp_tool(tool: str) -> McpTool | None:
    """Return the server and the tool in a name like ``mcp__server__tool``; None if it is another name."""
    found = _MCP.fullmatch(tool)
    return McpTool(found[1], found[2]) if found else None


def kind_of(tool: str, acp_kind: object = None) -> ToolKind:
    """Return what a tool does: by its name, or else by the kind that ACP gives."""
    if mcp_tool(tool) is not None:
        return ToolKind.MCP
    known = _KINDS.get(tool.casefold())
    return known or _ACP_KINDS.get(str(acp_kind), ToolKind.OTHER)


def is_said_below(headline: str, context: str) -> bool:
    """Return whether a headline is whole, or else the context holds what was cut out of it.

    What looks like a cut counts as one, whoever wrote it.
    """
    if not headline.endswith(SHORTENED):
        return True
    parts = headline.removesuffix(SHORTENED).split(CUT)
    line = one_line(context)
    return len(parts) > 1 and all(
        re.search(f"{re.escape(left[-_BESIDE_A_CUT:])}.+{re.escape(right[:_BESIDE_A_CUT])}", line)
        for left, right in pairwise(parts)
    )


def run(command: str) -> str:
    """Return ``Run <first line>``, and how many lines follow."""
    lines = visible(command).strip("\n").split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    more = len(lines) - first - 1
    after = f" and {more} more line{'' if more == 1 else 's'}" if more else ""
    return f"Run {show_line(lines[first])}{after}"


def change_files(changes: list[FileChange]) -> str:
    """Return ``Edit billing.py (+2 −1)``, ``Create x.py (40 lines)``, ``Delete x.py`` or ``Edit 3 files (+20 −4)``."""
    added = sum(change.added for change in changes)
    removed = sum(change.removed for change in changes)
    counts = f" (+{added} −{removed})" if added or removed else ""
    names = {change.path for change in changes}
    if len(names) > 1:
        return f"Edit {len(names)} files{counts}"
    verbs = {change.verb for change in changes}
    verb = verbs.pop() if len(verbs) == 1 else "Edit"
    if verb == "Create":
        counts = f" ({added} line{'' if added == 1 else 's'})"
    path = names.pop() if names else None
    name = "files" if path is None and not changes else file_name(path or "a file")
    return f"{verb} {show_line(name)}{'' if verb == 'Delete' else counts}"


def file_name(path: str) -> str:
    """Return the last part of a path, on any system."""
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or path


def read(path: str) -> str:
    """Return ``Read /srv/secrets.env``: of a file that is read, its place says more than its name."""
    return f"Read {show_line(path)}"


def fetch(url: str) -> str:
    """Return ``Fetch docs.example.com/page``; an unusual address is shown whole."""
    try:
        parts = urlsplit(url)
        plain = parts.scheme == "https" and "@" not in parts.netloc and parts.netloc
    except ValueError:
        plain = ""
    return f"Fetch {show_line(url.partition('://')[2].rstrip('/') if plain else url)}"


def search(query: str, *, web: bool) -> str:
    """Return ``Search the web for "…"``."""
    return f'Search {"the web " if web else ""}for "{one_line(query)}"'


def call(tool: McpTool) -> str:
    """Return ``Call create_issue on github``."""
    # Otherwise a name could read as if it went on after its end.
    name = (
        tool.name if _PLAIN_NAME.fullmatch(tool.name) else json.dumps(tool.name, ensure_ascii=False)
    )
    return f"Call {one_line(name)} on {one_line(tool.server)}"


def start_subagent(description: str) -> str:
    """Return ``Start a subagent: <description>``."""
    said = one_line(description)
    return f"Start a subagent: {said}" if said else "Start a subagent"


def use(tool: str, arguments: object) -> str:
    """Return ``Use <tool>``, with the tool's first short argument that is a text."""
    values = arguments.values() if isinstance(arguments, dict) else ()
    shorts = (short for short in map(_short_text, values) if short and short != tool)
    short = next(shorts, None)
    return f"Use {show_line(tool)}{f': {one_line(short)}' if short else ''}"


def _short_text(value: object) -> str | None:
    if not isinstance(value, str) or len(value) > _MAX_ARGUMENT:
        return None
    shown = visible(value).strip()
    return None if "\n" in shown else shown or None


APPROVE_PLAN: Final = "Approve this plan?"
