"""Approval requests of Codex's app server that have rules of their own."""

from __future__ import annotations

from typing import Any

import pytest

from answerback.core.actions import Answer
from tests.unit.bot.approval_support import make_ask, rendered
from tests.unit.bot.dialect_support import act


@pytest.mark.rule("APPROVAL-1")
@pytest.mark.parametrize(
    "listed",
    [
        None,
        ["acceptForSession", {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["rm"]}}],
        ["cancel"],
        ["accept", "accept", 7],
        "accept",
    ],
)
def test_a_persons_own_command_is_accepted_or_declined_whatever_codex_lists(listed: Any) -> None:
    name = "item/commandExecution/requestApproval"
    ask = make_ask(
        name,
        proposedExecpolicyAmendment=["make"],
        kind="humanCommand",
        availableDecisions=listed,
    )
    options = ask.form.questions[0].options
    assert [(option.value, option.label) for option in options] == [
        ("accept", "Allow"),
        ("decline", "Deny"),
    ]
    for option in options:
        assert rendered(act(ask, Answer(value=option.value))) == {"decision": option.value}


def _files(*entries: Any) -> dict[str, Any]:
    return {"fileSystem": {"entries": [*entries]}}


def _entry(access: Any, **place: Any) -> dict[str, Any]:
    return {"access": access, "path": place}


PROJECT = {"kind": "project_roots", "subpath": "src"}
UNKNOWN = {"kind": "unknown", "path": "/dev/shm", "subpath": None}
PERMISSIONS: list[tuple[Any, str]] = [
    ({}, "no further permissions"),
    ({"network": None, "fileSystem": None}, "no further permissions"),
    ({"network": {"enabled": False}}, "no further permissions"),
    ({"network": {"enabled": True}}, "network access"),
    ({"network": {"enabled": True, "hosts": ["*"]}}, "other permissions"),
    ({"network": {"enabled": "yes"}}, "other permissions"),
    (
        {
            "network": {"enabled": True},
            "fileSystem": {"read": ["/a", None], "write": ["/x", "/y"], "entries": None},
        },
        "network access, reading /a, writing to /x and writing to /y",
    ),
    ({"fileSystem": {"write": [3], "read": "all"}}, "other permissions"),
    ({"fileSystem": "all"}, "other permissions"),
    ({"fileSystem": {"shared": True, "globScanMaxDepth": 3}}, "other permissions"),
    ({"camera": {"enabled": True}, "network": None, "clock": None}, "other permissions"),
    (
        _files(_entry("write", type="path", path="/x"), _entry("read", type="path", path="/a")),
        "writing to /x and reading /a",
    ),
    (_files(_entry("write", type="glob_pattern", pattern="*.py")), "writing to *.py"),
    (_files(_entry("deny", type="path", path="/x/.git")), "no access to /x/.git"),
    (_files(_entry("write", type="special", value={"kind": "root"})), "writing to all files"),
    (_files(_entry("write", type="special", value=PROJECT)), "writing to the project/src"),
    (_files(_entry("read", type="special", value=UNKNOWN)), "reading /dev/shm"),
    (_files(_entry("read", type="special", value={"kind": "moon"})), "other permissions"),
    (_files(_entry("own", type="path", path="/x")), "other permissions"),
    (_files("all"), "other permissions"),
]


@pytest.mark.rule("APPROVAL-6")
@pytest.mark.parametrize(("wanted", "expected"), PERMISSIONS)
def test_a_headline_says_which_permissions_are_asked_for(wanted: Any, expected: str) -> None:
    ask = make_ask("item/permissions/requestApproval", permissions=wanted, reason="to build")
    assert ask.form.questions[0].text == f"Allow {expected}"
    assert "to build" in str(ask.form.questions[0].context)


@pytest.mark.rule("APPROVAL-6")
def test_more_permissions_than_fit_are_in_the_context() -> None:
    paths = [f"/srv/project-{n}" for n in range(40)]
    ask = make_ask("item/permissions/requestApproval", permissions={"fileSystem": {"write": paths}})
    [question] = ask.form.questions
    assert question.text.endswith("(shortened)")
    assert [path for path in paths if path not in str(question.context)] == []
