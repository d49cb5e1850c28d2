"""Install extras: the message when one is missing, and that the table matches the distribution's."""

from __future__ import annotations

import asyncio
import importlib.util
import re
from collections.abc import Callable, Iterable, Mapping
from importlib.machinery import ModuleSpec
from importlib.metadata import packages_distributions
from pathlib import Path

import aiohttp
import pytest

from answerback.cli import checkup
from answerback.core.errors import ConfigError
from answerback.runtime.config_file import load_settings
from answerback.runtime.from_settings import check_extras
from answerback.runtime.plugins import installed_plugins
from answerback_agents.cli import main
from answerback_base import install_extras
from tests.meta.wheels import project
from tests.unit.bot.agent_support import served

Lack = Callable[[str], None]
_SLACK = "The surface slack needs the extra 'slack', which is not installed: run `pip install 'answerback[slack]'`."


@pytest.fixture
def lack(monkeypatch: pytest.MonkeyPatch) -> Lack:
    """Make a package appear not to be installed."""
    main.installed_commands()  # found once a process, which reads files
    lacking: set[str] = set()

    def find_spec(name: str) -> ModuleSpec | None:
        return None if name in lacking else importlib.util.find_spec(name)

    monkeypatch.setattr(install_extras, "find_spec", find_spec)
    return lacking.add


@pytest.mark.rule("CONFIG-12")
def test_the_table_matches_the_distribution() -> None:
    declared = project()["optional-dependencies"]
    all_of_them = re.findall(r"\w+", declared["all"][0])[1:]
    needed = dict(
        [(plugin.name, plugin.packages) for plugin in installed_plugins()]
        + [
            install_extras.MCP,
            install_extras.OIDC,
            install_extras.OTEL,
            install_extras.POSTGRES,
            install_extras.PUSH,
        ]
    )
    named = {extra: packages for extra, packages in needed.items() if packages}
    assert set(all_of_them) == set(named)
    _assert_brings(named, declared)


@pytest.mark.rule("CONFIG-12")
def test_the_extras_of_what_runs_beside_an_agent_match_its_distribution() -> None:
    declared = project("bot/answerback_agents")["optional-dependencies"]
    named = dict([install_extras.AGENTS_MCP, install_extras.AGENTS_OPENCLAW])
    assert declared.keys() == named.keys()
    _assert_brings(named, declared)


def _assert_brings(
    named: Mapping[str, Iterable[str]], declared: Mapping[str, Iterable[str]]
) -> None:
    """Assert that each extra brings exactly the packages that are looked for."""
    held = packages_distributions()
    for extra, packages in named.items():
        asked = {re.split(r"[\[>=]", line)[0].lower() for line in declared[extra]}
        # A namespace belongs to several distributions, each named like its part.
        brought = {
            package.replace(".", "-") if "." in package else held[package][0]
            for package in packages
        }
        assert {name.lower().replace("_", "-") for name in brought} == asked


@pytest.mark.rule("CONFIG-12")
@pytest.mark.parametrize("package", ["no_such_package.part", "opentelemetry.no_such_part"])
def test_a_part_of_a_namespace_may_be_missing(package: str) -> None:
    wrong = install_extras.missing_extra_message("otel", (package,), "`tracing.endpoint`")
    assert wrong is not None
    assert "answerback[otel]" in wrong


@pytest.mark.rule("CONFIG-12")
def test_a_configured_surface_without_its_extra_is_a_configuration_error(
    lack: Lack, tmp_path: Path
) -> None:
    file = tmp_path / "answerback.toml"
    file.write_text(
        '[slack]\nbot_token = "xoxb-1"\napp_token = "xapp-1"\n[discord]\nbot_token = "x"\n'
    )
    settings = load_settings(file)
    check_extras(settings)
    lack("slack_bolt")
    with pytest.raises(ConfigError) as raised:
        check_extras(settings)
    assert str(raised.value) == _SLACK
    (tmp_path / "push.toml").write_text("[web]\npush = true\n")
    push = load_settings(tmp_path / "push.toml")
    check_extras(push)
    lack("http_ece")
    with pytest.raises(ConfigError, match=r"^`web\.push` needs the extra 'push'"):
        check_extras(push)
    lack("discord")
    with pytest.raises(
        ConfigError, match=r"^The surface slack.*\nThe surface discord needs .*\[discord\]'`\.$"
    ):
        check_extras(settings)


@pytest.mark.rule("CONFIG-12")
async def test_doctor_names_the_missing_extra_and_checks_the_rest(
    lack: Lack, tmp_path: Path
) -> None:
    file = tmp_path / "answerback.toml"
    file.write_text(
        f'[slack]\nbot_token = "xoxb-1"\napp_token = "xapp-1"\n[storage]\nurl = "sqlite:///{tmp_path}/a.db"\n'
    )
    lack("slack_sdk")
    lack("discord")
    settings = await asyncio.to_thread(load_settings, file)
    async with aiohttp.ClientSession() as http:
        found = [finding async for finding in checkup.findings(settings, http)]
    assert [finding.wrong for finding in found if not finding.is_ok] == [_SLACK]
    assert len(found) > 2, "the database is looked at all the same"


@pytest.mark.rule("CONFIG-12")
def test_a_command_without_its_extra_names_it(
    lack: Lack, capsys: pytest.CaptureFixture[str]
) -> None:
    lack("mcp")
    with pytest.raises(SystemExit) as ended:
        main.load_command(main.all_commands()["mcp"])
    assert ended.value.code == 1
    assert "`answerback mcp` needs the extra 'mcp'" in capsys.readouterr().err


@pytest.mark.rule("CONFIG-12")
async def test_mcp_over_http_without_its_extra_is_501(lack: Lack, tmp_path: Path) -> None:
    lack("aiohttp_asgi")
    async with served(tmp_path) as service, service.http.post(f"{service.url}/mcp") as response:
        body = await response.json()
        assert (response.status, body["title"]) == (501, "MCP is not installed")
        assert body["detail"].startswith("/mcp needs the extra 'mcp'")
