"""Reloads of a changed configuration: the keys that a running service takes, and those that it says need a restart."""

from __future__ import annotations

import asyncio
import base64
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from answerback.cli import serving
from answerback.core.errors import ConfigError
from answerback.core.person import Person
from answerback.ports.person_key import hash_of
from answerback.runtime import app, logs
from answerback.runtime.config import Settings, settings_type
from answerback.runtime.extensions import Extensions
from answerback.runtime.file_watch import FileWatcher
from answerback.runtime.from_settings import build_agent_tokens, build_routes
from answerback.runtime.reload import SettingsReloader
from answerback.service.submission_request import Agent, Routes
from answerback_webhooks.webhooks import Webhooks
from tests.service_support import WAIT, webhooks

SECRETS = ["whsec_" + base64.b64encode(bytes([n]) * 32).decode() for n in range(2)]


def settings(*agents: str, secret: str = SECRETS[0], **tables: Any) -> Settings:
    named = {name: {"token_hash": hash_of(name), "callback_secret": secret} for name in agents}
    return settings_type().model_validate({"agents": named, **tables})


def webhook_secrets_of(extensions: Extensions, agent: str) -> Sequence[str]:
    running = extensions.running["webhooks"]
    assert isinstance(running, Webhooks)
    return running.policy.secrets_of(agent)


@pytest.mark.rule("CLI-16")
def test_agents_secrets_and_callback_rules_are_reloaded_and_the_rest_is_reported() -> None:
    first = settings("ann")
    tokens, callbacks = build_agent_tokens(first), webhooks(first)
    reloader = SettingsReloader(first, tokens, callbacks, Routes())
    url = "http://10.0.0.1/hook"
    assert callbacks.callback_problem(url, Agent("ann")) is not None
    allowed = {"allow": ["10.0.0.0/8"]}
    new = settings("ann", "bob", secret=SECRETS[1], callbacks=allowed, mcp={"wait": 1})
    assert reloader.update_from(new) == ["mcp"]
    assert tokens.find_agent("bob") is not None
    assert webhook_secrets_of(callbacks, "bob") == [SECRETS[1]]
    assert callbacks.callback_problem(url, Agent("ann")) is None
    assert reloader.update_from(new) == ["mcp"], "a restart is still needed"
    assert reloader.update_from(settings("bob")) == []
    assert tokens.find_agent("ann") is None


@pytest.mark.rule("CLI-16", "PEOPLE-1")
def test_people_are_reloaded() -> None:
    first, new = (
        settings("ann", people={"ann": {"ids": [account], "name": name}})
        for account, name in (("chat:ann", "Ann"), ("chat:ann2", "Ann Lee"))
    )
    tokens, routes = build_agent_tokens(first), build_routes(first)
    people = routes.people
    old, now = (Person(surface="chat", user_id=user_id) for user_id in ("ann", "ann2"))
    assert (people.name_of(old), people.as_named(old).name) == ("ann", "Ann")
    reloader = SettingsReloader(first, tokens, webhooks(first), routes)
    assert reloader.update_from(new) == []
    assert (people.name_of(old), people.name_of(now)) == (None, "ann")
    assert people.as_named(now).name == "Ann Lee"


@pytest.mark.rule("CLI-16")
def test_limits_are_reloaded_with_the_agents_that_have_them() -> None:
    for agents, waiting in ((("ann",), []), ((), ["limits"])):
        first = settings(*agents)
        tokens = build_agent_tokens(first)
        reloader = SettingsReloader(first, tokens, webhooks(first), Routes())
        new = settings(*agents, limits={"open_asks": 3})
        assert reloader.update_from(new) == waiting
        ann = tokens.find_agent("ann")
        assert (ann and ann.limits.open_asks) == (3 if agents else None)


@pytest.mark.rule("CLI-16")
def test_an_invalid_configuration_changes_nothing() -> None:
    first = settings("ann")
    tokens = build_agent_tokens(first)
    reloader = SettingsReloader(first, tokens, webhooks(first), Routes())
    with pytest.raises(ConfigError, match=r"callbacks\.allow"):
        reloader.update_from(settings("bob", callbacks={"allow": ["http://hooks"]}))
    assert tokens.find_agent("bob") is None


def test_the_first_token_and_the_removal_of_the_last_need_a_restart() -> None:
    first = settings("ann")
    tokens = build_agent_tokens(first)
    reloader = SettingsReloader(first, tokens, webhooks(first), Routes())
    assert reloader.update_from(settings(log={"level": "debug"})) == ["agents"]
    assert tokens.required
    assert tokens.find_agent("ann") is None, (
        "a revoked token is refused at once, and nothing is open meanwhile"
    )
    assert reloader.update_from(settings("ann", log={"level": "debug"})) == []
    assert tokens.find_agent("ann") is not None
    first = settings()
    tokens = build_agent_tokens(first)
    reloader = SettingsReloader(first, tokens, webhooks(first), Routes())
    assert reloader.update_from(settings("ann")) == ["agents"]
    assert not tokens.required
    assert tokens.find_agent("ann") is None


@pytest.mark.rule("CLI-14")
def test_reloading_only_agents_reports_nothing_else() -> None:
    first = settings("ann")
    tokens, callbacks = build_agent_tokens(first), webhooks(first)
    reloader = SettingsReloader(first, tokens, callbacks, Routes())
    allowed = {"allow": ["10.0.0.0/8"]}
    new = settings("bob", secret=SECRETS[1], callbacks=allowed, mcp={"wait": 1})
    assert reloader.update_agents_from(new) == []
    assert (tokens.find_agent("ann"), webhook_secrets_of(callbacks, "bob")) == (None, [SECRETS[1]])
    assert callbacks.callback_problem("http://10.0.0.1/hook", Agent("bob")) is not None
    assert reloader.update_from(new) == ["mcp"]


@pytest.mark.rule("CLI-14")
async def test_a_change_is_detected_once_the_file_is_no_longer_being_written(
    tmp_path: Path,
) -> None:
    file = tmp_path / "answerback.toml"
    pausing, polls = asyncio.Event(), asyncio.Semaphore(0)

    async def pause() -> None:
        pausing.set()
        await polls.acquire()

    watched = await asyncio.to_thread(FileWatcher, file, pause)
    changed = asyncio.create_task(watched.wait_for_change())
    async with asyncio.timeout(WAIT):
        await pausing.wait()
        for text in ("a", "ab", "abc"):
            file.write_text(text)
            pausing.clear()
            polls.release()
            await pausing.wait()
        assert not changed.done()
        polls.release()
        await changed
        again = asyncio.create_task(watched.wait_for_change())
        file.unlink()
        polls.release()
        polls.release()
        await again


@pytest.mark.rule("CLI-14")
@pytest.mark.usefixtures("signals")
def test_a_token_revoked_during_start_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, taken = tmp_path / "answerback.toml", list[str]()
    update_agents_from = SettingsReloader.update_agents_from

    def configure(*agents: str) -> None:
        tables = [f'[agents.{name}]\ntoken_hash = "{hash_of(name)}"\n' for name in agents]
        storage = f'[storage]\nurl = "sqlite:///{tmp_path / "asks.db"}"\n'
        file.write_text("".join(["[server]\nport = 0\n", storage, *tables]))

    @asynccontextmanager
    async def meanwhile(settings: Settings) -> AsyncIterator[app.RunningService]:
        await asyncio.to_thread(configure, "ann")
        async with running(settings) as up:
            # Do not wait for ever if the change is not detected.
            loop = asyncio.get_running_loop()
            loop.call_later(WAIT, signal.raise_signal, signal.SIGTERM)
            yield up

    def update_from(self: SettingsReloader, new: Settings) -> list[str]:
        taken.extend(new.agents)
        signal.raise_signal(signal.SIGTERM)
        return update_agents_from(self, new)

    running = app.run_service
    monkeypatch.setattr(app, "run_service", meanwhile)
    monkeypatch.setattr(logs, "configure_logging", lambda *_: None)
    monkeypatch.setattr(serving, "_raise_file_limit", lambda: None)
    monkeypatch.setattr(SettingsReloader, "update_agents_from", update_from)
    configure("ann", "bob")
    serving.run(file, check=False)
    assert taken == ["ann"]
