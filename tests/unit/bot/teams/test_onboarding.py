"""The settings for agents that people connect themselves, and what of them is reloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from answerback.core.errors import ConfigError
from answerback.core.people import NOBODY_KNOWN
from answerback.ports.person_key import hash_of
from answerback.ports.store_values import AskLimits
from answerback.runtime.app import run_service
from answerback.runtime.config import Settings, settings_type
from answerback.runtime.config_file import load_settings
from answerback.runtime.extensions import configured_for
from answerback.runtime.from_settings import (
    build_agent_tokens,
)
from answerback.runtime.plugins import installed_plugins
from answerback.runtime.reload import SettingsReloader
from answerback.service.submission_request import Agent, Routes
from answerback_teams.extension import SignInsExtension
from answerback_teams.onboarding_rules import build_rules
from answerback_teams.running_sign_ins import RunningSignIns
from answerback_teams.values import NO_ONBOARDING, OnboardingRules
from tests.service_support import webhooks

CHAT = {"team": {"to": "slack:C1"}, "mine": {"to": "owner"}}


def settings(**onboarding: Any) -> Settings:
    table = {"owners": ["anyone"], **onboarding}
    return settings_type().model_validate({"onboarding": table, "routes": CHAT})


def rules_of(settings: Settings) -> OnboardingRules:
    return build_rules(configured_for(settings, SignInsExtension()))


@pytest.mark.rule("ONBOARD-1")
def test_the_table_alone_means_tokens_and_any_address(tmp_path: Path) -> None:
    file = tmp_path / "answerback.toml"
    file.write_text('server.host = "0.0.0.0"\n[onboarding]\nowners = "anyone"\n')
    loaded = load_settings(file)
    assert loaded.uses_tokens
    assert build_agent_tokens(loaded).required
    assert webhooks(loaded).callback_problem("http://127.0.0.1:1/", Agent("ann-x")) is not None
    assert rules_of(loaded) == OnboardingRules(
        owners=("anyone",),
        home="web",
        surfaces=installed_plugins().names,
        route="web",
        agents_per_person=5,
        days=90,
        limits=AskLimits(60, 200, 20, unclaimed_files=30),
    )
    file.write_text('server.host = "0.0.0.0"\n')
    with pytest.raises(ConfigError, match="no agent has a token"):
        load_settings(file)
    assert rules_of(Settings()) == NO_ONBOARDING


@pytest.mark.rule("ONBOARD-3", "ONBOARD-10")
def test_the_route_says_on_which_surface_plain_ids_are() -> None:
    rules = rules_of(settings(owners=["U1", "@S9"], route="team", limits={"open_asks": 1}))
    assert (rules.home, rules.route, rules.limits.open_asks) == ("slack", "team", 1)
    assert rules_of(settings(owners=["slack:U1", "anyone"], route="mine")).home is None
    with pytest.raises(ConfigError, match="but not on which surface: write SURFACE:U1"):
        rules_of(settings(owners=["U1"], route="mine"))


@pytest.mark.parametrize(
    ("onboarding", "wrong"),
    [
        ({"route": "nowhere"}, r"there is no \[routes.nowhere\]"),
        ({"owners": ["person:ann"]}, r"onboarding.owners names 'ann'"),
        ({"days": 0}, "greater than 0"),
        ({"agents_per_person": 0}, "greater than or equal to 1"),
    ],
)
def test_what_makes_no_sense_is_refused(onboarding: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        settings(**onboarding)


@pytest.mark.rule("CLI-16")
async def test_routes_and_who_may_connect_agents_are_reloaded(tmp_path: Path) -> None:
    own = {"server": {"port": 0}, "storage": {"url": f"sqlite:///{tmp_path / 'asks.db'}"}}
    onboarding = {"owners": ["anyone"], "route": "team"}
    first = settings_type().model_validate({**own, "onboarding": onboarding, "routes": CHAT})
    async with run_service(first) as up:
        running, reloader = up.extensions.running["sign_ins"], up.reloader
        assert isinstance(running, RunningSignIns)
        named = {**CHAT, "ops": {"to": "web"}}
        table = {"owners": ["web:ann"], "route": "ops"}
        new = {**own, "onboarding": table, "routes": named, "default_route": "ops"}
        assert reloader.update_from(first.model_validate(new)) == []
        routes = reloader.routes
        assert (routes.default, sorted(routes.by_name)) == ("ops", ["mine", "ops", "team"])
        assert running.sign_ins.is_open()
        assert running.sign_ins.terms() == (90, "ops")
        wrong = {**own, "onboarding": {"owners": ["U1"], "route": "mine"}, "routes": CHAT}
        with pytest.raises(ConfigError, match="write SURFACE:U1"):
            reloader.update_from(first.model_validate(wrong))
        assert running.sign_ins.terms() == (90, "ops"), "nothing has changed"
        agents = {"ci": {"token_hash": hash_of("ci")}}
        assert reloader.update_from(first.model_validate({**own, "agents": agents})) == []
        assert not running.sign_ins.is_open(), "what people have connected is refused from now on"
        assert reloader.update_from(first.model_validate(own)) == ["agents"]
        assert reloader.tokens.required


def test_onboarding_that_begins_where_no_tokens_were_needed_waits_for_a_restart() -> None:
    parts = build_agent_tokens(Settings()), webhooks(settings_type()())
    reloader = SettingsReloader(settings_type()(), *parts, Routes(people=NOBODY_KNOWN))
    assert reloader.update_from(settings()) == ["onboarding"]
