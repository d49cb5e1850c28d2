"""Log lines: one per event, JSON for programs, short for people, and never with request contents."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from answerback.runtime import logs


def refuse(message: str) -> None:
    raise ValueError(message)


def fail(message: str, name: str) -> None:
    try:
        refuse(message)
    except ValueError:
        logging.getLogger(name).exception("It failed", extra={"ask_id": "ask_1"})


@pytest.mark.rule("CONFIG-9")
def test_json_lines_contain_the_event_its_context_and_the_whole_trace(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.configure_logging("info", "json")
    fail("on two\nlines", "bot.somewhere")
    (line,) = capsys.readouterr().err.splitlines()
    parsed = json.loads(line)
    assert (parsed["event"], parsed["level"], parsed["ask_id"]) == ("It failed", "error", "ask_1")
    assert parsed["logger"] == "bot.somewhere"
    assert "ValueError: on two\nlines" in parsed["exception"]


@pytest.mark.rule("CONFIG-9")
def test_console_lines_are_single_lines_even_for_exceptions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.configure_logging("info", "console")
    fail("on two\nlines", "bot.somewhere")
    (line,) = capsys.readouterr().err.splitlines()
    assert "It failed" in line
    assert "ValueError: on two lines" in line
    assert "Traceback" not in line


@pytest.mark.rule("CONFIG-4")
@pytest.mark.parametrize("form", ["json", "console"])
def test_for_an_unreadable_request_only_the_error_type_is_logged(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    logs.configure_logging("info", "json" if form == "json" else "console")
    fail("Bearer ab_secret", "aiohttp.server")
    result = capsys.readouterr().err
    assert "ValueError" in result
    assert "secret" not in result


def test_the_level_is_applied_and_libraries_log_less(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure_logging("warning", None)
    logging.getLogger("bot.x").info("quiet")
    logging.getLogger("bot.x").warning("loud")
    logs.configure_logging("debug", None)
    logging.getLogger("bot.x").debug("quiet no more")
    logging.getLogger("discord.client").info("chatter")
    printed = [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()]
    assert printed == ["loud", "quiet no more"]


@pytest.mark.rule("CONFIG-9")
def test_without_a_terminal_lines_are_json(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    logs.configure_logging("info", None)
    logging.getLogger("bot.x").info("for people")
    assert not capsys.readouterr().err.startswith("{")
