"""The compose file sets up what docs/deploy.md says: two replicas on PostgreSQL behind a proxy that ends TLS."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.acceptance.process import run
from tests.meta.project import ROOT

pytestmark = pytest.mark.acceptance

_FOLDER: Final = ROOT / "manifests" / "compose"
_VARIABLES: Final = {
    "ADDRESS": "answerback.example.com",
    "AGENTS_ADDRESS": "agents.example.com",
    "POSTGRES_PASSWORD": "secret",
}


@pytest.fixture(scope="module")
def composed() -> dict[str, Any]:
    """The compose file, with the variables of `.env` filled in."""
    text = (_FOLDER / "compose.yaml").read_text("utf-8")
    assert set(re.findall(r"\$\{(\w+):\?set it in \.env\}", text)) == set(_VARIABLES)
    text = re.sub(r"\$\{(\w+):\?[^}]*\}", lambda found: _VARIABLES[found[1]], text)
    assert "$" not in text
    compose_file: dict[str, Any] = yaml.safe_load(text)
    return compose_file


def environment(services: dict[str, Any]) -> dict[str, str]:
    """Return a replica's environment: from the image, the compose file and the secrets."""
    image = (ROOT / "manifests" / "Containerfile").read_text("utf-8")
    found = dict(re.findall(r"(ANSWERBACK_\w+)=(\S+)", image))
    secrets = (_FOLDER / "secrets.env.example").read_text("utf-8").split()
    found |= dict(line.split("=") for line in secrets)
    found |= services["answerback"]["environment"]
    return found


@pytest.mark.rule("DATA-20")
async def test_its_replicas_have_a_valid_configuration(
    composed: dict[str, Any], tmp_path: Path
) -> None:
    services = composed["services"]
    mounted = [volume.split(":") for volume in services["answerback"]["volumes"]]
    (config,) = [Path(here) for here, there, *_ in mounted if there == "/etc/answerback.toml"]
    code, out, err = await run(
        *("serve", "--check", "--config", str(_FOLDER / config)),
        folder=tmp_path,
        environment=environment(services),
    )
    assert code == 0, err
    for line in (
        "agents' API: 0.0.0.0:8420",
        "agents: builder (agent)",
        "public listener: 0.0.0.0:8421, reached at https://answerback.example.com",
        "database: answerback on database",
        "surfaces: web, slack (HTTP)",
        "routes: ops; default ops",
    ):
        assert line in (out + err).splitlines()


@pytest.mark.rule("DATA-20")
def test_only_the_proxy_is_exposed_and_all_lasting_data_is_on_a_volume(
    composed: dict[str, Any],
) -> None:
    services = composed["services"]
    assert services["answerback"]["deploy"]["replicas"] == 2
    assert services["answerback"]["depends_on"]["database"] == {"condition": "service_healthy"}
    assert {name for name, each in services.items() if "ports" in each} == {"proxy"}
    named = {
        volume.split(":")[0] for each in services.values() for volume in each["volumes"]
    } & set(composed["volumes"])
    assert named == set(composed["volumes"])
    for each in services.values():
        for volume in each["volumes"]:
            here = volume.split(":")[0]
            assert here in named or (_FOLDER / here).is_file()
    assert (_FOLDER / services["answerback"]["build"]["context"]).resolve() == ROOT


@pytest.mark.rule("DATA-20")
def test_the_proxy_forwards_the_public_listener_and_nothing_of_the_agents(
    composed: dict[str, Any],
) -> None:
    text = (_FOLDER / "Caddyfile").read_text("utf-8")
    outside, agents = text.split("{$AGENTS_ADDRESS}")
    ports = environment(composed["services"])
    assert re.findall(r"import replicas (\d+)", outside) == [ports["ANSWERBACK_PUBLIC__PORT"]]
    assert "import replicas 8420\n" in agents
    assert "dynamic a answerback {args[0]} {" in text
    assert "answerback" in composed["services"]
    assert text.count("{") == text.count("}")


@pytest.mark.rule("DATA-20")
def test_the_proxy_accepts_its_configuration(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)} | _VARIABLES
    checked = subprocess.run(
        [
            *(Path(sys.executable).with_name("caddy"), "validate"),
            *("--adapter", "caddyfile", "--config", _FOLDER / "Caddyfile"),
        ],
        env=environment,
        capture_output=True,
        check=False,
        text=True,
        timeout=250,
    )
    assert checked.returncode == 0, checked.stderr
    assert "Valid configuration" in checked.stdout + checked.stderr


def test_the_example_of_the_variables_names_each_of_them() -> None:
    lines = (_FOLDER / ".env.example").read_text("utf-8").splitlines()
    named = {line.partition("=")[0] for line in lines if not line.startswith("#")}
    assert named == set(_VARIABLES)


def test_the_documentation_names_every_file_next_to_the_compose_file() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text("utf-8")
    for path in sorted(_FOLDER.iterdir()):
        assert f"`{path.name}`" in page, path.name
    for name in _VARIABLES:
        assert name in page
