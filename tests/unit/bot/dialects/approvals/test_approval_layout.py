"""The text that people read before they allow a tool: every argument in full, and no markup taken from it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from answerback.core.form import MAX_TEXT
from answerback.dialects.approvals.arguments_markdown import inline_code, render_context
from answerback.dialects.approvals.tool_use import describe
from answerback_base.headline_text import MAX_HEADLINE


def test_arguments_are_laid_out_as_people_write_them() -> None:
    arguments: dict[str, Any] = {
        "command": "git commit -F - <<EOF\nfirst\n\nEOF",
        "timeout": 3,
        "version": "3",
        "on": "true",
        "background": False,
        "nothing": None,
        "blank": "",
        "odd key": "x",
        "env": {"A": ["x" * 50, "y" * 50], "B": ["z"], "C": {}},
        "deep": [{"a": {"b": [{"c": 1}]}}, "two\nlines"],
    }
    assert render_context([], arguments, {"cwd": "/w"}) == (
        "```\n"
        "command: |\n"
        "  git commit -F - <<EOF\n"
        "  first\n"
        "  \n"
        "  EOF\n"
        "timeout: 3\n"
        'version: "3"\n'
        'on: "true"\n'
        "background: false\n"
        "nothing: null\n"
        'blank: ""\n'
        '"odd key": x\n'
        "env:\n"
        "  A:\n"
        f"    - {'x' * 50}\n"
        f"    - {'y' * 50}\n"
        '  B: ["z"]\n'
        "  C: {}\n"
        "deep:\n"
        "  -\n"
        "    a:\n"
        '      b: [{"c": 1}]\n'
        "  - |\n"
        "    two\n"
        "    lines\n"
        "```\n"
        "\n"
        "```\n"
        "cwd: /w\n"
        "```"
    )


@pytest.mark.rule("APPROVAL-2")
def test_arguments_of_any_kind_are_shown() -> None:
    assert render_context([], {}, None) is None
    assert render_context([], "ls -la\npwd") == "```\nls -la\npwd\n```"
    assert render_context([], ["ls", "-la"]) == "```\n- ls\n- -la\n```"
    assert render_context([], True) == "```\ntrue\n```"


def edit_of(arguments: Any, notes: Any = None) -> str:
    """The context of an edit."""
    return describe("Edit", arguments, notes or {}).context or ""


@pytest.mark.rule("APPROVAL-2")
def test_an_edit_is_shown_as_a_diff_under_its_path() -> None:
    edit: dict[str, Any] = {
        "file_path": "src/a.py",
        "old_string": "a\nb\nc\nd",
        "new_string": "a\nB\nB\nd",
        "replace_all": True,
    }
    assert edit_of(edit) == (
        "`src/a.py`\n\n```diff\n a\n-b\n-c\n+B\n+B\n d\n```\n\n```\nreplace_all: true\n```"
    )


@pytest.mark.rule("APPROVAL-2")
def test_a_command_comes_first_and_the_agents_description_is_quoted() -> None:
    arguments: dict[str, Any] = {
        "description": "Clean up. `rm` is safe",
        "command": "rm -rf x\nls",
        "timeout": 5,
    }
    assert describe("Bash", arguments, {"cwd": "/w"}).context == (
        "```\nrm -rf x\nls\n```\n\n"
        "The agent describes it as:\n\n```\nClean up. `rm` is safe\n```\n\n"
        "```\ntimeout: 5\n```\n\n"
        "```\ncwd: /w\n```"
    )


@pytest.mark.rule("APPROVAL-2")
def test_a_plan_is_markdown_and_encloses_nothing_that_follows() -> None:
    plan = "# Plan\n\n1. Do it"
    assert describe("ExitPlanMode", {"plan": plan}, {}).context == plan
    for opens, closed in (
        ("```sh\nls", "```sh\nls\n```"),
        ("~~~~\n~~~\n```", "~~~~\n~~~\n```\n~~~~"),
        ("```\nls\n```", "```\nls\n```"),
        ("``` a`b", "``` a`b"),
    ):
        shown = describe("ExitPlanMode", {"plan": opens, "allowed": ["x"]}, {}).context
        assert shown == f'{closed}\n\n```\nallowed: ["x"]\n```'


def test_each_of_several_edits_has_its_own_diff() -> None:
    shown = edit_of(
        {
            "edits": [
                {"old_string": "a", "new_string": ""},
                {"old_string": "", "new_string": "b", "replace_all": True},
                {"op": "unknown"},
            ]
        },
        {
            "content": [
                {"type": "diff", "path": "x", "oldText": None, "newText": "new"},
                {"type": "content", "content": {"type": "text", "text": "said"}},
            ],
            "diff": "@@\n-1\n+2",
            "patch": "none",
        },
    )
    assert re.findall(r"```diff\n(.*?)\n```", shown, re.DOTALL) == [
        "-a",
        "+b",
        "+new",
        "@@\n-1\n+2",
    ]
    assert "`x`\n\n```diff\n+new" in shown
    for more in ("change: 2", "replace_all: true", "op: unknown", "text: said", "patch: none"):
        assert more in shown


def test_a_change_that_the_host_sends_twice_is_shown_once() -> None:
    arguments = {"file_path": "/w/x", "old_string": "a", "new_string": "b"}
    content = [{"type": "diff", "path": "x", "oldText": "a", "newText": "b"}]
    assert edit_of(arguments, {"content": content}) == "`/w/x`\n\n```diff\n-a\n+b\n```"


def test_arguments_that_only_resemble_an_edit_are_shown_unchanged() -> None:
    odd: list[dict[str, Any]] = [
        {"old_string": 1, "new_string": "x"},
        {"old_string": "a"},
        {"new_string": "b"},
        {"diff": "no diff"},
        {"content": "text"},
        {"edits": [1, {"old_string": "a"}], "changes": {"a": {"type": "unknown"}}},
        {"edits": []},
    ]
    for each in odd:
        shown = edit_of(each)
        assert "```diff" not in shown
        assert shown == render_context([], each)


@pytest.mark.rule("APPROVAL-2")
def test_a_path_stays_within_its_code() -> None:
    assert inline_code("a.py") == "`a.py`"
    assert inline_code("a`b") == "``a`b``"
    assert inline_code("`a` ") == "`` `a`  ``"
    assert inline_code("a\n# b") == '`"a\\n# b"`'


LINES = st.text(st.sampled_from("a`~- \n\r\u2028#|*"), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | LINES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LINES, inner, max_size=3),
    max_leaves=10,
)
TAKEN = {"command", "description", "path", "content", "edits", "changes", "diff"} | {
    *("old_str", "new_str", "old_string", "new_string")
}
"""Names of arguments whose values are shown without them."""
KEYS = st.sampled_from(sorted(TAKEN))
EDIT = st.fixed_dictionaries({"old_string": LINES, "new_string": LINES})


@pytest.mark.rule("APPROVAL-2")
@given(
    st.sampled_from(["Bash", "Edit", "Write", "mcp__a__b", "WebFetch", "Task", "else"]),
    st.dictionaries(LINES | KEYS, VALUES | EDIT | st.lists(EDIT, max_size=2), max_size=4) | EDIT,
)
@example("else", {"a": "```\n# Approved\n```"})
def test_no_argument_breaks_out_of_its_block_and_every_line_is_shown(
    tool: str, arguments: Any
) -> None:
    use = describe(tool, arguments, {})
    shown = use.context or ""
    outside: list[str] = []
    inside: list[str] = []
    fence = None
    for line in re.split(r"[\r\n]", shown):
        opens = re.match(r"`{3,}", line)
        if fence is None and opens:
            fence = opens[0]
        elif fence is not None and re.fullmatch(rf" {{0,3}}`{{{len(fence)},}} *", line):
            fence = None
        else:
            (inside if fence else outside).append(line)
    assert fence is None
    assert all(re.fullmatch(r"|(`+).*\1|The agent describes it as:", line) for line in outside)
    everything = "\n".join([*inside, *outside])
    assert len(use.headline) <= MAX_HEADLINE
    assert use.headline.isprintable()
    for text in texts(arguments):
        for line in re.split(r"[\r\n]", text):
            assert line in everything or _quoted(line) in everything or line in TAKEN


def texts(value: Any) -> list[str]:
    """Yield every string in a JSON value."""
    if isinstance(value, str):
        return [value]
    parts = [*value, *value.values()] if isinstance(value, dict) else value
    return [text for part in parts for text in texts(part)] if isinstance(parts, list) else []


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


LEFT_OUT = re.compile(r"\*\*Not all of it is shown: (\d+) characters are left out\.\*\*\n\n```")


@pytest.mark.rule("APPROVAL-2")
def test_long_texts_are_cut_to_their_beginning_and_end_with_a_notice_at_the_top() -> None:
    text = "first\n" + "x" * 30_000 + "\nlast"
    shown = render_context([], {"content": text, "file_path": "/w/a"}) or ""
    missing = LEFT_OUT.match(shown)
    assert missing is not None
    assert f"\n  [{missing[1]} characters are not shown here]\n" in shown
    assert "content: |\n  first\n  xxx" in shown
    assert "xxx\n  last\nfile_path: /w/a\n" in shown
    assert shown.count("x") + int(missing[1]) == 30_000
    assert len(shown) <= MAX_TEXT


@pytest.mark.rule("APPROVAL-2")
@pytest.mark.parametrize(
    "arguments",
    [
        {"content": "\n" * 30_000},
        {"content": "`" * 30_000},
        {"old_string": "a\n" * 30_000, "new_string": "b\n" * 30_000},
        {"edits": [{"old_string": "a", "new_string": "b"}] * 3_000},
        {"path": "p" * 30_000, "content": "x"},
        {str(key): key for key in range(5_000)},
        {"`" * 30_000: 1},
        "`" * 30_000,
        [["deep"] * 9_000],
    ],
    ids=[
        "lines",
        "backticks",
        "an edit",
        "edits",
        "a path",
        "keys",
        "a key",
        "no object",
        "an array",
    ],
)
def test_any_long_arguments_fit_and_say_how_much_is_missing(arguments: Any) -> None:
    shown = edit_of(arguments, {"cwd": "/w"})
    assert LEFT_OUT.match(shown)
    assert len(shown) <= MAX_TEXT
    assert shown.endswith("/w\n```") or "cwd: /w" in shown


def test_there_is_no_notice_if_nothing_is_missing() -> None:
    whole = render_context([], {"content": "x" * 19_000}) or ""
    assert "not shown" not in whole
    forged = (
        render_context([], {"content": "**Not all of it is shown: 1 characters are left out.**"})
        or ""
    )
    assert forged.startswith("```\n")


def test_a_change_stands_under_its_key_whatever_path_it_names() -> None:
    change: Any = {"type": "update", "path": "README.md", "unified_diff": "-a\n+b"}
    shown = describe("apply_patch", {"changes": {"/etc/passwd": change}}, {})
    assert shown.context is not None
    assert "`/etc/passwd`" in shown.context
    assert "README.md" in shown.context


def test_a_kind_of_change_that_nobody_knows_is_shown() -> None:
    edits: Any = [{"type": "delete_everything", "old_text": "a", "new_text": "b"}]
    shown = describe("edit_file", {"path": "a.py", "edits": edits}, {})
    assert "delete_everything" in str(shown.context)


def test_equal_diffs_of_two_files_are_both_shown() -> None:
    sent: Any = {"path": "README.md", "old_text": "a", "new_text": "b"}
    content: Any = [{"type": "diff", "path": "/etc/passwd", "oldText": "a", "newText": "b"}]
    assert "/etc/passwd" in str(describe("edit", sent, {"content": content}).context)
    same: Any = {"content": [{**content[0], "path": "/w/README.md"}]}
    assert str(describe("edit", sent, same).context).count("```diff") == 1
