"""Prompts that can be allowed again, and tries to get something else through as the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from answerback.core.grants import ToolCall
from answerback.dialects.approval import read_tool_call

Json = dict[str, Any]


def claude(tool: str, **tool_input: object) -> ToolCall:
    return call_of("PermissionRequest", {"tool_name": tool, "tool_input": tool_input})


def call_of(name: str, arguments: Json) -> ToolCall:
    found = read_tool_call(name, arguments)
    assert found is not None
    return found


def codex_mcp(server: str, tool: str, **more: object) -> ToolCall:
    meta = {"codex_approval_kind": "mcp_tool_call", "tool_name": tool, "tool_params": {}}
    call = {"serverName": server, "message": "Allow it?", "_meta": meta | more}
    return call_of("mcpServer/elicitation/request", call)


def openai_mcp(server: str, tool: str) -> ToolCall:
    call = {"id": "1", "server_label": server, "name": tool, "arguments": "{}"}
    return call_of("mcp_approval_request", call)


SHELL: Final = claude("Bash", command="git push origin main", description="Push")
EDIT: Final = claude("Edit", file_path="/srv/app/a.py", old_string="a", new_string="b")
FETCH: Final = claude("WebFetch", url="https://docs.example.com/page", prompt="Sum it up")
MCP: Final = claude("mcp__github__create_issue", title="Bug", labels=["a", "b"], count=1)
GATEWAY: Final = call_of(
    "tools/call", {"server": "shop", "name": "delete", "arguments": {"path": "a.txt", "n": 2}}
)
CODEX: Final = call_of(
    "item/commandExecution/requestApproval", {"command": "make test", "cwd": "/w", "reason": None}
)
BASES: Final[Mapping[str, tuple[ToolCall, str]]] = {
    "shell": (SHELL, "command"),
    "prefix": (claude("Bash", command="pytest -q tests"), "prefix:pytest"),
    "edit": (EDIT, "file"),
    "fetch": (FETCH, "address"),
    "mcp": (MCP, "tool"),
    "gateway": (GATEWAY, "tool"),
    "codex": (CODEX, "command"),
    "codex mcp": (codex_mcp("github", "x__delete"), "tool"),
    "openai mcp": (openai_mcp("github", "x__delete"), "tool"),
}


def shell(command: object, /, **more: object) -> ToolCall:
    return claude("Bash", command=command, **more)


def edit(path: object, /, **more: object) -> ToolCall:
    return claude("Edit", file_path=path, **({"old_string": "a", "new_string": "b"} | more))


def fetch(url: object, /, **more: object) -> ToolCall:
    return claude("WebFetch", url=url, **({"prompt": "Sum it up"} | more))


def issue(**arguments: object) -> ToolCall:
    return claude(
        "mcp__github__create_issue",
        **({"title": "Bug", "labels": ["a", "b"], "count": 1} | arguments),
    )


def acp(**tool_call: object) -> ToolCall:
    options = [{"optionId": "once", "name": "Yes", "kind": "allow_once"}]
    return call_of("session/request_permission", {"toolCall": tool_call, "options": options})


ATTACKS: Final[Mapping[str, Mapping[str, ToolCall]]] = {
    "shell": {
        "another byte": shell("git push origin mair"),
        "more behind": shell("git push origin main; rm -rf ~"),
        "a line more": shell("git push origin main\nrm -rf ~"),
        "a blank behind": shell("git push origin main "),
        "a blank before": shell(" git push origin main"),
        "two blanks": shell("git push  origin main"),
        "a tab": shell("git push\torigin main"),
        "a no-break space": shell("git push\u00a0origin main"),
        "a look-alike letter": shell("git push origin m\u0430in"),
        "a combining accent": shell("git push origin main\u0301"),
        "an invisible character": shell("git push origin main\u200b"),
        "a reversed direction": shell("git push origin \u202emain"),
        "a full-width letter": shell("\uff47it push origin main"),
        "a NUL": shell("git push origin main\x00"),
        "case": shell("git push origin Main"),
        "another path": shell("./git push origin main"),
        "a list of words": shell(["git", "push", "origin", "main"]),
        "another argument": shell("git push origin main", dangerouslyDisableSandbox=True),
        "a text for the arguments": call_of(
            "PermissionRequest", {"tool_name": "Bash", "tool_input": "git push origin main"}
        ),
        "in the background": shell("git push origin main", run_in_background=True),
        "two commands": shell("git push origin main", cmd="rm -rf ~"),
        "another shell": claude("PowerShell", command="git push origin main"),
        "a tool of another case": claude("bash", command="git push origin main"),
        "a tool of another kind": claude("Write", file_path="/a", content="git push origin main"),
        "another host": call_of(
            "permissionRequest",
            {"toolName": "Bash", "toolInput": {"command": "git push origin main"}},
        ),
        "another working folder": call_of(
            "PermissionRequest",
            {"tool_name": "Bash", "tool_input": {"command": "git push origin main"}, "cwd": "/etc"},
        ),
        "an MCP server's tool of that name": call_of(
            "tools/call",
            {"server": "x", "name": "Bash", "arguments": {"command": "git push origin main"}},
        ),
        "nothing": shell(""),
        "no text": shell(7),
    },
    "prefix": {
        "half a word": shell("pytester -q"),
        "the prefix in a path": shell("./pytest -q"),
        "a second command": shell("pytest -q; rm -rf ~"),
        "a pipe": shell("pytest -q | sh"),
        "an ampersand": shell("pytest -q & rm x"),
        "a substitution": shell("pytest $(rm x)"),
        "backquotes": shell("pytest `rm x`"),
        "a redirection": shell("pytest > /etc/passwd"),
        "a variable": shell("pytest $HOME"),
        "a glob": shell("pytest *"),
        "a brace": shell("pytest {a,b}"),
        "a quote": shell("pytest 'a b'"),
        "a home": shell("pytest ~/x"),
        "a comment": shell("pytest #x"),
        "a backslash": shell("pytest \\x"),
        "a newline": shell("pytest -q\nrm x"),
        "a newline at the end": shell("pytest -q\n"),
        "a carriage return": shell("pytest -q\rrm x"),
        "a line separator": shell("pytest -q\u2028rm x"),
        "a tab": shell("pytest\t-q"),
        "two blanks": shell("pytest  -q"),
        "a blank before": shell(" pytest -q"),
        "something before": shell("sudo pytest -q"),
        "an assignment before": shell("A=b pytest -q"),
        "case": shell("Pytest -q"),
        "a look-alike": shell("p\u0443test -q"),
        "a list": shell(["pytest", "-q"]),
        "another prefix": shell("npm run build"),
        "another argument": shell("pytest -q", dangerouslyDisableSandbox=True),
    },
    "edit": {
        "another file": edit("/srv/app/b.py"),
        "case": edit("/srv/app/A.py"),
        "a relative path": edit("a.py"),
        "a path with dots": edit("/srv/app/../app/a.py"),
        "a path with a dot": edit("/srv/app/./a.py"),
        "two slashes": edit("/srv/app//a.py"),
        "two slashes in front": edit("//srv/app/a.py"),
        "a slash behind": edit("/srv/app/a.py/"),
        "a backslash": edit("/srv/app\\a.py"),
        "a home": edit("~/app/a.py"),
        "a drive": edit("C:\\home\\ann\\app\\a.py"),
        "a blank behind": edit("/srv/app/a.py "),
        "a look-alike": edit("/srv/app/\u0430.py"),
        "an accent in two": edit("/srv/app/a.py\u0301"),
        "an invisible character": edit("/srv/app/a.py\u200b"),
        "two paths": edit("/srv/app/a.py", path="/etc/passwd"),
        "another path in an edit": claude(
            "MultiEdit", file_path="/srv/app/a.py",
            edits=[{"old_string": "a", "new_string": "b", "file_path": "/etc/passwd"}],
        ),
        "an unknown argument": edit("/srv/app/a.py", destination="/etc/passwd"),
        "a nested argument": edit("/srv/app/a.py", content={"path": "/etc/passwd"}),
        "edits that are none": edit("/srv/app/a.py", edits="/etc/passwd"),
        "no text": edit(["/srv/app/a.py"]),
        "a patch of another file": claude(
            "Edit", file_path="/srv/app/a.py", diff="*** Begin Patch\n*** Delete File: /etc/passwd\n*** End Patch",
        ),
        "a diff of another file": edit(
            "/srv/app/a.py", diff="--- a/../../etc/passwd\n+++ b/../../etc/passwd\n@@ -1 +1 @@\n-a\n+b\n"
        ),
        "a diff of that file": edit("/srv/app/a.py", diff="@@ -1 +1 @@\n-a\n+b\n"),
        "another tool": claude("Write", file_path="/srv/app/a.py", content="b"),
        "a patch": claude("apply_patch", input="*** Update File: /srv/app/a.py"),
        "a deletion": acp(
            name="x", kind="delete", rawInput={"path": "/srv/app/a.py"}, toolCallId="1"
        ),
        "a command": shell("rm /srv/app/a.py"),
    },
    "fetch": {
        "another host": fetch("https://docs.example.org/page"),
        "a subdomain": fetch("https://x.docs.example.com/page"),
        "a host that begins so": fetch("https://docs.example.com.evil.org/page"),
        "a user": fetch("https://docs.example.com@evil.org/page"),
        "a user and a password": fetch("https://docs.example.com:443@evil.org/"),
        "a user of that host": fetch("https://ann@docs.example.com/page"),
        "a backslash": fetch("https://docs.example.com\\@evil.org/"),
        "a question mark for a slash": fetch("https://docs.example.com?@evil.org/"),
        "a hash for a slash": fetch("https://docs.example.com#@evil.org/"),
        "another scheme": fetch("http://docs.example.com/page"),
        "another scheme at the same port": fetch("http://docs.example.com:443/page"),
        "a scheme with other slashes": fetch("https:/docs.example.com/page"),
        "a scheme of another case": fetch("HTTPS://docs.example.com/page"),
        "a host of another case": fetch("https://Docs.example.com/page"),
        "another port": fetch("https://docs.example.com:8443/page"),
        "a port with zeros": fetch("https://docs.example.com:00443/page"),
        "an empty port": fetch("https://docs.example.com:/page"),
        "a port of other digits": fetch("https://docs.example.com:\u0664\u0664\u0663/page"),
        "a dot behind": fetch("https://docs.example.com./page"),
        "a look-alike": fetch("https://docs.ex\u0430mple.com/page"),
        "a full-width dot": fetch("https://docs\uff0eexample.com/page"),
        "an ideographic dot": fetch("https://docs\u3002example.com/page"),
        "punycode": fetch("https://docs.xn--exmple-4nf.com/page"),
        "a percent": fetch("https://docs%2eexample.com/page"),
        "a blank": fetch(" https://docs.example.com/page"),
        "a blank within": fetch("https://docs.example.com/a b"),
        "a newline": fetch("https://docs.example.com/page\n"),
        "a tab in the host": fetch("https://docs.exa\tmple.com/page"),
        "no scheme": fetch("docs.example.com/page"),
        "two addresses": fetch("https://docs.example.com/page", uri="https://evil.org"),
        "another method": fetch("https://docs.example.com/page", method="POST"),
        "a list": fetch(["https://docs.example.com/page"]),
        "another tool": claude("FetchUrl", url="https://docs.example.com/page"),
    },
    "mcp": {
        "another value": issue(title="Bug!"),
        "case": issue(title="bug"),
        "a blank": issue(title="Bug "),
        "a look-alike": issue(title="B\u03c5g"),
        "another form of the number": issue(count=1.0),
        "true for one": issue(count=True),
        "a text for a number": issue(count="1"),
        "a list in another order": issue(labels=["b", "a"]),
        "a list for a text": issue(title=["Bug"]),
        "an argument more": issue(body=""),
        "a null more": issue(body=None),
        "an argument less": claude("mcp__github__create_issue", title="Bug", count=1),
        "another tool": claude("mcp__github__delete_issue", title="Bug", labels=["a", "b"], count=1),
        "another server": claude("mcp__github2__create_issue", title="Bug", labels=["a", "b"], count=1),
        "a tool of another case": claude("mcp__github__Create_issue", title="Bug", labels=["a", "b"], count=1),
        "another split of the name": claude("mcp__github_create__issue", title="Bug", labels=["a", "b"], count=1),
        "no object": call_of(
            "PermissionRequest", {"tool_name": "mcp__github__create_issue", "tool_input": [1]}
        ),
    },
    "codex mcp": {
        "another split of the name": codex_mcp("github__x", "delete"),
        "a connector": codex_mcp("github", "x__delete", connector_id="connector_2"),
    },
    "openai mcp": {"another split of the name": openai_mcp("github__x", "delete")},
    "gateway": {
        "another server": call_of(
            "tools/call", {"server": "shop2", "name": "delete", "arguments": {"path": "a.txt", "n": 2}}
        ),
        "another number": call_of(
            "tools/call", {"server": "shop", "name": "delete", "arguments": {"path": "a.txt", "n": 2.0}}
        ),
        "none": call_of("tools/call", {"server": "shop", "name": "delete", "arguments": {}}),
    },
    "codex": {
        "another environment": call_of(
            "item/commandExecution/requestApproval",
            {"command": "make test", "cwd": "/w", "environmentId": "production"},
        ),
        "another folder": call_of(
            "item/commandExecution/requestApproval", {"command": "make test", "cwd": "/x"}
        ),
        "another reason": call_of(
            "item/commandExecution/requestApproval",
            {"command": "make test", "cwd": "/w", "reason": "needs the network"},
        ),
    },
}  # fmt: skip
