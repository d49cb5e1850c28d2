"""Commands that need no service, run in this process."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import socket
import sys
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
import pytest
import yaml
from typer.testing import CliRunner

from answerback.cli import demo, serving
from answerback.cli.checkup import build_checkup
from answerback.core.errors import ConfigError, StoreError
from answerback.runtime.config_file import load_settings
from answerback.runtime.plugins import installed_plugins
from answerback_agents.cli import main
from answerback_agents.cli.service_address import resolve_url
from answerback_base import install_extras
from answerback_base.version import VERSION
from answerback_storage.sqlite.store import SqliteStore

HASH = "sha256:" + "0" * 64


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def run(*arguments: str) -> tuple[int, str, str]:
    """Run a command; returns its exit status, standard output and standard error."""
    done = CliRunner().invoke(main.app, list(arguments), catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


async def make_database(folder: Path) -> None:
    store = SqliteStore(folder / "answerback.db")
    await store.open()
    await store.close()


# --- the program -----------------------------------------------------------------------------------


def test_the_help_lists_every_command_in_order_with_its_purpose() -> None:
    code, out, _ = run("--help")
    assert code == 0
    listed = [
        line.split()[1] for line in out.splitlines() if line.split()[1:2] and line[2].isalpha()
    ]
    assert [name for name in listed if name in main.all_commands()] == list(main.all_commands())
    assert "Try the migration form in your browser" in out


def test_the_version_is_printed_and_nothing_else_happens() -> None:
    code, out, err = run("--version")
    assert (code, err) == (0, "")
    assert re.fullmatch(rf"{re.escape(VERSION)}( \([0-9a-f]+(-dirty)?\))?\n", out)


@pytest.mark.rule("CLI-12")
@pytest.mark.parametrize("name", ["grant", "manifest", "person", "receipts", "token"])
def test_without_a_subcommand_the_help_lists_them(name: str) -> None:
    code, out, _ = run(name)
    assert (code, "─ Commands ─" in out) == (2, True)


@pytest.mark.rule("CLI-12")
def test_a_file_that_is_not_json_is_named(folder: Path) -> None:
    (folder / "form.json").write_text("{")
    code, _, err = run("check", "form.json")
    assert (code, "form.json is not valid JSON: expecting" in err) == (2, True)


def test_an_unknown_command_is_refused_by_name() -> None:
    code, out, err = run("answr")
    assert (code, out) == (2, "")
    assert "answr" in err


# --- where the service is --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "http://127.0.0.1:99"),
        ("0.0.0.0", "http://127.0.0.1:99"),
        ("::", "http://127.0.0.1:99"),
        ("::1", "http://[::1]:99"),
    ],
)
def test_the_services_address_comes_from_the_configuration(
    folder: Path, host: str, address: str
) -> None:
    agents = f'[agents.ci]\ntoken_hash = "{HASH}"\n'
    (folder / "answerback.toml").write_text(f'[server]\nhost = "{host}"\nport = 99\n{agents}')
    assert resolve_url(None) == address
    assert resolve_url("http://elsewhere:1/") == "http://elsewhere:1"


# --- what is printed -------------------------------------------------------------------------------


@pytest.mark.rule("CLI-7")
def test_the_manifest_is_yaml_for_the_chosen_mode() -> None:
    code, out, _ = run("manifest", "slack")
    assert code == 0
    assert yaml.safe_load(out)["settings"]["socket_mode_enabled"] is True
    _, out, _ = run("manifest", "slack", "--mode", "http", "--url", "https://ask.example")
    settings = yaml.safe_load(out)["settings"]
    assert settings["socket_mode_enabled"] is False
    assert settings["interactivity"]["request_url"].startswith("https://ask.example/")


def test_an_unknown_manifest_mode_is_refused() -> None:
    code, out, err = run("manifest", "slack", "--mode", "pigeon")
    assert (code, out) == (2, "")
    assert "'pigeon' is not one of socket, http" in err


def test_checking_the_configuration_prints_a_complete_summary(folder: Path) -> None:
    code, _, err = run("serve", "--check")
    assert code == 0
    for line in ("public listener: none", "agents: no tokens", "surfaces: web\n", "routes: none"):
        assert line in err
    (folder / "answerback.toml").write_text(
        f"""
        [agents.ci]
        token_hash = "{HASH}"
        [public]
        host = "127.0.0.1"
        port = 8443
        url = "https://ask.example"
        [slack]
        bot_token = "xoxb-1"
        app_token = "xapp-1"
        [discord]
        bot_token = "x"
        public_key = "{"0" * 64}"
        [routes.ops]
        to = "slack:C1"
        responders = ["U1"]
        escalate = {{ after = 60, to = "discord:1" }}
        """
    )
    code, _, err = run("serve", "--check")
    assert code == 0
    for line in (
        "agents: ci (agent)",
        "public listener: 127.0.0.1:8443, reached at https://ask.example",
        "surfaces: web, slack (Socket Mode), discord (HTTP)",
        "routes: ops; default web",
    ):
        assert line in err
    (folder / "answerback.toml").write_text(
        '[public]\nhost = "127.0.0.1"\nport = 1\n[slack]\nbot_token = "xoxb-1"\nsigning_secret = "s"\n'
        '[discord]\nbot_token = "x"\n'
    )
    _, _, err = run("serve", "--check")
    assert "public listener: 127.0.0.1:1\n" in err
    assert "surfaces: web, slack (HTTP), discord (gateway)" in err


def test_serve_raises_the_open_file_limit_as_far_as_allowed() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = serving._MAX_OPEN_FILES
    allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
    try:
        serving._raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (allowed, hard)
        serving._raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (allowed, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# --- doctor ----------------------------------------------------------------------------------------


def test_the_doctor_finds_nothing_wrong_in_a_new_folder(folder: Path) -> None:
    code, _, err = run("doctor")
    assert code == 0
    assert f"database {folder / 'answerback.db'}, to be created by `answerback serve`" in err


@pytest.mark.rule("CLI-8")
def test_the_doctor_finds_a_database_that_cannot_be_created(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWERBACK_STORAGE__URL", "sqlite:///nowhere/answerback.db")
    code, out, err = run("doctor")
    assert code == 1
    assert f"database: the folder {folder / 'nowhere'} does not exist" in err
    assert "storage.url" in out + err
    monkeypatch.setattr(os, "access", lambda *_: False)  # root can write everywhere
    monkeypatch.setenv("ANSWERBACK_STORAGE__URL", "sqlite:///answerback.db")
    code, out, err = run("doctor")
    assert code == 1
    assert f"the folder {folder} is not writable" in err


@pytest.mark.rule("CLI-8")
def test_the_doctor_names_the_problem_and_its_fix(folder: Path) -> None:
    (folder / "answerback.toml").write_text('[routes.ops]\nto = "nowhere:C1"\n')
    (folder / "answerback.db").write_bytes(b"no database at all" * 1_000)
    code, _, err = run("doctor")
    assert code == 1
    assert "✗ configuration: routes.ops.to:" in err
    assert "is not an SQLite database" in err
    assert "Check storage.url, the folder's permissions and the disk." in err


def test_the_doctor_finds_a_key_that_other_users_can_read(folder: Path) -> None:
    key = folder / "answerback.db.key"
    key.write_text("abk_x\n")
    key.chmod(0o640)
    code, _, err = run("doctor")
    assert code == 1
    assert "other users of this machine can read it" in err
    assert "answerback key rotate" in err
    assert "abk_x" not in err
    key.chmod(0o600)
    assert run("doctor")[0] == 0


def test_the_doctor_checks_an_existing_database(folder: Path) -> None:
    asyncio.run(make_database(folder))
    code, _, err = run("doctor")
    assert code == 0
    assert f"✓ database {folder / 'answerback.db'}\n" in err


@pytest.mark.rule("CONFIG-10")
def test_the_doctor_checks_a_postgresql_database(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWERBACK_STORAGE__URL", database)
    code, _, err = run("doctor")
    assert code == 0
    assert f"✓ database {urlsplit(database).path[1:]} on 127.0.0.1:" in err
    code, _, err = run("serve", "--check")
    assert code == 0
    assert f"database: {urlsplit(database).path[1:]} on " in err
    monkeypatch.setenv("ANSWERBACK_STORAGE__URL", f"{database}_not")
    code, _, err = run("doctor")
    assert code == 1
    assert "Create it with `createdb`" in err


@pytest.mark.rule("DATA-21")
def test_a_database_is_copied_and_wrong_names_are_reported(folder: Path, database: str) -> None:
    asyncio.run(make_database(folder))
    here = f"sqlite:///{folder / 'answerback.db'}"
    code, _, err = run("copy", "--from", here, "--to", database)
    assert code == 0
    assert "asks: 0 rows" in err
    assert "Set `storage.url` to the new database" in err
    assert f"Give answerback.db its own copies of {folder / 'answerback.db'}.key" in err
    for source, target, sentence in (
        (here, here, "are the same database"),
        (
            here,
            f"sqlite:///{folder / '..' / folder.name / 'answerback.db'}",
            "are the same database",
        ),
        (here, "mysql://db/x", "--to: a database is sqlite:///"),
    ):
        code, _, err = run("copy", "--from", source, "--to", target)
        assert code != 0
        assert sentence in err
    with pytest.raises(StoreError, match="does not exist"):
        run("copy", "--from", f"sqlite:///{folder / 'no.db'}", "--to", here)
    assert not (folder / "no.db").exists()


def test_copying_to_postgresql_without_its_extra_says_which_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(install_extras, "find_spec", lambda _name: None)
    code, _, err = run("copy", "--from", "sqlite:///a.db", "--to", "postgresql://db/asks")
    assert code != 0
    assert "needs the extra 'postgres'" in err


@pytest.mark.rule("CONFIG-12")
def test_a_postgresql_database_without_its_extra_says_which_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANSWERBACK_STORAGE__URL", "postgresql://db/asks")
    monkeypatch.setattr(install_extras, "find_spec", lambda _name: None)
    sentence = "`storage.url` needs the extra 'postgres', which is not installed"
    code, _, err = run("doctor")
    assert code == 1
    assert sentence in err
    with pytest.raises(ConfigError, match=sentence):
        run("serve", "--check")


async def test_the_doctor_gets_the_channels_and_responders_of_each_surface(folder: Path) -> None:
    (folder / "answerback.toml").write_text(
        """
        default_route = "slack:C0"
        people_link = true
        [onboarding]
        owners = ["anyone"]
        route = "ops"
        [slack]
        bot_token = "xoxb-1"
        app_token = "xapp-1"
        [discord]
        bot_token = "d"
        [routes.ops]
        to = "slack:C1"
        responders = ["U2", "@S2"]
        confirmations = { count = 1, from = ["@S3"] }
        escalate = { after = 60, to = "slack:C2", responders = ["@S4"] }
        [routes.dev]
        to = "discord:9"
        responders = ["@8"]
        escalate = { after = 60, responders = ["@7"] }
        [routes.me]
        to = "web"
        """
    )
    settings = await asyncio.to_thread(load_settings)
    async with aiohttp.ClientSession() as http:
        checkups = {
            plugin.name: build_checkup(settings, plugin, http, fix=plugin.name == "discord")
            for plugin in installed_plugins()
        }
    seen = {name: (one.channels, one.responders, one.fix) for name, one in checkups.items()}
    assert seen == dict.fromkeys(seen, ([], [], False)) | {
        "slack": (["C0", "C1", "C2"], ["U2", "@S2", "@S3", "@S4"], False),
        "discord": (["9"], ["@8", "@7"], True),
    }
    for checkup in checkups.values():
        assert [each.name for each in checkup.commands] == ["connect", "agents", "link"]


# --- demo ------------------------------------------------------------------------------------------


def test_the_demo_takes_port_8420_or_else_a_free_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
        monkeypatch.setattr(demo, "_PORT", port)
        assert demo._choose_port(99) == 99
        other.listen()
        assert demo._choose_port(None) == 0
    assert demo._choose_port(None) == port


def test_a_browser_is_opened_only_if_there_is_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv("DISPLAY", raising=False)
        monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
        assert not demo._has_browser()
        monkeypatch.setenv(name, ":0")
        assert demo._has_browser()
    monkeypatch.delenv("WAYLAND_DISPLAY")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert demo._has_browser()


# --- a form on standard input ----------------------------------------------------------------------


def test_a_form_is_checked_from_standard_input() -> None:
    form = {"questions": [{"id": "a", "text": "A?", "answer_type": "boolean"}]}
    done = CliRunner().invoke(main.app, ["check", "-"], input=json.dumps(form))
    assert (done.exit_code, done.stdout) == (0, "")
    assert "is valid: 1 question" in done.stderr
