"""`answerback token`: creates agents, lists them, and removes them from a configuration file that is kept otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from answerback.cli.token import app
from answerback.core.errors import ConfigError
from answerback.ports.person_key import hash_of

Run = Callable[..., Result]
ANN = f'[agents.ann]\ntoken_hash = "{hash_of("ann")}"\n'
BOB = f'[agents.bob] # builds\ntoken_hash = "{hash_of("bob")}"\nroutes = ["web"]\nrole = "agent"\n'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The configuration file in the folder that a command runs in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANSWERBACK_CONFIG", raising=False)
    return tmp_path / "answerback.toml"


@pytest.fixture
def token(file: Path) -> Run:
    def run(*arguments: str, code: int = 0) -> Result:
        done = CliRunner().invoke(app, list(arguments))
        assert done.exit_code == code, done.output
        return done

    return run


@pytest.mark.rule("CLI-9", "CLI-18")
def test_a_new_token_comes_with_its_lines_for_the_configuration(token: Run, file: Path) -> None:
    made = json.loads(token("create", "ann", "--role", "surface", "--json").stdout)
    assert made["configuration"].splitlines() == [
        "[agents.ann]",
        f'token_hash = "{hash_of(made["token"])}"',
        'role = "surface"',
    ]
    assert "not a valid agent name" in token("create", "a b", code=2).output
    file.write_text(made["configuration"])
    assert token("list").stdout == "ann  surface  every route\n"


@pytest.mark.rule("CLI-14", "CLI-18")
def test_agents_are_listed_without_their_tokens(token: Run, file: Path) -> None:
    assert "There are no agents" in token("list").output
    file.write_text(ANN + BOB)
    assert token("list").stdout == "ann  agent  every route\nbob  agent  web\n"
    listed = token("list", "--json").stdout
    assert json.loads(listed)[1] == {
        "name": "bob",
        "role": "agent",
        "label": None,
        "routes": ["web"],
    }
    assert "sha256" not in listed


@pytest.mark.rule("CLI-14")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_revoking_removes_one_agent_and_keeps_the_rest(
    token: Run, file: Path, newline: str
) -> None:
    before, after = "# mine\ndefault_route = 'web' # here\n\n", "\n# more\n[log]\nlevel = 'debug'\n"
    file.write_bytes((before + ANN + "\n" + BOB + after).replace("\n", newline).encode())
    file.chmod(0o600)
    done = json.loads(token("revoke", "bob", "--json").stdout)
    assert done == {"name": "bob", "revoked": True, "left": ["ann"]}
    assert file.read_bytes() == (before + ANN + after).replace("\n", newline).encode()
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert "There is no agent bob. The agents are: ann." in token("revoke", "bob", code=1).output
    assert "It was the last agent" in token("revoke", "ann").output
    assert "There are no agents at all." in token("revoke", "ann", code=1).output


@pytest.mark.rule("CLI-14")
def test_an_agent_that_is_not_a_table_in_the_file_is_left_to_people(
    token: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (
        f'[agents]\nann = {{ token_hash = "{hash_of("ann")}" }}\n',
        f'agents.ann.token_hash = "{hash_of("ann")}"\n',
    ):
        file.write_text(text)
        assert "Remove ann by hand" in token("revoke", "ann", code=1).output
        assert file.read_text() == text
    file.write_text(ANN)
    monkeypatch.setenv("ANSWERBACK_AGENTS__ANN__TOKEN_HASH", hash_of("ann"))
    assert "also set in the environment variables" in token("revoke", "ann", code=1).output
    assert file.read_text() == ""


@pytest.mark.rule("CLI-14")
def test_revoking_removes_a_table_whose_last_comment_ends_in_a_no_break_space(
    token: Run, file: Path
) -> None:
    file.write_text(BOB.rstrip() + " # the desk\u00a0\n" + ANN)
    assert "Removed bob from" in token("revoke", "bob").output
    assert file.read_text() == ANN


def test_a_file_that_is_not_utf_8_is_reported(file: Path) -> None:
    from answerback.cli import token

    file.write_bytes(ANN.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token, "_remove_agent", lambda *_: "x = 1\n")
        patch.setattr("answerback_agents.connect.config_files.os.open", _refuse)
        with pytest.raises(ConfigError, match="Cannot write"):
            token.revoke("ann", None, json=False)
    assert file.read_text() == ANN


def _refuse(*_arguments: object) -> int:
    raise PermissionError(13, "Permission denied")
