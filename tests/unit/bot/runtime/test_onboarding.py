"""The settings for agents that people connect themselves, and what of them is reloaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from answerback.core.errors import ConfigError
from answerback.core.people import NOBODY_KNOWN
from answerback.ports.agent_tokens import NO_ONBOARDING, OnboardingRules, RulesInForce
from answerback.ports.person_key import hash_of
from answerback.ports.store_values import AskLimits
from answerback.runtime.config import Settings, settings_type
from answerback.runtime.config_file import load_settings
from answerback.runtime.from_settings import (
    build_agent_tokens,
    build_onboarding,
    build_routes,
)
from answerback.runtime.plugins import installed_plugins
from answerback.runtime.reload import SettingsReloader
from answerback.service.submission_request import Agent, Routes
from tests.service_support import webhooks

CHAT = {"team": {"to": "slack:C1"}, "mine": {"to": "owner"}}


def settings(**onboarding: Any) -> Settings:
    table = {"owners": ["anyone"], **onboarding}
    return settings_type().model_validate({"onboarding": table, "routes": CHAT})


@pytest.mark.rule("ONBOARD-1")
def test_the_table_alone_means_tokens_and_any_address(tmp_path: Path) -> None:
    file = tmp_path / "answerback.toml"
    file.write_text('server.host = "0.0.0.0"\n[onboarding]\nowners = "anyone"\n')
    loaded = load_settings(file)
    assert loaded.uses_tokens
    assert build_agent_tokens(loaded).required
    assert webhooks(loaded).callback_problem("http://127.0.0.1:1/", Agent("ann-x")) is not None
    assert build_onboarding(loaded) == OnboardingRules(
        owners=("anyone",),
        home="web",
        surfaces=installed_plugins().names,
        route="web",
        agents_per_person=5,
        days=90,
        limits=AskLimits(60, 200, 20),
    )
    file.write_text('server.host = "0.0.0.0"\n')
    with pytest.raises(ConfigError, match="no agent has a token"):
        load_settings(file)
    assert build_onboarding(Settings()) == NO_ONBOARDING


@pytest.mark.rule("ONBOARD-3", "ONBOARD-10")
def test_the_route_says_on_which_surface_plain_ids_are() -> None:
    rules = build_onboarding(settings(owners=["U1", "@S9"], route="team", limits={"open_asks": 1}))
    assert (rules.home, rules.route, rules.limits.open_asks) == ("slack", "team", 1)
    assert build_onboarding(settings(owners=["slack:U1", "anyone"], route="mine")).home is None
    with pytest.raises(ConfigError, match="but not on which surface: write SURFACE:U1"):
        build_onboarding(settings(owners=["U1"], route="mine"))


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
def test_routes_and_who_may_connect_agents_are_reloaded() -> None:
    first = settings(route="team")
    tokens, routes = build_agent_tokens(first), build_routes(first)
    rules = RulesInForce(build_onboarding(first))
    reloader = SettingsReloader(first, tokens, webhooks(first), routes, rules)
    named = {**CHAT, "ops": {"to": "web"}}
    table = {"owners": ["web:ann"], "route": "ops"}
    new = first.model_validate({"onboarding": table, "routes": named, "default_route": "ops"})
    assert reloader.update_from(new) == []
    assert (routes.default, sorted(routes.by_name)) == ("ops", ["mine", "ops", "team"])
    assert (rules.rules.owners, rules.rules.route) == (("web:ann",), "ops")
    agents = {"ci": {"token_hash": hash_of("ci")}}
    assert reloader.update_from(settings_type().model_validate({"agents": agents})) == []
    assert rules.rules == NO_ONBOARDING, "what people have connected is refused from now on"
    assert reloader.update_from(settings_type()()) == ["agents"]
    assert tokens.required


def test_onboarding_that_begins_where_no_tokens_were_needed_waits_for_a_restart() -> None:
    rules = RulesInForce()
    parts = build_agent_tokens(Settings()), webhooks(settings_type()())
    reloader = SettingsReloader(settings_type()(), *parts, Routes(people=NOBODY_KNOWN), rules)
    assert reloader.update_from(settings()) == ["onboarding"]
    assert rules.rules == NO_ONBOARDING
