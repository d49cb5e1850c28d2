"""Explanations of PostgreSQL's errors: what went wrong, where, and what to do about it."""

from __future__ import annotations

import re
from typing import Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

_CODES: Final = {
    "08P01": "the pooler lost its connection to the server, or has none available. See the logs of the pooler and the"
    " server; no restart is needed here",
    "25P03": "this process paused in the middle of a transaction, so the server ended it and stored none of it. Try"
    " again",
    "25006": "it is read-only. Name the primary server in `storage.url` (for several hosts, with"
    " `target_session_attrs=read-write`), or end its read-only mode",
    "26000": "a pooler reassigned the connection between two statements. Set `storage.listen_url` to the"
    " server's own address, so that no statement is prepared",
    "3D000": "there is no such database. Create it with `createdb`, or change the name in `storage.url`",
    "3F000": "there is none of the schemas in the role's `search_path`. Create one, or change the path (`ALTER ROLE …"
    " SET search_path = public`)",
    "42501": "the role lacks a privilege. Grant it (`GRANT ALL ON SCHEMA public TO …`), or make the role the owner of"
    " the database",
    "42P01": "a table is missing: it was dropped, or the role's `search_path` changed. Restore a backup or"
    " the search path, and restart Answerback",
    "42P05": "a pooler reassigned the connection between two statements. Set `storage.listen_url` to the"
    " server's own address, so that no statement is prepared",
    "53100": "the server's disk is full. Free some space there; no restart is needed",
    "53200": "the server is out of memory. Give it more memory, or lower its `max_connections`",
    "53300": "the server has no connection left. Raise its `max_connections`, stop other programs that use it, or put"
    " a pooler in front of it",
    "55P03": "another program holds a lock on it. Stop that program (a migration, a backup, an open `psql`),"
    " or try again",
    "57014": "the statement was cancelled, by `statement_timeout` or by an administrator. Raise the timeout"
    " of Answerback's role, or find out what slows the server down",
}
_CLASSES: Final = {
    "08": "the connection was lost. Check the server's log; no restart is needed here",
    "28": "the server rejects the user or the password. Check both in `storage.url`, and `pg_hba.conf`",
    "40": "other transactions conflicted with every attempt. Try again",
    "53": "the server is short of a resource. Check its log",
    "57": "the server is shutting down or starting. Wait, or check its log; no restart is needed here",
    "58": "the server's disk failed to read or write. Check the disk and the server's log",
    "XX": "it is damaged, or the server has a bug. Check the server's log, and restore a backup",
}
_REFUSED: Final = (
    ("starting up", "57P03"),
    ("shutting down", "57P03"),
    ("password", "28P01"),
    ("pg_hba.conf", "28000"),
    ("role", "28000"),
    ("permission denied", "42501"),
    ("database", "3D000"),
    ("too many", "53300"),
    ("remaining connection slots", "53300"),
)
"""Parts of messages from a server that refuses a connection, for which libpq gives no code, and the code for each."""

_LOST: Final = "08006"
_INTERNAL: Final = "XX000"
"""The code of errors for which the server has none, such as most errors of its disk."""
_DISK_FAILED: Final = re.compile(r"could not (read|write|open|extend|flush|fsync|seek|stat)\b")
_UNREACHABLE: Final = (
    "it cannot be reached. Check that the server runs, and that `storage.url` has its host and port; no restart"
    " is needed here"
)
_DEFECT: Final = "PostgreSQL rejected the statement. This is a bug in Answerback"


def display_name(url: str) -> str:
    """Return the name of the database as people know it, without a password.

    Raises:
        psycopg.ProgrammingError: it is not the address of a database.
    """
    parts = conninfo_to_dict(url)
    host = parts.get("host") or parts.get("hostaddr") or "this machine"
    port = f":{parts['port']}" if parts.get("port") else ""
    return f"{parts.get('dbname') or parts.get('user') or 'of the user'} on {host}{port}"


def describe_error(name: str, error: psycopg.Error) -> str:
    """Describe why a statement failed, and what to do."""
    if error.sqlstate is None and not isinstance(error, psycopg.OperationalError):
        why, code = _DEFECT, type(error).__name__
    else:
        code = error.sqlstate or _LOST
        disk_failed = code == _INTERNAL and _DISK_FAILED.match(str(error))
        why = _CODES.get(code) or _CLASSES.get("58" if disk_failed else code[:2]) or _DEFECT
    return f"The database {name}: {why} ({code}: {_first_line(error)})."


def describe_connection_error(name: str, error: psycopg.Error) -> str:
    """Describe why no connection could be opened. libpq gives no code for that, only the server's message."""
    text = str(error)
    code = error.sqlstate or next((code for fragment, code in _REFUSED if fragment in text), None)
    if "FATAL" not in text or code is None:
        return f"The database {name}: {_UNREACHABLE} ({_reason(text)})."
    why = _CODES.get(code) or _CLASSES[code[:2]]
    return f"The database {name}: {why} ({_reason(text)})."


def _first_line(error: psycopg.Error) -> str:
    """Return the message without its details, which may quote the row's contents."""
    message = error.diag.message_primary or str(error)
    return message.partition("\n")[0].strip().rstrip(".")


def _reason(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else "no reason given"
