"""An agent's description of a tool call in several messages is shown as their sum, once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback.core.form import Form
from answerback.dialects import registry
from answerback_agents.acp import messages
from answerback_agents.acp.tool_calls import merge
from tests.unit.cases import read_case

Json = dict[str, Any]


def asked(*said: Json) -> Form:
    """The form that people get, once the proxy has read these messages."""
    known: Json = {}
    *updates, request = said
    for update in updates:
        parsed = messages.parse_tool_call_update(update)
        assert parsed is not None
        known = merge(known, parsed[1])
    call = messages.call_from_request(request, known)
    return registry.parse_call(call.name, call.arguments).form


def asked_in_case(name: str) -> Form:
    """The form that people get in a case."""
    given_in_case = read_case(name)["input"]
    if "messages" in given_in_case:
        return asked(*given_in_case["messages"])
    request = {"method": given_in_case["name"], "params": given_in_case["arguments"]}
    return asked(request)


def context(form: Form) -> str:
    return form.questions[0].context or ""


@pytest.mark.rule("ACP-7")
def test_a_command_that_is_cut_in_the_request_is_shown_whole() -> None:
    form = asked_in_case("acp-command-cut-though-known")
    command = "echo preparing the workspace for the nightly build && rm -rf build/cache /srv/shared/results"
    assert form.questions[0].text == f"Run {command}"
    assert context(form).startswith(f"```\n{command}\n```")
    assert context(form).count("rm -rf") == 1
    assert "The agent describes it as:" in context(form)
    assert "Requesting approval to Running: echo preparing" in context(form)


@pytest.mark.rule("ACP-7")
def test_an_edit_in_two_forms_is_counted_and_drawn_once() -> None:
    form = asked_in_case("acp-edit-diff-counted-twice")
    assert form.questions[0].text == "Edit a.txt (+1 −1)"
    assert context(form).count("+two") == 1


@pytest.mark.rule("ACP-7")
def test_two_hunks_of_one_file_are_the_diff_of_its_whole_text() -> None:
    old = [f"line {n}" for n in range(20)]
    new = ["first", *old[1:15], "between", *old[15:]]
    hunks = (
        "--- a\n+++ a\n@@ -1,2 +1,2 @@\n-line 0\n+first\n line 1\n"
        "@@ -14,3 +14,4 @@\n line 13\n line 14\n+between\n line 15"
    )
    block = {"type": "diff", "path": "/w/a", "oldText": "\n".join(old), "newText": "\n".join(new)}
    call = {"toolCallId": "c", "kind": "edit", "rawInput": {"path": "/w/a", "diff": hunks}}
    options = [{"optionId": "y", "name": "Y", "kind": "allow_once"}]
    for content, count in (([block], "(+2 −1)"), ([{**block, "newText": "other"}], "(+3 −21)")):
        params = {"sessionId": "s", "toolCall": {**call, "content": content}, "options": options}
        form = asked({"method": "session/request_permission", "params": params})
        assert form.questions[0].text == f"Edit a {count}"


@pytest.mark.rule("ACP-7")
def test_an_empty_object_replaces_nothing_that_is_known() -> None:
    form = asked_in_case("acp-empty-rawinput-overwrites")
    assert form.questions[0].text == "Read /srv/secrets.env"
    assert not form.questions[0].nothing_known


@pytest.mark.rule("ACP-7")
def test_text_blocks_are_markdown_and_stand_once() -> None:
    form = asked_in_case("acp-text-content-as-yaml")
    assert form.questions[0].text == "Approve this plan?"
    assert "\n\n# Plan\n\n1. Move the table\n2. Drop the old one\n" in context(form)
    assert context(form).count("Move the table") == 1
    assert "type: text" not in context(form)


@pytest.mark.rule("ACP-7")
def test_a_question_that_comes_as_a_permission_is_a_question() -> None:
    form = asked_in_case("acp-question-by-permission")
    [question] = form.questions
    assert question.text == "Which languages should the tool support?"
    assert [option.label for option in question.options] == ["Go", "Rust", "Skip"]
    assert not question.is_approval
    assert not form.decided_by_hand


def permission(**tool_call: Any) -> Json:
    options = [{"optionId": "y", "name": "Y", "kind": "allow_once"}]
    params = {"sessionId": "s", "toolCall": {"toolCallId": "c", **tool_call}, "options": options}
    return {"id": 1, "method": "session/request_permission", "params": params}


def update(**tool_call: Any) -> Json:
    fields = {"sessionUpdate": "tool_call_update", "toolCallId": "c", **tool_call}
    return {"method": "session/update", "params": {"sessionId": "s", "update": fields}}


@pytest.mark.rule("APPROVAL-11")
@pytest.mark.parametrize(
    "tool_call",
    [
        {"title": "Bash"},
        {"title": "Write file", "rawInput": {}, "content": []},
        {"title": "bash", "kind": "execute", "rawInput": {"cwd": "/w"}},
        {},
    ],
)
def test_where_nothing_is_known_people_are_asked_once_more(tool_call: Json) -> None:
    decision, once_more = asked(permission(**tool_call)).questions
    assert decision.nothing_known
    assert once_more.when is not None
    assert once_more.when.equals == "y"
    assert [option.label for option in once_more.options] == ["Y, unseen"]


@pytest.mark.rule("APPROVAL-11")
@pytest.mark.parametrize(
    "tool_call",
    [
        {"title": "cat /etc/passwd"},
        {"title": "bash", "rawInput": {"command": "make"}},
        {"title": "bash", "locations": [{"path": "/w/a"}]},
        {"title": "bash", "content": [{"type": "terminal", "terminalId": "t"}]},
    ],
)
def test_where_something_is_known_people_are_asked_once(tool_call: Json) -> None:
    assert len(asked(permission(**tool_call)).questions) == 1


@pytest.mark.rule("ACP-7")
def test_the_second_version_says_what_is_asked_in_its_own_words() -> None:
    request = permission()
    del request["params"]["toolCall"]
    request["params"] |= {"title": "May it reach example.com?", "description": "To *fetch* it."}
    form = asked(request)
    assert form.questions[0].text == "May it reach example.com?"
    assert context(form) == "To *fetch* it."
    request["params"]["subject"] = {"type": "command", "command": "curl example.com"}
    form = asked(request)
    assert form.questions[0].text == "Run curl example.com"
    assert context(form) == (
        "May it reach example.com?\n\nTo *fetch* it.\n\n```\ncurl example.com\n```"
    )


_MARKERS = st.integers(0, 10**9).map("{:09d}".format)
_EMPTY: st.SearchStrategy[Any] = st.sampled_from([{}, [], "", None])


@pytest.mark.rule("ACP-7")
@given(data=st.data())
def test_however_a_call_is_split_nothing_is_lost_or_shown_twice(data: st.DataObject) -> None:
    markers = data.draw(st.lists(_MARKERS, min_size=4, max_size=8, unique=True))
    fields = {f"field{n}": f"[{word}]" for n, word in enumerate(markers[:-2])}
    blocks: list[Json] = [
        {"type": "content", "content": {"type": "text", "text": f"[{word}]"}}
        for word in markers[-2:]
    ]
    parts: list[Json] = [{"rawInput": {key: value}} for key, value in fields.items()]
    parts += [{"content": [block]} for block in blocks]
    # The whole call as JSON in a text, and the beginning of a text, say nothing new.
    parts.append(
        {"content": [{"type": "content", "content": {"type": "text", "text": json.dumps(fields)}}]}
    )
    first = markers[0]
    parts.append({"rawInput": {"field0": f"[{first[:4]}…"}})
    parts += [{key: data.draw(_EMPTY)} for key in ("rawInput", "content", "locations")]
    repeated = data.draw(st.lists(st.sampled_from(parts), max_size=6))
    whole_first = data.draw(st.booleans())
    shuffled = data.draw(st.permutations([*parts, *repeated]))
    if whole_first:
        shuffled = [{"rawInput": fields, "content": blocks}, *shuffled]
    else:  # a shortened text alone is all that is known of it until the whole one comes
        shuffled = [part for part in shuffled if "…" not in str(part)]
    at = data.draw(st.integers(0, len(shuffled) - 1))
    request = permission(**merge({}, shuffled[at]))
    updates = [update(**part) for n, part in enumerate(shuffled) if n != at]
    shown = context(asked(*updates, request))
    for word in markers:
        assert shown.count(f"[{word}]") == 1, shown


PLAN = "# Plan\n\n1. Move the table\n"


@pytest.mark.rule("ACP-7", "SURFACE-20")
def test_a_plan_is_one_whatever_the_agent_calls_it() -> None:
    """The messages are those of claude-agent-acp 0.101.0."""
    text = {"type": "content", "content": {"type": "text", "text": PLAN}}
    request = permission(
        title="Ready to code?", kind="switch_mode", rawInput={"plan": PLAN}, content=[text]
    )
    form = asked(request)
    assert form.questions[0].plan
    assert form.questions[0].text == "Approve this plan?"
    assert context(form).startswith(f"Ready to code?\n\n{PLAN.strip()}\n")
    assert context(form).count("Move the table") == 1
    long = asked(permission(title="Go?", kind="switch_mode", rawInput={"plan": "step\n" * 9_000}))
    assert context(long).count("step") == 9_000
    assert not asked(permission(title="Go?", kind="switch_mode")).questions[0].plan


@pytest.mark.rule("ACP-9")
def test_a_plan_that_gemini_only_names_is_read_from_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    plans = tmp_path / ".gemini" / "tmp" / "shop" / "s1" / "plans"
    plans.mkdir(parents=True)
    (plans / "tables.md").write_text(PLAN)
    form = asked(permission(title=f"Requesting plan approval for: {plans}/tables.md"))
    assert form.questions[0].plan
    assert form.questions[0].text == "Approve this plan?"
    assert f"`tables.md`\n\n{PLAN.strip()}" in context(form)


@pytest.mark.rule("ACP-9")
@pytest.mark.parametrize(
    "path", ["plans/link.md", "plans/missing.md", "../plans/out.md", "plans/../out.md"]
)
def test_no_other_file_is_read_for_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path))
    folder = tmp_path / ".gemini" / "tmp"
    for plans in (folder / "plans", tmp_path / ".gemini" / "plans"):
        plans.mkdir(parents=True)
    (tmp_path / ".gemini" / "plans" / "out.md").write_text("a secret")
    (tmp_path / "secret").write_text("a secret")
    (folder / "plans" / "link.md").symlink_to(tmp_path / "secret")
    form = asked(permission(title=f"Requesting plan approval for: {folder}/{path}"))
    assert "a secret" not in context(form)
    assert not form.questions[0].plan
