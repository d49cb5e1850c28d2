"""The headline of an approval: one table for the tools of every host, one line, and nothing hidden in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerback.core import headline
from answerback.core.ask import headline_of
from answerback.core.headline import FileChange, ToolKind
from answerback.dialects import approval, registry
from answerback.dialects.approvals.tool_use import describe
from answerback.service.ask_wire import ask_json
from answerback_base.headline_text import MAX_HEADLINE
from answerback_base.visible_text import one_line
from answerback_hosts.gemini import hook as gemini
from tests.unit.bot.approval_support import HEADLINES, make_ask

LINES = "\n".join(f"line {i}" for i in range(40))
PATCH = """*** Begin Patch
*** Update File: src/a.py
@@
-old
+new
+more
*** Add File: b.py
+x
*** Delete File: c.py
*** End Patch"""
DIFF = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1,2 @@\n-old\n+new\n+more\n"
EDIT: dict[str, Any] = {"old_string": "a\nold", "new_string": "a\nnew\nmore"}

TOOLS: list[tuple[str, Any, str]] = [
    # Claude Code
    ("Bash", {"command": "git push --force origin main"}, "Run git push --force origin main"),
    ("Bash", {"command": "\n\ncd x\nmake\n"}, "Run cd x and 1 more line"),
    ("Bash", {"command": "cat <<E\na\nb\nE"}, "Run cat <<E and 3 more lines"),
    ("PowerShell", {"command": "Get-Item x"}, "Run Get-Item x"),
    ("Edit", {"file_path": "/w/src/billing.py", **EDIT}, "Edit billing.py (+2 −1)"),
    ("MultiEdit", {"file_path": "billing.py", "edits": [EDIT, EDIT]}, "Edit billing.py (+4 −2)"),
    ("Write", {"file_path": "/w/x.py", "content": LINES}, "Create x.py (40 lines)"),
    ("Write", {"file_path": "/w/x.py", "content": "one\n"}, "Create x.py (1 line)"),
    ("Write", {"file_path": "/w/x.py", "content": ""}, "Create x.py (0 lines)"),
    ("NotebookEdit", {"notebook_path": "/w/n.ipynb", "new_source": "x"}, "Edit n.ipynb"),
    ("ExitPlanMode", {"plan": "# Do it"}, "Approve this plan?"),
    ("ExitPlanMode", {"plan": 1}, "Approve this plan?"),
    ("WebFetch", {"url": "https://docs.example.com/page", "prompt": "x"}, "Fetch docs.example.com/page"),
    ("WebFetch", {"url": "http://docs.example.com/"}, "Fetch http://docs.example.com/"),
    ("WebFetch", {"url": "https://bank.example@evil.example/"}, "Fetch https://bank.example@evil.example/"),
    ("WebFetch", {"url": "https://[broken"}, "Fetch https://[broken"),
    ("WebSearch", {"query": "python 3.15"}, 'Search the web for "python 3.15"'),
    ("Task", {"description": "Fix the tests", "prompt": "Run …"}, "Start a subagent: Fix the tests"),
    ("Agent", {"description": "Fix the tests"}, "Start a subagent: Fix the tests"),
    ("Agent", {}, "Start a subagent"),
    ("Read", {"file_path": "/etc/passwd"}, "Read /etc/passwd"),
    ("mcp__github__create_issue", {"title": "x"}, "Call create_issue on github"),
    ("mcp__a__b__c", {}, "Call b__c on a"),
    ("mcp__only", {}, "Use mcp__only"),
    # Codex
    ("shell", {"command": ["bash", "-lc", "ls | wc"]}, "Run ls | wc"),
    ("shell", {"command": ["git", "commit", "-m", "a b"]}, "Run git commit -m 'a b'"),
    ("shell_command", {"command": "ls"}, "Run ls"),
    ("local_shell", {"command": ["ls"]}, "Run ls"),
    ("exec_command", {"cmd": "ls"}, "Run ls"),
    ("apply_patch", {"input": PATCH}, "Edit 3 files (+3 −1)"),
    ("apply_patch", PATCH, "Edit 3 files (+3 −1)"),
    ("apply_patch", {"patch": DIFF}, "Edit a.py (+2 −1)"),
    ("spawn_agent", {"message": "Look around"}, "Start a subagent: Look around"),
    ("commandExecution", {"command": "/bin/bash -lc 'touch x.txt'"}, "Run touch x.txt"),
    ("commandExecution", {"command": "/bin/bash -lc 'touch"}, "Run /bin/bash -lc 'touch"),
    ("commandExecution", {"command": "bash -c ls x"}, "Run bash -c ls x"),
    # Gemini CLI
    ("run_shell_command", {"command": "ls"}, "Run ls"),
    ("write_file", {"file_path": "x.py", "content": LINES}, "Create x.py (40 lines)"),
    ("replace", {"file_path": "x.py", **EDIT}, "Edit x.py (+2 −1)"),
    ("web_fetch", {"prompt": "Read https://x.example"}, "Use web_fetch: Read https://x.example"),
    ("google_web_search", {"query": "cats"}, 'Search the web for "cats"'),
    ("exit_plan_mode", {"plan_path": "/p.md"}, "Approve this plan?"),
    # Copilot CLI
    ("bash", {"command": "ls"}, "Run ls"),
    ("edit", {"path": "x.py", "old_str": "a", "new_str": "b"}, "Edit x.py (+1 −1)"),
    ("create", {"path": "x.py", "file_text": "a\nb"}, "Create x.py (2 lines)"),
    ("create", {"title": "An invoice"}, "Use create: An invoice"),
    # Cline, Roo Code and Grok
    ("execute_command", {"command": "ls"}, "Run ls"),
    ("edit_file", {"path": "x.py", "diff": DIFF}, "Edit x.py (+2 −1)"),
    ("x.ai/exit_plan_mode", {"plan": "x"}, "Approve this plan?"),
    # Any other
    ("deploy", {"n": 1, "blank": " ", "to": "production"}, "Use deploy: production"),
    ("deploy", {"script": "a\nb", "long": "x" * 81}, "Use deploy"),
    ("deploy", ["x"], "Use deploy"),
    (" ", {}, 'Use ""'),
    ("Bash", {"command": ["ls", 1]}, "Use Bash"),
    ("Bash", {}, "Use Bash"),
    ("Edit", {}, "Edit files"),
]  # fmt: skip


@pytest.mark.rule("APPROVAL-6")
@pytest.mark.parametrize(("tool", "arguments", "said"), TOOLS)
def test_one_table_says_what_every_hosts_tools_would_do(
    tool: str, arguments: Any, said: str
) -> None:
    assert describe(tool, arguments, {}).headline == said


_TESTS = Path(__file__).parents[3]
HOSTS: dict[str, Any] = json.loads((_TESTS / "data/host_tools.json").read_text())
"""The tools for which each host asks permission, and what they do."""


@pytest.mark.rule("APPROVAL-6")
@pytest.mark.parametrize("host", HOSTS)
def test_the_kind_of_every_tool_that_a_host_asks_about_is_known(host: str) -> None:
    tools = HOSTS[host]["tools"]
    assert {name: headline.kind_of(name).value for name in tools} == tools


def test_the_recorded_tools_are_those_of_the_agents_that_the_tests_drive() -> None:
    installed = json.loads((_TESTS / "agents/environment/package.json").read_text())
    recorded = {
        each["package"]: each["version"] for each in HOSTS.values() if each["package"] is not None
    }
    assert recorded.items() <= installed["dependencies"].items()


def form_headline(name: str, **arguments: Any) -> str:
    """The headline of an approval of a host."""
    form = registry.parse_call(name, arguments).form
    assert form.questions[0].text == headline_of(form)
    return form.questions[0].text


@pytest.mark.rule("APPROVAL-6", "ASK-7")
@pytest.mark.parametrize("name", approval.VARIANTS)
def test_the_text_of_an_approval_is_its_headline(name: str) -> None:
    ask = make_ask(name)
    for question in ask.form.questions:
        assert question.text == HEADLINES.get(name, f"Use {question.tool}: a.txt")
    assert ask_json(ask)["headline"] == ask.form.questions[0].text


ONCE = [{"optionId": "once", "name": "Yes", "kind": "allow_once"}]


@pytest.mark.rule("APPROVAL-6")
@pytest.mark.parametrize(
    ("tool_call", "said"),
    [
        ({"title": "List", "kind": "execute", "rawInput": {"command": "ls"}}, "Run ls"),
        ({"title": "List", "kind": "execute"}, "Use List"),
        (
            {"title": "Edit", "kind": "edit", "content": [
                {"type": "diff", "path": "/w/a.py", "oldText": "a", "newText": "b"},
                {"type": "diff", "path": "/w/b.py", "oldText": None, "newText": "b"},
            ]},
            "Edit 2 files (+2 −1)",
        ),
        ({"title": "T", "kind": "edit", "locations": [{"path": "/w/a.py"}]}, "Edit a.py"),
        ({"title": "T", "kind": "delete", "locations": [{"path": "/w/a.py"}]}, "Delete a.py"),
        ({"title": "T", "kind": "delete", "rawInput": {"path": "a.py"}}, "Delete a.py"),
        ({"title": "Remove it", "kind": "delete", "locations": [7]}, "Remove it"),
        ({"title": "T", "kind": "move", "rawInput": {"path": "a.py", "to": "b"}}, "Move a.py"),
        ({"title": "T", "kind": "fetch", "rawInput": {"url": "https://a.example"}}, "Fetch a.example"),
        ({"title": "T", "kind": "search", "rawInput": {"pattern": "x"}}, 'Search for "x"'),
        ({"title": "Look", "kind": "search"}, "Use Look"),
        ({"name": "mcp__a__b", "title": "T", "kind": "execute"}, "Call b on a"),
        ({"title": "Think", "kind": "think"}, "Use Think"),
    ],
)  # fmt: skip
def test_the_kind_of_acp_counts_where_the_name_says_nothing(tool_call: Any, said: str) -> None:
    sent = {"toolCallId": "c1", **tool_call}
    assert form_headline("session/request_permission", toolCall=sent, options=ONCE) == said


@pytest.mark.rule("APPROVAL-6")
def test_the_server_of_an_mcp_tool_is_named_however_the_host_sends_it() -> None:
    item = {"name": "create_issue", "server_label": "github", "arguments": "{}"}
    said = "Call create_issue on github"
    assert form_headline("tool_approval_item", raw_item=item) == said
    assert form_headline("permissionRequest", toolName="github/create_issue", toolInput={}) == said
    asked = form_headline("permissionRequest", toolName="x.ai/exit_plan_mode", toolInput={})
    assert asked == "Approve this plan?"


@pytest.mark.rule("APPROVAL-6")
@pytest.mark.parametrize(
    ("changes", "said", "marks"),
    [
        ({"a/x.py": {"type": "add", "content": "1\n2\n"}}, "Create x.py (2 lines)", ["+1\n+2"]),
        ({"x.py": {"type": "delete", "content": "1\n"}}, "Delete x.py", ["-1"]),
        ({"x.py": {"type": "update", "unified_diff": "@@\n-a\n+b", "move_path": None}}, "Edit x.py (+1 −1)", ["+b"]),
        ({"x.py": {"type": "update", "unified_diff": "@@\n+b", "move_path": "y.py"}}, "Edit x.py (+1 −0)", ["y.py"]),
        ([{"path": "x.py", "kind": {"type": "add"}, "diff": "1\n2"}], "Create x.py (2 lines)", ["+2"]),
        ([{"path": "x.py", "kind": {"type": "delete"}, "diff": "1"}], "Delete x.py", ["-1"]),
        (
            [{"path": "x.py", "kind": {"type": "update", "move_path": "y.py"}, "diff": "@@\n+b"}],
            "Edit x.py (+1 −0)",
            ["change: 1", "move_path: y.py"],
        ),
        ([{"path": "x.py", "kind": {"type": "add"}, "diff": "--- /dev/null\n+++ x\n+1"}], "Create x.py (1 line)", []),
        ({"x.py": {"type": "odd"}}, "Edit files", ["x.py:", "type: odd"]),
    ],
)  # fmt: skip
def test_the_changes_of_codex_name_their_files(changes: Any, said: str, marks: list[str]) -> None:
    use = describe("fileChange", None, {"changes": changes, "reason": "R"})
    assert use.headline == said
    for mark in [*marks, "reason: R"]:
        assert mark in (use.context or "")


def test_a_diff_of_an_unknown_file_is_one_of_a_file() -> None:
    assert describe("Edit", EDIT, {}).headline == "Edit a file (+2 −1)"
    assert describe("patch", {"patch": "@@\n+a"}, {}).headline == "Edit a file (+1 −0)"
    removed = "--- a/x\n+++ /dev/null\n-a\n"
    assert describe("patch", {"patch": removed}, {}).headline == "Edit a file (+0 −1)"
    changes = [FileChange("x.py", "Create", 2), FileChange("x.py", "Edit", 1, 1)]
    assert headline.change_files(changes) == "Edit x.py (+3 −1)"


def test_a_long_command_is_cut_in_the_middle_and_says_so() -> None:
    command = f"git push {'--option ' * 40}origin main"
    said = describe("Bash", {"command": f"{command}\nls"}, {}).headline
    assert said.startswith("Run git push --option")
    assert " … " in said
    assert said.endswith("origin main and 1 more line (shortened)")
    assert len(said) <= MAX_HEADLINE


TEXTS = st.text(st.sampled_from("ab\u200b\u202e\u2028\x00\n\r\t \u3000`*_é\u0301"), max_size=300)


@pytest.mark.rule("APPROVAL-6")
@given(
    st.sampled_from([tool for tool, _, _ in TOOLS]) | TEXTS.filter(bool),
    st.dictionaries(
        st.sampled_from(
            ["command", "url", "query", "description", "path", "content", "old_str", "new_str", "x"]
        ),
        TEXTS,
    ),
)
def test_a_headline_is_one_short_line_with_nothing_invisible_in_it(
    tool: str, arguments: dict[str, Any]
) -> None:
    said = describe(tool, arguments, {}).headline
    assert said == one_line(said)
    assert 0 < len(said) <= MAX_HEADLINE


def test_no_name_stands_for_two_kinds() -> None:
    names = [{*map(str.casefold, names)} for names in headline._NAMES.values()]
    assert len(set().union(*names)) == sum(map(len, names))
    assert headline.kind_of("BASH") is ToolKind.SHELL


@pytest.mark.rule("APPROVAL-6")
def test_a_hook_of_gemini_names_the_server_of_a_tool() -> None:
    event = {"hook_event_name": "BeforeTool", "tool_name": "mcp_github_create_issue"}
    context = {"server_name": "github", "tool_name": "create_issue"}
    for more, said in (
        ({"mcp_context": context}, "Call create_issue on github"),
        ({"mcp_context": {}}, "Use mcp_github_create_issue"),
    ):
        call = gemini.HOST.call({**event, **more})
        assert call is not None
        assert form_headline(call.name, **call.arguments) == said
