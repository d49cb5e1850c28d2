"""The keys under ``tools``: which names are accepted, and which values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from answerback.cli import serving
from answerback.core.errors import ConfigError
from answerback.runtime.config_file import load_settings


@pytest.mark.rule("CONFIG-8")
@pytest.mark.parametrize("name", ["ask_user", "claude", "git", "bash", "shell_tool"])
def test_tools_are_named_as_ours_or_as_any_tool_that_asks(tmp_path: Path, name: str) -> None:
    file = tmp_path / "a.toml"
    file.write_text(f"[tools.{name}]\nenable = true\n")
    assert load_settings(file).tools[name].enable


@pytest.mark.rule("CONFIG-8")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[tools.askuser]\nenable = false",
            'there is no tool of this name (did you mean "ask_user"?)',
        ),
        ("[tools.AskUserQuestions.questions.q]", '(did you mean "AskUserQuestion"?)'),
        (
            "[tools.git.questions.push]\nprompt_label = ' '",
            "tools.git.questions.push.prompt_label: it is blank",
        ),
    ],
)
def test_a_misspelled_tool_and_a_blank_label_are_errors(
    tmp_path: Path, text: str, expected: str
) -> None:
    file = tmp_path / "a.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=re.escape(expected)):
        load_settings(file)


@pytest.mark.rule("CONFIG-8")
def test_a_warning_at_start_names_the_tools_that_are_not_ours(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "a.toml"
    file.write_text("".join(f"[tools.{name}]\nenable = true\n" for name in ("git", "claude")))
    serving._warn_about_other_tools(load_settings(file))
    (warning,) = caplog.records
    assert warning.levelname == "WARNING"
    assert "[tools.git]" in warning.getMessage()
