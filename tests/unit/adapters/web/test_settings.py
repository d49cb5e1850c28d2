"""Settings that identify people on the page: which are rejected or warned about, and how links are created."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import aiohttp
import pytest
from typer.testing import CliRunner

from answerback.core.errors import ConfigError
from answerback.ports.plugin import DoctorContext
from answerback.runtime.config import PublicSettings
from answerback.runtime.config_file import load_settings
from answerback_agents.cli import main
from answerback_web.plugin import WebPlugin, WebSettings
from tests.unit.bot.api.conftest import Serve, serve

__all__ = ["serve"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def loaded(text: str) -> WebSettings:
    Path("answerback.toml").write_text(text, "utf-8")
    web: WebSettings = load_settings().web  # type: ignore[attr-defined]  # a table of a plug-in
    return web


PUBLIC = '[public]\nport = 8421\nurl = "https://ask.example"\n'
HEADER = '[web]\nuser_header = "X-User"\n'


@pytest.mark.rule("CONFIG-11")
def test_who_people_are_is_configured() -> None:
    found = loaded(
        f'{PUBLIC}{HEADER}trusted_proxies = ["10.0.0.7", "fd00::/64"]\n'
        '[web.people."alice@example.com"]\nlabel = "Alice Adams"\n'
    )
    assert (found.user_header, found.trusted_proxies) == ("X-User", ("10.0.0.7", "fd00::/64"))
    assert found.name_of("alice@example.com") == "Alice Adams"
    assert found.name_of("bob@example.com") == "bob@example.com"


@pytest.mark.rule("CONFIG-11")
def test_the_keys_are_environment_variables_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBACK_WEB__USER_HEADER", "Remote-User")
    monkeypatch.setenv("ANSWERBACK_WEB__TRUSTED_PROXIES", "10.0.0.7, 10.0.0.8")
    found = loaded(PUBLIC)
    assert (found.user_header, found.trusted_proxies) == ("Remote-User", ("10.0.0.7", "10.0.0.8"))


@pytest.mark.rule("CONFIG-11")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        (PUBLIC + HEADER, "user_header is only read from trusted_proxies"),
        (HEADER + 'trusted_proxies = ["10.0.0.7"]', "set public.port"),
        ("[public]\nport = 1\n" + HEADER + 'trusted_proxies = ["10.0.0.7"]', "set public.url"),
        (PUBLIC + HEADER + 'trusted_proxies = ["0.0.0.0/0"]', "covers every address"),
        (PUBLIC + HEADER + 'trusted_proxies = ["::/0"]', "covers every address"),
        (PUBLIC + HEADER + 'trusted_proxies = ["proxy.internal"]', "not an address or a network"),
        (PUBLIC + HEADER + 'trusted_proxies = ["10.0.0.7/8"]', "not an address or a network"),
        ('[web]\nuser_header = "X-Forwarded-For"', "is set by the client"),
        ('[web]\nuser_header = "Cookie"', "is set by the client"),
        ('[web]\nuser_header = "X User"', "web.user_header"),
        ("[web.people.alice]\n", "web.people.alice.label is missing"),
    ],
)
def test_settings_that_let_anyone_claim_to_be_anyone_are_rejected(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        loaded(text)


@pytest.mark.rule("CONFIG-11")
@pytest.mark.parametrize(
    ("proxy", "wrong"),
    [
        ("127.0.0.1", "any program on this machine"),
        ("::1", "any program on this machine"),
        ("10.0.0.0/15", "any host on this network"),
        ("fd00::/47", "any host on this network"),
        ("10.0.0.0/16", None),
        ("fd00::/48", None),
    ],
)
async def test_the_doctor_warns_if_more_than_the_proxies_can_name_people(
    proxy: str, wrong: str | None
) -> None:
    settings = WebSettings(user_header="X-User", trusted_proxies=(proxy,))
    async with aiohttp.ClientSession() as http:
        findings = [each async for each in WebPlugin().findings(settings, DoctorContext(http))]
    assert all(finding.is_ok for finding in findings)
    warnings = [finding.wrong for finding in findings if finding.wrong]
    assert [wrong in warning for warning in warnings if wrong] == ([True] if wrong else [])
    assert bool(warnings) == bool(wrong)


@pytest.mark.rule("CONFIG-11")
async def test_the_service_warns_of_it_when_it_starts(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    web = WebSettings(user_header="X-User", trusted_proxies=("127.0.0.1",))
    public = PublicSettings(port=0, url="https://ask.example")
    with caplog.at_level(logging.WARNING):
        async with serve(public=public, web=web):
            pass
    (warning,) = [each for each in caplog.messages if "web.trusted_proxies 127.0.0.1" in each]
    assert "including agents, can claim to be anyone" in warning


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(main.app, ["person", *arguments], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.rule("CLI-24")
def test_a_link_is_printed_alone_and_leads_to_where_people_reach_the_service() -> None:
    code, out, err = run("add", "alice")
    assert code == 0
    assert out.startswith("http://127.0.0.1:8420/?key=abp_")
    assert out.count("\n") == 1
    assert "only works on this machine" in err
    Path("answerback.toml").write_text('[public]\nport = 8421\nhost = "0.0.0.0"\n')
    assert run("add", "bob")[1].startswith("http://127.0.0.1:8421/?key=abp_")
    Path("answerback.toml").write_text(PUBLIC)
    code, out, err = run("add", "carol@example.com")
    assert out.startswith("https://ask.example/?key=abp_")
    assert "this machine only" not in err
    code, out, err = run("add", "dan", "--url", "https://other.example/")
    assert out.startswith("https://other.example/?key=abp_")


@pytest.mark.rule("CLI-24")
def test_people_are_listed_and_revoked() -> None:
    assert run("list") == (0, "", "Nobody has a personal link.\n")
    assert json.loads(run("list", "--json")[1]) == []
    for name in ("alice", "bob"):
        assert run("add", name)[0] == 0
    code, out, err = run("add", "alice")
    assert (code, out) == (1, "")
    assert "alice already has a personal link" in err
    names = [person["name"] for person in json.loads(run("list", "--json")[1])]
    assert names == ["alice", "bob"]
    assert [line.split("  ")[1] for line in run("list")[1].splitlines()] == ["alice", "bob"]
    assert run("revoke", "alice")[0] == 0
    assert run("revoke", "alice") == (
        1,
        "",
        "alice has no personal link. `answerback person list` shows who has one.\n",
    )
    assert "alice" not in run("list")[1]


@pytest.mark.rule("CLI-24")
@pytest.mark.parametrize("name", ["operator", "@team", "a,b", "web:alice"])
def test_a_name_with_another_meaning_gets_no_link(name: str) -> None:
    code, out, err = run("add", name)
    assert (code, out) == (2, "")
    assert "cannot be a person's name" in err
