"""`answerback person link`: the person who typed the code is named, and only a yes links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from typer.testing import CliRunner

from answerback_agents.cli import main
from answerback_teams.cli import person_links

TYPED_BY = {"surface": "slack", "user_id": "U1", "name": None}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """The calls of the service, in which somebody has typed the code."""
    made: list[str] = []

    def call_api(_access: object, method: str, path: str) -> dict[str, Any]:
        made.append(f"{method} {path}")
        return {"code": "ABCD-EFGH"}

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(person_links, "call_api", call_api)
    monkeypatch.setattr(person_links, "call_service", lambda *_: TYPED_BY)
    with create_app_session():
        yield made


@pytest.mark.rule("LINK-9")
@pytest.mark.parametrize(
    ("typed", "method", "code"), [("y\n", "POST", 0), ("n\n", "DELETE", 1), ("\n", "DELETE", 1)]
)
def test_only_a_yes_links(calls: list[str], typed: str, method: str, code: int) -> None:
    done = CliRunner().invoke(main.app, ["person", "link", "ann"], typed)
    assert (done.exit_code, calls) == (
        code,
        ["POST /v1/links?person=ann", f"{method} /v1/links/slack%3AU1?person=ann"],
    )


def test_without_anybody_to_ask_nothing_is_linked(calls: list[str]) -> None:
    done = CliRunner().invoke(main.app, ["person", "link", "ann"], "")
    assert (done.exit_code, len(calls)) == (1, 1)
