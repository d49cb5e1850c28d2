"""Codex's requests for more permissions: what its sandbox would let the agent do for a turn or a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pydantic import JsonValue

from answerback.dialects.approvals.approval_request import (
    DECISION,
    AnswersById,
    ApprovalRequest,
    Json,
    Variant,
    options,
    require_object,
)
from answerback.dialects.approvals.codex import shown_fields
from answerback.dialects.call_reader import ArgumentNode

_DENIED: Final[Json] = {"permissions": {}, "scope": "turn"}
_OTHER: Final = "other permissions"
_ACCESS: Final = {"read": "reading", "write": "writing to", "deny": "no access to"}
_SPECIAL: Final = {
    "root": "all files",
    "minimal": "the system's basic files",
    "project_roots": "the project",
    "tmpdir": "the folder for temporary files",
    "slash_tmp": "/tmp",
}


def _read(call: ArgumentNode) -> Iterator[ApprovalRequest]:
    wanted = require_object(call, "permissions").value
    offered = options(turn="Allow for this turn", session="Allow for this session", decline="Deny")
    yield ApprovalRequest(
        tool="permissions",
        headline=f"Allow {_described(wanted if isinstance(wanted, dict) else {})}",
        notes=shown_fields(call),
        options=offered,
    )


def _described(wanted: Json) -> str:
    """Return what is wanted, in words; whatever is not understood counts as other permissions."""
    parts = list(dict.fromkeys(_parts(wanted)))
    *most, last = parts or ["no further permissions"]
    return f"{', '.join(most)} and {last}" if most else last


def _parts(wanted: Json) -> Iterator[str]:
    files = wanted.get("fileSystem")
    match wanted.get("network"):
        case {"enabled": True, **rest} if not any(rest.values()):
            yield "network access"
        case None | {"enabled": False | None}:
            pass
        case _:
            yield _OTHER
    if isinstance(files, dict):
        yield from _file_parts(files)
    elif files is not None:
        yield _OTHER
    if any(value for key, value in wanted.items() if key not in {"network", "fileSystem"}):
        yield _OTHER


def _file_parts(files: Json) -> Iterator[str]:
    for key, value in files.items():
        match key, value:
            case _, None:
                pass
            case "read" | "write", [*paths]:
                yield from (
                    f"{_ACCESS[key]} {path}" if isinstance(path, str) else _OTHER
                    for path in paths
                    if path is not None
                )
            case "entries", [*entries]:
                yield from map(_entry, entries)
            case "globScanMaxDepth", int():
                pass  # how far patterns are searched
            case _:
                yield _OTHER


def _entry(entry: JsonValue) -> str:
    match entry:
        case {"access": "read" | "write" | "deny" as access, "path": dict() as place}:
            name = _place(place)
            return f"{_ACCESS[access]} {name}" if name else _OTHER
        case _:
            return _OTHER


def _place(place: Json) -> str | None:
    match place:
        case {"type": "path", "path": str(name)} | {"type": "glob_pattern", "pattern": str(name)}:
            return name
        case {"type": "special", "value": {"kind": "unknown", "path": str(name), **rest}}:
            return _with_subpath(name, rest.get("subpath"))
        case {"type": "special", "value": {"kind": str(kind), **rest}} if kind in _SPECIAL:
            return _with_subpath(_SPECIAL[kind], rest.get("subpath"))
        case _:
            return None


def _with_subpath(name: str, subpath: object) -> str:
    return f"{name}/{subpath}" if subpath else name


def _decision(answers: AnswersById, arguments: Json) -> JsonValue:
    scope = answers[DECISION]
    if scope == "decline":
        return _DENIED
    return {"permissions": _without_nulls(arguments["permissions"]), "scope": scope}


def _without_nulls(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {key: _without_nulls(each) for key, each in value.items() if each is not None}
    return [_without_nulls(each) for each in value] if isinstance(value, list) else value


PERMISSIONS: Final = Variant(_read, _decision, lambda *_: _DENIED)
