"""Approvals of the hosts whose requests are batches, or whose names stand for more than approvals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from answerback.core import ask as asks
from answerback.core.actions import Answer, Object, Reply
from answerback.core.ask import Change, Reason, Status
from answerback.core.confirmation import ConfirmationRule
from answerback.core.person import Person
from answerback.core.walker import start
from answerback.dialects import registry
from tests.unit.bot.approval_support import ARGS, expired, make_ask, rendered
from tests.unit.bot.dialect_support import act, ask_from_call, problem_codes
from tests.unit.cases import case_call

Json = dict[str, Any]
MCP_TOOL = "mcpServer/elicitation/request"
WORDS = "not today"


# --- Codex's MCP tools --------------------------------------------------------------------------------


def codex_ask(**meta: Any) -> Any:
    call = case_call("codex-mcp-tool-approval")
    arguments = {**call["arguments"], "_meta": {**call["arguments"]["_meta"], **meta}}
    return ask_from_call(call["name"], arguments)


@pytest.mark.rule("APPROVAL-7")
def test_codexs_mcp_tool_is_approved_for_as_long_as_codex_offers() -> None:
    ask = codex_ask()
    [question] = ask.form.questions
    assert ask.request.dialect == "approval"
    assert question.tool == "mcp__shop__drop_rows"
    assert "table: orders\nrows: 12" in (question.context or "")
    assert [(each.value, each.label) for each in question.options] == [
        ("accept", "Allow once"),
        ("session", "Allow tool this session"),
        ("always", "Always allow this tool"),
        ("decline", "Deny"),
    ]
    results = {
        each.value: rendered(act(ask, Answer(value=each.value))) for each in question.options
    }
    accepted: Json = {"action": "accept", "content": {}}
    assert results == {
        "accept": accepted,
        "session": {**accepted, "_meta": {"persist": "session"}},
        "always": {**accepted, "_meta": {"persist": "always"}},
        "decline": {"action": "decline"},
    }


@pytest.mark.rule("APPROVAL-7")
@pytest.mark.parametrize(
    ("persist", "offered"),
    [
        (None, ["accept", "decline"]),
        ("session", ["accept", "session", "decline"]),
        (["always"], ["accept", "always", "decline"]),
        (["forever", 3], ["accept", "decline"]),
    ],
)
def test_codex_remembers_only_what_it_offers_to(persist: Any, offered: list[str]) -> None:
    [question] = codex_ask(persist=persist).form.questions
    assert [each.value for each in question.options] == offered


@pytest.mark.rule("APPROVAL-7")
@pytest.mark.parametrize("kind", [None, "tool_suggestion", True])
def test_any_other_elicitation_of_codex_stays_one(kind: Any) -> None:
    ask = codex_ask(codex_approval_kind=kind)
    assert ask.request.dialect == "elicitation"
    for meta in (None, "x"):
        arguments = {**case_call("codex-mcp-tool-approval")["arguments"], "_meta": meta}
        assert registry.parse_call(MCP_TOOL, arguments)[0] == "elicitation"


# --- LangChain's batches ------------------------------------------------------------------------------


def batch(**allowed: list[str]) -> Json:
    """Return a request for one action of each name, with the decisions that are allowed for it."""
    return {
        "action_requests": [{"name": name, "args": ARGS} for name in allowed],
        "review_configs": [
            {"action_name": name, "allowed_decisions": each}
            for name, each in allowed.items()
            if each
        ],
    }


@pytest.mark.rule("APPROVAL-8")
def test_langchains_actions_are_decided_one_by_one_as_each_allows() -> None:
    every = ["approve", "edit", "respond", "reject"]
    arguments = batch(delete=every, copy=[], move=every, ask=["respond"])
    ask = ask_from_call("hitl_request", arguments)
    decisions = [question for question in ask.form.questions if question.tool]
    assert [(each.tool, [o.value for o in each.options]) for each in decisions] == [
        ("delete", every),
        ("copy", ["approve", "reject"]),
        ("move", every),
        ("ask", ["respond"]),
    ]
    answers: list[Any] = ["edit", {"path": "b.txt"}, "reject", "approve", "respond", "It is blue."]
    ended = act(ask, *(Answer(value=value) for value in answers))
    assert rendered(ended) == {
        "decisions": [
            {"type": "edit", "edited_action": {"name": "delete", "args": {"path": "b.txt"}}},
            {"type": "reject"},
            {"type": "approve"},
            {"type": "respond", "message": "It is blue."},
        ]
    }


@pytest.mark.rule("APPROVAL-8")
def test_an_action_that_nobody_decided_is_rejected() -> None:
    ask = ask_from_call("hitl_request", batch(delete=[], copy=["edit"], move=["respond"]))
    first = act(ask, Answer(value="approve"))
    rejected: list[Json] = [{"type": "reject", "message": WORDS}, {"type": "reject"}]
    for stopped in (first, act(first, Answer(value="edit"))):
        assert rendered(act(stopped, Reply(text=WORDS))) == {
            "decisions": [{"type": "approve"}, *rejected]
        }
    last = act(first, Answer(value="edit"), Answer(value={}), Answer(value="respond"))
    assert rendered(act(last, Reply(text=WORDS)))["decisions"][1:] == [
        {"type": "edit", "edited_action": {"name": "copy", "args": {}}},
        {"type": "reject", "message": WORDS},
    ]
    assert rendered(expired(ask))["decisions"][0]["message"] == "[no answer: expired]"


@pytest.mark.rule("APPROVAL-8")
def test_mistakes_in_a_batch_have_their_places() -> None:
    assert problem_codes("hitl_request", {"action_requests": []}) == [
        ("/action_requests", "too_few")
    ]
    arguments = {
        "action_requests": [3, {"args": {}}, {"name": ["x"]}],
        "review_configs": [
            4,
            {"allowed_decisions": ["approve"]},
            {"action_name": "x", "allowed_decisions": ["maybe"]},
        ],
    }
    assert problem_codes("hitl_request", arguments) == [
        ("/action_requests/0", "wrong_type"),
        ("/action_requests/1/name", "required"),
        ("/action_requests/2/name", "wrong_type"),
        ("/review_configs/0", "wrong_type"),
        ("/review_configs/1/action_name", "required"),
        ("/review_configs/2/allowed_decisions/0", "unknown_value"),
    ]


@pytest.mark.rule("APPROVAL-5")
def test_langchain_answers_in_place_of_the_tool_and_edits_without_a_schema() -> None:
    every = ["reject", "respond", "edit", "approve"]
    ask = make_ask("tool_approval", allowed_decisions=every)
    assert [o.value for o in ask.form.questions[0].options] == [
        "approve",
        "edit",
        "respond",
        "reject",
    ]
    responded = act(ask, Answer(value="respond"), Answer(value="It is gone already."))
    assert rendered(responded) == {"type": "respond", "message": "It is gone already."}
    edited = act(ask, Answer(value="edit"), Answer(value={"path": "b.txt"}))
    assert rendered(edited)["edited_action"] == {"name": "delete", "args": {"path": "b.txt"}}
    assert rendered(act(ask, Answer(value="edit"), Reply(text=WORDS))) == {
        "type": "reject",
        "message": WORDS,
    }
    bare = make_ask("tool_approval", allowed_decisions=["edit"], args=None)
    assert bare.form.questions[1].default == {}


# --- OpenAI's MCP tools, Factory Droid, ACP ---------------------------------------------------------


def test_openais_mcp_tool_is_named_with_its_server() -> None:
    [question] = make_ask("mcp_approval_request").form.questions
    assert question.tool == "mcp__shop__delete"
    assert question.context == "```\npath: a.txt\n```"


@pytest.mark.rule("APPROVAL-9")
def test_droids_tools_are_decided_together() -> None:
    use = {"toolUse": {"name": "Execute", "input": {"command": "ls"}}, "details": {"type": "exec"}}
    more = {"toolUse": {"name": "Create", "input": {"path": "x"}}}
    [question] = make_ask("droid.request_permission", toolUses=[use, more, use]).form.questions
    assert question.tool == "Execute, Create"
    assert (question.context or "").count("command: ls") == 2
    assert "path: x" in (question.context or "")
    assert problem_codes(
        "droid.request_permission", {"toolUses": [3, {}], "options": [{"value": "x"}]}
    ) == [
        ("/toolUses/0", "wrong_type"),
        ("/toolUses/1/toolUse", "required"),
        ("/options/0/label", "required"),
    ]


@pytest.mark.rule("APPROVAL-9")
def test_droids_option_that_needs_a_changed_plan_is_not_offered() -> None:
    use = {"toolUse": {"name": "ExitSpecMode", "input": {"plan": "# Move it"}}}
    options = [
        {"value": value, "label": value} for value in ("proceed_once", "proceed_edit", "cancel")
    ]
    call = {"toolUses": [use], "options": options}
    [question] = make_ask("droid.request_permission", **call).form.questions
    assert [option.value for option in question.options] == ["proceed_once", "cancel"]
    call["options"] = [{"value": "proceed_edit", "label": "Edit"}]
    [question] = make_ask("droid.request_permission", **call).form.questions
    assert [option.value for option in question.options] == ["proceed_edit"]


@pytest.mark.rule("APPROVAL-3")
def test_acps_options_of_one_name_are_told_apart_by_their_kind() -> None:
    call = case_call("acp-two-options-of-one-name")
    ask = ask_from_call(call["name"], call["arguments"])
    labels = [option.label for option in ask.form.questions[0].options]
    assert len({*labels}) == 3
    assert "always" in labels[1]
    for option in ("o1", "o2"):
        outcome = {"outcome": "selected", "optionId": option}
        twice = act(ask, Answer(value=option), Answer(value=option))
        assert rendered(twice) == {"outcome": outcome}, "a title alone does not say what it will do"


@pytest.mark.rule("APPROVAL-8", "CONFIRM-4")
@pytest.mark.parametrize("name", ["hitl_request", "DeferredToolRequests"])
def test_what_nobody_confirmed_allows_nothing(name: str) -> None:
    listed: Any = [
        {"tool_name": tool, "tool_call_id": tool, "args": {}} for tool in ("delete", "copy")
    ]
    sent = batch(delete=[], copy=[]) if name == "hitl_request" else {"approvals": listed}
    ask = ask_from_call(name, sent)
    form = ask.form.model_copy(update={"confirmation": ConfirmationRule(due=1)})
    request = ask.request.model_copy(update={"form": form})
    waiting: Any = replace(ask, request=request, walk=start(form))
    ann = Person(surface="chat", user_id="ann")
    for _ in range(2):
        done = asks.apply_action(waiting, Answer(value="approve"), at=2_000.0, by=ann)
        assert isinstance(done, Change)
        waiting = done.ask
    assert waiting.confirming
    objected = asks.apply_action(waiting, Object(text=WORDS), at=2_001.0, by=ann)
    assert isinstance(objected, Change)
    ends = [
        asks.end_ask(waiting, status, at=2_001.0, reason=reason)
        for status, reason in (
            (Status.EXPIRED, Reason.EXPIRED),
            (Status.WITHDRAWN, Reason.WITHDRAWN),
        )
    ]
    for change in (objected, *ends):
        text = registry.render_result(change.ask)
        assert text is not None
        assert '"approve"' not in text.content
        assert "tool-approved" not in text.content
