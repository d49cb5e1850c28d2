"""Configure logging to standard error: readable lines on a terminal, otherwise JSON; one event per line.

The modules log with the standard library; only this module defines how lines look. No answer and no
secret is ever logged. If the HTTP server logs an error about a request that it could not read, only the
error's type is kept, because its message quotes the request.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

from answerback.runtime.plugins import installed_plugins

if TYPE_CHECKING:
    from structlog.types import EventDict

_QUOTES_REQUESTS: Final = "aiohttp.server"
_VERBOSE: Final = ("asyncio", "mcp")
"""Libraries that log a lot at level "info"; like the surfaces' libraries, they log from "warning" up."""
_STANDARD: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"})
"""The attributes of a record that are not its context."""


def configure_logging(level: str, form: Literal["console", "json"] | None) -> None:
    """Configure logging for the whole process.

    Args:
        form: the format; None: ``console`` on a terminal, otherwise ``json``.
    """
    as_json = form == "json" or (form is None and not sys.stderr.isatty())
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if as_json else _console_lines())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    verbose = (*_VERBOSE, *(name for plugin in installed_plugins() for name in plugin.loggers))
    for name in verbose:
        logging.getLogger(name).setLevel(max(root.level, logging.WARNING))
    # A library may give each of its loggers the root's level, and at "debug" log texts that people write.
    handler.addFilter(_QuietLibraries(verbose))


class JsonLines(logging.Formatter):
    """Writes each record as an object of JSON: what happened, its context, when, and an exception with its trace.

    structlog's formatter would write the same. It draws lines for terminals, too, and loads 5 MB of modules for that,
    which a service whose log is JSON never uses.
    """

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).replace(tzinfo=None)
        event = {
            "event": record.getMessage(),
            "level": record.levelname.lower(),
            "logger": record.name,
            **{name: value for name, value in vars(record).items() if name not in _STANDARD},
            "timestamp": f"{at.isoformat(timespec='microseconds')}Z",
        }
        if (error := _exception(record.exc_info)) is not None:
            if record.name == _QUOTES_REQUESTS:
                event["error"] = type(error).__name__
            else:
                event["exception"] = "".join(traceback.format_exception(error)).rstrip("\n")
        return json.dumps(event, default=repr)


def _console_lines() -> logging.Formatter:
    import structlog

    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
            structlog.stdlib.ExtraAdder(),
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _redact_request_errors,
        ],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _format_exception,
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
    )


class _QuietLibraries(logging.Filter):
    """Keeps from the log what these loggers and those below them say of less than a warning."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._libraries = [logging.Filter(name) for name in names]

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno >= logging.WARNING:
            return True
        return not any(library.filter(record) for library in self._libraries)


def _redact_request_errors(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Keep only the type of an HTTP server's exception: its message quotes the request, perhaps with a token."""
    if event.get("logger") == _QUOTES_REQUESTS and event.get("exc_info"):
        error = _exception(event.pop("exc_info"))
        event["error"] = type(error).__name__
    return event


def _format_exception(_logger: object, _method: str, event: EventDict) -> EventDict:
    """Format an exception as type, message and location; with ``log.format = "json"`` the log has the whole trace."""
    error = _exception(event.pop("exc_info", None))
    if error is not None:
        frames = traceback.extract_tb(error.__traceback__)
        where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
        event["error"] = f"{type(error).__name__}: {error}{where}".replace("\n", " ")
    return event


def _exception(exc_info: object) -> BaseException | None:
    """The exception of a record; the standard library always converts it to a tuple."""
    error = exc_info[1] if isinstance(exc_info, tuple) else None
    return error if isinstance(error, BaseException) else None
