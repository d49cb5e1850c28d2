"""`answerback doctor` on the routes of a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.bot.test_commands import run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.rule("CLI-8")
def test_the_doctor_names_places_on_surfaces_that_are_not_configured(folder: Path) -> None:
    escalated = 'escalate = { after = 60, to = "discord:1" }'
    routes = f'[routes.ops]\nto = "slack:C1"\nresponders = ["U1"]\n{escalated}\n'
    (folder / "answerback.toml").write_text(f'default_route = "ops"\n{routes}')
    code, _, err = run("doctor")
    assert code == 1
    assert "✗ routes.ops.to: the surface slack is not configured" in err
    assert "✗ routes.ops.escalate.to: the surface discord is not configured" in err
    assert "in the table [slack]" in err
    (folder / "answerback.toml").write_text('default_route = "slack:C1"\n')
    assert "✗ default_route: the surface slack is not configured" in run("doctor")[2]


@pytest.mark.rule("CLI-8")
@pytest.mark.parametrize(
    ("agents", "warning"),
    [
        ("", "any program on this machine may name any place"),
        ("[agents.free]\n{hash}", "agents.free may name any place"),
        ('[agents.ci]\n{hash}\nroutes = ["ops"]', None),
        ('[agents.desk]\n{hash}\nrole = "surface"', None),
    ],
)
def test_the_doctor_warns_of_an_agent_that_can_circumvent_a_routes_responders(
    folder: Path, agents: str, warning: str | None
) -> None:
    routes = '[routes.ops]\nto = "web"\nresponders = ["U1"]\n[routes.all]\nto = "web"\nresponders = "anyone"\n'
    hashed = f'token_hash = "sha256:{"0" * 64}"'
    (folder / "answerback.toml").write_text(routes + agents.format(hash=hashed))
    code, _, err = run("doctor")
    assert code == 0
    assert ("! routes.ops.responders" in err) == (warning is not None)
    assert (warning or "✓ configuration") in err
    assert "routes.all" not in err
