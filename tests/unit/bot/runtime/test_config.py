"""The settings: their sources, precedence and error messages."""

import re
from importlib import import_module
from pathlib import Path

import pytest
from pydantic import ValidationError

from answerback.core.errors import ConfigError
from answerback.core.labels import Labels
from answerback.ports.installed_extensions import installed_extensions
from answerback.ports.settings_tables import Table
from answerback.runtime.config import (
    Settings,
    StorageSettings,
    extension_settings,
    settings_type,
)
from answerback.runtime.config_file import iter_setting_keys, load_settings, platform_variables
from answerback.runtime.from_settings import build_routes
from answerback.runtime.plugins import installed_plugins
from answerback_base.addresses import is_loopback

HASH = "sha256:" + "0" * 64
WHSEC = "whsec_" + "QUJD" * 8


def write(folder: Path, text: str) -> Path:
    path = folder / "answerback.toml"
    path.write_text(text)
    return path


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings(write(folder, text))
    return str(caught.value)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.rule("CONFIG-4", "CONFIG-10")
def test_postgresql_is_named_without_its_password_and_the_key_is_stored_locally(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANSWERBACK_STORAGE__URL", "postgresql://ann:hunter2@db.example:5433/asks")
    storage = load_settings().storage
    assert storage.plugin.name == "postgresql"
    assert storage.name == "asks on db.example:5433"
    assert storage.file == Path("answerback.db")
    assert StorageSettings().plugin.name == "sqlite"


@pytest.mark.rule("API-1", "CONFIG-1")
def test_without_a_file_everything_has_its_documented_default() -> None:
    settings = load_settings()
    assert (settings.server.host, settings.server.port) == ("127.0.0.1", 8420)
    assert settings.storage.file == Path("answerback.db")
    assert settings.default_route == "web"
    assert settings.public.port is None
    assert setting_at(settings, "slack.bot_token") is None
    assert settings.labels.back == "Back"


@pytest.mark.rule("CONFIG-1")
def test_a_file_in_the_working_directory_is_read(tmp_path: Path) -> None:
    write(tmp_path, "[server]\nport = 1234\n")
    assert load_settings().server.port == 1234


@pytest.mark.rule("CONFIG-1")
def test_an_explicitly_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no configuration file .*missing\.toml"):
        load_settings(tmp_path / "missing.toml")


@pytest.mark.rule("CONFIG-1")
def test_every_table_of_a_complete_file_is_read(tmp_path: Path) -> None:
    settings = load_settings(
        write(
            tmp_path,
            f"""
            default_route = "deploys"
            [server]
            host = "0.0.0.0"
            [public]
            port = 8443
            url = "https://ask.example"
            [storage]
            url = "sqlite:////var/lib/answerback/asks.db"
            [routes.deploys]
            to = "slack:C1"
            responders = ["U1", "@S2"]
            remind_after = [60, 120]
            expires_in = 3600
            on_expiry = "defaults"
            escalate = {{ after = 600, to = "slack:C2", responders = "anyone" }}
            [agents.ci]
            token_hash = "{HASH}"
            routes = ["deploys"]
            callback_secret = ["{WHSEC}", "{WHSEC}"]
            [agents.console]
            token_hash = "{HASH}"
            role = "surface"
            [slack]
            bot_token = "xoxb-1"
            app_token = "xapp-1"
            [discord]
            bot_token = "d"
            public_key = "{"a" * 64}"
            [callbacks]
            allow = ["hooks.example", "10.0.0.0/8"]
            secret = "{WHSEC}"
            [inquiry]
            url = "http://127.0.0.1:9/answer"
            timeout = 5
            [tools.ask_user]
            enable = false
            [tools.deploy.questions.env]
            answer = "staging"
            target = "assistant"
            prompt_label = "Deployer"
            [labels]
            back = "Zurück"
            [log]
            level = "debug"
            format = "json"
            """,
        )
    )
    assert settings.storage.file == Path("/var/lib/answerback/asks.db")
    assert settings.routes["deploys"].escalate is not None
    assert settings.agents["ci"].routes == ("deploys",)
    assert [s.get_secret_value() for s in settings.agents["ci"].callback_secret] == [WHSEC, WHSEC]
    callbacks = extension_settings(settings, installed_extensions().usable["webhooks"])
    assert isinstance(callbacks, Table)
    assert len(callbacks.model_dump()["secret"]) == 1
    assert settings.tools["deploy"].questions["env"].answer == "staging"
    assert settings.labels.back == "Zurück"
    assert settings.labels.reply == "Reply"


@pytest.mark.rule("CONFIG-2")
def test_an_environment_variable_overrides_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWERBACK_SERVER__PORT", "9999")
    assert load_settings(write(tmp_path, "[server]\nport = 1\n")).server.port == 9999


@pytest.mark.rule("CONFIG-7")
def test_setting_one_key_keeps_the_others_of_its_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWERBACK_TOOLS__GIT__QUESTIONS__FORCE__TARGET", "assistant")
    settings = load_settings(
        write(tmp_path, "[tools.git.questions.force]\nprompt_label = 'Git'\n[labels]\nback = 'B'")
    )
    question = settings.tools["git"].questions["force"]
    assert (question.prompt_label, question.target) == ("Git", "assistant")
    assert settings.tools["git"].enable
    assert (settings.labels.back, settings.labels.reply) == ("B", "Reply")


def test_a_list_in_an_environment_variable_is_separated_by_commas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANSWERBACK_SLACK__RESPONDERS", "U1, @S2,")
    monkeypatch.setenv("ANSWERBACK_AGENTS__CI__TOKEN_HASH", HASH)
    settings = load_settings()
    assert setting_at(settings, "slack.responders") == ("U1", "@S2")
    assert settings.agents["ci"].token_hash == HASH


SURFACES = frozenset(plugin.name for plugin in installed_plugins())


@pytest.mark.rule("CONFIG-2")
@pytest.mark.parametrize(
    "key",
    [key for key in iter_setting_keys() if "<name>" not in key and not key.startswith("labels.")],
)
def test_every_key_can_be_set_by_its_environment_variable(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = key.rpartition(".")[0]
    monkeypatch.setenv("ANSWERBACK_PUBLIC__PORT", "3")
    monkeypatch.setenv("ANSWERBACK_PUBLIC__URL", "https://b.example")
    for other, needed in SAMPLES.items():
        if other.split(".")[0] == table and table in {"storage", *SURFACES}:
            monkeypatch.setenv(variable_of(other), needed)
    monkeypatch.setenv(variable_of(key), SAMPLES.get(key, "web"))
    assert setting_at(load_settings(), key) != setting_at(settings_type().model_construct(), key)


@pytest.mark.rule("CONFIG-2")
def test_every_label_can_be_set_by_its_environment_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = {label: f"text of {label}" for label in Labels.model_fields}
    for label, text in texts.items():
        monkeypatch.setenv(variable_of(f"labels.{label}"), text)
    assert load_settings().labels.model_dump() == texts


def variable_of(key: str) -> str:
    return "ANSWERBACK_" + key.upper().replace(".", "__")


def setting_at(settings: object, key: str) -> object:
    for part in key.split("."):
        settings = getattr(settings, part)
    return settings


SAMPLES = {
    "onboarding.agents_per_person": "3",
    "onboarding.days": "7",
    "people_link": "true",
    **{
        f"onboarding.limits.{each}": "3"
        for each in (
            "asks_per_minute",
            "open_asks",
            "open_asks_per_conversation",
            "unclaimed_files",
        )
    },
    **{
        f"{plugin.name}.{key}": value
        for plugin in installed_plugins()
        for key, value in import_module(
            f"tests.unit.adapters.{plugin.name}.settings_samples"
        ).SAMPLES.items()
    },
    "server.host": "127.0.0.2",
    "server.port": "1",
    "public.host": "0.0.0.0",
    "public.port": "2",
    "public.url": "https://a.example",
    "storage.url": "postgresql://db/x",
    "storage.listen_url": "postgresql://db:1/x",
    "default_route": "slack:C1",
    "callbacks.allow": "10.0.0.0/8",
    "callbacks.secret": WHSEC,
    "inquiry.url": "http://127.0.0.1:1/",
    "tracing.endpoint": "http://127.0.0.1:1/",
    "inquiry.timeout": "7",
    "retention.days": "30",
    "retention.audit_days": "0.5",
    "receipts.enabled": "false",
    "receipts.key": "A" * 43,
    "limits.asks_per_minute": "1",
    "limits.open_asks": "2",
    "limits.open_asks_per_conversation": "3",
    "limits.unclaimed_files": "4",
    "log.level": "debug",
    "log.format": "json",
    "mcp.wait": "5",
    "away.enabled": "true",
    "oidc.issuer": "https://login.example",
    "oidc.hours": "5",
}


@pytest.mark.rule("CONFIG-2")
@pytest.mark.parametrize("variable", platform_variables())
def test_the_platforms_usual_variables_are_read_and_ours_take_precedence(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, key = platform_variables()[variable]
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb")
    monkeypatch.setenv("SLACK_APP_TOKEN", "xapp")
    monkeypatch.setenv("DISCORD_BOT_TOKEN", "d")
    monkeypatch.setenv("ANSWERBACK_PUBLIC__PORT", "1")
    monkeypatch.setenv(variable, "c" * 64)
    assert "c" * 64 in plain_value(load_settings(), table, key)
    monkeypatch.setenv(f"ANSWERBACK_{table.upper()}__{key.upper()}", "e" * 64)
    assert "e" * 64 in plain_value(load_settings(), table, key)


def plain_value(settings: Settings, table: str, key: str) -> str:
    value = getattr(getattr(settings, table), key)
    return str(value.get_secret_value() if hasattr(value, "get_secret_value") else value)


def test_a_label_may_omit_placeholders_or_contain_escaped_braces() -> None:
    labels = Labels(asks="Asks", page_of="{{{pages}}}", back=":-{", by="{name}")
    assert labels.page_of.format(page=1, pages=2) == "{2}"
    assert labels.back == ":-{"


@pytest.mark.rule("CONFIG-3")
def test_all_errors_are_reported_at_once(tmp_path: Path) -> None:
    result = refusal(tmp_path, "[server]\nprot = 1\n[log]\nlevel = 'loud'\n")
    assert "server.prot" in result
    assert "log.level" in result


@pytest.mark.rule("CONFIG-4")
def test_a_secret_is_never_echoed(tmp_path: Path) -> None:
    result = refusal(
        tmp_path, "[callbacks]\nsecret = 'hunter2'\n[slack]\nsigning_secret = 'hunter3'"
    )
    assert "hunter" not in result
    assert "xoxb-1" not in repr(
        load_settings(write(tmp_path, "[slack]\nbot_token = 'xoxb-1'\napp_token = 'xapp-1'"))
    )


@pytest.mark.rule("CONFIG-3")
def test_an_unknown_variable_is_an_error_with_a_suggestion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANSWERBACK_SERVE__PORT", "1")
    with pytest.raises(ConfigError, match=r"ANSWERBACK_SERVE__PORT .*ANSWERBACK_SERVER__PORT"):
        load_settings()


def test_an_unknown_key_in_a_variable_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBACK_SERVER__PROT", "1")
    with pytest.raises(ConfigError, match=r"^ANSWERBACK_SERVER__PROT: .*server\.port"):
        load_settings()


def test_an_unreadable_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSWERBACK_ROUTES__A__REMIND_AFTER", "soon")
    monkeypatch.setenv("ANSWERBACK_ROUTES__A__TO", "web")
    with pytest.raises(ConfigError, match=re.compile("remind_after", re.IGNORECASE)):
        load_settings()


def test_variables_of_the_commands_are_not_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANSWERBACK_TOKEN", "ANSWERBACK_URL", "ANSWERBACK_CONFIG"):
        monkeypatch.setenv(name, "x")
    assert load_settings().server.port == 8420


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        load_settings().server.port = 1


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.9.9.9", "[::1]"])
def test_loopback_addresses_need_no_token(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.0.1", "example.com"])
def test_other_addresses_are_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_an_unreadable_file_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=rf"{tmp_path} cannot be read: Is a directory"):
        load_settings(tmp_path)


@pytest.mark.parametrize("to", ["slack:C2", "nowhere:C2"])
def test_a_routes_escalation_target_is_checked_too(tmp_path: Path, to: str) -> None:
    escalate = f'{{ after = 60, to = "{to}" }}'
    table = f'[routes.ops]\nto = "slack:C1"\nresponders = ["U1"]\nescalate = {escalate}\n'
    settings = load_settings(write(tmp_path, table))
    if to.startswith("slack"):
        assert list(build_routes(settings).by_name) == ["ops"]
    else:
        with pytest.raises(ConfigError, match=r"^routes\.ops\.escalate\.to: "):
            build_routes(settings)


def test_the_default_route_must_be_a_route_or_a_place(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, 'default_route = "slack:C1"\n'))
    assert build_routes(settings).default == "slack:C1"
    with pytest.raises(ConfigError, match=r"^default_route: "):
        build_routes(load_settings(write(tmp_path, 'default_route = "nowhere"\n')))


@pytest.mark.rule("DATA-19")
def test_retention_accepts_fractions_of_days_and_by_default_keeps_everything(
    tmp_path: Path,
) -> None:
    kept = load_settings().retention
    assert (kept.days, kept.audit_days) == (None, None)
    kept = load_settings(write(tmp_path, "[retention]\ndays = 0.5\naudit_days = 36500\n")).retention
    assert (kept.days, kept.audit_days) == (0.5, 36_500)
    for wrong in ("days = 0", "days = -1", "audit_days = 36501"):
        assert "retention." in refusal(tmp_path, f"[retention]\n{wrong}\n")
