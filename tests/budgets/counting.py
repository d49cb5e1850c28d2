"""Counts what the service does on any machine: function calls, files, SQL statements, commits and JSON encodings.

Only the project's own code counts, with the functions of libraries that it calls directly. What libraries do inside
depends on how their event loops and sockets are scheduled, so it would differ from run to run.
"""

from __future__ import annotations

import dis
import re
import sqlite3
import sys
import threading
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FrameType
from typing import Any, Final

from tests.meta.project import ROOT, SOURCE_FOLDERS

Counts = dict[str, int]

ARRIVED: Final = {
    ("bot/answerback/http/request_body.py", "receive_body"),
    ("bot/answerback/http/unverified_connections.py", "mark_request_verified"),
}
"""The functions that read a request and verify its sender: once both have run, the request is verified."""
_WRITES: Final = re.compile(r"\b(INSERT|UPDATE|DELETE)\s")
_WRITES_AN_ASK: Final = re.compile(r"\b(INSERT INTO|UPDATE) asks\b")
_OURS: Final = tuple(f"{ROOT}/{folder}/" for folder in SOURCE_FOLDERS)
_ENCODERS: Final = {"to_json", "encode", "json_encode", "dump_json", "model_dump_json"}
"""Functions of pydantic and msgspec that return JSON."""


@cache
def _beginning(code: CodeType) -> int:
    return next(each.offset for each in dis.get_instructions(code) if each.opname == "RESUME")


def _starts(frame: FrameType) -> bool:
    """Return True if a function begins, rather than a coroutine resuming after an await."""
    return frame.f_lasti <= _beginning(frame.f_code)


@dataclass
class Counter:
    """Counts in all threads that start after `install`, from the moment when the request after `begin` is verified."""

    counts: Counts = field(default_factory=dict)
    reached: dict[str, Counts] = field(default_factory=dict)
    """The counts up to the commit, and up to each response, by its path."""
    shown: Counts = field(default_factory=dict)
    """The files, and the calls of the project's own functions, up to the commit that notes what people see."""
    calls: dict[str, int] = field(default_factory=dict)
    """The number of calls of each function, to explain a difference."""
    _running: bool = False
    _wrote: bool = False
    _own_calls: int = 0
    _files: set[str] = field(default_factory=set)

    def install(self) -> None:
        """Count in this thread and those that are created from now on, and the statements of new connections."""
        threading.setprofile(self._on_event)
        sys.setprofile(self._on_event)
        connect = sqlite3.connect

        def counted(*args: Any, **options: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*args, **options)
            written = 0

            def on_statement(statement: str) -> None:
                nonlocal written
                if statement.startswith("--"):  # of a trigger
                    return
                # Inside of a transaction, a connection has only changed rows if it will write them.
                wrote = statement == "COMMIT" and connection.total_changes != written
                written = connection.total_changes if wrote else written
                self._on_statement(statement, commits=wrote)

            connection.set_trace_callback(on_statement)
            return connection

        setattr(sqlite3, "connect", counted)  # noqa: B010 - mypy allows no other way

    def begin(self) -> None:
        """Start counting."""
        self.reached, self.shown = {}, {}
        self._reset()
        self._wrote, self._running = False, True

    def end(self) -> Counts:
        """Stop counting, and return what was counted."""
        self._running = False
        return self.snapshot()

    def _reset(self) -> None:
        self.counts = dict.fromkeys(("calls", "statements", "commits", "encodings"), 0)
        self.calls = {}
        self._own_calls = 0
        self._files = set()

    def total(self) -> int:
        """Return how many calls were counted up to now; it stays the same before `begin`."""
        return self.counts.get("calls", 0)

    def snapshot(self) -> Counts:
        """Return what was counted up to now."""
        return {**self.counts, "files": len(self._files)}

    def _on_event(self, frame: FrameType, event: str, argument: object) -> None:
        """Handle a profiling event; see `sys.setprofile`."""
        if not self._running or event in {"c_return", "c_exception"}:
            return
        code, caller = frame.f_code, frame.f_back
        if event == "c_call":
            if code.co_filename.startswith(_OURS):
                self._count_call(f"{getattr(argument, '__qualname__', argument)}")
                self.counts["encodings"] += _is_encoder(argument)
        elif event == "return":
            if not self.reached and _place(frame) in ARRIVED:
                self._reset()
        elif _starts(frame):
            if code.co_filename.startswith(_OURS):
                self._files.add(code.co_filename)
                self._own_calls += 1
                self._count_call("{}:{}".format(*_place(frame)))
            elif caller is not None and caller.f_code.co_filename.startswith(_OURS):
                self._files.add(caller.f_code.co_filename)
                self._count_call(
                    f"{code.co_filename.rpartition('site-packages/')[2]}:{code.co_name}"
                )
                self.counts["encodings"] += _place(frame)[0].endswith("json/__init__.py") and (
                    code.co_name in {"dumps", "dump"}
                )
            self._watch_libraries(frame)

    def _count_call(self, name: str) -> None:
        self.counts["calls"] += 1
        self.calls[name] = self.calls.get(name, 0) + 1

    def _watch_libraries(self, frame: FrameType) -> None:
        """Notice a statement that is sent to PostgreSQL, and a response."""
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if name == "execute" and file.endswith("psycopg/cursor_async.py"):
            statement = frame.f_locals["query"]
            text = statement.decode() if isinstance(statement, bytes) else str(statement)
            self._on_statement(text, commits=_WRITES.search(text) is not None)
        elif name == "finish_response" and file.endswith("aiohttp/web_protocol.py"):
            self.reached.setdefault(frame.f_locals["request"].path, self.snapshot())

    def _on_statement(self, statement: str, *, commits: bool) -> None:
        if not self._running:
            return
        self.counts["statements"] += 1
        self.counts["commits"] += commits
        self._wrote |= _WRITES_AN_ASK.search(statement) is not None
        if commits and self._wrote:
            if "commit" in self.reached and not self.shown:
                self.shown = {"calls": self._own_calls, "files": len(self._files)}
            self.reached.setdefault("commit", self.snapshot())


def _place(frame: FrameType) -> tuple[str, str]:
    return frame.f_code.co_filename.removeprefix(f"{ROOT}/"), frame.f_code.co_name


def _is_encoder(function: object) -> bool:
    owner = getattr(function, "__self__", None)
    module = getattr(function, "__module__", None) or type(owner).__module__
    return getattr(function, "__name__", "") in _ENCODERS and module.startswith(
        ("pydantic", "msgspec")
    )
