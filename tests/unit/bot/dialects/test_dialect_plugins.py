"""Dialects as plug-ins: how they are found, what can be wrong with one, and what happens when one is gone."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

import aiohttp
import pytest

from answerback.cli import checkup
from answerback.core.actions import Answer
from answerback.core.ask import Ask, ToolResult
from answerback.core.errors import ConfigError
from answerback.core.form import AnswerType, Form, Question
from answerback.dialects import generous_reader, installed, registry
from answerback.dialects.call_reader import ArgumentNode
from answerback.dialects.dialect import GROUP, CallRule, Dialect, Shape, Tool
from answerback.dialects.installed import discover_dialects, installed_dialects
from answerback.dialects.results import json_result
from answerback.runtime.config_file import load_settings
from answerback_base.entry_points import Discovered
from answerback_base.hosts import hosts_with
from tests.meta.project import ROOT
from tests.unit.bot.dialect_support import act, ask_from_call

HERE = __name__


def parse(call: ArgumentNode) -> Form | None:
    text = call.text("polled")
    if text is None:
        return None
    question = Question(id="answer", text=text, answer_type=AnswerType.BOOLEAN)
    return Form(questions=(question,))


def render(_ask: Ask) -> ToolResult:
    return json_result({"polled": True})


POLL = Dialect(
    name="poll",
    calls=(
        CallRule(("ask_user",), Shape(has=frozenset({"polled"})), 5),
        CallRule(("poll",), Shape()),
    ),
    parse=parse,
    render=render,
)
MISNAMED = Dialect(
    name="poll", calls=(), parse=parse, render=render, tool=Tool("vote", "vote", "", "", {})
)


def entry(name: str = "poll", value: str = f"{HERE}:POLL") -> EntryPoint:
    return EntryPoint(name, value, GROUP)


@pytest.mark.rule("PLUGIN-4")
def test_our_own_dialects_come_in_by_the_same_door() -> None:
    listed = {f"{each.name} = {each.value}" for each in entry_points(group=GROUP)}
    text = (ROOT / "pyproject.toml").read_text()
    table = text.split(f'[project.entry-points."{GROUP}"]\n')[1].split("\n\n")[0]
    assert listed == {line.replace('"', "") for line in table.splitlines()}
    own = {line.split(" = ")[0] for line in table.splitlines()}
    assert set(installed_dialects().usable) == own | {*hosts_with("dialect")}
    assert installed_dialects().broken == {}


@pytest.mark.rule("PLUGIN-4")
@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (entry("poll", "no_such_module:POLL"), "ModuleNotFoundError"),
        (entry("poll", f"{HERE}:parse"), "is not an answerback.dialects.dialect.Dialect"),
        (entry("poll", f"{HERE}:MISNAMED"), "has the tool of the dialect 'vote'"),
        (entry("vote"), "its name is 'poll'"),
        (entry("Poll"), "a dialect's name may only contain"),
    ],
)
def test_a_broken_dialect_leaves_the_others_usable(broken: EntryPoint, reason: str) -> None:
    good = next(each for each in entry_points(group=GROUP) if each.name == "single")
    found = discover_dialects([broken, good])
    assert [*found.usable] == ["single"]
    assert reason in found.broken[broken.name]


@pytest.mark.rule("PLUGIN-4")
def test_without_any_dialect_the_reason_and_the_remedy_are_told() -> None:
    with pytest.raises(ConfigError, match=r"No dialect is installed.*Poll.*Reinstall answerback"):
        discover_dialects([entry("Poll")])


@pytest.fixture
def with_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another distribution's dialect is installed, and a broken one."""
    usable = {**installed_dialects().usable, "poll": POLL}
    found = Discovered(usable, {"vote": "the plug-in 'vote' cannot be used"})
    rules = [*installed.call_rules(), *(("poll", rule) for rule in POLL.calls)]
    rules.sort(key=lambda each: (each[1].shape is None, each[1].order))
    for module in (registry, installed, checkup):
        monkeypatch.setattr(module, "installed_dialects", lambda: found)
    for reader in (generous_reader, installed):
        monkeypatch.setattr(reader, "call_rules", lambda: tuple(rules))


@pytest.mark.rule("PLUGIN-4", "DIALECT-1")
def test_its_calls_are_detected_before_others_of_their_name_as_it_wants(with_poll: None) -> None:
    assert registry.parse_call("ask_user", {"polled": "Go?", "question": "Q?"}).dialect == "poll"
    assert registry.parse_call("ask_user", {"question": "Q?"}).dialect == "single"
    assert registry.parse_call("poll", {"polled": "Go?"}, "poll").dialect == "poll"


@pytest.mark.rule("PLUGIN-4", "DIALECT-1")
def test_a_name_without_a_rule_for_every_call_reads_the_rest_by_its_last_rule(
    with_poll: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = (("poll", CallRule(("poll",), Shape(has=frozenset({"x"})))),)
    monkeypatch.setattr(generous_reader, "call_rules", lambda: rules)
    assert registry.parse_call("poll", {"polled": "Go?"}).dialect == "poll"


@pytest.mark.rule("PLUGIN-4")
def test_an_ask_whose_dialect_is_gone_has_its_answers_as_an_error(
    with_poll: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = act(ask_from_call("ask_user", {"polled": "Go?"}), Answer(value=True))
    assert registry.render_result(ask) == render(ask)
    monkeypatch.undo()
    result = registry.render_result(ask)
    assert result is not None
    assert result.is_error
    assert result.structured == {"answers": {"answer": True}}
    assert "no longer installed" in result.content


@pytest.mark.rule("PLUGIN-4")
async def test_the_doctor_warns_about_a_broken_one(
    with_poll: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with aiohttp.ClientSession() as http:
        found = [each async for each in checkup.findings(load_settings(), http)]
    (broken,) = [each for each in found if each.what == "dialect vote"]
    assert broken.warning
    assert "cannot be used" in str(broken.wrong)
