"""`answerback doctor` on the routes of a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerback.core.errors import ConfigError
from tests.unit.bot.cli.test_commands import run


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
    assert "Set SLACK_BOT_TOKEN in the environment, or slack.bot_token in the configuration" in err
    with pytest.raises(ConfigError) as refused:
        run("serve", "--check")
    assert "routes.ops.to: the surface slack is not configured" in str(refused.value)
    assert "Set SLACK_BOT_TOKEN in the environment" in str(refused.value)
    assert "routes.ops.escalate.to: the surface discord is not configured" in str(refused.value)
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
    routes = '[routes.ops]\nto = "web"\nresponders = ["U1"]\n'
    routes += '[routes.all]\nto = "web"\nresponders = "anyone"\nconfirmations = 1\n'
    hashed = f'token_hash = "sha256:{"0" * 64}"'
    (folder / "answerback.toml").write_text(routes + agents.format(hash=hashed))
    code, _, err = run("doctor")
    assert code == 0
    warned = "! routes.ops.responders, routes.all.confirmations: " + (warning or "")
    assert err.count(warned) == (warning is not None)
    assert (warning or "✓ configuration") in err
    assert "routes.all.responders" not in err


@pytest.mark.rule("CLI-8")
@pytest.mark.parametrize(
    ("url", "is_warned"),
    [
        ("http://ask.example", True),
        ("https://ask.example", False),
        ("http://127.0.0.1:8081", False),
    ],
)
def test_the_doctor_warns_of_a_public_address_without_tls(
    folder: Path, url: str, is_warned: bool
) -> None:
    (folder / "answerback.toml").write_text(f'[public]\nport = 8081\nurl = "{url}"\n')
    assert ("! public.url: the address begins with http://" in run("doctor")[2]) is is_warned


@pytest.mark.rule("CLI-8")
def test_the_doctor_says_once_what_holds_for_several_routes(folder: Path) -> None:
    routes = [f'[routes.r{n}]\nto = "slack:C{n}"\nresponders = ["U1"]\n' for n in range(3)]
    (folder / "answerback.toml").write_text("".join(routes))
    _, _, err = run("doctor")
    assert "✗ routes.r0.to, routes.r1.to, routes.r2.to: the surface slack" in err
    assert err.count("may name any place") == err.count("is not configured") == 1


PEOPLE = '[people.ann]\nname = "Ann"\nids = ["web:ann", "slack:U1"]\n'
PUBLIC = '[public]\nport = 8081\nurl = "https://a.example"\n'
HASHED = f'token_hash = "sha256:{"0" * 64}"'


def confirming(agents: str = "", **keys: str) -> str:
    """Settings with a route whose answers others confirm."""
    table = {"to": '"web"', "confirmations": "1", **keys}
    route = "".join(f"{key} = {value}\n" for key, value in table.items())
    return f"{PEOPLE}[routes.prod]\n{route}{agents}"


@pytest.mark.rule("CLI-8", "CONFIRM-11")
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            confirming(responders='["person:ann", "@OPS"]', confirmations='{ from = ["@LEADS"] }'),
            "✓ routes.prod: Ann or the members of @OPS answer, one of the members of @LEADS confirms; two people are "
            "two personal links, and where no agent has a token one person can make two (links)\n",
        ),
        (
            confirming(responders='["bob", "person:ann", "cy"]', confirmations="2"),
            "✓ routes.prod: bob, Ann or cy answers, two others of them confirm; ",
        ),
        (
            confirming(responders='"anyone"'),
            "anyone who sees it answers, one other of them confirms",
        ),
        (confirming(), "those whom the call or the surface names answer, one other of them"),
        (confirming(to='"owner"'), "names answer, one other of them confirms\n"),
        (confirming(to='"slack:C1"'), "; two people are two accounts on slack (accounts)\n"),
        (
            "people_link = true\n" + confirming(to='"slack:C1"'),
            "two accounts on slack (accounts) or two personal links, and where no agent has a token one person can",
        ),
        (
            confirming(f'[web]\nuser_header = "X-User"\ntrusted_proxies = ["10.0.0.7"]\n{PUBLIC}'),
            "; two people are two accounts on web (accounts)\n",
        ),
        (
            confirming(f'[agents.desk]\n{HASHED}\nrole = "surface"\n'),
            "(links) or the word of agents.desk (vouched)\n",
        ),
    ],
)
def test_the_doctor_says_who_answers_who_confirms_and_what_that_proves(
    folder: Path, settings: str, said: str
) -> None:
    (folder / "answerback.toml").write_text(settings)
    _, out, err = run("doctor")
    assert said in out + err


@pytest.mark.rule("CLI-8", "CONFIRM-11")
@pytest.mark.parametrize(
    ("settings", "when"),
    [
        (confirming(responders='["person:ann"]'), ""),
        (confirming(to='"web:@bob"'), ""),
        (
            confirming(
                to='"discord:1"', responders='["99"]', confirmations='{ from = ["person:ann"] }'
            ),
            "",
        ),
        (
            confirming(
                to='"discord:1"', responders='["@7"]', confirmations='{ from = ["person:ann"] }'
            ),
            None,
        ),
        (
            confirming(
                f'[agents.laptop]\n{HASHED}\nowner = "ann"\n',
                responders='["bob"]',
                confirmations='{ from = ["person:ann"] }',
            ),
            " if agents.laptop asks",
        ),
        (
            confirming(
                f'[agents.laptop]\n{HASHED}\nowner = "ann"\nroutes = ["prod"]\n', to='"owner"'
            ),
            " if agents.laptop asks",
        ),
        (confirming(to='"pager:x"'), None),
        (
            confirming(
                f'[agents.laptop]\n{HASHED}\nowner = "ann"\n', responders='["person:ann", "bob"]'
            ),
            None,
        ),
    ],
)
def test_the_doctor_warns_of_a_rule_that_can_never_be_met(
    folder: Path, settings: str, when: str | None
) -> None:
    (folder / "answerback.toml").write_text(settings)
    _, out, err = run("doctor")
    warned = "there are never enough people to confirm"
    assert (warned in out + err) is (when is not None)
    assert f": {warned}{when or ''}\n" in out + err or when is None
