"""The policy of `answerback mcp-proxy`: which rule decides, what is wrong with a file, the dry run, and the doctor."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from answerback_agents.cli import main
from answerback_agents.mcp_proxy.policy import (
    Decision,
    PolicyError,
    choose_server,
    load_policies,
    named_server,
)
from answerback_base import install_extras
from tests.unit.bot.cli.test_commands import run

RULES = """
[servers.github]
rules = [
  { tool = "create_issue", arguments = { repo = ["acme/api", "acme/web"], draft = true }, do = "pass" },
  { tool = "create_*", arguments = { repo = "acme/secret*" }, do = "deny" },
  { tool = "get_*", do = "pass" },
  { tool = "*delete*", do = "deny" },
  { tool = "run", arguments = { level = 1 }, do = "deny" },
  { tool = "run", do = "pass" },
]
[servers.files]
trust_annotations = true
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "mcp.toml"
    path.write_text(RULES)
    path.chmod(0o600)
    return path


@pytest.mark.rule("GATEWAY-5")
@pytest.mark.parametrize(
    ("tool", "arguments", "decision"),
    [
        ("create_issue", {"repo": "acme/api", "draft": True, "title": "x"}, "pass"),
        ("create_issue", {"repo": "acme/api", "draft": 1}, "ask"),
        ("create_issue", {"repo": "acme/api"}, "ask"),
        ("create_issue", {"repo": "acme/api", "draft": True, "REPO": "x"}, "ask"),
        ("create_issue", {"repo": ["acme/api"], "draft": True}, "ask"),
        ("create_issue", {"repo": "acme/secrets"}, "deny"),
        ("create_issue", {"Repo": "acme/secrets"}, "deny"),
        ("Create_Issue", {"repo": "acme/api", "draft": True}, "ask"),
        ("get_issue", {}, "pass"),
        ("GET_issue", {}, "ask"),
        ("get_issu\u0435", {}, "ask"),
        ("get_x y", {}, "ask"),
        ("get_" + "x" * 125, {}, "ask"),
        ("Bulk_Delete_All", {}, "deny"),
        ("close", {}, "ask"),
        ("run", {"level": 1}, "deny"),
        ("run", {"level": 1.0}, "deny"),
        ("run", {"level": True}, "pass"),
        ("run", {"level": 2}, "pass"),
    ],
)
def test_the_first_rule_that_matches_decides(
    policy: Path, tool: str, arguments: dict[str, Any], decision: str
) -> None:
    github = choose_server(load_policies(policy), "github")
    assert github.decide(tool, arguments, None).decision == decision


def test_a_pattern_takes_time_linear_in_the_text(tmp_path: Path) -> None:
    path = tmp_path / "mcp.toml"
    rule = '{ tool = "x", arguments = { a = "*a*a*a*a*a*b*c*" }, do = "pass" }'
    path.write_text(f"[servers.s]\nrules = [{rule}]")
    only = choose_server(load_policies(path), None)
    started = time.thread_time()
    assert only.decide("x", {"a": "a" * 1_000_000}, None).decision is Decision.ASK
    assert only.decide("x", {"a": "a" * 9 + "bc"}, None).decision is Decision.PASS
    assert only.decide("x", {"a": "abc"}, None).decision is Decision.ASK
    assert time.thread_time() - started < 5


def test_a_pattern_does_not_use_a_character_twice(tmp_path: Path) -> None:
    path = tmp_path / "mcp.toml"
    path.write_text('[servers.s]\nrules = [{ tool = "ab*ba", do = "pass" }]')
    only = choose_server(load_policies(path), None)
    assert only.decide("aba", {}, None).decision is Decision.ASK
    assert only.decide("abba", {}, None).decision is Decision.PASS


@pytest.mark.rule("GATEWAY-5")
@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[servers", "is not valid TOML"),
        ("[server.x]", "server is unknown"),
        ("servers = 1", "servers must be a table"),
        ("[servers.x]\ntrust = true", "servers.x.trust is unknown"),
        ("[servers.x]\ntrust_annotations = 1", "must be true or false"),
        ("[servers.x]\nrules = 1", "servers.x.rules must be a list"),
        ("[servers.x]\nrules = [1]", "servers.x.rules[1] must be a table"),
        ('[servers.x]\nrules = [{ tool = "", do = "pass" }]', "rules[1].tool must be"),
        ('[servers.x]\nrules = [{ tool = "a", do = "allow" }]', '"pass", "ask" or "deny"'),
        ('[servers.x]\nrules = [{ tool = "a", do = 1 }]', '"pass", "ask" or "deny"'),
        ('[servers.x]\nrules = [{ tool = "a", do = "ask", args = {} }]', "args is unknown"),
        (
            '[servers.x]\nrules = [{ tool = "a", do = "ask", arguments = { d = 2026-01-01 } }]',
            "a value that JSON does not support",
        ),
        ('[servers."a b"]', "cannot be a server's name"),
    ],
)
def test_a_policy_with_a_mistake_is_refused(tmp_path: Path, text: str, wrong: str) -> None:
    path = tmp_path / "mcp.toml"
    path.write_text(text)
    with pytest.raises(PolicyError) as refused:
        load_policies(path)
    assert wrong in str(refused.value)
    code, _, err = run("mcp-proxy", "--policy", str(path), "--", "true")
    assert (code, "answerback mcp-proxy: " in err) == (2, True)


@pytest.mark.rule("GATEWAY-5")
def test_the_server_is_named_as_the_policy_names_it(policy: Path) -> None:
    policies = load_policies(policy)
    assert choose_server(policies, "files").name == "files"
    for name in (None, "other"):
        with pytest.raises(PolicyError, match="github, files"):
            choose_server(policies, name)
    with pytest.raises(PolicyError, match="Cannot read"):
        load_policies(policy / "missing")
    assert named_server("github").decide("x", {}, None).decision is Decision.ASK


@pytest.mark.rule("GATEWAY-8")
def test_a_dry_run_says_what_would_be_asked(policy: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    listed = {
        "tools": [
            {"name": "create_issue"},
            {"name": "create_issue", "arguments": {"repo": "acme/api", "draft": True}},
            {"name": "get_issue"},
            {"name": "merge"},
        ]
    }
    tools.write_text(json.dumps({"jsonrpc": "2.0", "id": 1, "result": listed}))
    options = ["--policy", str(policy), "--server", "github", "--dry-run", str(tools)]
    code, out, _ = run("mcp-proxy", *options)
    assert (code, out.splitlines()) == (
        0,
        [
            'create_issue: pass if repo is "acme/api" or "acme/web" and draft is true (rule 1); '
            'deny if repo is "acme/secret*" (rule 2); else ask (no rule)',
            "create_issue: pass (rule 1)",
            "get_issue: pass (rule 3)",
            "merge: ask (no rule)",
        ],
    )
    assert json.loads(run("mcp-proxy", *options, "--json")[1])[3] == {
        "tool": "merge",
        "decision": "ask",
        "reason": "no rule",
        "unless": [],
    }
    reading = {"name": "read", "annotations": {"readOnlyHint": True}}
    tools.write_text(json.dumps(["write", reading]))
    files = ["--policy", str(policy), "--server", "files", "--dry-run", str(tools)]
    assert run("mcp-proxy", *files)[1].splitlines() == [
        "write: ask (no rule)",
        "read: pass (the server says that it only reads)",
    ]


@pytest.mark.rule("GATEWAY-8")
@pytest.mark.parametrize("text", ["{}", "[1]", "[{}]", "nonsense", '"x"'])
def test_a_dry_run_needs_a_list(tmp_path: Path, text: str) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(text)
    code, _, err = run("mcp-proxy", "--dry-run", str(tools))
    assert (code, "The list must be JSON" in err) == (2, True)
    missing = run("mcp-proxy", "--dry-run", str(tmp_path / "missing"))[2]
    assert missing.endswith("missing: No such file or directory.\n")
    tools.write_bytes(b"\xff")
    assert "is not text in UTF-8" in run("mcp-proxy", "--dry-run", str(tools))[2]


@pytest.mark.rule("GATEWAY-8")
def test_a_dry_run_reads_standard_input() -> None:
    asked = '["änder"]'.encode()
    runner = CliRunner(charset="latin-1")
    done = runner.invoke(main.app, ["mcp-proxy", "--dry-run", "-"], input=asked)
    assert done.stdout_bytes.decode() == "änder: ask (no rule)\n"
    done = runner.invoke(main.app, ["mcp-proxy", "--dry-run", "-"], input=b"\xff")
    assert "- is not text in UTF-8" in done.stderr


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ([], "Give either the server's command after --, or its address with --url"),
        (["--url", "http://127.0.0.1:1/mcp", "--", "true"], "Give either"),
        (["--url", "ws://x/mcp"], "is not the address of an MCP server"),
        (["--url", "http://127.0.0.1:1/mcp", "--header-env", "Authorization"], "NAME=VARIABLE"),
        (["--url", "http://127.0.0.1:1/mcp", "--header-env", "A=NOT_SET_ANYWHERE"], "that is set"),
        (["--server", "a b", "--", "true"], "cannot be a server's name"),
    ],
)
def test_a_wrong_command_line_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: list[str], wrong: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    code, _, err = run("mcp-proxy", *options)
    assert (code, wrong in err) == (2, True)


@pytest.mark.rule("GATEWAY-4")
def test_the_definitions_are_kept_with_the_state_of_the_users_programs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "answerback").mkdir()
    (tmp_path / "answerback" / "mcp-proxy-true.json").write_text("[]")
    code, _, err = run("mcp-proxy", "--", "/bin/true")
    assert (code, "is not a file of allowed definitions" in err) == (2, True)


@pytest.mark.rule("CONFIG-12")
@pytest.mark.parametrize(
    ("missing", "wrong"),
    [
        (
            "mcp",
            "needs the extra 'mcp', which is not installed: run `pip install 'answerback-agents[mcp]'`.",
        ),
        (
            "aiohttp_asgi",
            "--header-env wrong",
        ),  # a package of the service: the next mistake is told
    ],
)
def test_http_needs_the_extra_of_what_runs_beside_an_agent(
    monkeypatch: pytest.MonkeyPatch, missing: str, wrong: str
) -> None:
    monkeypatch.setattr(install_extras, "find_spec", lambda name: None if name == missing else "")
    code, _, err = run("mcp-proxy", "--url", "http://127.0.0.1:1", "--header-env", "wrong")
    assert (code, wrong in err) == (2, True), err


@pytest.mark.rule("GATEWAY-8")
def test_the_doctor_reads_the_policy(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(policy.parent)
    monkeypatch.setenv("ANSWERBACK_MCP_POLICY", str(policy))
    code, _, err = run("doctor")
    assert code == 0
    assert "✓ MCP policy for github" in err
    assert "! MCP policy for files: it believes the server's annotations" in err
    every = '{ tool = "*", do = "pass" }, { tool = "get_*", do = "deny" }'
    policy.write_text(f"[servers.s]\nrules = [{every}]")
    policy.chmod(0o666)
    code, _, err = run("doctor")
    assert code == 1
    assert "other users of this machine can change it" in err
    assert "rule 1 lets every other tool pass" in err
    assert "rule 2 never counts, because rule 1 decides before it" in err
    policy.write_text("servers = 1")
    code, _, err = run("doctor")
    assert (code, "✗ MCP policy: " in err) == (1, True)
