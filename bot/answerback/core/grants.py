"""Grants: what a person allows again for a while, and whether a prompt is certainly that. Pure.

There are no patterns. A prompt and a grant are compared by digests of everything that counts, so that whatever differs
in it by one byte is asked. What cannot be compared with certainty, or not be read whole, has no digest.
"""

from __future__ import annotations

import hashlib
import json
import ntpath
import posixpath
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from pydantic import AfterValidator, Field, JsonValue

from answerback.core import refusals
from answerback.core.actions import GrantTerms as GrantTerms
from answerback.core.errors import Problem
from answerback.core.headline import ToolKind
from answerback.core.person import EpochSeconds, FrozenModel, Person, StrictDataclass
from answerback_base.strict_json import has_rewritten_numbers
from answerback_base.visible_text import visible

MINUTES: Final = (15, 60, 240)
"""The durations of a grant, in minutes, that surfaces offer."""
MAX_SUBJECT: Final = 500
"""The most characters of what a grant is for: people read it whole on every surface."""
MAX_FOLDER: Final = 99
"""The most characters of a folder that is certainly whole: longer ones may have been cut."""
_MAX_TOOL: Final = 200
_PREFIX: Final = "prefix:"
_PLAIN_COMMAND: Final = re.compile(r"[A-Za-z0-9_./:=+-]+(?: [A-Za-z0-9_./:=+-]+)*")
"""Words without any character that means something to a shell."""
_ADDRESS: Final = re.compile(
    r"(https?)://([a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::([1-9][0-9]{0,4}))?(?:/[!-\[\]-~]*)?"
)
"""An address that every parser reads alike: no user, no capitals, no backslash, nothing but ASCII."""
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_COMMANDS: Final = ("command", "cmd", "script")
_ADDRESSES: Final = ("url", "uri")
_PATHS: Final = ("file_path", "filePath", "path", "filepath", "notebook_path", "fileName")
_CONTENT: Final = frozenset(
    {
        *("old_string", "new_string", "oldString", "newString", "replace_all", "replaceAll", "content"),
        *("new_source", "cell_id", "cell_type", "edit_mode", "expected_replacements", "instruction"),
    }
)  # fmt: skip
"""The arguments of an edit that say what changes within the file. A diff or a patch may name another one."""
_PATCHING: Final = re.compile("patch|diff", re.IGNORECASE)
"""Tools whose content names files."""
_PLACES: Final = ("locations", "content")
"""Further fields in which ACP names the files of a tool call."""
_DRIVE: Final = re.compile(r"[A-Za-z]:\\[^:/]*")


def _check_prefix(prefix: str) -> str:
    if not _PLAIN_COMMAND.fullmatch(prefix):
        raise ValueError("a prefix consists of whole words without characters of a shell")
    return prefix


class GrantRule(FrozenModel):
    """``[routes.<name>.grants]``: how much a person may allow again."""

    hours: Annotated[float, Field(strict=True, ge=0.25, le=24)] = 8.0
    uses: Annotated[int, Field(strict=True, ge=1, le=1_000)] = 50
    prefixes: tuple[Annotated[str, AfterValidator(_check_prefix)], ...] = ()
    """Commands of which all that begin with these words may be granted together."""


class Match(FrozenModel):
    """One thing that may be allowed again."""

    match: str
    """``command``, ``prefix:…``, ``file``, ``address`` or ``tool``."""
    subject: str
    """The text that people read: the command, the file, the address, or the tool and its arguments."""
    scope: str
    """The digest of everything that has to be the same."""


class GrantOffer(FrozenModel):
    """The grants that a prompt offers, from narrow to broad."""

    matches: tuple[Match, ...]
    minutes: int
    uses: int

    def find(self, name: str) -> Match | None:
        return next((each for each in self.matches if each.match == name), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant(StrictDataclass):
    """A permission that a person has given for later calls of the same kind."""

    id: str
    ask_id: str
    """The ask that was answered with it."""
    scope: str
    match: str
    subject: str
    agent: str
    owner: str | None
    folder: str
    route: str
    by: Person
    credential: str
    at: EpochSeconds
    until: EpochSeconds
    uses: int
    used: int = 0
    ended_at: EpochSeconds | None = None
    """When it was revoked."""

    def is_live(self, now: float) -> bool:
        """Return whether it can still be used. The clock is not trusted where it is before the grant."""
        return self.ended_at is None and self.used < self.uses and self.at <= now < self.until


class GrantUse(NamedTuple):
    """A use of a grant, to be counted only if it still is the next one."""

    id: str
    number: int
    at: float


class GrantEnd(NamedTuple):
    """A grant that is revoked."""

    id: str
    at: float


GrantChange = Grant | GrantUse | GrantEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantNote(StrictDataclass):
    """A note about a grant on an ask: that it was made with its answer, or that it allowed the ask."""

    id: str
    by: Person
    uses: int
    until: EpochSeconds
    number: int = 0
    """The number of this use; 0: it was made here."""
    revoked_at: EpochSeconds | None = None
    revoked_by: Person | None = None


def covers(grant: Grant, offer: GrantOffer, now: float) -> bool:
    """Return whether a grant certainly allows a prompt: live, within the route's rule, and for just that."""
    is_within = grant.used < offer.uses and now < grant.at + 60 * offer.minutes
    return (
        is_within
        and grant.is_live(now)
        and any(each.scope == grant.scope for each in offer.matches)
    )


def find_terms_problem(offer: GrantOffer | None, terms: GrantTerms) -> Problem | None:
    """Return what is wrong with what a person wants to grant; None if nothing is."""
    if offer is None:
        return refusals.NOT_GRANTABLE.problem()
    if offer.find(terms.match) is None:
        known = ", ".join(f'"{each.match}"' for each in offer.matches)
        message = f"match must be one of {known}."
        return Problem(pointer="/grant/match", code="unknown_value", message=message)
    for name, value, most in (
        ("minutes", terms.minutes, offer.minutes),
        ("uses", terms.uses, offer.uses),
    ):
        if not 1 <= value <= most:
            message = f"{name} must be from 1 to {most}."
            return Problem(pointer=f"/grant/{name}", code="unknown_value", message=message)
    return None


# --- what a prompt can be allowed for ------------------------------------------------------------


class Asker(NamedTuple):
    """Who asks, and by which route: a grant is for the same."""

    agent: str
    owner: str | None
    folder: str
    route: str


class ToolCall(NamedTuple):
    """The use of a tool that permission is asked for."""

    request: str
    """The host's kind of request."""
    tool: str
    server: str | None
    kind: ToolKind
    arguments: JsonValue
    notes: dict[str, JsonValue]
    """Other facts that the host reports."""
    others: dict[str, JsonValue]
    """Other values that have to be the same: those of the call that people do not see, and what allowing it once means
    to the host."""


class _Candidate(NamedTuple):
    match: str
    subject: str
    same: list[JsonValue]
    """The values that have to be the same, besides who asks and the tool."""


def offer_of(rule: GrantRule, asker: Asker, call: ToolCall) -> GrantOffer | None:
    """Return what of a call may be allowed again; None if nothing is certain enough."""
    whole = len(asker.folder) <= MAX_FOLDER and is_plain_path(asker.folder)
    if not whole or len(call.tool) > _MAX_TOOL or len(call.server or "") > _MAX_TOOL:
        return None
    if has_rewritten_numbers([call.arguments, call.notes, call.others]):
        return None
    matches = tuple(
        Match(match=each.match, subject=each.subject, scope=_scope(asker, call, each))
        for each in _candidates(call, rule.prefixes)
        if len(each.subject) <= MAX_SUBJECT and visible(each.subject) == each.subject
    )
    if not matches:
        return None
    return GrantOffer(matches=matches, minutes=int(rule.hours * 60), uses=rule.uses)


def _scope(asker: Asker, call: ToolCall, candidate: _Candidate) -> str:
    host = [call.request, call.tool, call.server, call.others]
    whole = [*asker, *host, candidate.match, candidate.same]
    # Numbers keep their form, and texts their code points: 1 is not 1.0, nor é an e with an accent.
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def _candidates(call: ToolCall, prefixes: Sequence[str]) -> Iterator[_Candidate]:
    arguments = call.arguments
    if call.kind is ToolKind.SHELL and isinstance(arguments, str):
        arguments = {_COMMANDS[0]: arguments}
    if call.kind is ToolKind.MCP and isinstance(arguments, dict | None):
        said = json.dumps(arguments or {}, ensure_ascii=False)
        name = f"{call.tool} on {call.server}" if call.server else call.tool
        yield _Candidate("tool", f"{name} {said}", [arguments, call.notes])
    if not isinstance(arguments, dict):
        return
    match call.kind:
        case ToolKind.SHELL:
            is_text = isinstance(call.arguments, str)  # which another tool might read otherwise
            for each in _commands({**arguments}, call.notes, prefixes):
                yield each._replace(same=[*each.same, is_text])
        case ToolKind.EDIT:
            yield from _file(call.tool, {**arguments}, call.notes)
        case ToolKind.FETCH:
            yield from _address({**arguments}, call.notes)
        case _:
            pass


def _take_one(fields: dict[str, JsonValue], names: Sequence[str]) -> tuple[str, JsonValue]:
    """Take the only one of these fields; an empty name if there is none, or several."""
    found = [name for name in names if name in fields]
    return (found[0], fields.pop(found[0])) if len(found) == 1 else ("", None)


def _drop_texts(fields: dict[str, JsonValue], *names: str) -> None:
    """Drop what an agent may say differently each time."""
    for name in names:
        if isinstance(fields.get(name), str):
            del fields[name]


def _commands(
    rest: dict[str, JsonValue], notes: dict[str, JsonValue], prefixes: Sequence[str]
) -> Iterator[_Candidate]:
    name, command = _take_one(rest, _COMMANDS)
    _drop_texts(rest, "description")
    if isinstance(command, list) and command and all(isinstance(each, str) for each in command):
        yield _Candidate("command", shlex.join(map(str, command)), [name, command, rest, notes])
    if not isinstance(command, str) or not command.strip():
        return
    yield _Candidate("command", command, [name, command, rest, notes])
    if _PLAIN_COMMAND.fullmatch(command):
        for prefix in prefixes:
            if f"{command} ".startswith(f"{prefix} "):
                yield _Candidate(f"{_PREFIX}{prefix}", prefix, [name, rest, notes])


def _file(
    tool: str, rest: dict[str, JsonValue], notes: dict[str, JsonValue]
) -> Iterator[_Candidate]:
    _, path = _take_one(rest, _PATHS)
    _drop_texts(rest, "description")
    edits = rest.pop("edits", [])
    parts = [rest, *edits] if isinstance(edits, list) else [None]
    others = {**notes}
    _drop_texts(others, "title")
    places = [others.pop(name, []) for name in _PLACES]
    if (
        isinstance(path, str)
        and is_plain_path(path)
        and not _PATCHING.search(tool)
        and all(map(_is_content, parts))
        and all(_is_about(each, path) for each in places)
    ):
        yield _Candidate("file", path, [path, others])


def _is_content(part: JsonValue) -> bool:
    """Return True if these arguments of an edit say only what changes within the file."""
    return (
        isinstance(part, dict)
        and part.keys() <= _CONTENT
        and not any(isinstance(value, dict | list) for value in part.values())
    )


def _is_about(places: JsonValue, path: str) -> bool:
    return isinstance(places, list) and all(
        isinstance(each, dict) and each.get("path") == path for each in places
    )


def is_plain_path(path: str) -> bool:
    """Return whether a path is absolute, and written in the only way that needs no knowledge of the disk."""
    if path.startswith("/"):
        return not path.startswith("//") and "\\" not in path and posixpath.normpath(path) == path
    return bool(_DRIVE.fullmatch(path)) and ntpath.normpath(path) == path


def _address(rest: dict[str, JsonValue], notes: dict[str, JsonValue]) -> Iterator[_Candidate]:
    name, url = _take_one(rest, _ADDRESSES)
    _drop_texts(rest, "prompt", "description")
    found = _ADDRESS.fullmatch(url) if isinstance(url, str) else None
    if found is not None:
        scheme, host, port = found.groups()
        port = port or _DEFAULT_PORTS[scheme]
        shown = f"{scheme}://{host}" + ("" if port == _DEFAULT_PORTS[scheme] else f":{port}")
        yield _Candidate("address", shown, [name, scheme, host, port, rest, notes])
