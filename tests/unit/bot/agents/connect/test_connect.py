"""`answerback connect`: each agent's own files are shown, changed, backed up and restored."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import socket
import stat
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from answerback_agents.cli import main
from answerback_agents.cli.connect import command
from answerback_agents.connect.config_files import ConfigFile
from answerback_agents.connect.connectable_agent import Scope
from answerback_agents.connect.known_agents import AGENTS
from answerback_agents.connect.settings_entries import ConnectError
from tests.acceptance.forked_process import forked
from tests.meta.project import RECIPES

CASES = Path(__file__).parents[4] / "data" / "cases"
Connect = Callable[..., Any]
BOTH = [(agent, scope) for agent, known in AGENTS.items() for scope in known.places]
FILES = {
    "codex": (".codex/config.toml", '# mine\nmodel = "x" # quick\n\n[tui]\ntheme = "dark"\n'),
    "opencode": (".config/opencode/opencode.jsonc", '{\n  // mine\n  "theme": "x", /* y */\n}\n'),
    "gemini": (".gemini/settings.json", '{\n  // mine\n  "ui": {"theme": "x"}\n}\n'),
    "copilot": (".copilot/settings.json", '// mine\n{\n\t"banner": "never", // no\n}'),
    "claude": (".claude/settings.json", '{"model": "opus", "hooks": {"PreToolUse": []}}\n'),
    "cursor": (".cursor/mcp.json", '{"mcpServers": {"x": {"url": "y"}}}'),
    "vscode": (".vscode/mcp.json", '{\n  // mine\n  "servers": {\n    "x": {},\n  },\n}\n'),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for variable in ("CODEX_HOME", "XDG_CONFIG_HOME", "COPILOT_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("GEMINI_CLI_HOME", raising=False)
    return folder


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def connect(home: Path, project: Path) -> Connect:
    app = typer.Typer(add_completion=False)
    app.command()(command)

    def run(*arguments: str, code: int = 0, charset: str = "utf-8") -> Result:
        done = CliRunner(charset).invoke(app, list(arguments))
        assert done.exit_code == code, done.output
        return done

    return run


def tree(*folders: Path) -> dict[str, bytes | None]:
    return {
        str(path): path.read_bytes() if path.is_file() else None
        for folder in folders
        for path in folder.rglob("*")
    }


@pytest.mark.rule("CONNECT-1")
@pytest.mark.parametrize(("agent", "scope"), BOTH)
def test_connecting_every_agent_twice_can_be_undone(
    connect: Connect, home: Path, project: Path, agent: str, scope: Scope
) -> None:
    before = tree(home, project)
    connect(agent, "--scope", scope, "--yes")
    once = tree(home, project)
    assert once != before
    again = connect(agent, "--scope", scope, "--yes")
    assert "nothing to change" in again.output
    assert tree(home, project) == once
    connect(agent, "--scope", scope, "--remove", "--yes")
    left = {name for name, content in tree(home, project).items() if content is not None}
    assert left == set()
    assert [*project.iterdir()] == []
    assert "not connected" in connect(agent, "--scope", scope, "--remove", "--yes").output


@pytest.mark.rule("CONNECT-1")
@pytest.mark.parametrize("agent", FILES)
def test_a_file_with_comments_is_restored_byte_for_byte(
    connect: Connect, home: Path, project: Path, agent: str
) -> None:
    name, text = FILES[agent]
    file = (project if agent == "vscode" else home) / name
    file.parent.mkdir(parents=True)
    file.write_text(text)
    shown = connect(agent, "--yes").output
    assert f"+++ {file}" in shown
    assert "8420" in file.read_text() or f"hook {agent}" in file.read_text()
    assert "mine" not in text or "mine" in file.read_text()
    assert file.with_name(f"{file.name}.before-answerback").read_text() == text
    connect(agent, "--yes", "--url", "http://127.0.0.1:9999", "--token-env", "MY_TOKEN")
    assert "127.0.0.1:9999" in file.read_text()
    assert "8420" not in file.read_text()
    connect(agent, "--remove", "--yes")
    assert file.read_text() == text
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.rule("CONNECT-1")
def test_a_change_is_shown_in_utf_8_whatever_the_locale(connect: Connect, home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"language": "日本語"}\n', "utf-8")
    done = connect("claude", "--yes", charset="ascii")
    assert '-{"language": "日本語"}\n' in done.stdout_bytes.decode()
    assert connect("claude", "--yes").stdout == "", "there is nothing to change"


def test_edits_in_between_and_the_copy_are_kept(connect: Connect, home: Path) -> None:
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text("a = 1\n")
    connect("codex", "--yes")
    file.write_text(file.read_text().replace("a = 1", "a = 2 # mine"))
    shown = connect("codex", "--remove", "--yes").output
    assert file.read_text() == "a = 2 # mine\n"
    assert "was edited or written by hand" in shown
    connect("codex", "--yes")
    assert file.with_name("config.toml.before-answerback").read_text() == "a = 2 # mine\n"


@pytest.mark.rule("CONNECT-1")
@pytest.mark.parametrize("text", ["", "\n", "{}", "{ }\n", "// mine", "// mine\n", "/* mine */"])
def test_a_file_in_which_nothing_is_set_is_restored(
    connect: Connect, home: Path, text: str
) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(text)
    connect("claude", "--yes")
    connect("claude", "--remove", "--yes")
    assert file.read_text() == text


def test_entries_pasted_by_hand_are_removed_too(connect: Connect, home: Path) -> None:
    file = home / ".claude" / "settings.json"
    pasted = connect("claude", "--print", "--token-env", "T").stdout
    file.parent.mkdir()
    file.write_text(pasted)
    connect("claude", "--remove", "--yes")
    assert file.read_text().strip() == "{}"  # connecting has not created it
    assert file.with_name("settings.json.before-answerback").read_text() == pasted


@pytest.mark.rule("CONNECT-1")
def test_a_file_with_an_entry_of_the_same_shape_is_restored(connect: Connect, home: Path) -> None:
    file = home / ".kimi-code" / "mcp.json"
    file.parent.mkdir()
    mine = connect("kimi", "--print").stdout.replace("127.0.0.1", "10.0.0.1")
    file.write_text(mine)
    connect("kimi", "--yes")
    connect("kimi", "--yes", "--url", "http://127.0.0.1:9")
    assert "10.0.0.1" not in file.read_text()
    connect("kimi", "--remove", "--yes")
    assert tree(home) == {str(file.parent): None, str(file): mine.encode()}


@pytest.mark.rule("CONNECT-1")
def test_another_file_in_place_of_the_one_that_connecting_created_is_restored(
    connect: Connect, home: Path
) -> None:
    file = home / ".cursor" / "mcp.json"
    connect("cursor", "--yes")
    file.write_text("// mine\n{}\n")
    connect("cursor", "--yes")
    connect("cursor", "--remove", "--yes")
    assert tree(home) == {str(file.parent): None, str(file): b"// mine\n{}\n"}


@pytest.mark.rule("CONNECT-1")
def test_an_empty_file_that_its_agent_has_written_anew_is_empty_again(
    connect: Connect, home: Path
) -> None:
    file = home / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text("")
    connect("cursor", "--yes")
    file.write_text(json.dumps(json.loads(file.read_text())))
    connect("cursor", "--remove", "--yes")
    assert tree(home) == {str(file.parent): None, str(file): b""}


@pytest.mark.rule("CONNECT-1")
def test_a_hook_that_let_commands_through_when_it_died_is_replaced(
    connect: Connect, home: Path
) -> None:
    file = home / ".cursor" / "hooks.json"
    connect("cursor", "--yes")
    text = file.read_text()
    [asks] = json.loads(text)["hooks"]["beforeShellExecution"]
    earlier = json.loads(text)
    del earlier["hooks"]["beforeShellExecution"][0]["failClosed"]
    other = {"command": "./audit.sh"}
    earlier["hooks"]["beforeShellExecution"].append(other)
    file.write_text(json.dumps(earlier))
    connect("cursor", "--yes")
    assert json.loads(file.read_text())["hooks"]["beforeShellExecution"] == [asks, other]
    connect("cursor", "--yes", "--remove")
    assert json.loads(file.read_text())["hooks"] == {"beforeShellExecution": [other]}


@pytest.mark.rule("CONNECT-1")
def test_a_group_that_was_doubled_is_removed_twice(connect: Connect, home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"model": "opus"}')
    connect("claude", "--yes")
    settings = json.loads(file.read_text())
    settings["hooks"]["Stop"] *= 2
    file.write_text(json.dumps(settings))
    connect("claude", "--remove", "--yes")
    assert json.loads(file.read_text()) == {"model": "opus"}


@pytest.mark.rule("CONNECT-1")
def test_a_created_file_that_was_edited_leaves_a_copy(connect: Connect, home: Path) -> None:
    file = home / ".cursor" / "mcp.json"
    connect("cursor", "--yes")
    edited = file.read_text().replace("127.0.0.1", "10.0.0.1")
    file.write_text(edited)
    shown = connect("cursor", "--remove", "--yes").output
    copy = file.with_name("mcp.json.before-answerback")
    assert tree(home) == {str(file.parent): None, str(copy): edited.encode()}
    assert f"{file} is gone. Its original content is in {copy}." in shown


@pytest.mark.rule("CONNECT-1")
def test_an_entry_made_by_hand_is_restored_with_its_file(connect: Connect, home: Path) -> None:
    case = json.loads((CASES / "connect-over-own-entry.json").read_text())
    file = home / case["file"]
    file.parent.mkdir()
    file.write_text(case["content"])
    copy = file.with_name("config.toml.before-answerback")
    for _ in range(2):
        connect("codex", "--yes")
        assert "elsewhere" not in file.read_text()
        assert copy.read_text() == case["content"]
    connect("codex", "--yes", "--remove")
    assert tree(home) == {str(file.parent): None, str(file): case["content"].encode()}
    shown = connect("codex", "--yes", "--remove").output
    assert "was edited or written by hand. Its original content is in" in shown
    assert file.read_text() == ""
    assert copy.read_text() == case["content"]


def test_a_file_behind_a_link_is_emptied_and_its_link_kept(connect: Connect, home: Path) -> None:
    real = home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    link = home / ".cursor" / "mcp.json"
    connect("cursor", "--yes")
    link.rename(real)
    link.symlink_to(real)
    connect("cursor", "--remove", "--yes")
    assert link.is_symlink()
    assert real.read_text() == ""


def test_the_copy_goes_if_the_entries_were_removed_by_hand(connect: Connect, home: Path) -> None:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"model": "opus"}')
    connect("claude", "--yes")
    file.write_text('{"model": "opus"}')
    assert "not connected" in connect("claude", "--remove", "--yes").output
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_what_a_killed_call_left_is_replaced(connect: Connect, home: Path) -> None:
    left = home / ".claude" / ".settings.json.answerback-new"
    left.parent.mkdir()
    left.write_text("half of")
    connect("claude", "--yes")
    names = sorted(path.name for path in left.parent.iterdir())
    assert names == ["settings.json", "settings.json.created-by-answerback"]


def test_links_permissions_byte_order_marks_and_line_endings_are_kept(
    connect: Connect, home: Path
) -> None:
    real = home / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    was = b'\xef\xbb\xbf{\r\n  "a": 1\r\n}\r\n'
    real.write_bytes(was)
    real.chmod(0o640)
    link = home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    connect("cursor", "--yes")
    assert link.is_symlink()
    now = real.read_bytes()
    assert now.startswith(b'\xef\xbb\xbf{\r\n  "a": 1,\r\n  "mcpServers"')
    assert now.count(b"\n") == now.count(b"\r\n")
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert stat.S_IMODE(link.with_name("mcp.json.before-answerback").stat().st_mode) == 0o640
    connect("cursor", "--remove", "--yes")
    assert link.is_symlink()
    assert real.read_bytes() == was


def test_the_hooks_run_this_program_and_a_token_comes_from_a_variable(
    connect: Connect, home: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWERBACK_TOKEN", "secret")
    connect("codex", "--yes", "--url", "http://10.0.0.7:8420/")
    text = (home / ".codex" / "config.toml").read_text()
    assert "secret" not in text
    codex = tomllib.loads(text)
    server = codex["mcp_servers"]["answerback"]
    assert server["bearer_token_env_var"] == "ANSWERBACK_TOKEN"
    assert server["url"] == "http://10.0.0.7:8420/mcp"
    [group] = codex["hooks"]["PreToolUse"]
    program, *arguments = shlex.split(group["hooks"][0]["command"])
    assert Path(program).is_absolute()
    assert arguments == ["hook", "codex", "--url", "http://10.0.0.7:8420"]
    connect("gemini", "--yes", "--scope", "project", "--token-env", "MINE")
    gemini = json.loads((project / ".gemini" / "settings.json").read_text())
    assert gemini["mcpServers"]["answerback"]["headers"] == {"Authorization": "Bearer $MINE"}
    [group] = gemini["hooks"]["BeforeTool"]
    assert group["hooks"][0]["command"] == "answerback hook gemini --token-env MINE"


def test_the_commands_agents_are_the_supported_ones() -> None:
    refused = CliRunner().invoke(main.app, ["connect", "nobody"], env={"COLUMNS": "1000"})
    assert all(f"'{name}'" in refused.output for name in AGENTS)


def test_limitations_and_next_steps_are_printed(connect: Connect) -> None:
    printed_text = connect("codex", "--yes").output
    assert "trust the three hooks" in printed_text
    assert "Limitations with Codex:\n- " in printed_text
    assert "--token-env ANSWERBACK_TOKEN" in printed_text
    assert "Set T to the agent's token" in connect("codex", "--yes", "--token-env", "T").output
    command = "claude mcp add --transport http answerback http://127.0.0.1:8420/mcp"
    header = " --header 'Authorization: Bearer ${T}'\n"
    assert f"{command}\n" in connect("claude", "--yes").output
    assert f"{command}{header}" in connect("claude", "--yes", "--token-env", "T").output


@pytest.mark.parametrize("agent", AGENTS)
def test_connect_says_what_to_restart_and_whether_the_service_answers(
    connect: Connect, agent: str
) -> None:
    scope = next(iter(AGENTS[agent].places)).value
    text = connect(agent, "--yes", "--scope", scope, "--url", "http://127.0.0.1:9").output
    state, steps = (
        text.index("No service answers at http://127.0.0.1:9 yet."),
        text.index("Next steps:"),
    )
    assert text.index("Connected.") < state < steps
    assert re.search(
        r"^- (Restart|In the window, start|Enable the server answerback)", text[steps:], re.M
    )


def test_connect_says_that_the_service_answers(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                assert connection.recv(4096).startswith(b"GET /healthz ")
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

        server = threading.Thread(target=answer)
        server.start()
        assert f"The service answers at {url}." in connect("codex", "--yes", "--url", url).output
        server.join()


def test_claude_code_gets_the_settings_that_the_documentation_shows(connect: Connect) -> None:
    shown = json.loads((RECIPES / "claude-code-settings.json").read_text())
    printed = connect("claude", "--print", "--token-env", "ANSWERBACK_TOKEN").stdout
    assert json.loads(re.sub(r'"[^"]*answerback hook', '"answerback hook', printed)) == shown


def test_only_files_that_change_are_written(connect: Connect, home: Path) -> None:
    connect("copilot", "--yes")
    servers, hooks = (home / ".copilot" / name for name in ("mcp-config.json", "settings.json"))
    hooks.unlink()
    shown = connect("copilot", "--yes").output
    assert hooks.exists()
    assert str(servers) not in shown
    servers.unlink()
    connect("copilot", "--remove", "--yes")
    assert not hooks.exists()


def test_print_changes_nothing(connect: Connect, home: Path, project: Path) -> None:
    printed = connect("vscode", "--scope", "user", "--print")
    assert json.loads(printed.stdout) == {
        "servers": {"answerback": {"type": "http", "url": "http://127.0.0.1:8420/mcp"}}
    }
    assert tree(home, project) == {}


def test_failures_are_reported(connect: Connect, home: Path, project: Path) -> None:
    assert "Open User Configuration" in connect("vscode", "--scope", "user", code=2).output
    assert "Add --yes" in connect("codex", code=2).output
    assert tree(home, project) == {}
    file = home / ".codex" / "config.toml"
    file.parent.mkdir()
    for text, expected in [
        (b"a = \n", "it is not valid TOML"),
        (b"\xff\xfe", "is not encoded in UTF-8"),
        (b"mcp_servers = { x = {} }\n", "by hand"),
    ]:
        file.write_bytes(text)
        assert expected in _error(connect, "codex", "--yes")
        assert file.read_bytes() == text
    file.write_bytes(b"a = \n")
    assert "it is not valid TOML" in _error(connect, "codex", "--yes", "--remove")
    file.unlink()
    file.mkdir()
    assert "Cannot read" in _error(connect, "codex", "--yes")
    assert connect("opencode", "--remove", "--yes").exit_code == 0


def _error(connect: Connect, *arguments: str) -> str:
    done = connect(*arguments, code=1)
    assert isinstance(done.exception, ConnectError)
    return str(done.exception)


@pytest.mark.parametrize(
    "url", ["nonsense", "ftp://127.0.0.1", "http://", "http://x:port", "http://x:0"]
)
def test_an_invalid_address_is_never_written(
    connect: Connect, home: Path, project: Path, url: str
) -> None:
    printed_text = connect("claude", "--yes", "--url", url, code=1).output
    assert printed_text == f"{url} is not a valid Answerback address. Use http://host:port.\n"
    assert tree(home, project) == {}


def test_a_dangling_link_is_left_alone(connect: Connect, home: Path) -> None:
    link = home / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(home / "dotfiles" / "mcp.json")
    for arguments in (["--yes"], ["--yes", "--remove"]):
        failure = _error(connect, "cursor", *arguments)
        assert (
            f"{link} is a link to {home / 'dotfiles' / 'mcp.json'}, which does not exist" in failure
        )
    assert link.is_symlink()
    assert not (home / "dotfiles").exists()


def test_a_file_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    file = ConfigFile(tmp_path / "x.json", tmp_path)
    file.path.write_text("new")
    with pytest.raises(ConnectError, match="in the meantime"):
        file.replace("old", "mine")
    with pytest.raises(ConnectError, match="in the meantime"):
        file.remove("old")
    assert file.path.read_text() == "new"


def test_a_failed_write_leaves_the_file_and_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ConfigFile(tmp_path / "x.json", tmp_path)
    file.path.write_text("old")

    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(ConnectError, match="No space left"):
        file.replace("old", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]
    assert file.path.read_text() == "old"


@pytest.mark.parametrize(("typed", "changed"), [("y", True), ("n", False)])
async def test_in_a_terminal_it_asks_for_confirmation(
    home: Path, project: Path, typed: str, changed: bool
) -> None:
    terminal, far = pty.openpty()
    try:
        os.write(terminal, f"{typed}\n".encode())
        process = await forked("connect", "cursor", stdin=far)
        _, err = await process.communicate()
    finally:
        os.close(terminal)
        os.close(far)
    assert "Make this change?" in err.decode()
    assert (home / ".cursor" / "mcp.json").exists() is changed
    assert (process.returncode == 0) is changed
