"""Output that contains an agent's words: they cannot control the terminal, hide text or reverse it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from typer.testing import CliRunner

from answerback_agents.cli import main
from answerback_agents.cli.ask_output import subject

EVIL = "a\x1b[2J\x1b]0;owned\x07b\u202ec\x85d\x9b31me\u2066f\r\n/: forged: line"
COMMANDS = ("\x1b", "\x07", "\x85", "\x9b", "\u202e", "\u2066", "\r")
FORM = {"questions": [{"id": "q", "text": EVIL, "answer_type": "select", "options": [EVIL, "b"]}]}
WRONG = {"questions": [{"id": EVIL, "text": EVIL, "answer_type": EVIL, EVIL: 1, "default": EVIL}]}


def printed(folder: Path, *arguments: str, form: object) -> tuple[str, str]:
    """The output of a command, decoded without changing any character."""
    path = folder / "form.json"
    path.write_text(json.dumps(form))
    with create_app_session():  # which is bound to the standard output of this run
        done = CliRunner().invoke(main.app, [arguments[0], str(path), *arguments[1:]])
    return done.stdout_bytes.decode(), done.stderr_bytes.decode()


@pytest.mark.rule("CLI-11")
@pytest.mark.parametrize(
    ("arguments", "form"),
    [
        (("check",), FORM),
        (("check",), WRONG),
        (("preview",), FORM),
        (("preview",), WRONG),
        (("preview", "--surface", "slack"), FORM),
        (("preview", "--surface", "discord"), FORM),
    ],
)
def test_no_control_character_from_an_agent_reaches_the_terminal(
    tmp_path: Path, arguments: tuple[str, ...], form: object
) -> None:
    both = "".join(printed(tmp_path, *arguments, form=form)).replace("\r\n", "\n")
    assert [c for c in COMMANDS if c in both] == []


@pytest.mark.rule("CLI-11")
def test_an_error_is_one_line_whatever_an_agent_wrote(tmp_path: Path) -> None:
    out, _ = printed(tmp_path, "check", form=WRONG)
    assert all(line.startswith("/questions/0") for line in out.splitlines())
    assert "␛[2J" in out


def shown(text: str, *, terminal: bool) -> str:
    """The output of `print_result` to a terminal, or to a pipe."""
    master, slave = pty.openpty()
    script = "import sys; from answerback_agents.cli.output import print_result; print_result(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", script, text],
        stdout=slave if terminal else subprocess.PIPE,
        check=True,
        timeout=250,
    )
    os.close(slave)
    written: Any = os.read(master, 65_536) if terminal else done.stdout
    os.close(master)
    return bytes(written).decode()


@pytest.mark.rule("CLI-11")
def test_a_result_is_verbatim_for_a_program_and_escaped_on_a_terminal() -> None:
    text = "Erase?\x1b[2J\u202e"
    assert shown(text, terminal=False) == f"{text}\n"
    assert shown(text, terminal=True) == "Erase?␛[2J⟨U+202E⟩\r\n"


def test_a_row_names_the_open_question_if_it_is_not_the_first() -> None:
    prompt: dict[str, Any] = {"kind": "question", "position": 1, "text": "Why?"}
    assert subject({"headline": "Release", "prompt": prompt}) == "Release"
    assert subject({"headline": "Release", "prompt": {**prompt, "position": 2}}) == "Release › Why?"
