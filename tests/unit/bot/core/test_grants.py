"""The coverage of a grant: a table of tries to get something else through, and properties over all calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from answerback.core.grants import (
    MAX_FOLDER,
    MAX_SUBJECT,
    Asker,
    Grant,
    GrantOffer,
    GrantRule,
    GrantTerms,
    ToolCall,
    covers,
    find_terms_problem,
    is_plain_path,
    offer_of,
)
from answerback.core.headline import ToolKind
from answerback.core.person import Person
from answerback.dialects.approval import read_tool_call
from tests.unit.bot.core.grant_attacks import (
    ATTACKS,
    BASES,
    EDIT,
    FETCH,
    MCP,
    SHELL,
    Json,
    acp,
    call_of,
    claude,
    edit,
    fetch,
    issue,
    shell,
)

pytestmark = pytest.mark.rule("GRANT-2")

RULE: Final = GrantRule(hours=8, uses=50, prefixes=("pytest", "npm run"))
ASKER: Final = Asker("ann-laptop", "ann", "/srv/app", "ops")
ANN: Final = Person(surface="web", user_id="ann")
NOW: Final = 1_000_000.0


def offered(call: ToolCall, asker: Asker = ASKER, rule: GrantRule = RULE) -> GrantOffer | None:
    return offer_of(rule, asker, call)


def granted(call: ToolCall, match: str, asker: Asker = ASKER, **more: Any) -> Grant:
    offer = offered(call, asker)
    found = offer.find(match) if offer else None
    assert found is not None, offer
    whole = {
        "id": "grant_1", "ask_id": "ask_1", "scope": found.scope, "match": match, "subject": found.subject,
        "agent": asker.agent, "owner": asker.owner, "folder": asker.folder, "route": asker.route, "by": ANN,
        "credential": "", "at": NOW, "until": NOW + 3_600, "uses": 5,
    }  # fmt: skip
    return Grant(**(whole | more))


def is_covered(grant: Grant, call: ToolCall, asker: Asker = ASKER, now: float = NOW + 1) -> bool:
    offer = offered(call, asker)
    return offer is not None and covers(grant, offer, now)


def attacks() -> Iterator[tuple[str, str, ToolCall]]:
    for kind, tries in ATTACKS.items():
        for name, call in tries.items():
            yield kind, name, call


@pytest.mark.parametrize("kind", BASES)
def test_the_same_again_is_covered(kind: str) -> None:
    call, match = BASES[kind]
    assert is_covered(granted(call, match), call)


@pytest.mark.parametrize(
    ("kind", "call"),
    [pytest.param(kind, call, id=f"{kind}: {name}") for kind, name, call in attacks()],
)
def test_nothing_else_gets_through(kind: str, call: ToolCall) -> None:
    base, match = BASES[kind]
    assert not is_covered(granted(base, match), call)


SAME: Final = {
    "another description": (SHELL, "command", shell("git push origin main", description="x")),
    "no description": (SHELL, "command", shell("git push origin main")),
    "the prefix alone": (BASES["prefix"][0], "prefix:pytest", shell("pytest")),
    "other words behind it": (BASES["prefix"][0], "prefix:pytest", shell("pytest ../x --co=1")),
    "another edit of the file": (EDIT, "file", edit("/srv/app/a.py", new_string="c" * 999)),
    "all of it": (EDIT, "file", edit("/srv/app/a.py", replace_all=True)),
    "another page there": (FETCH, "address", fetch("https://docs.example.com/@a/b?c=d#e")),
    "no page": (FETCH, "address", fetch("https://docs.example.com", prompt="Another")),
    "the port by name": (FETCH, "address", fetch("https://docs.example.com:443/page")),
    "arguments in another order": (
        MCP,
        "tool",
        claude("mcp__github__create_issue", count=1, labels=["a", "b"], title="Bug"),
    ),
}


@pytest.mark.parametrize(("base", "match", "call"), SAME.values(), ids=SAME)
def test_what_says_the_same_is_covered(base: ToolCall, match: str, call: ToolCall) -> None:
    assert is_covered(granted(base, match), call)


OTHERS: Final = {
    "another agent": ASKER._replace(agent="bob-laptop"),
    "another owner": ASKER._replace(owner="bob"),
    "no owner": ASKER._replace(owner=None),
    "another folder": ASKER._replace(folder="/srv/app2"),
    "a folder within": ASKER._replace(folder="/srv/app/x"),
    "the folder above": ASKER._replace(folder="/srv"),
    "a folder of another case": ASKER._replace(folder="/srv/App"),
    "a folder with a slash": ASKER._replace(folder="/srv/app/"),
    "a folder with dots": ASKER._replace(folder="/srv/app/../app"),
    "a relative folder": ASKER._replace(folder="app"),
    "a folder that may be cut": ASKER._replace(folder="/" + "a" * MAX_FOLDER),
    "another route": ASKER._replace(route="prod"),
    "parts that run together": ASKER._replace(agent="ann-laptopann", owner=""),
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_it_is_for_who_asked_alone(other: Asker) -> None:
    for kind, (call, match) in BASES.items():
        assert not is_covered(granted(call, match), call, other), kind


@pytest.mark.parametrize("part", ["request", "tool", "server"])
def test_it_is_for_the_hosts_kind_of_request_and_its_tool_alone(part: str) -> None:
    changed: Json = {part: "another"}
    for kind, (call, match) in BASES.items():
        assert not is_covered(granted(call, match), call._replace(**changed)), kind


@pytest.mark.parametrize("other", list(OTHERS)[6:11])
def test_nothing_is_offered_for_a_folder_in_doubt(other: str) -> None:
    folder = OTHERS[other].folder
    is_certain = other == "a folder of another case"
    assert (offered(SHELL, OTHERS[other]) is not None) is is_certain, folder


ENDED: Final[Mapping[str, tuple[Json, float]]] = {
    "used up": ({"used": 5}, NOW + 1),
    "used more than up": ({"used": 6}, NOW + 1),
    "expired at this moment": ({}, NOW + 3_600),
    "expired": ({}, NOW + 99_999),
    "revoked": ({"ended_at": NOW + 1}, NOW + 1),
    "revoked later than now": ({"ended_at": NOW + 9}, NOW + 1),
    "the clock before it": ({}, NOW - 1),
}


@pytest.mark.parametrize(("more", "now"), ENDED.values(), ids=ENDED)
def test_it_ends(more: Json, now: float) -> None:
    assert not is_covered(granted(SHELL, "command", **more), SHELL, now=now)


def test_a_route_that_allows_less_now_counts() -> None:
    grant = granted(SHELL, "command", uses=50, used=10, until=NOW + 4 * 3_600)
    less = offered(SHELL, rule=GrantRule(hours=1, uses=11))
    assert less is not None
    assert covers(grant, less, NOW + 3_599)
    assert not covers(grant, less, NOW + 3_600)
    assert not covers(replace(grant, used=11), less, NOW + 1)


def test_prefixes_are_the_operators() -> None:
    offer = offered(shell("npm run build -- --x"))
    assert offer is not None
    assert [(each.match, each.subject) for each in offer.matches] == [
        ("command", "npm run build -- --x"),
        ("prefix:npm run", "npm run"),
    ]
    without = offered(shell("npm run build"), rule=GrantRule())
    assert without is not None
    assert [each.match for each in without.matches] == ["command"]


@pytest.mark.parametrize(
    "prefix", ["", " ", "a ", " a", "a  b", "a;b", "a*", "$a", "a\n", "ä", "a'"]
)
def test_a_prefix_is_whole_words(prefix: str) -> None:
    with pytest.raises(ValidationError, match="whole words"):
        GrantRule(prefixes=(prefix,))


NOT_OFFERED: Final = {
    "a command that nobody reads whole": shell("a" * (MAX_SUBJECT + 1)),
    "a command with what nobody sees": shell("ls \u200b"),
    "a command that is blank": shell("  \n"),
    "a command of numbers": shell(["ls", 1]),
    "a command of nothing": shell([]),
    "no command": claude("Bash"),
    "two commands": claude("Bash", command="ls", cmd="rm -rf /"),
    "a plan": claude("ExitPlanMode", plan="x"),
    "a subagent": claude("Task", description="x"),
    "a search": claude("WebSearch", query="x"),
    "any other tool": claude("Frobnicate", path="/a"),
    "a tool with a long name": claude(f"mcp__a__{'b' * 300}"),
    "a server with a long name": call_of(
        "tools/call", {"server": "s" * 300, "name": "delete", "arguments": {}}
    ),
    "an edit of a relative path": claude("Write", file_path="a.py", content="x"),
    "an edit through a parent": claude("Write", file_path="/a/../b", content="x"),
    "an edit that ACP places elsewhere": acp(
        name="x", kind="edit", rawInput={"path": "/a"}, locations=[{"path": "/b"}], toolCallId="1"
    ),
    "an edit that ACP places nowhere": acp(
        name="x", kind="edit", rawInput={"path": "/a"}, content=[{"type": "content"}], toolCallId="1"
    ),
    "a place that is a text": acp(
        name="x", kind="edit", rawInput={"path": "/a"}, locations=["/a"], toolCallId="1"
    ),
    "a server's tool with a text": ToolCall("hitl_request", "t", "s", ToolKind.MCP, "ls", {}, {}),
    "a number that is written otherwise": call_of(
        "tool_approval_item", {"tool_name": "shell", "raw_item": {"arguments": '{"command": "ls", "n": 1.50}'}}
    ),
    "a command that is neither a text nor an object": ToolCall(
        "hitl_request", "shell", None, ToolKind.SHELL, ["ls"], {}, {}
    ),
    "an edit whose edits are an empty text": claude("Edit", file_path="/srv/app/a.py", edits=""),
    "an edit whose edits are null": claude("Edit", file_path="/srv/app/a.py", edits=None),
    "places that are none": acp(
        name="x", kind="edit", rawInput={"path": "/a"}, locations="/a", toolCallId="1"
    ),
}  # fmt: skip


READ_AS: Final = {
    "a tool of a server": (
        ToolCall("tools/call", "restart", "web", ToolKind.MCP, {"hard": True}, {}, {}),
        'restart on web {"hard": true}',
    ),
    "a tool without a server": (
        ToolCall("tools/call", "restart", None, ToolKind.MCP, {"hard": True}, {}, {}),
        'restart {"hard": true}',
    ),
    "a tool without arguments": (
        ToolCall("tools/call", "restart", "web", ToolKind.MCP, None, {}, {}),
        "restart on web {}",
    ),
    "an address": (fetch("https://docs.example.com/page"), "https://docs.example.com"),
    "an address with a port": (
        fetch("https://docs.example.com:8443/page"),
        "https://docs.example.com:8443",
    ),
}


@pytest.mark.parametrize(("call", "subject"), READ_AS.values(), ids=READ_AS)
def test_people_read_what_would_be_allowed_again(call: ToolCall, subject: str) -> None:
    offer = offered(call)
    assert offer is not None
    assert [each.subject for each in offer.matches] == [subject]


@pytest.mark.parametrize("call", NOT_OFFERED.values(), ids=NOT_OFFERED)
def test_in_doubt_nothing_is_offered(call: ToolCall) -> None:
    assert offered(call) is None


def test_a_tool_that_changed_and_several_uses_are_never_offered() -> None:
    assert (
        read_tool_call(
            "tools/call", {"server": "s", "name": "t", "arguments": {}, "changed": "-a\n+b"}
        )
        is None
    )
    several: Json = {"action_requests": [{"name": "a"}, {"name": "b"}], "review_configs": []}
    assert read_tool_call("hitl_request", several) is None


def test_an_edit_that_acp_places_in_the_file_is_offered() -> None:
    call = acp(
        title="Edit /a",
        kind="edit",
        rawInput={"path": "/a"},
        locations=[{"path": "/a", "line": 3}],
        content=[{"type": "diff", "path": "/a", "oldText": "x", "newText": "y"}],
        toolCallId="1",
    )
    offer = offered(call)
    assert offer is not None
    assert [each.subject for each in offer.matches] == ["/a"]


def test_a_command_as_words_and_one_as_a_text_are_offered() -> None:
    offer = offered(shell(["git", "commit", "-m", "a b"]))
    assert offer is not None
    assert [each.subject for each in offer.matches] == ["git commit -m 'a b'"]
    call = ToolCall("hitl_request", "shell", None, ToolKind.SHELL, "ls", {}, {})
    assert is_covered(granted(call, "command"), call)


@pytest.mark.parametrize(
    ("path", "is_plain"),
    [
        ("/", True), ("/a/b", True), ("/a b/ä", True), ("C:\\a\\b", True), ("c:\\a", True),
        ("", False), ("a", False), ("./a", False), ("/a/", False), ("//a", False), ("/a/../b", False),
        ("C:a", False), ("C:/a", False), ("C:\\a\\..\\b", False), ("C:\\a:b", False), ("\\\\server\\a", False),
    ],
)  # fmt: skip
def test_plain_paths(path: str, is_plain: bool) -> None:
    assert is_plain_path(path) is is_plain


TERMS: Final = GrantTerms("command", 60, 5)


@pytest.mark.parametrize(
    ("terms", "pointer"),
    [
        (replace(TERMS, match="file"), "/grant/match"),
        (replace(TERMS, minutes=0), "/grant/minutes"),
        (replace(TERMS, minutes=481), "/grant/minutes"),
        (replace(TERMS, uses=0), "/grant/uses"),
        (replace(TERMS, uses=51), "/grant/uses"),
    ],
)
def test_terms_beyond_the_rule_are_refused(terms: GrantTerms, pointer: str) -> None:
    offer = offered(SHELL)
    problem = find_terms_problem(offer, terms)
    assert problem is not None
    assert problem.pointer == pointer
    assert find_terms_problem(offer, TERMS) is None
    assert find_terms_problem(None, TERMS) is not None


# --- properties ----------------------------------------------------------------------------------

TEXTS: Final = st.text(max_size=12)
VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, -0.0]) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)
TOOLS: Final = st.sampled_from(
    ["Bash", "bash", "Edit", "Write", "WebFetch", "mcp__a__b", "mcp__a__c", "Frobnicate"]
)
KEYS: Final = st.sampled_from(
    ["command", "cmd", "description", "file_path", "path", "content", "url", "uri", "prompt", "x"]
)
WORTH_TRYING: Final = st.sampled_from(
    ["ls", "pytest", "pytest -q", "/a", "/a/b", "https://a.b/c", "https://a.b/d", "http://a.b"]
)
ARGUMENTS: Final = st.dictionaries(KEYS, VALUES | WORTH_TRYING, max_size=4)


@st.composite
def calls(draw: st.DrawFn) -> ToolCall:
    return claude(draw(TOOLS), **draw(ARGUMENTS))


def meaning(call: ToolCall, match: str) -> object:
    """Return the meaning of a grant, worked out in another way: everything except the parts that it says it leaves
    free."""
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    free = {
        "command": ("description",),
        "prefix:pytest": ("description", "command", "cmd"),
        "file": ("description", "content"),
        "address": ("description", "prompt", "url", "uri"),
        "tool": (),
    }[match]
    rest = {key: value for key, value in arguments.items() if key not in free}
    texts = {
        key: value for key, value in arguments.items() if key in free and not isinstance(value, str)
    }
    url = str(arguments.get("url", arguments.get("uri", "")))
    return (
        call.tool,
        json.dumps(rest, sort_keys=True),
        json.dumps(texts, sort_keys=True),
        url.split("/")[:3] if match == "address" else "",
    )


@given(calls(), calls())
@example(shell("ls"), shell("ls", description=None))
@example(issue(count=0.0), issue(count=-0.0))
def test_only_what_means_the_same_is_covered(one: ToolCall, other: ToolCall) -> None:
    offer = offered(one)
    assume(offer is not None)
    assert offer is not None
    for each in offer.matches:
        if is_covered(granted(one, each.match), other):
            assert meaning(one, each.match) == meaning(other, each.match)


@given(calls(), st.integers(0, 7), st.floats(NOW - 99, NOW + 99_999))
def test_a_grant_covers_its_own_prompt_exactly_while_it_lives(
    call: ToolCall, used: int, now: float
) -> None:
    offer = offered(call)
    assume(offer is not None)
    assert offer is not None
    for each in offer.matches:
        grant = granted(call, each.match, used=used)
        assert covers(grant, offer, now) is (used < 5 and NOW <= now < NOW + 3_600)


@given(st.text(max_size=30), st.text(max_size=30))
def test_two_commands_share_no_scope(one: str, other: str) -> None:
    assume(one != other)
    first, second = offered(shell(one)), offered(shell(other))
    if first is not None and second is not None:
        whole = {each.scope for each in first.matches if each.match == "command"}
        assert whole.isdisjoint(each.scope for each in second.matches)


@given(st.lists(st.text(max_size=8), min_size=4, max_size=4))
def test_two_askers_share_no_scope(parts: list[str]) -> None:
    other = Asker(parts[0], parts[1], f"/{parts[2]}", parts[3])
    assume(other != ASKER)
    assert not is_covered(granted(SHELL, "command"), SHELL, other)
