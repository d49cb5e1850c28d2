"""The explanations of PostgreSQL's errors."""

from __future__ import annotations

import psycopg
import pytest

from answerback_postgres import driver_errors


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("connection failed: FATAL: sorry, too many clients already", "has no connection left"),
        ("FATAL: the database system is starting up", "shutting down or starting"),
        ("FATAL: something else", "cannot be reached"),
        ("", "no reason given"),
    ],
)
def test_a_failed_connection_is_explained_from_the_servers_message(text: str, says: str) -> None:
    assert says in driver_errors.describe_connection_error("asks", psycopg.OperationalError(text))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('could not read blocks 0..3 in file "base/5/16385": Stale file handle', "disk failed"),
        ("could not fsync file", "disk failed"),
        ("unexpected data beyond EOF", "it is damaged, or the server has a bug"),
    ],
)
def test_a_disk_that_fails_is_not_called_damage(text: str, says: str) -> None:
    error = psycopg.errors.InternalError_(text)
    assert says in driver_errors.describe_error("asks", error)


def test_an_error_that_is_not_from_the_server_is_our_bug() -> None:
    message = driver_errors.describe_error(
        "asks", psycopg.ProgrammingError("the query has 0 placeholders")
    )
    assert "a bug in Answerback" in message
