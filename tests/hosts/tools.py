"""The calls of each host's own tools for a deed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tests.agents.model import Calls
from tests.hosts.kinds import Deed, Kind

Json = dict[str, Any]
Call = Callable[[Deed], Sequence[Calls]]


def _claude(deed: Deed) -> Sequence[Calls]:
    path = str(deed.file)
    match deed.kind:
        case Kind.SHELL:
            return (Calls("Bash", {"command": deed.command, "description": "Prepares"}),)
        case Kind.EDIT:
            change = {"file_path": path, "old_string": "one", "new_string": "two"}
            return Calls("Read", {"file_path": path}), Calls("Edit", change)
        case Kind.NEW_FILE:
            return (Calls("Write", {"file_path": path, "content": deed.text}),)
        case Kind.READ:
            return (Calls("Read", {"file_path": str(deed.secret)}),)
        case Kind.FETCH:
            return (Calls("WebFetch", {"url": deed.url, "prompt": "Summarize"}),)
        case _:
            return (Calls("mcp__shop__drop_rows", {"path": path, "text": deed.text}),)


def _opencode(deed: Deed) -> Sequence[Calls]:
    path = str(deed.file)
    match deed.kind:
        case Kind.SHELL:
            return (Calls("bash", {"command": deed.command, "description": "Prepares"}),)
        case Kind.EDIT:
            change = {"filePath": path, "oldString": "one", "newString": "two"}
            return Calls("read", {"filePath": path}), Calls("edit", change)
        case Kind.NEW_FILE:
            return (Calls("write", {"filePath": path, "content": deed.text}),)
        case Kind.READ:
            return (Calls("read", {"filePath": str(deed.secret)}),)
        case Kind.FETCH:
            return (Calls("webfetch", {"url": deed.url, "format": "text"}),)
        case _:
            return (Calls("shop_drop_rows", {"path": path, "text": deed.text}),)


def _gemini(deed: Deed) -> Sequence[Calls]:
    path = str(deed.file)
    match deed.kind:
        case Kind.SHELL:
            return (Calls("run_shell_command", {"command": deed.command}),)
        case Kind.EDIT:
            change = {"file_path": path, "old_string": "one", "new_string": "two"}
            return (Calls("replace", {**change, "instruction": "Change it"}),)
        case Kind.NEW_FILE:
            return (Calls("write_file", {"file_path": path, "content": deed.text}),)
        case Kind.READ:
            return (Calls("read_file", {"file_path": str(deed.secret)}),)
        case Kind.FETCH:
            return (Calls("web_fetch", {"prompt": f"Summarize {deed.url}"}),)
        case _:
            return (Calls("mcp_shop_drop_rows", {"path": path, "text": deed.text}),)


def _qwen(deed: Deed) -> Sequence[Calls]:
    path = str(deed.file)
    match deed.kind:
        case Kind.SHELL:
            return (Calls("run_shell_command", {"command": deed.command, "is_background": False}),)
        case Kind.EDIT:
            change = {"file_path": path, "old_string": "one", "new_string": "two"}
            return Calls("read_file", {"file_path": path}), Calls("edit", change)
        case Kind.NEW_FILE:
            return (Calls("write_file", {"file_path": path, "content": deed.text}),)
        case Kind.READ:
            return (Calls("read_file", {"file_path": str(deed.secret)}),)
        case Kind.FETCH:
            return (
                Calls("tool_search", {"query": "select:web_fetch"}),
                Calls("web_fetch", {"url": deed.url, "prompt": "Summarize"}),
            )
        case _:
            return (
                Calls("tool_search", {"query": "select:mcp__shop__drop_rows"}),
                Calls("mcp__shop__drop_rows", {"path": path, "text": deed.text}),
            )


def _kimi(deed: Deed) -> Sequence[Calls]:
    path = str(deed.file)
    match deed.kind:
        case Kind.SHELL:
            return (Calls("Bash", {"command": deed.command, "description": "Prepares"}),)
        case Kind.EDIT:
            change = {"path": path, "old_string": "one", "new_string": "two"}
            return Calls("Read", {"path": path}), Calls("Edit", change)
        case Kind.NEW_FILE:
            return (Calls("Write", {"path": path, "content": deed.text}),)
        case Kind.READ:
            return (Calls("Read", {"path": str(deed.secret)}),)
        case Kind.FETCH:
            return (Calls("FetchURL", {"url": deed.url}),)
        case _:
            return (Calls("mcp__shop__drop_rows", {"path": path, "text": deed.text}),)


def _copilot(deed: Deed) -> Sequence[Calls]:
    path = str(deed.file)
    match deed.kind:
        case Kind.SHELL:
            return (Calls("bash", {"command": deed.command, "description": "Prepares"}),)
        case Kind.EDIT:
            return (Calls("edit", {"path": path, "old_str": "one", "new_str": "two"}),)
        case Kind.NEW_FILE:
            return (Calls("create", {"path": path, "file_text": deed.text}),)
        case Kind.READ:
            return (Calls("view", {"path": str(deed.secret)}),)
        case Kind.FETCH:
            return (Calls("web_fetch", {"url": deed.url}),)
        case _:
            return (Calls("shop-drop_rows", {"path": path, "text": deed.text}),)


def _patch(change: str) -> Calls:
    """Codex reads a patch out of a command, and asks about the files."""
    patch = f"*** Begin Patch\n{change}\n*** End Patch"
    return Calls("exec_command", {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF"})


def _codex(deed: Deed) -> Sequence[Calls]:
    path = str(deed.file)
    escalated = {"sandbox_permissions": "require_escalated", "justification": "To prepare it."}
    match deed.kind:
        case Kind.SHELL:
            return (Calls("exec_command", {"cmd": deed.command, **escalated}),)
        case Kind.EDIT:
            return (_patch(f"*** Update File: {path}\n@@\n-one\n+two"),)
        case Kind.NEW_FILE:
            return (_patch(f"*** Add File: {path}\n+{deed.text}"),)
        case Kind.READ:
            return (Calls("exec_command", {"cmd": f"cat {deed.secret}", **escalated}),)
        case Kind.FETCH:
            return (Calls("exec_command", {"cmd": f"curl -s {deed.url}", **escalated}),)
        case _:
            return (Calls("mcp__shop/drop_rows", {"path": path, "text": deed.text}),)


CALLS: Final[Mapping[str, Call]] = {
    "Claude Code": _claude,
    "claude-agent-acp": _claude,
    "opencode": _opencode,
    "Gemini CLI": _gemini,
    "Qwen Code": _qwen,
    "Kimi Code": _kimi,
    "Copilot CLI": _copilot,
    "Codex": _codex,
}
PREFIXES: Final[Mapping[str, str]] = {
    "Claude Code": "mcp__shop__",
    "claude-agent-acp": "mcp__shop__",
    "opencode": "shop_",
    "Gemini CLI": "mcp_shop_",
    "Qwen Code": "mcp__shop__",
    "Kimi Code": "mcp__shop__",
    "Copilot CLI": "shop-",
    "Codex": "mcp__shop/",
}
"""The texts before the names of an MCP server's tools."""
LABELS: Final = ("port 8080", "port 8443")
"""The options of the question."""


def _question(**more: Any) -> Json:
    options = [{"label": label, "description": "A port"} for label in LABELS]
    return {"question": "Which port?", "header": "Port", "options": options, **more}


def _asks(tool: str, **more: Any) -> Callable[[], Calls]:
    return lambda: Calls(tool, {"questions": [_question(**more)]})


QUESTIONS: Final[Mapping[str, Callable[[], Calls]]] = {
    "Claude Code": _asks("AskUserQuestion", multiSelect=False),
    "claude-agent-acp": _asks("AskUserQuestion", multiSelect=False),
    "Codex": _asks("request_user_input", id="port"),
    "opencode": _asks("question"),
    "Qwen Code": _asks("ask_user_question", multiSelect=False),
    "Kimi Code": _asks("AskUserQuestion", multi_select=False),
}
"""The calls by which each host's own tool asks its user."""
