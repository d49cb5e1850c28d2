"""The discovery of plug-ins: what can be wrong with one, and when that matters."""

from __future__ import annotations

import asyncio
import json
import signal
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from answerback.cli import demo, serving
from answerback.core.errors import ConfigError
from answerback.ports.plugin import GROUP, BuiltSurface, Host, SurfacePlugin, SurfaceSettings
from answerback.ports.surface import Asks
from answerback.runtime import config_file, from_settings, plugins
from answerback.runtime.config import (
    ServerSettings,
    Settings,
    StorageSettings,
    plugin_settings,
    settings_type,
)
from answerback.runtime.config_file import DEFAULT_FILE
from answerback.runtime.file_watch import FileWatcher
from answerback.runtime.plugins import discover_plugins, installed_plugins
from answerback_agents.cli import main
from tests.service_support import FakePage


class ChatSettings(SurfaceSettings):
    host: str = "127.0.0.1"


class ChatPlugin(SurfacePlugin[ChatSettings]):
    name = "chat"
    title = "Chat"
    settings = ChatSettings

    async def build(self, settings: ChatSettings, host: Host, asks: Asks) -> BuiltSurface:
        raise AssertionError("nothing here builds it")


class ReadySettings(ChatSettings):
    def configured(self) -> bool:
        return True


class PagelessPlugin(ChatPlugin):
    home = True
    settings = ReadySettings

    async def build(self, settings: ChatSettings, host: Host, asks: Asks) -> BuiltSurface:
        return BuiltSurface(FakePage("chat", ("U1",)))


class NeedySettings(SurfaceSettings):
    host: str


class NeedyPlugin(ChatPlugin):
    settings = NeedySettings  # type: ignore[assignment]  # the settings of another plug-in


class EarlyPlugin(ChatPlugin):
    order = -1


class ServerPlugin(ChatPlugin):
    name = "server"


HERE = __name__


def entry(name: str = "chat", value: str = f"{HERE}:ChatPlugin") -> EntryPoint:
    return EntryPoint(name, value, GROUP)


def use(monkeypatch: pytest.MonkeyPatch, *entries: EntryPoint) -> None:
    """Pretend that the given plug-ins are installed, along with the web surface."""
    page = EntryPoint("web", "answerback_web.plugin:WebPlugin", GROUP)
    monkeypatch.setattr(plugins, "entry_points", lambda group: (page, *entries))
    installed_plugins.cache_clear()


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    yield
    monkeypatch.undo()
    installed_plugins.cache_clear()
    installed_plugins()


@pytest.mark.rule("PLUGIN-1")
def test_the_built_in_surfaces_are_plug_ins_too() -> None:
    installed = {entry.name: entry.load().order for entry in entry_points(group=GROUP)}
    assert list(installed_plugins().usable) == sorted(installed, key=installed.__getitem__)
    assert {"web", "slack", "discord"} <= installed.keys()
    assert installed_plugins().broken == {}
    assert installed_plugins().home == "web"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("chat", "no_such_module:Plugin", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("chat", f"{HERE}:Nothing", "has no attribute 'Nothing'"),
        ("chat", f"{HERE}:HERE", "is not a subclass of answerback.ports.plugin.SurfacePlugin"),
        ("chat", f"{HERE}:SurfacePlugin", "TypeError: Can't instantiate abstract class"),
        ("chat", f"{HERE}:NeedyPlugin", "ValidationError: 1 validation error for NeedySettings"),
        ("chatter", f"{HERE}:ChatPlugin", "its name is 'chat'"),
        ("Chat:x", f"{HERE}:ChatPlugin", "lower-case letters, digits and single underscores"),
    ],
)
def test_a_broken_plug_in_is_named_with_the_reason(name: str, value: str, text: str) -> None:
    seen = discover_plugins([entry(name, value)])
    assert dict(seen.usable) == {}
    assert text in seen.broken[name]
    assert seen.broken[name].startswith(
        f"the plug-in {name!r} of an unknown distribution cannot be"
    )


def test_of_two_plug_ins_with_the_same_name_neither_is_used() -> None:
    seen = discover_plugins([entry(), entry()])
    assert "both have a plug-in called 'chat'; uninstall one" in seen.broken["chat"]
    assert seen.names == {"chat"}


@pytest.mark.rule("PLUGIN-3")
def test_a_broken_plug_in_that_is_not_configured_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(monkeypatch, entry(value="no_such_module:Plugin"))
    settings = config_file.load_settings()
    assert from_settings.build_routes(settings).default == "web"


@pytest.mark.rule("PLUGIN-3")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[chat]\nhost = 'x'", r"answerback\.toml: chat: the plug-in 'chat' .*no_such_module"),
        ("default_route = 'chat:C1'", r"^default_route: the plug-in 'chat' .*no_such_module"),
        ("[routes.a]\nto = 'chat:C1'", r"^routes\.a\.to: the plug-in 'chat' .*no_such_module"),
    ],
)
def test_configuring_a_broken_plug_in_is_refused_with_the_reason(
    text: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, entry(value="no_such_module:Plugin"))
    (tmp_path / "answerback.toml").write_text(text)
    with pytest.raises(ConfigError, match=expected):
        from_settings.build_routes(config_file.load_settings())


@pytest.mark.rule("PLUGIN-2")
def test_a_plug_ins_table_is_validated_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, entry())
    assert "chat.host" in list(config_file.iter_setting_keys())
    assert not plugin_settings(config_file.load_settings(), ChatPlugin()).configured()
    (tmp_path / "answerback.toml").write_text("[chat]\nhots = 'x'")
    with pytest.raises(ConfigError, match=r"no key chat\.hots \(did you mean chat\.host\?"):
        config_file.load_settings()
    (tmp_path / "answerback.toml").write_text("[chat]\nhost = 'x'")
    table = plugin_settings(config_file.load_settings(), ChatPlugin())
    assert (table.configured(), table.host) == (True, "x")
    monkeypatch.setenv("ANSWERBACK_CHAT__HOST", "y")
    assert plugin_settings(config_file.load_settings(), ChatPlugin()).host == "y"


def test_the_default_surface_must_be_a_home_even_if_another_comes_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use(monkeypatch, entry(value=f"{HERE}:EarlyPlugin"))
    assert list(installed_plugins().usable) == ["chat", "web"]
    assert installed_plugins().home == "web"


def test_settings_without_a_surfaces_table_use_its_defaults() -> None:
    assert plugin_settings(Settings(), ChatPlugin()).host == "127.0.0.1"


def test_a_surface_cannot_have_the_name_of_another_table(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, entry("server", f"{HERE}:ServerPlugin"))
    with pytest.raises(ConfigError, match=r"plug-in 'server' has the name of one of"):
        settings_type()


def test_without_any_surface_the_error_explains_how_to_install_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        plugins, "entry_points", lambda group: [entry("web", "no_such_module:Plugin")]
    )
    installed_plugins.cache_clear()
    with pytest.raises(ConfigError, match=r"'web' .*no_such_module.* `pip install --no-deps"):
        config_file.load_settings()


@pytest.mark.rule("PLUGIN-3")
def test_the_doctor_warns_about_a_broken_plug_in(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, entry(value="no_such_module:Plugin"))
    monkeypatch.setenv("COLUMNS", "300")
    done = CliRunner().invoke(main.app, ["doctor"])
    assert done.exit_code == 0
    assert "! surface chat: the plug-in 'chat' of an unknown distribution" in done.stderr
    assert "Update or uninstall the package that it belongs to." in done.stderr


@pytest.mark.rule("CLI-6")
def test_the_preview_page_omits_surfaces_without_previews(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, entry())
    form, page = tmp_path / "form.json", tmp_path / "page.html"
    form.write_text(json.dumps({"question": "Go?", "answer_type": "boolean"}))
    assert CliRunner().invoke(main.app, ["preview", str(form), "--html", str(page)]).exit_code == 0
    assert page.read_text().count("<figcaption>") == 1
    assert "<figcaption>Web page" in page.read_text()


@pytest.fixture
def without_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, signals: None) -> Settings:
    """Settings for which the only installed surface has no page."""
    only = [entry(value=f"{HERE}:PagelessPlugin")]
    monkeypatch.setattr(plugins, "entry_points", lambda group: only)
    installed_plugins.cache_clear()
    return Settings.model_construct(
        server=ServerSettings(port=0),
        storage=StorageSettings(url=f"sqlite:///{tmp_path / 'asks.db'}"),
    )


def test_the_demo_reports_that_it_needs_a_surface_with_a_page(
    without_pages: Settings, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="needs a surface with a page, and none is installed"):
        asyncio.run(demo._demo(tmp_path, 0, browser=False))


def test_a_service_without_pages_starts_without_an_inbox(
    without_pages: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(
        serving, "tune_interpreter", lambda: signal.raise_signal(signal.SIGTERM)
    )  # once it is up
    asyncio.run(serving._serve(without_pages, None, FileWatcher(tmp_path / DEFAULT_FILE)))
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("listening on http://127.0.0.1:")


@pytest.mark.rule("PLUGIN-2")
async def test_optional_parts_of_a_plug_in_may_be_missing() -> None:
    plugin = ChatPlugin()
    printed = [finding.what async for finding in plugin.findings(ChatSettings(), None)]  # type: ignore[arg-type]  # not looked at
    assert printed == ["Chat"]
    plugin.load()
    assert plugin.manifest() is None
    assert plugin.preview(None, None) is None  # type: ignore[arg-type]  # not looked at
    assert (ChatSettings().http_actions_setting(), ChatSettings().connection()) == (None, "")
    assert (ChatSettings().public_address_setting(), ChatSettings().name_of("U1")) == (None, "U1")
