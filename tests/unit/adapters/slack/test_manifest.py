"""The manifests are valid, request exactly the permissions that are used, and are what the command prints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

import answerback_slack
from answerback_slack import manifest as manifests
from answerback_slack.manifest import EVENTS, FILES_SCOPE, READ_SCOPE, SCOPES, manifest, to_yaml
from tests.acceptance.process import command
from tests.fakes.slack.methods import Methods, no_scope
from tests.fakes.slack.server import BOT_SCOPES, FakeSlack

ROOT = Path(__file__).parents[4]
URL = {"type": "string", "maxLength": 3500, "pattern": "^https?://"}


def text(least: int, most: int) -> dict[str, Any]:
    return {"type": "string", "minLength": least, "maxLength": most}


def closed(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    keys = {"properties": properties, "required": list(required)}
    return {"type": "object", "additionalProperties": False, **keys}


# The rules of https://github.com/slackapi/manifest-schema for the parts that are used here.
SCHEMA = closed(
    {
        "display_information": closed(
            {
                "name": text(1, 35),
                "description": text(1, 140),
                "long_description": text(175, 4000),
                "background_color": text(4, 7),
            },
            "name",
        ),
        "features": closed(
            {
                "app_home": {"type": "object", "additionalProperties": {"type": "boolean"}},
                "bot_user": closed(
                    {"display_name": text(1, 80), "always_online": {"type": "boolean"}},
                    "display_name",
                ),
                "slash_commands": {
                    "type": "array",
                    "maxItems": 50,
                    "items": closed(
                        {
                            "command": {**text(2, 32), "pattern": "^/"},
                            "description": text(1, 2000),
                            "usage_hint": text(1, 1000),
                            "should_escape": {"type": "boolean"},
                            "url": URL,
                        },
                        "command",
                        "description",
                    ),
                },
                # https://docs.slack.dev/ai/migrating-to-agent-messaging
                "agent_view": closed({"agent_description": text(1, 300)}, "agent_description"),
            }
        ),
        "oauth_config": closed(
            {"scopes": closed({"bot": {"type": "array", "maxItems": 255, "items": text(1, 50)}})}
        ),
        "settings": closed(
            {
                "event_subscriptions": closed(
                    {
                        "request_url": URL,
                        "bot_events": {"type": "array", "maxItems": 100, "uniqueItems": True},
                    }
                ),
                "interactivity": closed(
                    {"is_enabled": {"type": "boolean"}, "request_url": URL}, "is_enabled"
                ),
                "org_deploy_enabled": {"type": "boolean"},
                "socket_mode_enabled": {"type": "boolean"},
                "token_rotation_enabled": {"type": "boolean"},
            }
        ),
    },
    "display_information",
)
FILES: dict[str, str] = {"socket": "socket-mode.yaml", "http": "http.yaml"}


@pytest.mark.rule("SLACK-9", "CLI-7")
@pytest.mark.parametrize("mode", FILES)
def test_the_files_are_what_the_command_prints_and_are_valid(mode: str) -> None:
    text = (ROOT / "manifests/slack" / FILES[mode]).read_text("utf-8")
    assert text == to_yaml(manifest(mode)) + "\n", "run answerback manifest slack"
    read = yaml.safe_load(text)
    assert list(Draft202012Validator(SCHEMA).iter_errors(read)) == []
    assert read["settings"]["socket_mode_enabled"] is (mode == "socket")
    urls = [
        part["request_url"]
        for key in ("event_subscriptions", "interactivity")
        if "request_url" in (part := read["settings"][key])
    ]
    [command] = read["features"]["slash_commands"]
    urls += [command["url"]] if "url" in command else []
    assert len(urls) == (3 if mode == "http" else 0)
    assert command["command"] == "/answerback"
    assert read["oauth_config"]["scopes"]["bot"] == [
        *SCOPES,
        "commands",
        "files:write",
        "files:read",
    ]
    assert all(url == f"{manifests.EXAMPLE_URL}/slack/events" for url in urls)
    home = read["features"]["app_home"]
    assert (home["messages_tab_enabled"], home["messages_tab_read_only_enabled"]) == (True, False)


@pytest.mark.rule("SLACK-9", "CLI-7")
def test_the_requested_scopes_are_the_scopes_used() -> None:
    folder = Path(answerback_slack.__file__).parent
    sources = "".join(path.read_text("utf-8") for path in folder.glob("*.py"))
    called = {name.replace("_", ".") for name in re.findall(r"client\.([a-z]+_\w+)", sources)}
    called |= {*re.findall(r'\.send\(\s*"([a-z]+\.[A-Za-z.]+)"', sources)}
    methods: Methods = FakeSlack().methods
    called &= methods.keys()
    assert {"chat.postMessage", "chat.update", "views.open", "conversations.history"} <= called
    needed: set[str] = set()
    slack = FakeSlack()
    for index, kind in enumerate(("channel", "group", "im", "mpim")):
        slack.workspace.add_channel(f"C{index}", kind=kind)
        for name in called:
            method = methods[name]
            if name == "conversations.info" and kind in {"im", "mpim"}:
                continue  # not called for direct messages, and done without where the scope is missing
            if method.scopes is not no_scope and not method.app_level:
                found = method.scopes(slack, {"channel": f"C{index}"})
                needed.add(found[0])
    needed |= {scope for scope in EVENTS.values() if scope is not None}
    assert needed == {*SCOPES, FILES_SCOPE, READ_SCOPE}
    assert needed <= set(BOT_SCOPES)


@pytest.mark.rule("SLACK-12", "CLI-7")
@pytest.mark.parametrize("mode", FILES)
def test_the_manifest_of_an_agent_adds_what_sessions_need(mode: str) -> None:
    plain, agent = (yaml.safe_load(to_yaml(manifest(m))) for m in (mode, f"{mode}-agent"))
    assert list(Draft202012Validator(SCHEMA).iter_errors(agent)) == []
    assert agent["features"].pop("agent_view")
    assert agent["oauth_config"]["scopes"]["bot"].pop() == "assistant:write"
    assert agent["settings"]["event_subscriptions"]["bot_events"].pop() == "agent_session_stopped"
    assert agent == plain


@pytest.mark.acceptance
async def test_the_command_prints_a_manifest_for_a_given_url(tmp_path: Path) -> None:
    url = "https://ask.acme.example/"
    async with command(
        "manifest", "slack", "--mode", "http", "--url", url, folder=tmp_path
    ) as process:
        code, text, _ = await process.ended()
    assert code == 0
    settings = yaml.safe_load(text)["settings"]
    assert settings["interactivity"]["request_url"] == "https://ask.acme.example/slack/events"
