"""Whatever a host sends counts for a grant: unknown fields, and the option that is chosen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from answerback.core.grants import ToolCall
from answerback.dialects.approval import VARIANTS, read_tool_call
from tests.unit.bot.approval_support import HOSTS as RECORDED
from tests.unit.bot.core.grant_attacks import Json, call_of
from tests.unit.bot.core.test_grants import granted, is_covered, offered

pytestmark = pytest.mark.rule("GRANT-2")

MAKE: Final[Json] = {"command": "make"}
ONCE: Final[Json] = {"optionId": "once", "name": "Yes", "kind": "allow_once"}
HOSTS: Final[Mapping[str, Json]] = {
    "PermissionRequest": {"tool_name": "Bash", "tool_input": MAKE},
    "permissionRequest": {"toolName": "bash", "toolInput": MAKE},
    "item/commandExecution/requestApproval": {"command": "make", "cwd": "/w"},
    "mcpServer/elicitation/request": {
        "serverName": "shop", "message": "Allow it?", "requestedSchema": {"type": "object"},
        "_meta": {"codex_approval_kind": "mcp_tool_call", "tool_name": "make", "tool_params": {"n": 1}},
    },
    "session/request_permission": {
        "toolCall": {"toolCallId": "1", "name": "Bash", "kind": "execute", "rawInput": MAKE},
        "options": [ONCE],
    },
    "droid.request_permission": {
        "toolUses": [{"toolUse": {"type": "tool_use", "id": "t1", "name": "Execute", "input": MAKE}}],
        "options": [{"label": "Yes", "value": "proceed_once"}, {"label": "No", "value": "cancel"}],
    },
    "tool_approval": {"name": "shell", "args": MAKE},
    "hitl_request": {"action_requests": [{"name": "shell", "args": MAKE}], "review_configs": []},
    "mcp_approval_request": {"id": "1", "server_label": "shop", "name": "make", "arguments": "{}"},
    "tool_approval_item": {"tool_name": "shell", "raw_item": {"arguments": '{"command": "make"}'}},
    "tool-approval-request": {"approvalId": "1", "toolCall": {"toolName": "shell", "input": MAKE}},
    "DeferredToolRequests": {"approvals": [{"tool_call_id": "1", "tool_name": "shell", "args": MAKE}]},
    "adk_request_confirmation": {
        "originalFunctionCall": {"id": "1", "name": "shell", "args": MAKE}, "toolConfirmation": {"hint": "Sure?"},
    },
    "permission.asked": {
        "permission": "bash", "patterns": ["make"], "metadata": MAKE, "tool": {"callID": "c1", "messageID": "m1"},
    },
    "permission.v2.asked": {
        "action": "bash", "resources": ["make"], "metadata": MAKE,
        "source": {"type": "tool", "callID": "c1", "messageID": "m1"},
    },
    "tools/call": {"server": "shop", "name": "make", "arguments": {"n": 1}},
    "exec.approval.requested": {"command": "make", "cwd": "/w", "allowedDecisions": ["allow-once", "deny"]},
    **{each["name"]: each["arguments"] for each in RECORDED if "decisions" in each},
}  # fmt: skip
"""A prompt of each host that may be allowed again."""
OFFERED: Final = ("options", "review_configs")
"""Other fields with a host's offers. Only the option that is chosen counts."""


UNHEARD_OF: Final = ("unheard_of", 1)


def with_one_more(
    value: Any, field: tuple[str, object] = UNHEARD_OF, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[object, Any]]:
    """Yield the value with the field in each of its objects that has none of this name, and where that is."""
    name, added = field
    if isinstance(value, dict):
        if name not in value:
            yield path, {**value, name: added}
    elif not isinstance(value, list):
        return
    for key in [*value] if isinstance(value, dict) else range(len(value)):
        if key not in OFFERED:
            for at, changed in with_one_more(value[key], field, (*path, key)):
                copied = value.copy()
                copied[key] = changed
                yield at, copied


def test_every_host_that_can_be_allowed_again_is_here() -> None:
    files, permissions = "item/fileChange/requestApproval", "item/permissions/requestApproval"
    assert {*VARIANTS} - {*HOSTS} == {files, permissions, "plugin.approval.requested"}


@pytest.mark.parametrize("name", HOSTS)
def test_a_field_that_nobody_reads_makes_it_another_call(name: str) -> None:
    call = call_of(name, HOSTS[name])
    offer = offered(call)
    assert offer is not None
    grant = granted(call, offer.matches[0].match)
    assert is_covered(grant, call)
    for path, arguments in with_one_more(HOSTS[name]):
        assert not is_covered(grant, call_of(name, arguments)), path


UNSEEN: Final[Mapping[str, Json]] = {
    "the mode": {"PermissionRequest": {"permission_mode": "bypassPermissions"}},
    "the model": {"PermissionRequest": {"model": "other", "agent_type": "reviewer"}},
    "what the request extends": {"session/request_permission": {"_meta": {"options": {"sudo": True}}}},
    "what the call extends": {
        "session/request_permission": {
            "toolCall": {"name": "Bash", "kind": "execute", "rawInput": MAKE, "_meta": {"host": "prod"}},
        },
    },
    "a call that nobody reads": {
        "session/request_permission": {
            "subject": {"toolCall": {"name": "Bash", "kind": "execute", "rawInput": MAKE}},
            "toolCall": {"name": "Bash", "kind": "execute", "rawInput": {"command": "rm -rf /"}},
        },
    },
    "whether it was confirmed": {
        "droid.request_permission": {
            "toolUses": [
                {
                    "toolUse": {"type": "tool_use", "id": "t1", "name": "Execute", "input": MAKE},
                    "confirmationType": "mcp",
                }
            ],
        },
    },
    "whose command": {"item/commandExecution/requestApproval": {"kind": "anotherCommand"}},
    "what the server asks": {"mcpServer/elicitation/request": {"mode": "url", "message": "Other"}},
    "where the tool is from": {"tool_approval_item": {"tool_origin": {"type": "other"}}},
    "who runs it": {
        "tool-approval-request": {
            "toolCall": {"toolName": "shell", "input": MAKE, "providerExecuted": True},
        },
    },
    "other calls": {"DeferredToolRequests": {"calls": [{"tool_name": "shell"}]}},
    "how far it is": {
        "session/request_permission": {
            "toolCall": {"name": "Bash", "kind": "execute", "rawInput": MAKE, "status": "Bash"},
        },
    },
    "how safe": {"exec.approval.requested": {"security": "full"}},
    "for whom": {"exec.approval.requested": {"turnSourceTo": "C2"}},
}  # fmt: skip


@pytest.mark.parametrize("changed", UNSEEN.values(), ids=UNSEEN)
def test_what_people_do_not_see_counts(changed: Json) -> None:
    [(name, more)] = changed.items()
    call = call_of(name, HOSTS[name])
    offer = offered(call)
    assert offer is not None
    assert not is_covered(granted(call, offer.matches[0].match), call_of(name, HOSTS[name] | more))


IDS: Final = {
    "PermissionRequest": {
        "session_id": "s2", "tool_use_id": "t2", "transcript_path": "/t2", "permission_suggestions": [{"type": "x"}],
    },
    "permissionRequest": {"timestamp": 2},
    "session/request_permission": {
        "sessionId": "s2", "toolCall": {"toolCallId": "2", "name": "Bash", "kind": "execute", "rawInput": MAKE},
    },
    "tool-approval-request": {
        "approvalId": "2", "signature": "s2",
        "toolCall": {"toolName": "shell", "toolCallId": "2", "input": MAKE},
    },
    "tool_approval_item": {"raw_item": {"id": "2", "callId": "2", "arguments": '{ "command":"make" }'}},
    "permission.asked": {"id": "p2", "sessionID": "s2", "tool": {"messageID": "m2", "callID": "c2"}},
    "exec.approval.requested": {"sessionKey": "k2", "runId": "r2", "toolCallId": "c2"},
    "item/commandExecution/requestApproval": {"threadId": "t2", "turnId": "u2", "startedAtMs": 2},
}  # fmt: skip


@pytest.mark.parametrize(("name", "more"), IDS.items(), ids=IDS)
def test_ids_do_not_count(name: str, more: Json) -> None:
    call = call_of(name, HOSTS[name])
    assert is_covered(granted(call, "command"), call_of(name, HOSTS[name] | more))


REPEATED: Final = (("command", "make"), ("n", 1), ("input", MAKE), ("args", MAKE), ("name", "Bash"))
"""Fields that repeat, elsewhere in a call, what is read of it."""


@pytest.mark.parametrize("name", HOSTS)
def test_a_field_that_repeats_what_is_read_makes_it_another_call(name: str) -> None:
    call = call_of(name, HOSTS[name])
    offer = offered(call)
    assert offer is not None
    grant = granted(call, offer.matches[0].match)
    for field in REPEATED:
        for path, arguments in with_one_more(HOSTS[name], field):
            other = read_tool_call(name, arguments)
            assert other is None or not is_covered(grant, other), path


def test_what_stands_elsewhere_is_another_call_even_if_it_says_the_same() -> None:
    name = "session/request_permission"
    call = HOSTS[name]["toolCall"]
    above = call_of(name, {**HOSTS[name], "sudo": True})
    within = call_of(name, {**HOSTS[name], "toolCall": {**call, "sudo": True}})
    assert not is_covered(granted(above, "command"), within)


OTHER_OPTIONS: Final = {
    "another option": {"options": [ONCE | {"optionId": "bypass"}]},
    "another label": {"options": [ONCE | {"name": "Yes, and ask nothing any more"}]},
    "an unknown field": {"options": [ONCE | {"also": "disable the sandbox"}]},
    "an extension": {"options": [ONCE | {"_meta": {"mode": "bypass"}}]},
}


@pytest.mark.parametrize("options", OTHER_OPTIONS.values(), ids=OTHER_OPTIONS)
def test_it_chooses_only_the_option_that_was_read(options: Json) -> None:
    name = "session/request_permission"
    grant = granted(call_of(name, HOSTS[name]), "command")
    assert not is_covered(grant, call_of(name, HOSTS[name] | options))


def test_a_field_of_the_option_that_droid_is_told_counts() -> None:
    name = "droid.request_permission"
    once, no = HOSTS[name]["options"]
    grant = granted(call_of(name, HOSTS[name]), "command")
    changed = {**HOSTS[name], "options": [{**once, "edits": "all"}, no]}
    assert not is_covered(grant, call_of(name, changed))
    other = {**HOSTS[name], "options": [once, {**no, "comment": "why"}]}
    assert is_covered(grant, call_of(name, other)), "the other option does not count"


NOT_TO_BE_GIVEN: Final[Mapping[str, Json]] = {
    "item/commandExecution/requestApproval": {"kind": "humanCommand"},
    "session/request_permission": {"options": [ONCE, ONCE | {"optionId": "twice"}]},
    "adk_request_confirmation": {"toolConfirmation": {"hint": "Sure?", "payload": {"n": 1}}},
}


@pytest.mark.parametrize(("name", "more"), NOT_TO_BE_GIVEN.items(), ids=NOT_TO_BE_GIVEN)
def test_nothing_is_offered_where_allowing_takes_another_choice(name: str, more: Json) -> None:
    assert read_tool_call(name, HOSTS[name] | more) is None


def test_metadata_counts_whatever_the_call_it_is_about_is_called() -> None:
    def of(call_id: str, **metadata: str) -> ToolCall:
        part: Json = {"tool_name": "shell", "tool_call_id": call_id, "args": MAKE}
        sent: Json = {"approvals": [part], "metadata": {call_id: metadata}}
        return call_of("DeferredToolRequests", sent)

    grant = granted(of("1", why="a"), "command")
    assert is_covered(grant, of("2", why="a"))
    assert not is_covered(grant, of("2", why="b"))


def test_what_a_vendor_tells_the_server_counts_and_its_ids_do_not() -> None:
    name = "tools/call"
    grant = granted(call_of(name, HOSTS[name]), "tool")
    for meta in ({"acme.example/force": True}, {"acme.example/force": False}):
        forced = call_of(name, HOSTS[name] | {"_meta": meta})
        assert not is_covered(grant, forced)
        assert is_covered(granted(forced, "tool"), forced)
